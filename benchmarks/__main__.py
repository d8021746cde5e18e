"""Run all benchmarks, or those named on the command line."""

import sys
from importlib import import_module

from benchmarks.data import data_folder

NAMES = ("imports", "svm_grid", "svm_core", "svm_large", "dank", "tkl", "tkl_large", "cds")

if __name__ == "__main__":
    if data_folder() is None:
        sys.exit("The benchmarks need the data folder that KERNELFIT_DATA names.")
    for name in sys.argv[1:] or NAMES:
        import_module(f"benchmarks.{name}").main()
