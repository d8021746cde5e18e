"""Learners of weighted sums of kernels: with the machines, or by a rule."""
