"""
A staircase in one dimension
============================

The DANK paper learns a smooth staircase from noisy values. With the steepness that the paper prints
the function is a straight line to four digits, so here it is steep enough to have steps. A Gaussian
of one width must choose between rounded steps and wiggles. The factor of DANK does not change that:
its regression is as good as the plain one. TKL keeps the steps, because its functions may jump.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelfit import DANKRegressorCV, KernelSVRCV, TKLRegressorCV


def staircase(x, a=20.0):
    step = np.floor(x)
    return step + 0.5 * (1.0 + np.tanh(a * (x - step - 0.5)) / np.tanh(0.5 * a))


rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 4.0, 160))[:, None]
y = staircase(x[:, 0]) + 0.1 * rng.standard_normal(len(x))
line = np.linspace(0.0, 4.0, 500)[:, None]
truth = staircase(line[:, 0])

costs, gammas, tube = [1.0, 10.0, 100.0], [2.0, 8.0, 32.0], [0.1]
machines = {
    "SVM, Gaussian": KernelSVRCV(gammas, costs, epsilons=tube),
    "DANK, Gaussian": DANKRegressorCV(gammas, costs, epsilons=tube),
    "TKL": TKLRegressorCV([0.1, 0.5], costs, epsilons=tube),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for ax, (name, machine) in zip(axes, machines.items(), strict=True):
    predicted = machine.fit(x, y).predict(line)
    error = np.sqrt(np.mean((predicted - truth) ** 2))
    ax.plot(line, truth, "k", linewidth=0.8)
    ax.plot(x, y, ".", markersize=3, alpha=0.5)
    ax.plot(line, predicted, color="C3")
    ax.set(title=f"{name}: rms error {error:.3f}", xlabel="x")
plt.show()
