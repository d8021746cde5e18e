"""Parameterised kernels and similarities: their matrices, penalties and best responses."""
