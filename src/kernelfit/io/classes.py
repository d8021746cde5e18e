"""Which objects a saved model may hold, and how they are taken apart and built again.

Objects of kernelfit's own classes, and of a few of scikit-learn's, whose methods are Python and
numpy alone: the C structures of its trees crash on numbers that somebody has changed.
"""

import inspect
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import FunctionType
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise
from sklearn.neighbors import NearestNeighbors

PACKAGES = (
    "clustering",
    "ensemble",
    "estimators",
    "families",
    "kernels",
    "papers",
    "selection",
    "tables",
)
SKLEARN = {
    "sklearn.model_selection": (
        "GroupKFold",
        "KFold",
        "LeaveOneOut",
        "PredefinedSplit",
        "ShuffleSplit",
        "StratifiedKFold",
        "StratifiedShuffleSplit",
        "TimeSeriesSplit",
    ),
    "sklearn.neighbors": ("NearestNeighbors",),
    "sklearn.pipeline": ("Pipeline",),
    "sklearn.preprocessing": ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler"),
}
FUNCTIONS = {
    function.__name__: function
    for function in (
        pairwise.additive_chi2_kernel,
        pairwise.chi2_kernel,
        pairwise.cosine_similarity,
        pairwise.laplacian_kernel,
        pairwise.linear_kernel,
        pairwise.polynomial_kernel,
        pairwise.rbf_kernel,
        pairwise.sigmoid_kernel,
    )
}  # that may be a kernel
_MODULES = rf"(?:{'|'.join(PACKAGES)})(?:\.\w+)+|utils\.(?:distinct|validation)"
_NAME = re.compile(rf"kernelfit\.(?:{_MODULES}):[A-Za-z_]\w*")
_ATTRIBUTE = re.compile(r"_?[A-Za-z]\w*")


def class_name(cls: type) -> str | None:
    """Return what files call a class, or None where they may not hold its objects."""
    for module, names in SKLEARN.items():
        if cls.__name__ in names and getattr(import_module(module), cls.__name__) is cls:
            return f"{module}:{cls.__name__}"
    name = f"{cls.__module__}:{cls.__qualname__}"
    return name if _NAME.fullmatch(name) else None


def find_class(name: str) -> type:
    """Return the class that files call so; ValueError where there is none."""
    module, _, cls_name = name.partition(":")
    if cls_name not in SKLEARN.get(module, ()) and not _NAME.fullmatch(name):
        raise ValueError(f"a model has no parts of class {name!r}")
    try:
        cls = getattr(import_module(module), cls_name)
    except (ImportError, AttributeError):
        cls = None
    if not isinstance(cls, type) or class_name(cls) != name:
        raise ValueError(f"this version of kernelfit has no class {name!r}")
    return cls


def function_name(function: FunctionType) -> str | None:
    """Return what files call a function, or None where they may not hold it."""
    return function.__name__ if FUNCTIONS.get(function.__name__) is function else None


def state_of(value: Any) -> Mapping[str, Any]:
    """Return the attributes that make up an object.

    Those of a dataclass are its fields, so that what it keeps besides is computed anew. A
    neighbour search is the points that it searches: its tree is grown again.

    Parameters
    ----------
    value : object
        Of a class that `class_name` knows.

    Returns
    -------
    mapping from str
    """
    if isinstance(value, NearestNeighbors):
        return {"n_jobs": value.n_jobs, "X": getattr(value, "_fit_X", None)}
    if isinstance(value, BaseEstimator):
        _check(value)
    if is_dataclass(value) and not isinstance(value, BaseEstimator):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    state: Mapping[str, Any] = vars(value)
    return state


def build(cls: type, state: dict[str, Any], complete: bool) -> Any:
    """Return an object from its attributes; ValueError or TypeError where it has not such ones.

    Parameters
    ----------
    cls : type
        As `find_class` returns it.
    state : dict
    complete : bool
        Whether all parameters must be given. In files of other versions, those that were not there
        yet have their defaults.

    Returns
    -------
    object
    """
    if issubclass(cls, NearestNeighbors):
        search = NearestNeighbors(n_jobs=state["n_jobs"])
        return search if state["X"] is None else search.fit(state["X"])
    if is_dataclass(cls) and not issubclass(cls, BaseEstimator):
        return cls(**state)  # which checks the names, and its __post_init__ the values
    parameters = _parameters(cls) if issubclass(cls, BaseEstimator) else {}
    for name in parameters.keys() - state.keys():
        default = parameters[name].default
        if complete or default is inspect.Parameter.empty:
            raise ValueError(f"{cls.__name__} lacks its parameter {name!r}")
        state[name] = default
    for name in state:
        own = inspect.getattr_static(cls, name, None)
        taken = callable(own) or isinstance(own, property | classmethod | staticmethod)
        if not _ATTRIBUTE.fullmatch(name) or taken:
            raise ValueError(f"{cls.__name__} has no attribute {name!r} that can be set")
        fitted = name.startswith("_") or name.endswith("_")
        if parameters and not fitted and name not in parameters:
            raise ValueError(f"{cls.__name__} has no parameter {name!r}")
    value: Any = object.__new__(cls)  # no constructor runs
    value.__dict__.update(state)
    if isinstance(value, BaseEstimator):
        _check(value)
    return value


def _parameters(cls: type) -> dict[str, inspect.Parameter]:
    parameters = dict(inspect.signature(cls.__init__).parameters)  # type: ignore[misc]
    del parameters["self"]
    return parameters


def _check(estimator: Any) -> None:
    """Check the parameters of an estimator."""
    estimator._validate_params()
    if getattr(estimator, "memory", None) is not None:
        raise ValueError("a saved pipeline has memory=None: a cache would hold pickles")
