"""Families of weighted sums of given kernels."""
