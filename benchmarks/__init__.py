"""Measured claims: `make bench` runs them all and writes the tables of `benchmarks/results`."""
