"""Convex families of kernels: what theta is and how it answers a dual variable."""
