"""
Bounds that close: the certificate
==================================

Every fit stores a lower and an upper bound on its optimum after every iteration. How fast the two
meet depends on the model and its solver; what they prove is the same. For the solvers of the TKL
paper see :ref:`sphx_glr_gallery_papers_plot_tkl_figures_1_2.py`.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelfit import DANKClassifier, MKLClassifier, TKLClassifier
from kernelfit.inspection import ConvergenceDisplay, audit

rng = np.random.default_rng(0)
X = rng.uniform(size=(200, 2))
y = np.floor(3 * X).sum(axis=1) % 2 == 0

models = {
    "DANK": DANKClassifier(C=10.0, gamma=10.0, tau=0.01, tol=1e-6),
    "MKL": MKLClassifier(C=10.0, tol=1e-6),
    "TKL": TKLClassifier(C=10.0, tol=1e-6),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for name, model in models.items():
    model.fit(X, y)
    ConvergenceDisplay.from_estimator(model, ax=axes[1], kind="gap", label=name)
    gap = model.dual_gap_ / model.objective_
    print(f"{name}: {model.n_iter_} iterations, within {100 * gap:.1g} % of the optimum")
axes[1].legend()
ConvergenceDisplay.from_estimator(model, ax=axes[0])
axes[0].set_title("TKL: the bounds meet")
axes[1].set_title("relative gap")

# %%
# Anyone can check the claim. An audit recomputes both bounds from the coefficients alone, with the
# losses written out and nothing of what the solver computed on the way.

for name, model in models.items():
    found = audit(model, X, y)
    print(f"{name}: gap {found.claimed_gap:.3g}, recomputed {found.gap:.3g}: {found.confirmed}")
plt.show()
