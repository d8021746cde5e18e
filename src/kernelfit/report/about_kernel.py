"""The learned kernel beside the one that learning began with."""

from typing import Any

import numpy as np

from kernelfit.clustering.auto import KernelClustering
from kernelfit.clustering.base import BaseClustering
from kernelfit.ensemble.base import AutoKernel
from kernelfit.estimators.adaptive import AdaptiveMachine
from kernelfit.estimators.machine import KernelMachine
from kernelfit.inspection.fit_displays import WeightsDisplay
from kernelfit.inspection.kernel_displays import (
    EmbeddingDisplay,
    KernelMatrixDisplay,
    SpectrumDisplay,
    effective_rank,
    spectrum,
)
from kernelfit.inspection.matrices import KernelMatrices, kernel_matrices, sorted_rows
from kernelfit.report.blocks import Section, shorten
from kernelfit.report.figures import RULE, draw, heat_colours
from kernelfit.report.subject import Subject
from kernelfit.report.table import n_rows

_POINTS = 160
_MAX_DENSE = 4000  # rows of what is kept as a matrix of all points

_WHAT = {  # what learning changes, and what it begins with
    "AutoKernel": (
        "the sum of the members' kernels, each of mean diagonal one, with their weights",
        "one Gaussian on standardised columns",
    ),
    "AdaptiveMachine": (
        "the given kernel times the learned factor, on the training points",
        "the given kernel",
    ),
    "PositiveMatrixMachine": ("the kernel of the learned matrix P", "the kernel of P = I"),
    "MultipleKernelMachine": (
        "the sum of the bank with learned weights",
        "the sum with equal weights",
    ),
    "CDSKClustering": ("the affinity with learned weights of the points", "the affinity"),
}


def kernel_section(subject: Subject) -> Section | None:
    """Return the chapter on the kernel: heat maps, spectra, weights and the points in the plane.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    Section or None
    """
    machine = subject.machine
    if not isinstance(machine, KernelMachine | AutoKernel | BaseClustering | KernelClustering):
        return None
    whole = isinstance(machine, AdaptiveMachine | BaseClustering | KernelClustering)
    if whole and n_rows(subject.X) > _MAX_DENSE:
        return None
    labels = machine.labels_ if subject.task == "clustering" else subject.y
    labels = None if labels is None or labels.ndim > 1 else labels
    rows = sorted_rows(labels, n_rows(subject.X), _POINTS)
    found = kernel_matrices(subject.estimator, subject.X, rows=rows)
    labels = None if labels is None else labels[found.rows]
    text = [_introduction(subject, found, labels)]
    blocks = [*_heat_maps(subject, found, labels), *_spectra(found)]
    blocks += [*_embedding(subject), *_weights(machine)]
    return Section("kernel", "The kernel", text, blocks)


def _introduction(subject: Subject, found: KernelMatrices, labels: Any) -> str:
    order = {
        "classification": "sorted by class",
        "regression": "sorted by target",
        "clustering": "sorted by cluster",
    }.get(subject.task if labels is not None else "", "in the order given")
    some = "" if len(found.rows) == n_rows(subject.X) else " evenly spaced"
    shown = (
        f"Entry (i, j) says how alike points i and j are: {len(found.rows)}{some} training points"
    )
    shown = f"{shown}, {order}."
    if hasattr(subject.machine, "kernels_") or np.size(getattr(subject.machine, "eta_", 0)) > 1:
        shown += " Every binary problem has a kernel of its own; this is the first."
    if labels is not None and subject.task == "classification":
        now, before = _alignment(found.learned, labels), None
        if found.initial is not None:
            before = _alignment(found.initial, labels)
        shown += f" Its alignment with the classes is {now:.2f}"
        shown += "." if before is None else f", that of the initial kernel {before:.2f}."
        shown += " One would mean: alike exactly if of one class."
    return shown


def _alignment(K: Any, labels: Any) -> float:
    """Return the centred alignment of a kernel with the classes."""
    same = (labels[:, None] == labels).astype(float)

    def centred(A: Any) -> Any:
        return A - A.mean(axis=0) - A.mean(axis=1)[:, None] + A.mean()

    K, same = centred(K), centred(same)
    norm = np.linalg.norm(K) * np.linalg.norm(same)
    return float((K * same).sum() / norm) if norm > 0.0 else 0.0


def _heat_maps(subject: Subject, found: KernelMatrices, labels: Any) -> list[Any]:
    names = {base.__name__ for base in type(subject.machine).__mro__}
    learned, initial = next((_WHAT[n] for n in _WHAT if n in names), ("the kernel in use", ""))
    maps = [("Before", initial, found.initial), ("After learning", learned, found.learned)]
    groups = labels if subject.task in ("classification", "clustering") else None

    def paint(ax: Any, matrix: Any) -> None:
        display = KernelMatrixDisplay(matrix, labels=groups)
        display.plot(ax, **heat_colours(matrix))
        ax.grid(visible=False)
        for line in ax.lines:
            line.set(color=RULE, linewidth=0.8)
        for spine in ax.spines.values():
            spine.set_visible(True)

    return [
        draw(
            lambda ax, matrix=matrix: paint(ax, matrix),  # type: ignore[misc]
            f"Heat map of a kernel matrix of {len(matrix)} points: {what}",
            f"{title if found.initial is not None else 'The kernel'}: {what}",
            height=290,
        )
        for title, what, matrix in maps
        if matrix is not None
    ]


def _spectra(found: KernelMatrices) -> list[Any]:
    learned = spectrum(found.learned)
    initial = None if found.initial is None else spectrum(found.initial)
    display = SpectrumDisplay(learned, initial=initial)
    alt = f"Eigenvalues of the kernel matrix: effective rank {effective_rank(learned):.3g}"
    if initial is not None:
        alt += f" learned, {effective_rank(initial):.3g} at first"
    caption = f"{alt}. A lower rank means fewer directions to tell points apart"
    return [draw(display.plot, alt, caption)]


def _embedding(subject: Subject) -> list[Any]:
    labels = subject.y if subject.task in ("classification", "regression") else None
    if labels is not None and labels.ndim > 1:
        return []
    if subject.task == "classification" and len(subject.classes) > 12:
        return []
    continuous = subject.task == "regression"

    def paint(ax: Any) -> None:
        colours: dict[str, Any] = {"cmap": "viridis"} if continuous else {}
        y = None if labels is None else np.asarray(labels)
        EmbeddingDisplay.from_estimator(subject.estimator, subject.X, y, ax=ax, **colours)
        ax.grid(visible=False)
        legend = ax.get_legend()
        if legend is not None:
            ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=1.5)

    by = {"classification": "class", "regression": "target"}.get(subject.task, "cluster")
    alt = f"The training points in the plane as the kernel sees them, coloured by {by}"
    return [draw(paint, alt)]


def _weights(machine: Any) -> list[Any]:
    if isinstance(machine, AutoKernel) or not hasattr(machine, "weights_"):
        return []
    if isinstance(machine, BaseClustering):
        return []

    def paint(ax: Any) -> None:
        display = WeightsDisplay.from_estimator(machine, ax=ax, max_bars=10)
        names = [shorten(label.get_text(), 28) for label in ax.get_yticklabels()]
        ax.set_yticks(range(len(display.bars_)), names)
        ax.grid(visible=False, axis="y")

    alt = "Weights of the kernels in the sum, the largest first"
    return [draw(paint, alt, height=270)]
