"""
What weights do to a similarity
===============================

CDSK multiplies the affinity of two points by ``b_i + b_j - mu b_i b_j``, where b are the learned
weights. As printed, the algorithm of the paper puts all weight on a handful of points as soon as
the affinity is wide; the balanced objective that is the default here does not.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from kernelfit import CDSKClustering
from kernelfit.inspection import ConvergenceDisplay, KernelMatrixDisplay

X, _ = make_blobs([60, 40, 20], centers=[(0, 0), (3.2, 0.6), (1.4, 3.0)], random_state=0)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, mode in zip(axes, ("literal", "balanced"), strict=False):
    model = CDSKClustering(3, mode=mode, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the literal mode warns of what is shown here
        model.fit(X)
    ax.scatter(*X.T, c=model.labels_, s=6 + 30 * model.weights_ / model.weights_.mean(), alpha=0.6)
    bearing = np.sum(model.weights_ > 0.01 * model.weights_.max())
    ax.set(title=f"{mode}: {bearing} of {len(X)} points have weight", xticks=[], yticks=[])
ConvergenceDisplay.from_estimator(model, ax=axes[2])

# %%
# The affinity before and after, sorted by cluster.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, which in zip(axes, ("initial", "learned"), strict=True):
    KernelMatrixDisplay.from_estimator(model, X, which=which, ax=ax)
    ax.set_title(which)
plt.show()
