"""Diagnostics of fitted models: audits, kernel matrices and pictures."""

from kernelfit.inspection.adaptive import (
    FactorDiagnostics,
    diagnose_factor,
    diagnose_partition,
)
from kernelfit.inspection.audit import audit
from kernelfit.inspection.cluster_displays import SilhouetteDisplay, StabilityDisplay
from kernelfit.inspection.fit_displays import ConvergenceDisplay, MetricDisplay, WeightsDisplay
from kernelfit.inspection.kernel_displays import (
    EmbeddingDisplay,
    KernelMatrixDisplay,
    SpectrumDisplay,
)
from kernelfit.inspection.matrices import KernelMatrices, kernel_matrices
from kernelfit.inspection.result import Audit

__all__ = [
    "Audit",
    "ConvergenceDisplay",
    "EmbeddingDisplay",
    "FactorDiagnostics",
    "KernelMatrices",
    "KernelMatrixDisplay",
    "MetricDisplay",
    "SilhouetteDisplay",
    "SpectrumDisplay",
    "StabilityDisplay",
    "WeightsDisplay",
    "audit",
    "diagnose_factor",
    "diagnose_partition",
    "kernel_matrices",
]
