"""A fitted estimator and its data as one HTML file that needs nothing else."""

from kernelfit.report.write import write_report

__all__ = ["write_report"]
