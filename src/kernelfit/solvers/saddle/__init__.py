"""Saddle-point solvers over a family of kernels."""
