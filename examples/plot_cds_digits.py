"""
Digits without labels: CDSK
===========================

Clustering by discriminative similarity learns a weight for every point together with the clusters.
Heavy points are typical of their cluster, light ones lie between clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits
from sklearn.metrics.cluster import contingency_matrix

from kernelfit import CDSKClustering
from kernelfit.inspection import EmbeddingDisplay

X, y = load_digits(n_class=5, return_X_y=True)
X, y = X[:400], y[:400]
model = CDSKClustering(5, affinity="nearest_neighbors", random_state=0).fit(X)
table = contingency_matrix(y, model.labels_)
share = table[linear_sum_assignment(-table)].sum() / len(y)
print(f"clusters and digits agree on {100 * share:.1f} % of the points")

# %%
# The embedding, coloured by the true digit, which clustering did not see.

EmbeddingDisplay.from_estimator(model, X, y)

# %%
# In every cluster, the five digits of greatest and of least weight.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, name, sign in zip(axes, ("heavy", "light"), (-1.0, 1.0), strict=True):
    members = [np.flatnonzero(model.labels_ == k) for k in range(5)]
    chosen = [m[np.argsort(sign * model.weights_[m], kind="stable")[:5]] for m in members]
    images = np.pad(X[np.array(chosen)].reshape(5, 5, 8, 8), [(0, 0), (0, 0), (1, 1), (1, 1)])
    ax.imshow(images.transpose(0, 2, 1, 3).reshape(50, 50), cmap="gray_r")
    mean = model.weights_[np.concatenate(chosen)].mean()
    ax.set(
        title=f"{name}: mean weight {mean:.2f}", xticks=[], yticks=[], ylabel="one row a cluster"
    )
plt.show()
