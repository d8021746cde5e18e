"""
DANK, Figure 4: convergence of the gradient methods
===================================================

The paper runs projected gradient steps and Nesterov's acceleration of them on the set heart: the
objective, and the step of the coefficients, after every iteration. Here 135 rows of scikit-learn's
breast cancer set replace the 135 of heart, and the Lipschitz constant is that of the journal.

What agrees: acceleration comes close to the optimum several times sooner, within 500 iterations.
What the paper does not show: both methods slow down near the optimum, as the gap proves. Newton's
method, the default here, needs five iterations.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import minmax_scale

from kernelfit import DANKClassifier

X, y = load_breast_cancer(return_X_y=True)
rows = np.random.default_rng(0).permutation(len(y))[:135]
X, y = minmax_scale(X)[rows], y[rows]
settings = {"C": 1.0, "gamma": 0.5, "tau": 0.01, "tol": 1e-9}
solvers = {
    "projected gradient": "projected_gradient",
    "Nesterov's acceleration": "nesterov",
    "Newton (default)": "newton",
}
# The gradient methods do not reach the tolerance, which is shown rather than warned of.
warnings.simplefilter("ignore", ConvergenceWarning)

# %%
# The objective, which is to be maximised, and the relative gap between it and an upper bound.

figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
for name, solver in solvers.items():
    history = DANKClassifier(solver=solver, max_iter=1000, **settings).fit(X, y).history_
    iterations, marker = np.arange(1, len(history) + 1), "." if solver == "newton" else None
    axes[0].plot(iterations, history[:, 0], marker=marker, label=name)
    axes[1].loglog(iterations, history[:, 1] / history[-1, 0], marker=marker, label=name)
axes[0].set(xlabel="iteration", ylabel="objective", xlim=(-10, 600))
axes[1].set(xlabel="iteration", ylabel="gap / objective", ylim=(1e-10, 1e2))
axes[0].legend()

# %%
# In place of the step, the distance of the best coefficients so far from the optimal ones, from
# fits that end early: a short step does not prove that the optimum is near.


def coefficients(solver, max_iter):
    """Return the best alpha of the first iterations."""
    model = DANKClassifier(solver=solver, max_iter=max_iter, **settings).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    return beta


optimum = coefficients("newton", 1000)
iterations = np.unique(np.geomspace(1, 1000, 16).astype(int))
for name, solver in list(solvers.items())[:2]:
    distances = [np.linalg.norm(coefficients(solver, t) - optimum) for t in iterations]
    axes[2].loglog(iterations, distances, marker=".", label=name)
axes[2].set(xlabel="iteration t", ylabel="distance of alpha from the optimum")
plt.show()
