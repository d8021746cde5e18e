"""
Cliffs: a tessellated kernel beside a Gaussian
==============================================

Terrain with cliffs along the axes, learned from 300 noisy heights. A Gaussian kernel has one width
everywhere, so it blurs cliffs or follows noise. A tessellated kernel divides the space at every
training point, and its learned functions may jump there. This is the picture for which the method
was made: edges that run along the axes. The slanted cliff in the corner is harder for both.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelfit import KernelSVRCV, TKLRegressorCV


def terrain(X):
    x, y = X.T
    hills = 0.4 * np.sin(4 * x) * np.cos(3 * y)
    block = 1.5 * ((0.15 < x) & (x < 0.45) & (0.15 < y) & (y < 0.7))
    terrace = -1.0 * ((0.6 < x) & (y < 0.45))
    return hills + block + terrace + 1.0 * (x + 0.6 * y > 1.25)


rng = np.random.default_rng(0)
X = rng.uniform(size=(300, 2))
y = terrain(X) + 0.1 * rng.standard_normal(len(X))

# %%
# Both choose their parameters by cross-validation on the same points.

costs = [10.0, 100.0]
machines = {
    "Gaussian kernel": KernelSVRCV([8.0, 32.0, 128.0], costs, epsilons=[0.05]),
    "tessellated kernel": TKLRegressorCV([0.1, 0.5], costs, epsilons=[0.05]),
}
ticks = np.linspace(0.0, 1.0, 100)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
heights = {"truth": terrain(grid)}
for name, machine in machines.items():
    heights[name] = machine.fit(X, y).predict(grid)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, (name, values) in zip(axes, heights.items(), strict=True):
    error = np.sqrt(np.mean((values - heights["truth"]) ** 2))
    image = ax.imshow(
        values.reshape(100, 100), origin="lower", extent=(0, 1, 0, 1), cmap="terrain",
        vmin=-1.7, vmax=2.1,
    )  # fmt: skip
    ax.set(title=name if name == "truth" else f"{name}: rms error {error:.2f}")
    ax.set(xticks=[], yticks=[])
axes[0].scatter(*X.T, s=2, color="k", alpha=0.5)
figure.colorbar(image, ax=axes, label="height", shrink=0.9)

# %%
# Along a line through the block and the terrace the difference is plain.

line = np.column_stack([np.linspace(0, 1, 500), np.full(500, 0.3)])
plt.figure(figsize=(8, 3), layout="constrained")
plt.plot(line[:, 0], terrain(line), "k", linewidth=1, label="truth")
for name, machine in machines.items():
    plt.plot(line[:, 0], machine.predict(line), label=name)
plt.xlabel("x, at y = 0.3")
plt.ylabel("height")
plt.legend()
plt.show()
