"""Tests of kernelfit, laid out as the package; reference/ holds naive implementations."""
