"""Decision boundaries of an SVM and of DANK at a good and at a far too wide bandwidth.

DANK is shown with the factor F extended by nearest neighbours, so at a useless bandwidth it comes
close to their vote. Beside them the learned F on the support vectors, ordered by class. Needs
matplotlib; writes dank_boundaries.png, or the file that --out names.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from kernelfit import DANKClassifier, KernelSVC


def show_boundary(ax, model, X, y, title):
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    axes = [np.linspace(low[k], high[k], 150) for k in range(2)]
    grid = np.stack(np.meshgrid(*axes), axis=-1)
    values = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.contourf(*axes, values > 0, levels=[-0.5, 0.5, 1.5], colors=["#dbe7f5", "#f9e0cc"])
    ax.contour(*axes, values, levels=[0.0], colors="k", linewidths=1.0)
    ax.scatter(*X.T, c=np.where(y == 1, "#c05000", "#1f5fa8"), s=8)
    ax.set(title=title, xticks=[], yticks=[])


def main(path, size=200):
    X, y = make_moons(size, noise=0.2, random_state=0)
    X_test, y_test = make_moons(2000, noise=0.2, random_state=1)
    figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained")
    for row, (name, gamma) in zip(axes, [("good", 2.0), ("far too wide", 2.0e-3)], strict=True):
        plain = KernelSVC(C=10.0, gamma=gamma).fit(X, y)
        model = DANKClassifier(C=10.0, gamma=gamma, eta="0.1*auto", out_of_sample="knn").fit(X, y)
        for ax, machine, title in zip(row, (plain, model), ("SVM", "DANK"), strict=False):
            accuracy = 100 * machine.score(X_test, y_test)
            show_boundary(ax, machine, X, y, f"{title}, {name} bandwidth: {accuracy:.1f} %")
        order = model.support_[np.argsort(y[model.support_], kind="stable")]
        F = model.adaptive_matrix_[np.ix_(order, order)]
        spread = np.abs(F - 1.0).max()
        image = row[2].imshow(F, cmap="RdBu_r", vmin=1 - spread, vmax=1 + spread)
        row[2].set(
            title=f"F on {len(order)} support vectors, rank {model.rank_}", xticks=[], yticks=[]
        )
        figure.colorbar(image, ax=row[2], shrink=0.8)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"wrote {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="dank_boundaries.png")
    main(parser.parse_args().out)
