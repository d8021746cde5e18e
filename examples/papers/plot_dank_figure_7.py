"""
DANK, Figure 7 of the preprint: rules for new points
====================================================

DANK learns a factor of the kernel matrix on the training rows only. A rule extends it to new rows.
The paper compares rules on 100 to 500 rows of ijcnn1; the journal version left the figure out. Here
the rows are synthetic, with 22 features as in ijcnn1, in three draws. C and gamma are those of the
SVM by cross-validation. "hyper" is non-negative least squares in a hyper-reproducing kernel space,
with a width and ridge of our choice. It uses 200 rows at most, and is drawn up to there.

What agrees: "hyper" costs far more time than the others, and the nearest neighbour varies most on
100 rows. What does not: the reciprocal neighbour is hardly better or steadier than the nearest one,
and all rules are within a point of the SVM.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import minmax_scale

from kernelfit import DANKClassifier, KernelSVC, KernelSVCCV

X, y = make_classification(
    2500, n_features=22, n_informative=8, n_clusters_per_class=4, flip_y=0.05, random_state=0
)
X = minmax_scale(X)
rules = {
    "nearest": {"out_of_sample": "nearest"},
    "5 nearest": {"out_of_sample": "knn", "n_neighbors": 5},
    "reciprocal": {"out_of_sample": "reciprocal"},
    "hyper": {"out_of_sample": "hyper"},
}
sizes, draws = (100, 200, 300, 400, 500), 3
accuracy = {name: np.full((len(sizes), draws), np.nan) for name in ("SVM", *rules)}
seconds = {name: np.full((len(sizes), draws), np.nan) for name in accuracy}
widths, costs = 2.0 ** np.arange(3, -3, -1), 2.0 ** np.arange(-1, 5)
for draw in range(draws):
    order = np.random.default_rng(draw).permutation(len(y))
    test = order[500:]
    for i, n in enumerate(sizes):
        train = order[:n]
        search = KernelSVCCV(0.5 / widths**2, costs, tol=1e-4)
        params = search.fit(X[train], y[train]).best_params_
        machines = {"SVM": KernelSVC(**params)}
        for name, rule in rules.items():
            machines[name] = DANKClassifier(**params, tau=0.01, **rule)
        if n > 200:  # it would use 200 of them
            del machines["hyper"]
        for name, machine in machines.items():
            begin = time.process_time()
            machine.fit(X[train], y[train])
            accuracy[name][i, draw] = 100 * machine.score(X[test], y[test])
            seconds[name][i, draw] = time.process_time() - begin

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for shift, name in enumerate(accuracy):
    places, color = np.array(sizes) + 6 * (shift - 2), f"C{shift}"
    gain = accuracy[name] - accuracy["SVM"]
    axes[0].errorbar(
        places, gain.mean(axis=1), gain.std(axis=1), fmt=".-", color=color, capsize=3, label=name
    )
    axes[1].semilogy(sizes, np.median(seconds[name], axis=1), color=color, marker=".")
    print(f"{name:10}", *(f"{value:6.2f}" for value in accuracy[name].mean(axis=1)))
axes[0].set(xlabel="training rows", ylabel="accuracy beyond that of the SVM, points")
axes[1].set(xlabel="training rows", ylabel="seconds, fit and prediction")
axes[0].legend()
plt.show()
