"""Numerical diagnostics of fitted models."""

from kernelfit.inspection.adaptive import (
    FactorDiagnostics,
    diagnose_factor,
    diagnose_partition,
)
from kernelfit.inspection.audit import audit
from kernelfit.inspection.result import Audit

__all__ = ["Audit", "FactorDiagnostics", "audit", "diagnose_factor", "diagnose_partition"]
