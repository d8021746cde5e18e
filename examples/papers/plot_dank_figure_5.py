"""
DANK, Figure 5: what a partition into clusters loses
====================================================

The paper divides 2,000 rows of ijcnn1 and of covtype into clusters. It draws Q, the sum of
:math:`|K_{ij}|` over pairs in different clusters, and a screening rule for support vectors. Here
rows of scikit-learn's digits (even or odd) and breast cancer sets replace these.

What agrees: Q grows with the number of clusters and approaches the sum over all pairs. What does
not: the growth is not linear; the bound of Theorem 6, which rests on Q, is below the true loss once
eta is large; and the screening rule of Theorem 7 finds no point at all.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale

from kernelfit import DANKClassifier
from kernelfit.inspection import diagnose_partition

digits, digit = load_digits(return_X_y=True)
cancer, malignant = load_breast_cancer(return_X_y=True)
sets = {
    "digits": (digits / 16.0, digit % 2, 0.05),
    "breast cancer": (minmax_scale(cancer), malignant, 0.5),
}
# Solutions in blocks are not the optimum of the whole, which is what is measured here.
warnings.simplefilter("ignore", ConvergenceWarning)

# %%
# Q as a fraction of the sum over all pairs, its limit for as many clusters as points.

clusters = [2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 200]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for name, (X, _, gamma) in sets.items():
    K = rbf_kernel(X, gamma=gamma)
    fractions = []
    for v in clusters:
        labels = KMeans(v, n_init=1, random_state=0).fit_predict(X)
        fractions.append(K[labels[:, None] != labels].sum() / K.sum())
    axes[0].plot(clusters[:9], fractions[:9], marker=".", label=name)
    axes[1].semilogx(clusters, fractions, marker=".", label=name)
axes[0].set(xlabel="clusters", ylabel="Q / sum of all", ylim=(0, 1), title="as in the paper")
axes[1].set(xlabel="clusters", ylim=(0, 1), title="more clusters")
axes[1].legend()

# %%
# The loss of the objective by five clusters, the bound of Theorem 6 with the smallest and largest
# entries of F from both solutions, and the bound that `diagnose_partition` computes. As eta grows,
# F goes to one and the printed bound to zero; the loss does not. The corrected bound always holds,
# and is far too large to be of use.

X, y, gamma = sets["breast cancer"]
C, K = 1.0, rbf_kernel(X, gamma=gamma)
blocks = KMeans(5, n_init=1, random_state=0).fit_predict(X)
settings = {"C": C, "gamma": gamma, "fit_intercept": False, "tol": 1e-9}
etas = np.geomspace(1.0, 1e5, 11)
curves = {"true loss": [], "Theorem 6 as printed": [], "corrected bound": []}
for eta in etas:
    whole = DANKClassifier(eta=eta, **settings).fit(X, y)
    split = DANKClassifier(eta=eta, partition=blocks, combine="concatenate", **settings).fit(X, y)
    # Theorem 6 takes the largest of the two factors at every entry.
    F = np.maximum(whole.adaptive_matrix_, split.adaptive_matrix_)
    bound, between = diagnose_partition(split, X)
    curves["true loss"].append(whole.objective_ - split.objective_)
    curves["Theorem 6 as printed"].append(0.5 * (F.max() - F.min()) * C**2 * between)
    curves["corrected bound"].append(bound)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for (name, values), style in zip(curves.items(), ("k-", "C3--", "C0--"), strict=True):
    axes[0].loglog(etas, values, style, label=name)
axes[0].set(xlabel="eta", ylabel="objective")
axes[0].legend()

# %%
# Screening: points whose gradient is below the threshold of (21) could be dropped. The gradient of
# a point is :math:`1 - y_i \\sum_j F_{ij} K_{ij} \\beta_j` within its cluster. The threshold is far
# below all gradients. The paper reports 723 of 1,786 points on ijcnn1 with a threshold of +442,
# where (21) has a minus.

split = DANKClassifier(partition=blocks, combine="concatenate", **settings).fit(X, y)
beta = np.zeros(len(y))
beta[split.support_] = split.dual_coef_[0]
F = split.adaptive_matrix_
K_blocks = np.where(blocks[:, None] == blocks, K, 0.0)
gradient = 1.0 - np.where(y == 1, 1.0, -1.0) * ((F * K_blocks) @ beta)
threshold = -(F.max() - F.min() + F.max()) * C * (K_blocks.sum(axis=1) + 1.0)
for name, chosen, color in (("support vectors", beta != 0, "C2"), ("others", beta == 0, "C0")):
    points = np.flatnonzero(chosen)
    axes[1].plot(points, gradient[points], ".", color=color, markersize=4, label=name)
axes[1].plot(threshold, ".", color="C3", markersize=4, label="threshold of (21)")
screened = np.sum((beta == 0) & (gradient <= threshold))
axes[1].set(
    xlabel="point",
    ylabel="gradient",
    yscale="symlog",
    title=f"{screened} of {sum(beta == 0)} screened",
)
axes[1].legend()
plt.show()
