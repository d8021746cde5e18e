"""Kernel machines that learn the kernel and certify every fit.

The public names are imported on first use: ``import kernelfit`` itself loads neither
scikit-learn nor numba and compiles nothing.
"""

from typing import TYPE_CHECKING

from kernelfit.utils.on_first_use import on_first_use
from kernelfit.utils.version import __version__ as __version__

if TYPE_CHECKING:
    from kernelfit.clustering.auto import KernelClustering
    from kernelfit.clustering.cds import CDSClustering
    from kernelfit.clustering.cdsk import CDSKClustering
    from kernelfit.clustering.kernel_kmeans import KernelKMeans
    from kernelfit.clustering.labelling_bound import labelling_bound, squared_error_bound
    from kernelfit.ensemble.auto import AutoKernelClassifier, AutoKernelRegressor
    from kernelfit.estimators.compress import compress
    from kernelfit.estimators.dank import DANKClassifier, DANKRegressor
    from kernelfit.estimators.forest import ForestKernel
    from kernelfit.estimators.gpk import GPKClassifier, GPKRegressor
    from kernelfit.estimators.knpl import KNPLClassifier, KNPLRegressor
    from kernelfit.estimators.metric import KernelMetric
    from kernelfit.estimators.mkl import MKLClassifier, MKLRegressor
    from kernelfit.estimators.one_class import KernelOneClass
    from kernelfit.estimators.quantile import KernelQuantileRegressor
    from kernelfit.estimators.ridge import KernelRidgeClassifier, KernelRidgeRegressor
    from kernelfit.estimators.svm import KernelSVC, KernelSVR
    from kernelfit.estimators.tkl import TKLClassifier, TKLRegressor
    from kernelfit.estimators.union import KernelUnionClassifier, KernelUnionRegressor
    from kernelfit.io.files import load, save
    from kernelfit.papers.bmmc import BayesianMaxMarginClustering
    from kernelfit.papers.mmc import MaxMarginClustering
    from kernelfit.papers.nadaraya_watson import NadarayaWatson
    from kernelfit.papers.random_features import RandomFeatureAlignment
    from kernelfit.papers.rim import RIMClustering
    from kernelfit.selection.dank_cv import DANKClassifierCV, DANKRegressorCV
    from kernelfit.selection.gpk_cv import GPKClassifierCV, GPKRegressorCV
    from kernelfit.selection.knpl_cv import KNPLClassifierCV, KNPLRegressorCV
    from kernelfit.selection.mkl_cv import MKLClassifierCV, MKLRegressorCV
    from kernelfit.selection.path import path
    from kernelfit.selection.ridge_cv import KernelRidgeClassifierCV, KernelRidgeRegressorCV
    from kernelfit.selection.svm_cv import KernelSVCCV, KernelSVRCV
    from kernelfit.selection.tkl_cv import TKLClassifierCV, TKLRegressorCV
    from kernelfit.selection.union_cv import KernelUnionClassifierCV, KernelUnionRegressorCV
    from kernelfit.utils.environment import show_versions

__all__ = [
    "AutoKernelClassifier",
    "AutoKernelRegressor",
    "BayesianMaxMarginClustering",
    "CDSClustering",
    "CDSKClustering",
    "DANKClassifier",
    "DANKClassifierCV",
    "DANKRegressor",
    "DANKRegressorCV",
    "ForestKernel",
    "GPKClassifier",
    "GPKClassifierCV",
    "GPKRegressor",
    "GPKRegressorCV",
    "KNPLClassifier",
    "KNPLClassifierCV",
    "KNPLRegressor",
    "KNPLRegressorCV",
    "KernelClustering",
    "KernelKMeans",
    "KernelMetric",
    "KernelOneClass",
    "KernelQuantileRegressor",
    "KernelRidgeClassifier",
    "KernelRidgeClassifierCV",
    "KernelRidgeRegressor",
    "KernelRidgeRegressorCV",
    "KernelSVC",
    "KernelSVCCV",
    "KernelSVR",
    "KernelSVRCV",
    "KernelUnionClassifier",
    "KernelUnionClassifierCV",
    "KernelUnionRegressor",
    "KernelUnionRegressorCV",
    "MKLClassifier",
    "MKLClassifierCV",
    "MKLRegressor",
    "MKLRegressorCV",
    "MaxMarginClustering",
    "NadarayaWatson",
    "RIMClustering",
    "RandomFeatureAlignment",
    "TKLClassifier",
    "TKLClassifierCV",
    "TKLRegressor",
    "TKLRegressorCV",
    "compress",
    "labelling_bound",
    "load",
    "path",
    "save",
    "show_versions",
    "squared_error_bound",
]

