"""Numerical diagnostics of fitted models."""
