"""Entrywise factors of a kernel matrix: DANK and KNPL."""
