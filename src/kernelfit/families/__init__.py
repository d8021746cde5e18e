"""Families of kernels to learn from: Gram matrix, rows, best response to a dual solution."""
