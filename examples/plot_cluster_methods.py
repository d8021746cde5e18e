"""
Five ways to cluster with a kernel
==================================

What is a good cluster? Points near their mean in the feature space of the kernel (kernel k-means),
apart from others by a wide margin (maximum margin), told with confidence by a classifier (RIM), or
joined by a graph that few edges leave (spectral clustering, and CDSK, which learns a weight for
every point as well). Round clusters suit all of them; for long ones the graph decides.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from kernelfit import CDSKClustering, KernelKMeans, MaxMarginClustering, RIMClustering

shear = np.array([[0.6, -0.6], [-0.4, 0.8]])
blobs, of_blob = make_blobs(200, random_state=8)
sheared, of_sheared = make_blobs(200, random_state=170)
DATA = [
    (blobs, of_blob),
    (sheared @ shear, of_sheared),
    make_moons(200, noise=0.07, random_state=0),
    make_circles(200, factor=0.5, noise=0.04, random_state=0),
]
GRAPH = {"affinity": "nearest_neighbors", "n_neighbors": 8, "random_state": 0}
METHODS = {
    "kernel k-means": lambda k: KernelKMeans(k, random_state=0),
    "maximum margin": lambda k: MaxMarginClustering(k, n_relaxed=0, random_state=0),
    "RIM": lambda k: RIMClustering(k, random_state=0),
    "spectral": lambda k: CDSKClustering(k, max_iter=0, **GRAPH),
    "CDSK": lambda k: CDSKClustering(k, **GRAPH),
}

# %%
# Below every picture is the adjusted Rand index with the classes that were drawn, 1 for the same.

figure, axes = plt.subplots(len(DATA), len(METHODS), figsize=(11, 9), layout="constrained")
for row, (X, y) in zip(axes, DATA, strict=True):
    X = scale(X)
    for ax, make in zip(row, METHODS.values(), strict=True):
        labels = make(len(np.unique(y))).fit_predict(X)
        ax.scatter(*X.T, c=labels, s=8, cmap="tab10", vmax=9)
        ax.set(xticks=[], yticks=[], xlabel=f"{adjusted_rand_score(y, labels):.2f}")
for ax, name in zip(axes[0], METHODS, strict=True):
    ax.set_title(name)
plt.show()
