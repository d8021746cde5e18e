"""Run all benchmarks or those named: ``python -m benchmarks [--list] [--page] [NAME ...]``."""

import argparse
import sys
from importlib import import_module

# What each measures, and about how long it takes on two cores. The tables keep the parts that were
# measured with the same code and settings; each of their modules can measure single sets.
BENCHMARKS = {
    "imports": ("time of importing, beside sklearn.svm", "20 s"),
    "svm_grid": ("KernelSVCCV beside GridSearchCV(SVC())", "1 min"),
    "jobs": ("searches on one core and on two", "2 min"),
    "metric": (
        "one fit of each metric: its time, and the error of ridge regression after it",
        "3 min",
    ),
    "mkl": ("one fit over 20 Gaussians, and over the bank of the TKL paper", "1 min"),
    "svm_core": ("the SVM dual, cold and warm, beside SVC and SVR at the same gap", "10 min"),
    "gpu": ("KernelSVC, KernelSVR and ridge on a GPU, which it needs", "3 min"),
    "svm_rivals": ("KernelSVC beside scikit-learn-intelex and SVC, two and many classes", "30 min"),
    "svm_large": ("KernelSVC on up to 464,810 rows, time and memory", "1 h"),
    "dank": ("DANK's solvers beside the paper's algorithm and the plain machine", "1 min"),
    "svm_precision": ("large costs: the bounds of SVC's solutions and of ours", "10 s"),
    "tkl": ("one fit of TKL beside one of SVC or SVR, growth with the rows", "2 min"),
    "tkl_rates": ("gap after so many iterations of TKL's methods, its paper's Figure 1", "2 min"),
    "tkl_large": ("TKL on 16,512 and 30,000 rows, time and memory", "3 min"),
    "cds": ("CDSK beside SpectralClustering, and 70,000 points", "8 min"),
    "auto_tables": ("AutoKernel beside other learners on 44 public tables", "3 h"),
    "raw_tables": ("AutoKernel beside other learners on 18 tables with dates, text, ids", "2 h"),
    "auto_clock": ("AutoKernel under limits of time, beside busy processes", "25 min"),
    "auto_large": ("other learners beside AutoKernel on up to 10,000 rows", "10 min"),
    "which_method": ("who wins where: generated problems of known rule", "10 min"),
    "dank_rules": ("rules for new points on few rows, as in a figure of DANK", "1 min"),
    "papers": ("what is missing of the papers' printed figures", "10 h"),
    "cluster_study": ("a consensus of graphs beside single graphs, paired", "10 min"),
    "cluster_tables": ("KernelClustering beside scikit-learn's clusterings", "10 min"),
}


def listing():
    """Return one line a benchmark."""
    wide = max(map(len, BENCHMARKS))
    return "\n".join(f"{n:<{wide}}  {t:>6}  {what}" for n, (what, t) in BENCHMARKS.items())


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="as --list says; all by default")
    parser.add_argument("--list", action="store_true", help="what there is and how long it takes")
    parser.add_argument("--page", action="store_true", help="write the pages from what is recorded")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"expected names among {', '.join(BENCHMARKS)}, got {', '.join(unknown)}")
    if options.list:
        print(listing())
        return
    if not options.page and import_module("benchmarks.data").data_folder() is None:
        sys.exit("The benchmarks need the data folder that KERNELFIT_DATA names.")
    for name in options.names or BENCHMARKS:
        module = import_module(f"benchmarks.{name}")
        if options.page:
            module.page()
        else:
            module.main()


if __name__ == "__main__":
    main()
