"""Handwritten digits clustered by discriminative similarity: spectral embedding and weights.

The embedding has ten dimensions; t-SNE lays it out in the plane. Below, the digits of greatest and
of least weight in every cluster. Needs matplotlib; writes cds_digits.png, or the file that --out
names.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.metrics.cluster import contingency_matrix
from sklearn.preprocessing import normalize

from kernelfit import CDSKClustering

SHOWN = 4  # digits a cluster


def tile(images):
    """Return 8 x 8 digits, given as (rows, columns, 64), as one picture."""
    framed = np.pad(images.reshape(*images.shape[:2], 8, 8), [(0, 0), (0, 0), (1, 1), (1, 1)])
    return framed.transpose(0, 2, 1, 3).reshape(10 * images.shape[0], 10 * images.shape[1])


def main(path, size=2000):
    X, y = load_digits(return_X_y=True)
    X, y = X[:size], y[:size]
    model = CDSKClustering(10, affinity="nearest_neighbors", random_state=0).fit(X)
    weights, clusters = model.weights_, np.arange(10)
    plane = TSNE(random_state=0).fit_transform(normalize(model.embedding_))
    table = contingency_matrix(y, model.labels_)
    accuracy = table[linear_sum_assignment(-table)].sum() / len(y)

    figure = plt.figure(figsize=(11, 8.5), layout="constrained")
    axes = figure.subplot_mosaic([["class", "weight"], ["heavy", "light"]], height_ratios=[3, 2])
    points = axes["class"].scatter(*plane.T, c=y, cmap="tab10", s=5)
    handles = points.legend_elements(num=None)[0]
    axes["class"].legend(handles, range(10), title="class", fontsize=7, title_fontsize=8)
    axes["class"].set_title(f"embedding; clusters and classes agree on {100 * accuracy:.1f} %")
    points = axes["weight"].scatter(*plane.T, c=weights, cmap="viridis", s=5)
    axes["weight"].set_title("the same points by learned weight")
    figure.colorbar(points, ax=axes["weight"])
    for name, sign in (("heavy", -1.0), ("light", 1.0)):
        members = [np.flatnonzero(model.labels_ == k) for k in clusters]
        chosen = [m[np.argsort(sign * weights[m], kind="stable")[:SHOWN]] for m in members]
        axes[name].imshow(tile(X[np.transpose(chosen)]), cmap="gray_r")
        mean = weights[np.concatenate(chosen)].mean()
        axes[name].set_title(f"{name}, by cluster: mean weight {mean:.2f}")
    for ax in axes.values():
        ax.set(xticks=[], yticks=[])
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"wrote {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="cds_digits.png")
    main(parser.parse_args().out)
