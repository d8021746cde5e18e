"""What a similarity chosen or learned without labels gains, on paired subsamples of public sets.

    python -m benchmarks.cluster_study --design           # the sets that decisions were made on
    python -m benchmarks.cluster_study                    # the untouched sets
    python -m benchmarks --page cluster_study             # write the page from what was measured

The 24 sets were split by their names, every other one in alphabetical order, before any of this was
run: `DESIGN` to decide on, `UNTOUCHED` to measure once. A subsample has at most 10 classes and 400
points, drawn at random; tables whose columns are in different units are standardised. The number of
clusters is that of the classes. No label enters a fit.
"""

import numpy as np
from sklearn.datasets import load_digits, load_iris

from benchmarks.data import load, standardise

SETS = (
    "breast_cancer", "breast_cancer_diagnostic", "coil100", "coil20", "covtype", "digits",
    "fourclass", "glass", "heart", "ionosphere", "iris", "mnist", "orl", "pie", "pima",
    "shill_bidding", "sonar", "spambase", "splice", "svmguide1", "umist", "usps", "wine", "yale_b",
)  # fmt: skip
DESIGN, UNTOUCHED = SETS[::2], SETS[1::2]
SUBSAMPLES = 20
MAX_CLASSES, MAX_POINTS = 10, 400
