"""Kernels as pure mathematics: Gram matrix, rows and diagonal."""
