"""
All costs at once: the path
===========================

`path` trains a machine for many costs C, each started from the one before. The whole curve costs
little more than its last point.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelfit import KernelSVC, path

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

costs = 10.0 ** np.linspace(-2, 3, 21)
machines = path(KernelSVC(gamma=0.02), X_train, y_train, costs)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
axes[0].semilogx(costs, [m.score(X_train, y_train) for m in machines], label="training rows")
axes[0].semilogx(costs, [m.score(X_test, y_test) for m in machines], label="new rows")
axes[0].set(xlabel="C", ylabel="accuracy")
axes[0].legend()
axes[1].semilogx(costs, [len(m.support_) for m in machines])
axes[1].set(xlabel="C", ylabel="support vectors")
largest = max(m.dual_gap_ / m.objective_ for m in machines)
print(f"{len(machines)} machines, each within {100 * largest:.4f} % of its optimum")
plt.show()
