"""What must hold of every fit, whatever the estimator, its parameters and its data."""

import copy
import pickle
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from tests.fuzz.draws import Draw
from tests.fuzz.gap import audit

SLOW_SECONDS = 20.0  # of processor time for one fit; reported, never a failure of the tests
_ROUNDING = 1e-10  # of one decision value relative to the sum of its terms' magnitudes
_LONGEST_MESSAGE = 400
# Where a complaint may come from: ours, and scikit-learn's checks of input and of folds.
_OWN_VOICES = re.compile(r"/kernelfit/|/sklearn/(utils|model_selection|base)|/tests/fuzz/")
# What scikit-learn, numpy or scipy say of numbers that we made; the drawn data are finite.
_FOREIGN_WORDS = re.compile(r"\bNaNs?\b|\binfs\b|singular|did not converge|zero-size|broadcast")


@dataclass(frozen=True)
class Finding:
    """A promise that was not kept."""

    seed: int
    estimator: str
    kind: str
    where: str
    detail: str


class _Found(Exception):
    """Carries a finding out of the checks that cannot go on."""


def examine(draw: Draw) -> Iterator[Finding]:
    """Yield the findings of one draw."""
    found: list[Finding] = []

    def report(kind: str, where: str = "", detail: str = "") -> None:
        found.append(Finding(draw.seed, draw.name, kind, where, detail))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # but for what `_watched` looks at
        try:
            _examine(draw, report)
        except _Found:
            pass
    yield from dict.fromkeys(found)


def _examine(draw: Draw, report: Callable[..., None]) -> None:
    params = repr(draw.estimator().get_params())
    start = process_time()
    with _watched(report, "fit"):
        fitted = _attempt(draw.fit, report, "fit")
    seconds = process_time() - start
    if seconds > SLOW_SECONDS:
        report("slow", "fit", f"{seconds:.0f} s of processor time")
    if fitted is None:
        return
    if repr(fitted.get_params()) != params:
        report("parameters changed", "fit")

    with _watched(report, "predict"):
        values = _outputs(fitted, draw.data.X, report)
        new = _outputs(fitted, draw.data.X_new, report, may_complain=True)
    _check_finite(values, report)
    if new is not None:
        _check_finite(new, report)
        _check_single_rows(fitted, draw, new, report)
    _check_pickle(fitted, draw, values, report)

    bits = fingerprint(fitted, values)
    _compare(bits, draw.fit, draw, report, "refit")
    if "n_jobs" in fitted.get_params():
        _compare(bits, lambda: draw.fit(n_jobs=2), draw, report, "n_jobs=2")
    if draw.data.y is not None:
        for detail in audit(fitted, draw):
            report("gap", "", detail)
    elif draw.params.get("assign_new") != "similarity":
        _check_labels(fitted, values["predict"], report)


