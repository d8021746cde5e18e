"""Kernel machines that learn the kernel and certify every fit.

The public names are imported on first use: ``import kernelfit`` itself loads neither
scikit-learn nor numba and compiles nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelfit.clustering.cds import CDSClustering, CDSKClustering
    from kernelfit.clustering.kernel_kmeans import KernelKMeans
    from kernelfit.estimators.dank import DANKClassifier, DANKRegressor
    from kernelfit.estimators.gpk import GPKClassifier, GPKRegressor
    from kernelfit.estimators.knpl import KNPLClassifier, KNPLRegressor
    from kernelfit.estimators.svm import KernelSVC, KernelSVR
    from kernelfit.estimators.tkl import TKLClassifier, TKLRegressor
    from kernelfit.selection.dank_cv import DANKClassifierCV, DANKRegressorCV
    from kernelfit.selection.svm_cv import KernelSVCCV, KernelSVRCV
    from kernelfit.selection.tkl_cv import TKLClassifierCV, TKLRegressorCV

__version__ = "0.1.0.dev0"

__all__ = [
    "CDSClustering",
    "CDSKClustering",
    "DANKClassifier",
    "DANKClassifierCV",
    "DANKRegressor",
    "DANKRegressorCV",
    "GPKClassifier",
    "GPKRegressor",
    "KNPLClassifier",
    "KNPLRegressor",
    "KernelKMeans",
    "KernelSVC",
    "KernelSVCCV",
    "KernelSVR",
    "KernelSVRCV",
    "TKLClassifier",
    "TKLClassifierCV",
    "TKLRegressor",
    "TKLRegressorCV",
]

_HOME = {
    "CDSClustering": "kernelfit.clustering.cds",
    "CDSKClustering": "kernelfit.clustering.cds",
    "DANKClassifier": "kernelfit.estimators.dank",
    "DANKClassifierCV": "kernelfit.selection.dank_cv",
    "DANKRegressor": "kernelfit.estimators.dank",
    "DANKRegressorCV": "kernelfit.selection.dank_cv",
    "GPKClassifier": "kernelfit.estimators.gpk",
    "GPKRegressor": "kernelfit.estimators.gpk",
    "KNPLClassifier": "kernelfit.estimators.knpl",
    "KNPLRegressor": "kernelfit.estimators.knpl",
    "KernelKMeans": "kernelfit.clustering.kernel_kmeans",
    "KernelSVC": "kernelfit.estimators.svm",
    "KernelSVCCV": "kernelfit.selection.svm_cv",
    "KernelSVR": "kernelfit.estimators.svm",
    "KernelSVRCV": "kernelfit.selection.svm_cv",
    "TKLClassifier": "kernelfit.estimators.tkl",
    "TKLClassifierCV": "kernelfit.selection.tkl_cv",
    "TKLRegressor": "kernelfit.estimators.tkl",
    "TKLRegressorCV": "kernelfit.selection.tkl_cv",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
