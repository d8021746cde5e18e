"""Solvers: arrays in, a frozen result with its duality gap out."""
