"""The table of a search, as scikit-learn's ``cv_results_``."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Array = NDArray[Any]

_DIGITS = 5  # of mean scores that count: the machines of the folds are exact to about as many


def tabulate(
    params: Sequence[dict[str, Any]], scores: Array, fit_time: Array, score_time: Array
) -> dict[str, Any]:
    """Return the scores of all candidates.

    Parameters
    ----------
    params : sequence of dict
    scores, fit_time, score_time : ndarray of shape (n_candidates, n_folds)

    Returns
    -------
    dict
        Means that are not finite rank last; such as agree in five digits rank alike.
    """
    results: dict[str, Any] = {}
    for name, times in (("fit_time", fit_time), ("score_time", score_time)):
        results[f"mean_{name}"], results[f"std_{name}"] = times.mean(axis=1), times.std(axis=1)
    for name in params[0]:
        column = np.empty(len(params), dtype=object)
        column[:] = [candidate[name] for candidate in params]
        values = column if name in ("basis", "eta", "scaling") else column.astype(np.float64)
        results[f"param_{name}"] = np.ma.MaskedArray(values, mask=False)
    results["params"] = list(params)
    for k in range(scores.shape[1]):
        results[f"split{k}_test_score"] = scores[:, k]
    mean = scores.mean(axis=1)
    finite = np.isfinite(mean)
    scale = abs(mean[finite].max()) if finite.any() else 1.0
    comparable = np.where(finite, (mean / (scale or 1.0)).round(_DIGITS), -np.inf)
    results["mean_test_score"], results["std_test_score"] = mean, _spread(scores)
    results["rank_test_score"] = rankdata(-comparable, method="min").astype(np.int32)
    return results


def _spread(scores: Array) -> Array:
    """Return the standard deviation of every row; squares of its entries may overflow."""
    unit = np.abs(scores).max(axis=1, keepdims=True)
    unit[~np.isfinite(unit) | (unit == 0.0)] = 1.0
    return np.asarray(unit[:, 0] * (scores / unit).std(axis=1))


def difference(table: dict[str, Any], first: int, others: Sequence[int]) -> tuple[Array, Array]:
    """Compare the scores of one candidate with those of others over the folds.

    Parameters
    ----------
    table : dict
        As ``cv_results_``.
    first : int
        Index of the candidate.
    others : sequence of int
        Indices of the others.

    Returns
    -------
    gain : ndarray of shape (n_others,)
        By how much its mean score exceeds theirs.
    error : ndarray of shape (n_others,)
        Standard errors of these differences; 0 with one fold.
    """
    folds = [values for name, values in table.items() if name.startswith("split")]
    gains = np.array([scores[first] - scores[others] for scores in folds])
    return gains.mean(axis=0), _spread(gains.T) / np.sqrt(max(len(folds) - 1, 1))
