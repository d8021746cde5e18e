"""
The pairwise layer in closed form: KNPL
=======================================

KNPL, the predecessor of DANK, learns a positive semidefinite factor G whose rows have mean one. The
paper alternates between the machine and a semidefinite programme. That programme has a closed form,
and solved jointly the two converge with a proof.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from kernelfit import KNPLClassifier
from kernelfit.inspection import ConvergenceDisplay, KernelMatrixDisplay, diagnose_factor

X, y = make_circles(100, noise=0.12, factor=0.5, random_state=0)
model = KNPLClassifier(C=10.0, gamma=1.0, eta="0.1*auto").fit(X, y)
G = model.adaptive_matrix_
print(f"means of the rows of G: {G.mean(axis=1).min():.6f} to {G.mean(axis=1).max():.6f}")
print(f"within {100 * model.dual_gap_ / model.objective_:.4f} % of the optimum")

# %%
# The initial kernel, and the kernel times G. Learning strengthens pairs of support vectors of one
# class and weakens mixed pairs.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ax, which in zip(axes, ("initial", "learned"), strict=False):
    KernelMatrixDisplay.from_estimator(model, X, y, which=which, ax=ax)
    ax.set_title(which)
order = np.argsort(y, kind="stable")
spread = np.abs(G - 1.0).max()
image = axes[2].imshow(G[np.ix_(order, order)], cmap="RdBu_r", vmin=1.0 - spread, vmax=1.0 + spread)
axes[2].set(title="the factor G", xticks=[], yticks=[])
figure.colorbar(image, ax=axes[2], shrink=0.8)

# %%
# On its training points the machine is one with the initial kernel and a ridge of its own at every
# support vector. That is why training accuracy rises and test accuracy need not.

found = diagnose_factor(model, X)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
axes[0].bar(np.arange(len(model.support_)), np.sort(found.ridge[model.support_])[::-1], width=1.0)
axes[0].set(xlabel="support vectors", ylabel="ridge")
ConvergenceDisplay.from_estimator(model, ax=axes[1])
plt.show()
