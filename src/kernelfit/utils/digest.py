"""A fingerprint of data and parameters that is the same in every process."""

import functools
import hashlib
from collections.abc import Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
from scipy import sparse


def digest(*values: Any) -> str:
    """Return the fingerprint of some values: equal for equal ones, in every process.

    Parameters
    ----------
    *values : object
        Numbers, strings, arrays, sparse matrices, collections of these, functions (by their code)
        and objects (by their class, and their parameters or attributes).

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> from kernelfit.utils.digest import digest
    >>> digest({"C": 1.0, "kernel": "rbf"}) == digest({"kernel": "rbf", "C": 1.0})
    True
    >>> digest(1.0) == digest(2.0)
    False
    """
    found = hashlib.sha256()
    _feed(found, values)
    return found.hexdigest()


def _feed(found: Any, value: Any) -> None:
    """Add a value to a hash. Each part is preceded by its kind and its length."""
    if isinstance(value, np.generic):
        value = value.item()
    name = type(value).__qualname__
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        _note(found, name, repr(value).encode())
    elif isinstance(value, np.ndarray):
        _feed_array(found, value)
    elif sparse.issparse(value):
        _note(found, "sparse", value.format.encode())
        csr = value.tocsr()
        _feed(found, (csr.shape, csr.data, csr.indices, csr.indptr))
    elif isinstance(value, Mapping):
        _note(found, "mapping", str(len(value)).encode())
        for key in sorted(value, key=repr):
            _feed(found, (key, value[key]))
    elif isinstance(value, list | tuple | range):
        _note(found, "sequence", str(len(value)).encode())
        for item in value:
            _feed(found, item)
    elif isinstance(value, set | frozenset):
        _feed(found, ["set", *sorted(digest(item) for item in value)])
    else:
        _feed(found, _describe(value))


def _feed_array(found: Any, value: np.ndarray[Any, Any]) -> None:
    _note(found, "array", f"{value.dtype.str}{value.shape}".encode())
    if value.dtype == object:
        _feed(found, value.ravel().tolist())
    else:
        found.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)


def _note(found: Any, kind: str, content: bytes) -> None:
    found.update(f"{kind}:{len(content)}:".encode())
    found.update(content)


def _describe(value: Any) -> list[Any]:
    """Return what an object is, in values that have a fingerprint."""
    if isinstance(value, type):
        return ["class", value.__module__, value.__qualname__]
    if isinstance(value, BuiltinFunctionType | np.ufunc):
        return ["builtin", value.__name__]
    if isinstance(value, MethodType):
        return ["method", value.__self__, value.__func__]
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        rest = value.__defaults__, value.__kwdefaults__, cells
        return ["function", value.__module__, value.__qualname__, value.__code__, *rest]
    if isinstance(value, CodeType):
        return ["code", value.co_code, value.co_names, value.co_consts]
    if isinstance(value, functools.partial):
        return ["partial", value.func, value.args, value.keywords]
    if isinstance(value, np.random.RandomState):
        return ["RandomState", value.get_state(legacy=False)]
    if isinstance(value, np.random.Generator):
        return ["Generator", value.bit_generator.state]
    kind = ["object", type(value).__module__, type(value).__qualname__]
    if hasattr(value, "get_params") and not isinstance(value, type):
        return [*kind, value.get_params(deep=False)]
    if not hasattr(value, "__dict__"):
        raise ValueError(f"expected values that can be told from others, got {value!r}")
    return [*kind, vars(value)]
