"""
A metric for many features of which few count
=============================================

`KernelMetric` learns the widths of the features by the exact gradient of the leave-one-out error of
a kernel regression. Put in front of any machine of the distance, it takes noise out of it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelfit import KernelMetric, KernelRidgeRegressorCV
from kernelfit.inspection import EmbeddingDisplay, MetricDisplay

# %%
# Ten features, of which two count.

rng = np.random.default_rng(0)
X = rng.uniform(-2.0, 2.0, (300, 10))
y = np.sin(1.5 * X[:, 3]) + 0.5 * X[:, 8] ** 2
train, test = np.arange(150), np.arange(150, 300)

plain = make_pipeline(StandardScaler(), KernelRidgeRegressorCV()).fit(X[train], y[train])
learned = make_pipeline(KernelMetric(), KernelRidgeRegressorCV()).fit(X[train], y[train])
print(f"R^2 on new rows: {plain.score(X[test], y[test]):.3f} with all features alike,")
print(f"                 {learned.score(X[test], y[test]):.3f} with a learned metric")

# %%
# What it found, and the points as the kernel sees them before and after, coloured by the target.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
MetricDisplay.from_estimator(learned, ax=axes[0], max_features=8)
for ax, model, name in ((axes[1], plain, "without"), (axes[2], learned, "with")):
    EmbeddingDisplay.from_estimator(model, X[train], y[train], ax=ax)
    ax.set_title(f"{name} the metric")
plt.show()
