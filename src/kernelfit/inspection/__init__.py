"""Numerical diagnostics of fitted models."""

from kernelfit.inspection.adaptive import (
    FactorDiagnostics,
    diagnose_factor,
    diagnose_partition,
)

__all__ = ["FactorDiagnostics", "diagnose_factor", "diagnose_partition"]
