"""Measured claims: `python -m benchmarks --list` says which, `results` holds what was measured."""
