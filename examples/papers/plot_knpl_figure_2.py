"""
KNPL, Figure 2: boundary and pairwise factor
============================================

The paper has a mixture of Gaussians, one class of which is sandwiched by the other, and prints
neither their parameters nor the number of points. Here they are three overlapping bands of our
making. C and the width come from 5-fold cross-validation of the SVM, eta is a tenth of the
squared norm of the coefficients, and new points take the factor of their nearest neighbour, as in
the paper.

What agrees: accuracy on the training points rises (in the paper from 86.9 to 94.9 %), the boundary
isolates outliers, and G stays near one (in the paper from 0.95 to 1.05). What the paper leaves out
is the accuracy on new points, which falls.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelfit import KernelSVCCV, KNPLClassifier
from kernelfit.inspection import diagnose_factor


def bands(n, rng):
    """Return points of three Gaussians above each other, the middle one of class 1."""
    centre = rng.integers(-1, 2, n)
    points = rng.normal(0.0, 1.0, (n, 2)) * [2.0, 0.55]
    points[:, 1] += 1.5 * centre
    return points, (centre == 0).astype(int)


rng = np.random.default_rng(0)
X, y = bands(200, rng)
X_test, y_test = bands(4000, rng)
plain = KernelSVCCV(2.0 ** np.arange(-5, 4), 2.0 ** np.arange(-3, 8)).fit(X, y)
knpl = KNPLClassifier(**plain.best_params_, eta="0.1*auto", out_of_sample="nearest").fit(X, y)
G = knpl.adaptive_matrix_
print(f"means of the rows of G: {G.mean(axis=1).min():.6f} to {G.mean(axis=1).max():.6f}")
print(f"within {100 * knpl.dual_gap_ / knpl.objective_:.4f} % of the optimum")

ticks = np.linspace(-7.0, 6.0, 200), np.linspace(-4.0, 4.0, 200)
grid = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
for label, marker, color in ((1, "*", "C2"), (0, "x", "C3")):
    axes[0].scatter(*X[y == label].T, s=25, marker=marker, color=color, linewidth=1)
for name, model, style in (("SVM", plain, "--"), ("KNPL", knpl, "-")):
    values = model.decision_function(grid).reshape(200, 200)
    axes[0].contour(*ticks, values, [0.0], colors="k", linestyles=style)
    train, test = 100 * model.score(X, y), 100 * model.score(X_test, y_test)
    label = f"{name}: {train:.1f} %, new points {test:.1f} %"
    axes[0].plot([], [], "k", linestyle=style, label=label)
axes[0].legend(loc="lower left")
axes[0].set(xticks=[], yticks=[])
order = np.argsort(y, kind="stable")
spread = np.abs(G - 1.0).max()
image = axes[1].imshow(G[np.ix_(order, order)], cmap="RdBu_r", vmin=1.0 - spread, vmax=1.0 + spread)
axes[1].set(title=f"G from {G.min():.3f} to {G.max():.3f}", xticks=[], yticks=[])
figure.colorbar(image, ax=axes[1], shrink=0.8)

# %%
# On its training points KNPL is an SVM with the initial kernel and a ridge of its own at every
# support vector. That is why training accuracy rises and test accuracy need not.

ridge = diagnose_factor(knpl, X).ridge[knpl.support_]
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.bar(np.arange(len(ridge)), np.sort(ridge)[::-1], width=1.0)
ax.set(xlabel="support vectors", ylabel="ridge")
plt.show()
