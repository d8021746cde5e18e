"""Numerical diagnostics of fitted models."""

from kernelfit.inspection.adaptive import (
    FactorDiagnostics,
    diagnose_factor,
    diagnose_partition,
)
from kernelfit.inspection.audit import Audit, audit

__all__ = ["Audit", "FactorDiagnostics", "audit", "diagnose_factor", "diagnose_partition"]
