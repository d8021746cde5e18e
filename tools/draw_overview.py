"""Draw the picture of the README: terrain with cliffs by two kernels, and the proof of the second.

``python tools/draw_overview.py`` writes docs/_static/overview.png. Needs matplotlib.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from kernelfit import KernelSVRCV, TKLRegressorCV
from kernelfit.inspection import ConvergenceDisplay

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "_static" / "overview.png"


def terrain(X):
    """Return hills with a raised block, a terrace and a slanted cliff."""
    x, y = X.T
    hills = 0.4 * np.sin(4 * x) * np.cos(3 * y)
    block = 1.5 * ((0.15 < x) & (x < 0.45) & (0.15 < y) & (y < 0.7))
    terrace = -1.0 * ((0.6 < x) & (y < 0.45))
    return hills + block + terrace + 1.0 * (x + 0.6 * y > 1.25)


def main():
    """Train both machines on the same 800 noisy heights and draw what they learned."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(800, 2))
    y = terrain(X) + 0.1 * rng.standard_normal(len(X))
    ticks = np.linspace(0.0, 1.0, 160)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    gaussian = KernelSVRCV(epsilons=[0.05]).fit(X, y)
    learned = TKLRegressorCV(epsilons=[0.05]).fit(X, y)
    truth = terrain(grid)
    figure, axes = plt.subplots(1, 4, figsize=(12.5, 3.1), layout="constrained")
    for ax, (name, heights) in zip(
        axes,
        {
            "800 noisy heights of this terrain": truth,
            "Gaussian kernel, tuned": gaussian.predict(grid),
            "learned kernel (TKL)": learned.predict(grid),
        }.items(),
        strict=False,
    ):
        error = np.sqrt(np.mean((heights - truth) ** 2))
        ax.imshow(
            heights.reshape(160, 160), origin="lower", extent=(0, 1, 0, 1), cmap="gist_earth",
            vmin=-1.6, vmax=2.4,
        )  # fmt: skip
        title = name if heights is truth else f"{name}: error {error:.2f}"
        ax.set_title(title, fontsize=10)
        ax.set(xticks=[], yticks=[])
    axes[0].scatter(*X.T, s=1.5, color="w", alpha=0.7, linewidths=0)
    ConvergenceDisplay.from_estimator(learned, ax=axes[3], kind="gap")
    gap = learned.best_estimator_.dual_gap_ / learned.best_estimator_.objective_
    axes[3].set_title(f"proved: within {100 * gap:.2g} % of the optimum", fontsize=10)
    axes[3].spines[["top", "right"]].set_visible(False)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=100)
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    main()
