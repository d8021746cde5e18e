"""
KNPL, Figure 3: convergence of ADMM and of the alternation
==========================================================

The paper finds the factor G by ADMM (Algorithm 1) and alternates between G and the SVM (Algorithm
2) on the set heart. Here 135 rows of scikit-learn's breast cancer set replace the 135 of heart.

What agrees: the residual of ADMM falls quickly, and with a large eta the alternation ends within
ten iterations, as in print. What does not: with a smaller eta, such as the squared norm of the
coefficients, it does not settle, and its best solution stays short of the optimum. Newton steps
with G in closed form converge with all three values of eta.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale

from kernelfit import KNPLClassifier

X, y = load_breast_cancer(return_X_y=True)
rows = np.random.default_rng(0).permutation(len(y))[:135]
X, y = minmax_scale(X)[rows], y[rows]
settings = {"C": 10.0, "gamma": 0.5, "tol": 1e-10}
# That the alternation does not converge is what this page shows.
warnings.simplefilter("ignore", ConvergenceWarning)
newton = KNPLClassifier(eta="auto", **settings).fit(X, y)

# %%
# ADMM for G at the optimal coefficients, with the projection onto G1 = n1 in place of the printed
# one, which is singular. The closed form is 11' plus Gamma centred on both sides.

n = len(y)
beta = np.zeros(n)
beta[newton.support_] = newton.dual_coef_[0]
Gamma = np.outer(beta, beta) * rbf_kernel(X, gamma=settings["gamma"]) / (4 * newton.eta_)
centring = np.eye(n) - 1.0 / n
closed = 1.0 + centring @ Gamma @ centring
print(f"closed form beside the learned G: {np.abs(closed - newton.adaptive_matrix_).max():.1e}")

Q, Z, rho = np.ones((n, n)), np.ones((n, n)), 1.0
residuals, errors = [], []
for _ in range(30):
    values, vectors = np.linalg.eigh((rho * Q + Z + Gamma) / (1.0 + rho))
    G = (vectors * np.maximum(values, 0.0)) @ vectors.T
    wanted = (rho * G - Z + Gamma) / (1.0 + rho)
    previous, Q = Q, 1.0 + centring @ wanted @ centring
    Z = Z - rho * (G - Q)
    residuals.append(max(np.linalg.norm(Q - previous), rho * np.linalg.norm(G - Q)))
    errors.append(np.linalg.norm(G - closed) / np.linalg.norm(closed - 1.0))
    rho *= 1.1
figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
axes[0].semilogy(np.arange(1, 31), residuals, marker=".", label="residual")
axes[0].semilogy(np.arange(1, 31), errors, marker=".", label="error of G - 11'")
axes[0].set(xlabel="iteration of ADMM")
axes[0].legend()

# %%
# The best objective so far and its relative gap, for three values of eta.

for i, eta in enumerate(("auto", "10*auto", "100*auto")):
    optimum = KNPLClassifier(eta=eta, **settings).fit(X, y).objective_
    for solver, style in (("alternating", "-"), ("newton", ":")):
        model = KNPLClassifier(eta=eta, solver=solver, max_iter=20, **settings).fit(X, y)
        iterations = np.arange(1, len(model.history_) + 1)
        line = f"C{i}{style}"
        axes[1].plot(iterations, model.history_[:, 0] / optimum, line, marker=".")
        label = f"{solver}, eta = {eta}"
        axes[2].semilogy(iterations, model.history_[:, 1] / optimum, line, marker=".", label=label)
axes[1].set(xlabel="iteration", ylabel="objective / optimum")
axes[2].set(xlabel="iteration", ylabel="gap / optimum", ylim=(1e-11, 10.0))
axes[2].legend(fontsize="small")
plt.show()
