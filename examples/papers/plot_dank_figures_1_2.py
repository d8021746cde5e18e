"""
DANK, Figures 1 and 2: boundaries and the factor on clowns
==========================================================

The paper has 2-D points "clowns" and does not print their numbers. Here they are a parabola and a
cloud of our making. One width is 1, as in the paper; the other one and C come from
cross-validation, which finds 0.25 here and 0.07 there. As in the paper, eta is the squared norm of
the coefficients, tau = 0.01, and new points take the factor of the reciprocal nearest neighbour.

What agrees: the boundary of DANK is more flexible than that of the SVM, F has low rank, and its
entries stay near one. What does not: the entries stay nearer to one than in print, and the boundary
goes around single training points. On new points, for which the paper has no figures, DANK is less
accurate than the SVM.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelfit import DANKClassifier, KernelSVC, KernelSVCCV


def clowns(n, rng):
    """Return n points in the unit square, half of them on a parabola, and their classes."""
    x = rng.uniform(-3.0, 3.0, n // 2)
    parabola = np.column_stack([x, 0.7 * x**2 - 3.0 + rng.normal(0.0, 1.0, n // 2)])
    cloud = rng.normal((0.0, 1.0), (1.1, 1.1), (n - n // 2, 2))
    points = np.vstack([parabola, cloud])
    points = (points + np.array([4.0, 6.0])) / np.array([8.0, 13.0])
    return points, np.repeat([0, 1], [n // 2, n - n // 2])


rng = np.random.default_rng(0)
X, y = clowns(300, rng)
X_test, y_test = clowns(4000, rng)

widths = 2.0 ** np.arange(-5, 1)
search = KernelSVCCV(0.5 / widths**2, 2.0 ** np.arange(-2, 6)).fit(X, y)
tuned = search.best_params_
cases = {1.0: {"C": tuned["C"], "gamma": 0.5}, np.sqrt(0.5 / tuned["gamma"]): tuned}

# %%
# Figure 1: the boundaries of the SVM (dashed) and of DANK (solid).

ticks = np.linspace(-0.05, 1.05, 150)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
models = []
for ax, (width, params) in zip(axes, cases.items(), strict=True):
    plain = KernelSVC(**params).fit(X, y)
    dank = DANKClassifier(**params, tau=0.01, out_of_sample="reciprocal").fit(X, y)
    models.append(dank)
    ax.scatter(*X.T, c=y, s=12, cmap="coolwarm", alpha=0.6)
    for name, model, color, style in (("SVM", plain, "C0", "--"), ("DANK", dank, "C3", "-")):
        values = model.decision_function(grid).reshape(150, 150)
        ax.contour(ticks, ticks, values, [0.0], colors=color, linestyles=style)
        train, test = 100 * model.score(X, y), 100 * model.score(X_test, y_test)
        ax.plot([], [], color=color, linestyle=style, label=f"{name}: {train:.1f}, {test:.1f} %")
    ax.legend(title="training rows, new rows", loc="lower right")
    ax.set(title=f"width {width:.2f}", xticks=[], yticks=[])

# %%
# Figure 2: the entries of F, rows ordered by class. The paper has entries from 0.9 to 1.1 and ranks
# of 7 and 9.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, width, model in zip(axes, cases, models, strict=True):
    F = model.adaptive_matrix_
    spread = np.abs(F - 1.0).max()
    image = ax.imshow(F, cmap="RdBu_r", vmin=1.0 - spread, vmax=1.0 + spread)
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"width {width:.2f}: F from {F.min():.3f} to {F.max():.3f}, rank {model.rank_}")
    figure.colorbar(image, ax=ax, shrink=0.8)
plt.show()
