"""
Bounds that close: the certificate
==================================

Every fit stores a lower and an upper bound on its optimum after every iteration. Solvers differ in
how fast the two meet; what they prove is the same. Frank-Wolfe takes one step a round towards the
best answer of the family; the fully corrective method finds the best mixture of all answers so far.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelfit import TKLClassifier
from kernelfit.inspection import ConvergenceDisplay, audit

rng = np.random.default_rng(0)
X = rng.uniform(size=(200, 2))
y = np.floor(3 * X).sum(axis=1) % 2 == 0

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for solver in ("frank_wolfe", "fully_corrective"):
    model = TKLClassifier(C=10.0, solver=solver, tol=1e-5).fit(X, y)
    ConvergenceDisplay.from_estimator(model, ax=axes[1], kind="gap", label=solver)
    gap = model.dual_gap_ / model.objective_
    print(f"{solver}: {model.n_iter_} iterations, within {100 * gap:.1g} % of the optimum")
axes[1].legend()
ConvergenceDisplay.from_estimator(model, ax=axes[0])
axes[0].set_title("fully corrective: the bounds meet")
axes[1].set_title("relative gap")

# %%
# Anyone can check the claim. An audit recomputes both bounds from the coefficients alone, with the
# losses written out and nothing of what the solver computed on the way.

found = audit(model, X, y)
print(f"claimed gap {found.claimed_gap:.3g}, recomputed {found.gap:.3g}: {found.confirmed}")
plt.show()
