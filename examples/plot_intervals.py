"""
How sure is it? Quantiles and intervals
=======================================

Two ways to say how far off a prediction may be. `KernelQuantileRegressor` learns quantiles by the
pinball loss: its band follows noise that changes along x. The CV+ intervals of
`AutoKernelRegressor` hold for any distribution, and are of about equal width.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelfit import AutoKernelRegressor, KernelQuantileRegressor

rng = np.random.default_rng(0)


def draw(n):
    x = np.sort(rng.uniform(0.0, 6.0, n))
    return x[:, None], np.sin(x) + (0.05 + 0.1 * x) * rng.standard_normal(n)


X, y = draw(200)
X_test, y_test = draw(1000)

# %%
# Ninety percent, twice: between the quantiles 0.05 and 0.95, and by ``predict_interval``.

levels = [0.05, 0.5, 0.95]
quantiles = KernelQuantileRegressor(levels, C=1.0, gamma=0.5).fit(X, y)
auto = AutoKernelRegressor(members=["gaussian"], random_state=0).fit(X, y)
line = np.linspace(0.0, 6.0, 200)[:, None]
bands = {
    "quantiles": quantiles.predict(line)[:, [0, 2]],
    "CV+ intervals": auto.predict_interval(line, alpha=0.1),
}
tests = {
    "quantiles": quantiles.predict(X_test)[:, [0, 2]],
    "CV+ intervals": auto.predict_interval(X_test, alpha=0.1),
}
middles = {"quantiles": quantiles.predict(line)[:, 1], "CV+ intervals": auto.predict(line)}

figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), sharey=True, layout="constrained")
for ax, name in zip(axes, bands, strict=True):
    low, high = tests[name].T
    inside = np.mean((low <= y_test) & (y_test <= high))
    ax.fill_between(line[:, 0], *bands[name].T, alpha=0.2)
    ax.plot(line, middles[name])
    ax.plot(X, y, "k.", markersize=3)
    ax.set(title=f"{name}: {100 * inside:.1f} % of new points inside", xlabel="x")
plt.show()
