"""The facts that come first about a fit, and the lines in which they are told.

The score on rows that training did not see, with its interval, comes before anything else, with
what a constant prediction reaches on the same rows. What a duality gap proves comes last: how well
the machines were trained, which says nothing about new rows. The command and the report show these
lines; programs get the facts.
"""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from sklearn.metrics import log_loss
from sklearn.pipeline import Pipeline

from kernelfit.inspection.matrices import innermost

LEVEL = 0.95  # of the intervals of scores
_NO_PROMISE = "This says nothing about accuracy on new rows."

Array = NDArray[Any]
Facts = dict[str, Any]
Lines = list[tuple[str, str]]


def wilson_interval(right: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval of a share.

    Parameters
    ----------
    right, n : int
        Number of successes, and of trials.
    level : float, default=0.95

    Returns
    -------
    (float, float)

    Notes
    -----
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    z = NormalDist().inv_cdf(0.5 + 0.5 * level)
    p, scale = right / n, 1.0 + z * z / n
    half = z * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n)) / scale
    middle = (p + z * z / (2.0 * n)) / scale
    # At the ends rounding would leave the share itself outside.
    return max(0.0, min(p, middle - half)), min(1.0, max(p, middle + half))


def r2_interval(y: Array, predicted: Array, level: float = LEVEL) -> tuple[float, float]:
    """Return an interval of R^2 by the delta method on the scale of log(1 - R^2).

    With squared errors e_i and squared distances d_i from the mean of y, the standard error of
    log(sum e / sum d) is that of the mean of ``e_i / mean(e) - d_i / mean(d)``; the interval takes
    Student's t with n - 1 degrees of freedom.

    Parameters
    ----------
    y, predicted : ndarray of shape (n,)
    level : float, default=0.95

    Returns
    -------
    (float, float)
        nan where y is constant, or for a single row.
    """
    n, e, d = len(y), (y - predicted) ** 2, (y - y.mean()) ** 2
    if n < 2 or not d.any():
        return math.nan, math.nan
    if not e.any():
        return 1.0, 1.0
    influence = e / e.mean() - d / d.mean()
    error = math.sqrt(float(influence @ influence) / (n * (n - 1)))
    half = float(stdtrit(n - 1, 0.5 + 0.5 * level)) * error
    ratio = float(e.sum() / d.sum())
    return 1.0 - ratio * math.exp(half), 1.0 - ratio * math.exp(-half)


def measure_classes(
    y: Array, predicted: Array, y_train: Array, p: Array | None = None, classes: Any = None
) -> Facts:
    """Return what predicted classes are worth on rows that training did not see.

    Parameters
    ----------
    y, predicted : ndarray of shape (n,)
        The true and the predicted classes.
    y_train : ndarray
        The classes of training: the largest of them is the baseline.
    p : ndarray of shape (n, n_classes), default=None
        Probabilities, where there are any.
    classes : array-like of shape (n_classes,), default=None
        Their order.

    Returns
    -------
    dict
    """
    names, counts = np.unique(y_train, return_counts=True)
    majority = names[counts.argmax()]
    n, right = len(y), int(np.sum(y == predicted))
    low, high = wilson_interval(right, n)
    baseline = float(np.mean(y == majority))
    facts = {
        "test rows": n, "test accuracy": right / n, "test accuracy low": low,
        "test accuracy high": high, "interval level": LEVEL, "interval": "Wilson",
        "baseline": f"always predicting {str(majority)!r}", "baseline accuracy": baseline,
        "gain": right / n - baseline,
    }  # fmt: skip
    if p is not None and np.isin(y, names).all() and np.array_equal(names, np.asarray(classes)):
        shares = np.tile(counts / counts.sum(), (n, 1))
        facts["test log loss"] = float(log_loss(y, p, labels=names))
        facts["baseline log loss"] = float(log_loss(y, shares, labels=names))
    return facts


