"""Kernels parameterised by a positive semidefinite matrix: TKL and GPK."""
