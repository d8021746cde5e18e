"""
CDS, Figure 1: four labellings and their error bounds
=====================================================

Each labelling of unlabelled points makes a classifier, and the idea of the CDS paper is to look for
the labelling whose classifier has the least error bound. The paper sketches four labellings of the
same points, without data or numbers. Here two blobs have four labellings, and these have their
bounds. The picture agrees with the paper in the idea; the bounds do not bear it out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from kernelfit import labelling_bound

X, blob = make_blobs(400, centers=[(-3, 0), (3, 0)], random_state=0)
K = rbf_kernel(X, gamma=0.1)
labellings = {
    "the blobs": blob,
    "above and below": (X[:, 1] > 0).astype(int),
    "a stripe": (np.abs(X[:, 0]) < 3).astype(int),
    "at random": np.random.default_rng(0).integers(0, 2, len(X)),
}
bounds = {name: labelling_bound(K, labels) for name, labels in labellings.items()}

figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
for ax, (name, labels) in zip(axes, labellings.items(), strict=True):
    ax.scatter(*X.T, c=labels, s=6, cmap="coolwarm")
    found = bounds[name]
    ax.set(
        title=f"{name}: loss {found.empirical_loss:.2f}\nbound {found.bound:.1f}",
        xticks=[],
        yticks=[],
    )

# %%
# The loss on the points tells the blobs from the other labellings. The bound does not: its other
# terms are several times the largest possible error, one, and they are smallest where the labels
# mix, because the classifier is then nearly zero everywhere. A single cluster has the least bound
# of all. So this is no rule for choosing clusters.

bounds["one cluster"] = labelling_bound(K, np.zeros(len(X)))
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
height = np.zeros(len(bounds))
for part in ("empirical_loss", "complexity", "deviation"):
    values = np.array([getattr(found, part) for found in bounds.values()])
    ax.bar(list(bounds), values, bottom=height, label=part.replace("_", " "))
    height += values
ax.axhline(1.0, color="black", linestyle=":", label="an error of one")
ax.legend()
plt.show()