def measure_numbers(y: Array, predicted: Array, y_train: Array) -> Facts:
    """Return what predicted numbers are worth on rows that training did not see.

    Parameters
    ----------
    y, predicted : ndarray of shape (n,)
        The true and the predicted values.
    y_train : ndarray
        The targets of training: their mean is the baseline.

    Returns
    -------
    dict
        R^2 is left out where y is constant.
    """
    errors = [y - predicted, y - y_train.mean()]
    rmse = [float(np.sqrt(np.mean(error**2))) for error in errors]
    facts: Facts = {"test rows": len(y), "baseline": "always predicting the training mean"}
    spread = float(y.std())
    if spread > 0.0:
        low, high = r2_interval(y, predicted)
        score, baseline = (1.0 - (error / spread) ** 2 for error in rmse)
        facts |= {
            "test R2": score, "test R2 low": low, "test R2 high": high, "interval level": LEVEL,
            "interval": "delta method", "baseline R2": baseline, "gain": score - baseline,
        }  # fmt: skip
    return facts | {"test RMSE": rmse[0], "baseline RMSE": rmse[1]}


def fit_facts(estimator: Any) -> Facts:
    """Return what a fitted estimator says of its training: members, landmarks, time, certificate.

    Parameters
    ----------
    estimator : estimator
        A machine, a search, AutoKernel, or a pipeline that ends in one.

    Returns
    -------
    dict
    """
    machine = innermost(estimator)[0]
    facts: Facts = {}
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if hasattr(last, "best_score_"):
        facts["estimated score"] = float(last.best_score_)
        facts["estimated by"] = "cross-validation (the parameters were chosen by it)"
    if hasattr(machine, "leaderboard_"):
        known = vars(machine)
        nested = "_cv_score" in known  # kept by `cv_score_`, which takes several fits
        score = machine.cv_score_ if nested else machine.leaderboard_["score"][0]
        facts |= {
            "estimated score": float(score),
            "estimated by": "cross-validation of the whole fit"
            if nested
            else "cross-validation (best member alone, chosen by it)",
            "member count": len(machine.members_),
            "search rows": machine.search_rows_,
            "landmarks": machine.n_landmarks_,
            "training": machine.training_,
            "seconds": machine.fit_time_,
            "cut short": list(machine.cut_short_),
        }
    if hasattr(machine, "support_"):
        facts["support vectors"] = len(machine.support_)
    return facts | _certificate(machine)


def _certificate(machine: Any) -> Facts:
    """Return the relative gaps of a machine; the largest is None where nothing is proved."""
    if hasattr(machine, "certificate_"):
        gaps = np.atleast_1d(machine.certificate_["machines"])
    elif hasattr(machine, "compression_"):
        gaps = np.array([np.nan])
    elif hasattr(machine, "dual_gap_") and hasattr(machine, "objective_"):
        gap, objective = np.atleast_1d(machine.dual_gap_), np.atleast_1d(machine.objective_)
        positive = np.maximum(np.abs(objective), np.finfo(float).tiny)
        # In float arithmetic a gap of rounding over an objective of 0 would be large.
        gaps = np.where(gap == 0.0, 0.0, gap / positive)
    else:
        return {}
    proved = np.isfinite(gaps)
    largest = float(np.maximum(gaps[proved], 0.0).max()) if proved.any() else None
    facts: Facts = {
        "relative gap": largest, "proved": int(proved.sum()), "problems": len(gaps),
    }  # fmt: skip
    facts["certificate"] = _in_words(machine, facts)
    return facts


def _in_words(machine: Any, facts: Facts) -> str:
    """Return what the gaps of a machine prove, and no more than that."""
    proved, n = facts["proved"], facts["problems"]
    mixed = hasattr(machine, "certificate_")
    if not proved:
        if hasattr(machine, "compression_"):
            why = "the machine was compressed after its training"
        elif not mixed:
            why = "its kernel is indefinite, or its method not convex"
        else:
            why = "its members were trained on landmarks or are estimators of the user"
        return f"none: {why}, so nothing is proved about the training."
    within = f"within {percent(facts['relative gap'])} of the best possible value of"
    if mixed:
        who = "the machine is" if n == 1 else f"all {n} machines are"
        who = who if proved == n else f"{proved} of {n} machines are"
        given = "given the kernel, width and ridge of each"
        rest = "" if proved == n else " Nothing is proved about the others."
        return f"{who} trained to {within} their training objective, {given}.{rest} {_NO_PROMISE}"
    several = "" if n == 1 else f", in the worst of its {n} problems"
    given = "given the kernel family and the parameters chosen"
    return f"trained to {within} its training objective, {given}{several}. {_NO_PROMISE}"


