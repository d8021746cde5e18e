"""
A factor of the kernel: DANK on two moons
=========================================

DANK learns a factor F of the kernel matrix together with the machine. At a good bandwidth F stays
near one and the boundary is that of the plain machine. At a far too wide bandwidth the plain kernel
hardly tells points apart; the factor then carries most of the shape, and with the rule "knn" it is
handed on to new points. What is saved there is close to a vote of the neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from kernelfit import DANKClassifier, KernelSVC

X, y = make_moons(120, noise=0.2, random_state=0)
X_test, y_test = make_moons(1000, noise=0.2, random_state=1)

figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained")
for row, (name, gamma) in zip(axes, [("good", 2.0), ("far too wide", 2e-3)], strict=True):
    plain = KernelSVC(C=10.0, gamma=gamma).fit(X, y)
    dank = DANKClassifier(C=10.0, gamma=gamma, eta="0.1*auto", out_of_sample="knn").fit(X, y)
    for ax, machine, title in zip(row, (plain, dank), ("SVM", "DANK"), strict=False):
        DecisionBoundaryDisplay.from_estimator(
            machine,
            X,
            ax=ax,
            response_method="predict",
            alpha=0.25,
            grid_resolution=60,
            cmap="RdBu",
        )
        ax.scatter(*X.T, c=y, s=10, cmap="RdBu")
        accuracy = 100 * machine.score(X_test, y_test)
        ax.set(title=f"{title}, {name} bandwidth: {accuracy:.1f} %", xticks=[], yticks=[])
    order = dank.support_[np.argsort(y[dank.support_], kind="stable")]
    F = dank.adaptive_matrix_[np.ix_(order, order)]
    spread = np.abs(F - 1.0).max()
    image = row[2].imshow(F, cmap="RdBu_r", vmin=1 - spread, vmax=1 + spread)
    row[2].set(title=f"F on {len(order)} support vectors", xticks=[], yticks=[])
    figure.colorbar(image, ax=row[2], shrink=0.8)
plt.show()