_HOME = {
    "AutoKernelClassifier": "kernelfit.ensemble.auto",
    "AutoKernelRegressor": "kernelfit.ensemble.auto",
    "BayesianMaxMarginClustering": "kernelfit.papers.bmmc",
    "CDSClustering": "kernelfit.clustering.cds",
    "CDSKClustering": "kernelfit.clustering.cdsk",
    "DANKClassifier": "kernelfit.estimators.dank",
    "DANKClassifierCV": "kernelfit.selection.dank_cv",
    "DANKRegressor": "kernelfit.estimators.dank",
    "DANKRegressorCV": "kernelfit.selection.dank_cv",
    "ForestKernel": "kernelfit.estimators.forest",
    "GPKClassifier": "kernelfit.estimators.gpk",
    "GPKClassifierCV": "kernelfit.selection.gpk_cv",
    "GPKRegressor": "kernelfit.estimators.gpk",
    "GPKRegressorCV": "kernelfit.selection.gpk_cv",
    "KNPLClassifier": "kernelfit.estimators.knpl",
    "KNPLClassifierCV": "kernelfit.selection.knpl_cv",
    "KNPLRegressor": "kernelfit.estimators.knpl",
    "KNPLRegressorCV": "kernelfit.selection.knpl_cv",
    "KernelClustering": "kernelfit.clustering.auto",
    "KernelKMeans": "kernelfit.clustering.kernel_kmeans",
    "KernelMetric": "kernelfit.estimators.metric",
    "KernelOneClass": "kernelfit.estimators.one_class",
    "KernelQuantileRegressor": "kernelfit.estimators.quantile",
    "KernelRidgeClassifier": "kernelfit.estimators.ridge",
    "KernelRidgeClassifierCV": "kernelfit.selection.ridge_cv",
    "KernelRidgeRegressor": "kernelfit.estimators.ridge",
    "KernelRidgeRegressorCV": "kernelfit.selection.ridge_cv",
    "KernelSVC": "kernelfit.estimators.svm",
    "KernelSVCCV": "kernelfit.selection.svm_cv",
    "KernelSVR": "kernelfit.estimators.svm",
    "KernelSVRCV": "kernelfit.selection.svm_cv",
    "KernelUnionClassifier": "kernelfit.estimators.union",
    "KernelUnionClassifierCV": "kernelfit.selection.union_cv",
    "KernelUnionRegressor": "kernelfit.estimators.union",
    "KernelUnionRegressorCV": "kernelfit.selection.union_cv",
    "MKLClassifier": "kernelfit.estimators.mkl",
    "MKLClassifierCV": "kernelfit.selection.mkl_cv",
    "MKLRegressor": "kernelfit.estimators.mkl",
    "MKLRegressorCV": "kernelfit.selection.mkl_cv",
    "MaxMarginClustering": "kernelfit.papers.mmc",
    "NadarayaWatson": "kernelfit.papers.nadaraya_watson",
    "RIMClustering": "kernelfit.papers.rim",
    "RandomFeatureAlignment": "kernelfit.papers.random_features",
    "TKLClassifier": "kernelfit.estimators.tkl",
    "TKLClassifierCV": "kernelfit.selection.tkl_cv",
    "TKLRegressor": "kernelfit.estimators.tkl",
    "TKLRegressorCV": "kernelfit.selection.tkl_cv",
    "compress": "kernelfit.estimators.compress",
    "labelling_bound": "kernelfit.clustering.labelling_bound",
    "load": "kernelfit.io.files",
    "path": "kernelfit.selection.path",
    "save": "kernelfit.io.files",
    "show_versions": "kernelfit.utils.environment",
    "squared_error_bound": "kernelfit.clustering.labelling_bound",
}

__getattr__, __dir__ = on_first_use(__name__, _HOME)
