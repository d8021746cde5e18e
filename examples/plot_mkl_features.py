"""
Which features count? Ask a bank of kernels
===========================================

`MKLClassifier` learns the weights of many kernels. With Gaussians on single features most weights
are exactly zero, and those that are left name the features.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelfit import KernelSVC, MKLClassifier
from kernelfit.inspection import WeightsDisplay

# %%
# Twelve features, of which three decide, each in its own way.

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 12))
y = np.sin(2 * X[:, 1]) + X[:, 4] ** 2 - np.abs(X[:, 7]) > 0.3
train, test = np.arange(150), np.arange(150, 300)

bank = [
    {"kernel": "rbf", "gamma": ("scale", "0.25*scale", "4*scale"), "features": "each"},
    {"kernel": "rbf", "gamma": "scale"},
]
model = MKLClassifier(C=10.0, kernels=bank).fit(X[train], y[train])
plain = KernelSVC(C=10.0).fit(X[train], y[train])
print(f"MKL {model.score(X[test], y[test]):.3f}, one Gaussian {plain.score(X[test], y[test]):.3f}")
print(f"within {100 * model.dual_gap_ / model.objective_:.3f} % of the best weights")

# %%
# The weights of the kernels that are in use.

WeightsDisplay.from_estimator(model)
plt.tight_layout()

# %%
# Their sums over the kernels of a feature.

share = np.zeros(12)
for weight, kernel in zip(model.weights_, model.bank_, strict=True):
    if kernel.features is not None:
        share[kernel.features[0]] += weight
plt.figure(figsize=(7, 3))
plt.bar(np.arange(12), share, color=np.where(np.isin(np.arange(12), [1, 4, 7]), "C1", "C0"))
plt.xlabel("feature; orange: those that decide")
plt.ylabel("sum of weights")
plt.tight_layout()
plt.show()
