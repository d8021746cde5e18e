"""
A table in, an ensemble out
===========================

`AutoKernelClassifier` needs no choices. It tries kernel machines of several kinds on views of the
table that are learned inside the folds, and mixes those that help. Here it gets two kinds only, so
that this page builds in seconds.
"""

# %%
# Some of the rows are for training. ``model.cv_score_`` would foretell the accuracy on the others:
# it repeats the fit without each fold.

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from kernelfit import AutoKernelClassifier
from kernelfit.inspection import KernelMatrixDisplay, WeightsDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=120, stratify=y, random_state=0
)
model = AutoKernelClassifier(members=["gaussian", "laplacian"], random_state=0)
model.fit(X_train, y_train)
print(f"accuracy on new rows: {model.score(X_test, y_test):.3f}")

# %%
# The weights of the mixture solve a convex problem. Its duality gap says how well:

WeightsDisplay.from_estimator(model, max_bars=8)
plt.tight_layout()
print(f"at most {model.certificate_['stack']:.1e} above the least loss")

# %%
# The kernel of the mixture is the weighted sum of its members' kernels. Sorted by class it shows
# two blocks: points of one class are more alike than others.

KernelMatrixDisplay.from_estimator(model, X_train, y_train)

# %%
# Probabilities are calibrated on the folds. Of the rows with a probability of 0.8, about 80 %
# should be of the class.

CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=6, strategy="quantile")
plt.show()
