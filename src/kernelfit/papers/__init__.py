"""Comparators of the papers, their printed figures and their protocols.

The public names are imported on first use, as those of `kernelfit`.
"""

from typing import TYPE_CHECKING

from kernelfit.utils.on_first_use import on_first_use

if TYPE_CHECKING:
    from kernelfit.papers.block_classifier import BlockClassifier
    from kernelfit.papers.bmmc import BayesianMaxMarginClustering
    from kernelfit.papers.knpl_search import knpl_protocol
    from kernelfit.papers.mmc import MaxMarginClustering
    from kernelfit.papers.nadaraya_watson import NadarayaWatson
    from kernelfit.papers.printed import published
    from kernelfit.papers.random_features import RandomFeatureAlignment
    from kernelfit.papers.reproduction import reproduce
    from kernelfit.papers.rim import RIMClustering

__all__ = [
    "BayesianMaxMarginClustering",
    "BlockClassifier",
    "MaxMarginClustering",
    "NadarayaWatson",
    "RIMClustering",
    "RandomFeatureAlignment",
    "knpl_protocol",
    "published",
    "reproduce",
]

_HOME = {
    "BayesianMaxMarginClustering": "kernelfit.papers.bmmc",
    "BlockClassifier": "kernelfit.papers.block_classifier",
    "MaxMarginClustering": "kernelfit.papers.mmc",
    "NadarayaWatson": "kernelfit.papers.nadaraya_watson",
    "RIMClustering": "kernelfit.papers.rim",
    "RandomFeatureAlignment": "kernelfit.papers.random_features",
    "knpl_protocol": "kernelfit.papers.knpl_search",
    "published": "kernelfit.papers.printed",
    "reproduce": "kernelfit.papers.reproduction",
}

__getattr__, __dir__ = on_first_use(__name__, _HOME)
