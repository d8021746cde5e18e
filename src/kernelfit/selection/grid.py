"""Scores of support vector machines over a grid of kernels and costs.

What a fold costs is shared: distances (or inner products) are computed once for all kernels and
folds, and the solutions for one kernel follow the path of growing costs.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from kernelfit.kernels.standard import StandardKernel
from kernelfit.learners.svm import Problem, TrainingGram
from kernelfit.learners.svm_path import PathResult, solve_path

_CHUNK_BYTES = 2**26  # of kernel values with test points at a time

Array = NDArray[Any]


@dataclass(frozen=True)
class Geometry:
    """Training data from which the Gram matrix of every kernel of the grid is made.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
        The data; unused where `matrix` serves.
    matrix : ndarray of shape (n, n) or None
        The geometry shared by the kernels (`StandardKernel.geometry`), or a kernel
        matrix where the kernel is None. None where it would not fit in memory.
    cache_bytes : float
        Memory for a Gram matrix, or for a cache of its rows.
    """

    X: Any
    matrix: Array | None
    cache_bytes: float

    def restrict(self, rows: Array, columns: Array) -> Array | None:
        """Return the part of the matrix between two sets of rows."""
        return None if self.matrix is None else self.matrix[np.ix_(rows, columns)]

    def training_gram(
        self, kernel: StandardKernel | None, train: Array, part: Array | None
    ) -> TrainingGram:
        """Return the Gram matrix of a kernel on training rows; `part` is the matrix on them."""
        if part is None:
            return TrainingGram(kernel, self.X[train], self.cache_bytes)
        K = part if kernel is None else kernel.from_geometry(part)
        return TrainingGram(None, self.X, self.cache_bytes, matrix=K)

    def cross_gram(
        self, kernel: StandardKernel | None, test: Array, train: Array, part: Array | None
    ) -> Array:
        """Return kernel values between test and training rows; `part` is the matrix on them."""
        if kernel is None:
            return np.asarray(part)
        if part is None:
            return kernel(self.X[test], self.X[train])
        return kernel.from_geometry(part)


@dataclass(frozen=True)
class FoldScores:
    """Scores of one fold, its times in seconds, and how many solutions missed the tolerance."""

    scores: Array  # (n_kernels, n_machines), one machine a cost or more
    fit_time: Array  # (n_kernels,), of all machines together
    score_time: Array
    n_unconverged: int


def score_fold(
    geometry: Geometry,
    kernels: Sequence[StandardKernel | None],
    Cs: Array,
    train: Array,
    test: Array,
    weight: Array,
    problems: Sequence[Problem],
    score: Callable[[Array], Array],
    path: Callable[..., PathResult] = solve_path,
    by_row: Mapping[str, Array] = MappingProxyType({}),
    **options: Any,
) -> FoldScores:
    """Train on one part of the data for every kernel and cost, and score on the other.

    Parameters
    ----------
    geometry : Geometry
    kernels : sequence of StandardKernel or None
        None stands for the precomputed matrix.
    Cs : ndarray of shape (n_costs,)
        Increasing.
    train, test : ndarray of int
        Rows of the two parts.
    weight : ndarray of shape (len(train),)
        Positive factors of the cost.
    problems : sequence of Problem
        On the training rows.
    score : callable
        Takes decision values of shape (len(test), n_machines, n_problems), returns n_machines
        scores.
    path : callable, default=solve_path
        Trains the machines of one kernel: one a cost, or more.
    by_row : mapping of str to ndarray of shape (len(train),), default={}
        Passed to `path`, those of its rows.
    **options
        Passed to `path`.

    Returns
    -------
    FoldScores
    """
    train_part, test_part = geometry.restrict(train, train), geometry.restrict(test, train)
    scores = []
    fit_time, score_time = np.empty(len(kernels)), np.empty(len(kernels))
    step = max(1, _CHUNK_BYTES // (8 * len(train)))
    n_unconverged = 0
    for k, kernel in enumerate(kernels):
        started = time.perf_counter()
        gram = geometry.training_gram(kernel, train, train_part)
        psd = kernel is not None and kernel.psd
        paths = [
            path(
                gram.part(q.rows),
                q.p,
                weight[q.rows],
                Cs,
                assume_psd=psd,
                **{name: values[q.rows] for name, values in by_row.items()},
                **options,
            )
            for q in problems
        ]
        trained = time.perf_counter()
        values = np.empty((len(test), len(paths[0].intercept), len(problems)))
        for first in range(0, len(test), step):
            chunk = slice(first, first + step)
            part = None if test_part is None else test_part[chunk]
            K = geometry.cross_gram(kernel, test[chunk], train, part)
            for problem, found in zip(problems, paths, strict=True):
                found_values = K[:, problem.rows] @ found.coef.T + found.intercept
                values[chunk, :, problem.index] = found_values
        scores.append(score(values))
        fit_time[k], score_time[k] = trained - started, time.perf_counter() - trained
        n_unconverged += sum(int(np.count_nonzero(~found.converged)) for found in paths)
    return FoldScores(np.array(scores), fit_time, score_time, n_unconverged)


def tabulate(
    folds: Sequence[FoldScores],
    gammas: Array | None,
    Cs: Array,
    order: Array,
    etas: Sequence[Any] = (),
) -> dict[str, Any]:
    """Return the scores as scikit-learn's ``cv_results_``.

    Candidates come as in scikit-learn's ParameterGrid, by C, then by gamma; where there is an
    eta, by eta before that.

    Parameters
    ----------
    folds : sequence of FoldScores
    gammas : ndarray or None
        In the order of the scores; None where the kernel has no gamma.
    Cs : ndarray
        As the user gave them.
    order : ndarray of int
        ``Cs[order]`` are the costs in the order of the scores.
    etas : sequence, default=()
        Values of eta, which vary fastest in the scores; empty where the machine has none.

    Returns
    -------
    dict
    """
    n_gammas = 1 if gammas is None else len(gammas)
    back = np.argsort(order)
    n_etas = max(1, len(etas))
    # (n_folds, n_gammas, n_costs, n_etas) -> (n_etas, n_costs, n_gammas, n_folds)
    scores = np.array([f.scores.reshape(n_gammas, len(Cs), n_etas)[:, back] for f in folds]).T
    scores = scores.reshape(-1, len(folds))
    params: dict[str, Array] = {"C": np.tile(np.repeat(Cs, n_gammas), n_etas)}
    if gammas is not None:
        params["gamma"] = np.tile(gammas, len(Cs) * n_etas)
    if len(etas):
        params["eta"] = np.repeat(np.array(etas, dtype=object), len(Cs) * n_gammas)
    results: dict[str, Any] = {}
    for name in ("fit_time", "score_time"):
        # The machines of a path share its time.
        share = len(Cs) * n_etas
        times = np.array([np.tile(getattr(f, name) / share, share) for f in folds])
        results[f"mean_{name}"], results[f"std_{name}"] = times.mean(axis=0), times.std(axis=0)
    for name, values in params.items():
        results[f"param_{name}"] = np.ma.MaskedArray(values, mask=False)
    results["params"] = [
        {name: values[i : i + 1].tolist()[0] for name, values in params.items()}
        for i in range(len(scores))
    ]
    return {**results, **summary(scores)}


def summary(scores: Array) -> dict[str, Array]:
    """Return the scores of every fold, their mean, deviation and rank, as in ``cv_results_``.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_folds)

    Returns
    -------
    dict
        Means that are not finite rank last; such as differ by rounding only rank alike.
    """
    results = {f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])}
    mean = scores.mean(axis=1)
    finite = np.isfinite(mean)
    scale = abs(mean[finite].max()) if finite.any() else 1.0
    comparable = np.where(finite, (mean / (scale or 1.0)).round(12), -np.inf)
    results["mean_test_score"], results["std_test_score"] = mean, scores.std(axis=1)
    results["rank_test_score"] = rankdata(-comparable, method="min").astype(np.int32)
    return results
