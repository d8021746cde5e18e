"""
How many clusters, and on which graph?
======================================

`KernelClustering` needs no choices: it clusters subsamples on several graphs, and takes the number
of clusters and the graph whose clusters are found again best. No label enters. That is a guess and
no proof: of the three kinds of iris, two lie so close that it takes them for one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelfit import KernelClustering
from kernelfit.inspection import SilhouetteDisplay, StabilityDisplay

# %%
# Five oblique clusters, and three arms of a spiral.

blobs, of_blob = make_blobs(200, centers=5, cluster_std=0.7, random_state=3)
oblique = blobs @ np.array([[0.6, -0.6], [-0.4, 0.8]])

rng = np.random.default_rng(0)
along = np.linspace(0.0, 1.0, 60)
radius, angle = 0.3 + 1.5 * along, 3.5 * along + np.array([[0.0], [2.1], [4.2]])
arms = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(-1, 2)
arms += 0.04 * rng.standard_normal(arms.shape)
of_arm = np.repeat(np.arange(3), 60)

# %%
# Beside k-means, which is told the number of clusters, but knows round ones only.

figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
models = []
for row, X, y in zip(axes, (oblique, arms), (of_blob, of_arm), strict=True):
    means = KMeans(y.max() + 1, random_state=0).fit(X)
    models.append(KernelClustering(max_clusters=8, random_state=0).fit(X))
    found = f"KernelClustering, found {models[-1].n_clusters_}"
    told = f"KMeans, told that there are {means.n_clusters}"
    for ax, name, labels in zip(
        row, (told, found), (means.labels_, models[-1].labels_), strict=True
    ):
        ax.scatter(*X.T, c=labels, s=12, cmap="tab10", vmax=9)
        rand = adjusted_rand_score(y, labels)
        ax.set(title=f"{name}\nadjusted Rand index {rand:.2f}", xticks=[], yticks=[])

# %%
# Why five: its own words, how well every graph finds its clusters again, and how well the points
# fit their clusters.

print(models[0].explanation_)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
StabilityDisplay.from_estimator(models[0], ax=axes[0])
SilhouetteDisplay.from_estimator(models[0], oblique, ax=axes[1])
plt.show()
