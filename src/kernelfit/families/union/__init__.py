"""The convex hull of several families of kernels."""
