"""Ensembles of kernel machines: members, out-of-fold predictions, convex stacking."""
