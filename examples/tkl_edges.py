"""Terrain with cliffs, learned from noisy heights by a Gaussian and by a tessellated kernel.

Both machines choose their parameters by cross-validation on the same points. Needs matplotlib;
writes tkl_edges.png, or the file that --out names.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold

from kernelfit import KernelSVRCV, TKLRegressorCV

PROFILE = 0.3  # the y of the cross-section


def terrain(X):
    """Return rolling hills with a raised block, a terrace and a slanted cliff."""
    x, y = X.T
    hills = 0.4 * np.sin(4 * x) * np.cos(3 * y)
    block = 1.5 * ((0.15 < x) & (x < 0.45) & (0.15 < y) & (y < 0.7))
    terrace = -1.0 * ((0.6 < x) & (y < 0.45))
    return hills + block + terrace + 1.0 * (x + 0.6 * y > 1.25)


def main(path, size=1000):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(size, 2))
    y = terrain(X) + 0.1 * rng.standard_normal(size)
    folds, costs = KFold(5, shuffle=True, random_state=0), [1.0, 10.0, 100.0, 1000.0]
    searches = {
        "Gaussian kernel": KernelSVRCV(2.0 ** np.arange(10), costs, cv=folds),
        "tessellated kernel": TKLRegressorCV(costs, cv=folds),
    }
    ticks = np.linspace(0.0, 1.0, 200)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    section = np.column_stack([np.linspace(0, 1, 1000), np.full(1000, PROFILE)])
    truth = terrain(grid)
    images, lines = {"truth": truth}, {"truth": terrain(section)}
    for name, search in searches.items():
        images[name], lines[name] = search.fit(X, y).predict(grid), search.predict(section)

    figure = plt.figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplot_mosaic([list(images), ["profile"] * 3], height_ratios=[3, 2])
    for name, values in images.items():
        error = np.sqrt(np.mean((values - truth) ** 2))
        title = name if name == "truth" else f"{name}: rms error {error:.3f}"
        shown = axes[name].imshow(
            values.reshape(200, 200), origin="lower", extent=(0, 1, 0, 1), cmap="terrain",
            vmin=truth.min() - 0.2, vmax=truth.max() + 0.2,
        )  # fmt: skip
        axes[name].axhline(PROFILE, color="k", linewidth=0.8, linestyle="--")
        axes[name].set(title=title, xticks=[], yticks=[])
    axes["truth"].scatter(*X.T, s=1.5, color="k", alpha=0.5)
    figure.colorbar(shown, ax=[axes[name] for name in images], label="height", shrink=0.9)
    styles = {"truth": "k-", "Gaussian kernel": "C0-", "tessellated kernel": "C3-"}
    for name, values in lines.items():
        axes["profile"].plot(section[:, 0], values, styles[name], label=name, linewidth=1.2)
    axes["profile"].set(title="along the dashed line", xlabel="x", ylabel="height", xlim=(0, 1))
    axes["profile"].legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"wrote {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="tkl_edges.png")
    main(parser.parse_args().out)