def percent(share: float) -> str:
    """Return a bound on a share in percent: two digits, rounded up, at least 0.0001 %.

    Parameters
    ----------
    share : float

    Returns
    -------
    str

    Examples
    --------
    >>> from kernelfit.inspection.headline import percent
    >>> [percent(x) for x in (0.987, 0.00083, 2e-9, 0.0)]
    ['99 %', '0.083 %', '0.0001 %', '0.0001 %']
    """
    value = max(100.0 * share, 1e-4)
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    # Up to a rounding error, by which 0.083 may be above itself.
    value = math.ceil(value / unit * (1.0 - 1e-9)) * unit
    return f"{value:.6f}".rstrip("0").rstrip(".") + " %"


def headline(facts: Facts, scored: bool = True) -> Lines:
    """Return the lines that tell the facts of a fit, a name and a text each.

    Parameters
    ----------
    facts : dict
        Of `measure_classes` or `measure_numbers`, where rows were held out, and of `fit_facts`;
        "training rows" where they are known.
    scored : bool, default=True
        Whether to say so where no score was measured.

    Returns
    -------
    list of (str, str)
    """
    lines = _score_lines(facts) if scored or "test rows" in facts else []
    if "estimated score" in facts:
        lines.append(
            ("foretold score", f"{facts['estimated score']:.3f} by {facts['estimated by']}")
        )
    trained = [f"{facts['training rows']:,} rows"] if "training rows" in facts else []
    if "member count" in facts:
        n = facts["member count"]
        spanned = f" on {facts['landmarks']:,} landmarks" if facts["landmarks"] else ""
        trained.append(("1 member" if n == 1 else f"{n} members") + spanned)
        trained.append(f"compared on {facts['search rows']:,} rows")
    if "support vectors" in facts:
        trained.append(f"{facts['support vectors']:,} support vectors")
    if facts.get("seconds") is not None:
        trained.append(f"in {facts['seconds']:.1f} s")
    if trained:
        lines.append(("trained on", ", ".join(trained)))
    if facts.get("cut short"):
        lines.append(("search cut short", "; ".join(facts["cut short"])))
    if "certificate" in facts:
        lines.append(("certificate", facts["certificate"]))
    return lines


def _score_lines(facts: Facts) -> Lines:
    if "test rows" not in facts:
        return [("score", f"not measured: {facts.get('untested', 'no rows were held out')}")]
    name = "accuracy" if "test accuracy" in facts else "R2"
    rows = f"{facts['test rows']:,} held-out row" + "s" * (facts["test rows"] != 1)
    lines = []
    if f"test {name}" in facts:
        score, low, high = (
            _score(name, facts[f"test {name}{end}"]) for end in ("", " low", " high")
        )
        level = f"{100 * facts['interval level']:.0f} %"
        lines.append((name, f"{score} on {rows} ({level} interval {low} to {high}, "
                      f"{facts['interval']})"))  # fmt: skip
        baseline = _score(name, facts[f"baseline {name}"])
        gain = facts["gain"]
        points = f"{100 * gain:+.1f} points" if name == "accuracy" else f"{gain:+.3f}"
        text = f"{baseline} by {facts['baseline']}, on the same rows; gain {points}"
        lines.append(("baseline", text))
    if "test log loss" in facts:
        text = f"{facts['test log loss']:.3f}; {facts['baseline log loss']:.3f} by class shares"
        lines.append(("log loss", text))
    if "test RMSE" in facts:
        text = f"{facts['test RMSE']:.4g}; {facts['baseline RMSE']:.4g} by the mean"
        lines.append(("RMSE", text + ("" if lines else f", on {rows}")))
    return lines


def _score(name: str, value: float) -> str:
    return f"{100 * value:.1f} %" if name == "accuracy" else f"{value:.3f}"