@contextmanager
def _watched(report, stage):
    """Report warnings that are not for the user."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if not issubclass(warning.category, UserWarning):
            where = f"{Path(warning.filename).name}:{warning.lineno}"
            report(warning.category.__name__, where, f"in {stage}: {warning.message}")


def _attempt(call, report, stage, may_complain=True):
    """Return the result of a call, or None where it raised; report errors of the wrong kind."""
    try:
        return call()
    except (ValueError, TypeError) as error:
        message, where = str(error), _origin()
        innermost = traceback.extract_tb(sys.exc_info()[2])[-1].filename
        clear = message and "\n" not in message and len(message) <= _LONGEST_MESSAGE
        foreign = not _OWN_VOICES.search(innermost) or _FOREIGN_WORDS.search(message)
        if not may_complain:
            report(f"{stage} of the training rows raises", where, message)
        elif isinstance(error, np.linalg.LinAlgError):
            report("LinAlgError", where, f"in {stage}: {message}")
        elif not clear or foreign:
            report("foreign message", where, f"in {stage}: {type(error).__name__}: {message}")
    except Exception as error:
        report(type(error).__name__, _origin(), f"in {stage}: {error}")
    return None


def _origin():
    """Return the innermost of our own frames of the exception in flight."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    ours = [f for f in frames if "/kernelfit/" in f.filename and "/tests/" not in f.filename]
    frame = (ours or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"


def _outputs(estimator, X, report, may_complain=False):
    """Return predictions and decision values by method, or None where a method complains."""
    if not hasattr(estimator, "predict"):
        return {"labels_": estimator.labels_}
    outputs = {}
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(estimator, method):
            call = getattr(estimator, method)
            outputs[method] = _attempt(lambda call=call: call(X), report, method, may_complain)
    if any(value is None for value in outputs.values()):
        if may_complain:
            return None
        raise _Found
    return outputs


def _check_finite(outputs, report):
    for method, values in outputs.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            wrong = values[~np.isfinite(values)]
            report("not finite", method, f"{len(wrong)} of {values.size} values, {wrong[0]}")
    chances = outputs.get("predict_proba")
    if chances is not None and np.isfinite(chances).all():
        if chances.min() < 0.0 or np.abs(chances.sum(axis=1) - 1.0).max() > 1e-9:
            report("no probabilities", "predict_proba", f"sums {chances.sum(axis=1)}")


def _check_single_rows(estimator, draw, outputs, report):
    if draw.params.get("out_of_sample") == "reciprocal":
        return  # documented to depend on the other rows
    method = "decision_function" if "decision_function" in outputs else "predict"
    X = draw.data.X_new
    estimator = _with_raw_values(estimator)
    together = getattr(estimator, method)(X)
    alone = []
    for i in range(X.shape[0]):
        value = _attempt(
            lambda i=i: getattr(estimator, method)(X[i : i + 1]), report, method, False
        )
        if value is None:
            return
        alone.append(value[0])
    alone = np.array(alone)
    if together.dtype.kind != "f":
        if not np.array_equal(alone, together):
            report("single row", method, f"{alone.tolist()} alone, {together.tolist()} together")
        return
    limit = _ROUNDING * decision_scale(estimator, X, together)
    with np.errstate(all="ignore"):
        difference = np.abs(alone - together).reshape(len(alone), -1).max(axis=1)
    worst = int(np.argmax(difference - limit))
    if difference[worst] > limit[worst]:
        report(
            "single row",
            method,
            f"row {worst}: {alone[worst]} alone, {together[worst]} together, "
            f"{difference[worst]:.1e} apart, rounding explains {limit[worst]:.1e}",
        )


def _check_labels(fitted, predicted, report):
    different = np.flatnonzero(fitted.labels_ != predicted)
    if len(different):
        report("labels", "predict", f"{len(different)} of {len(predicted)} are not labels_")


def _with_raw_values(estimator):
    """Return a copy that shows one value a problem: votes jump where a value is near zero."""
    estimator = copy.copy(estimator)
    if "decision_function_shape" in estimator.get_params():
        estimator.set_params(decision_function_shape="ovo")
    if hasattr(estimator, "best_estimator_"):
        estimator.best_estimator_ = _with_raw_values(estimator.best_estimator_)
    return estimator


def decision_scale(estimator, X, values):
    """Return for every row the sum of the magnitudes of the terms of its decision value."""
    scale = np.abs(values).max() if values.size else 0.0
    for machine in getattr(estimator, "estimators_", [estimator]):
        scale = np.maximum(scale, _terms(machine, X))
    return np.broadcast_to(scale, (X.shape[0],))


def _terms(machine, X):
    if not hasattr(machine, "dual_coef_"):
        return np.zeros(X.shape[0])
    dual = machine.dual_coef_
    coef = np.abs(dual.toarray() if sparse.issparse(dual) else dual)
    kernels = getattr(machine, "kernels_", getattr(machine, "kernel_", None))
    with np.errstate(all="ignore"):
        if kernels is None:
            K = np.abs(X[:, machine.support_])
        else:
            vectors = machine.support_vectors_
            K = np.zeros((X.shape[0], vectors.shape[0]))
            for kernel in kernels if isinstance(kernels, list) else [kernels]:
                # Entries of a kernel cancel inside as well: its diagonal bounds them.
                for A, B in ((X, vectors), (abs(X), abs(vectors))):
                    if vectors.shape[0]:
                        K = np.maximum(K, np.abs(kernel(A, B)).max())
        terms = np.nan_to_num(K @ coef.T, nan=np.inf).max(axis=1, initial=0.0)
    return terms + np.abs(machine.intercept_).max()


def _check_pickle(fitted, draw, outputs, report):
    copied = _attempt(lambda: pickle.loads(pickle.dumps(fitted)), report, "pickle", False)
    if copied is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = _outputs(copied, draw.data.X, report)
    if any(again[key].tobytes() != outputs[key].tobytes() for key in outputs):
        report("pickle", "", "predictions differ after a round trip")
    if repr(clone(fitted).get_params()) != repr(fitted.get_params()):
        report("clone", "", "parameters differ after a round trip")


def _compare(bits, fit, draw, report, kind):
    with _watched(lambda k, w, d: report(k, w, f"{kind}, {d}") if kind != "refit" else None, "fit"):
        other = _attempt(fit, report, kind, False)
        if other is None:
            return
        outputs = _outputs(other, draw.data.X, report)
    others = fingerprint(other, outputs)
    names = [name for name in bits if bits[name] != others.get(name)]
    if names or bits.keys() != others.keys():
        report(f"not the same bits: {kind}", "", ", ".join(names[:6]))


def fingerprint(estimator: BaseEstimator, outputs: dict[str, Any]) -> dict[str, bytes]:
    """Return the bits of outputs and of all public fitted attributes, times excepted."""
    bits: dict[str, bytes] = {}

    def add(name: str, value: Any) -> None:
        if sparse.issparse(value):
            value = value.toarray()
        if isinstance(value, np.ndarray) and value.dtype != object:
            bits[name] = value.tobytes()
        elif isinstance(value, bool | int | float | str | np.generic):
            bits[name] = repr(value).encode()
        elif isinstance(value, dict):
            for key in value:
                if "time" not in str(key):
                    add(f"{name}[{key}]", value[key])
        elif isinstance(value, list | tuple):
            for i, item in enumerate(value):
                add(f"{name}[{i}]", item)
        elif isinstance(value, BaseEstimator):
            for key, item in vars(value).items():
                if key.endswith("_") and not key.startswith("_"):
                    add(f"{name}.{key}", item)

    add("", estimator)
    add("outputs", outputs)
    return bits
