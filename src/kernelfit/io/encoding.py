"""Values as JSON and arrays, and back.

None, booleans, strings, integers, finite floats and lists are JSON's own; anything else is an
object of one key: ``{"tuple": [...]}``, ``{"dict": [[key, value], ...]}``, ``{"array": 3}``, the
third of the arrays, ``{"object": 5}``. Objects are kept in a list in which each refers to earlier
ones alone; what two share is kept once, and is one object again.
"""

import math
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelfit.io.classes import FUNCTIONS, build, class_name, find_class, function_name, state_of

Array = NDArray[Any]

OWN = "own:"  # before the name of a class of the user's
_LONG = 256  # plain sequences from this length on are kept as arrays
_SPARSE = {
    kind.__name__: kind
    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)
}
_SCALARS, _ARRAYS = "biufU", "biufcUS"  # kinds of numpy's types; long doubles differ by platform


class Encoder:
    """Turns values into JSON.

    Parameters
    ----------
    classes : sequence of type, default=()
        The user's own classes, whose objects may be kept.

    Attributes
    ----------
    arrays : list of ndarray
        What the JSON refers to.
    objects : list of dict
        The same, of the objects.
    """

    def __init__(self, classes: Sequence[type] = ()) -> None:
        self._own = {cls: f"{OWN}{cls.__name__}" for cls in classes}
        self.arrays: list[Array] = []
        self.objects: list[dict[str, Any]] = []
        self._known: dict[int, tuple[Any, dict[str, int] | None]] = {}

    def encode(self, value: Any, name: str) -> Any:
        """Return a value as JSON; ValueError, with its name, where that cannot be."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind in (set, frozenset):
            value = sorted(value, key=lambda one: (type(one).__name__, repr(one)))
        if kind in (list, tuple, set, frozenset):
            items = self._sequence(value, name)
            return items if kind is list and isinstance(items, list) else {kind.__name__: items}
        if kind is dict:
            pairs = [(k, v, f"{name}[{k!r}]") for k, v in value.items()]
            return {"dict": [[self.encode(k, at), self.encode(v, at)] for k, v, at in pairs]}
        if isinstance(value, np.generic):
            if value.dtype.kind not in _SCALARS or value.dtype.char == "g":
                raise _refusal(value, name)
            return {"scalar": [_dtype(value.dtype), self.encode(value.item(), name)]}
        if isinstance(value, FunctionType):
            if function_name(value) is None:
                raise _refusal(value, name)
            return {"function": function_name(value)}
        if isinstance(value, np.ndarray) and value.dtype.kind == "O" and kind is np.ndarray:
            items = [self.encode(item, name) for item in value.ravel().tolist()]
            return {"objects": [list(value.shape), items]}
        return self._reference(value, name)

    def _sequence(self, values: Sequence[Any], name: str) -> Any:
        kinds = {type(value) for value in values}
        if len(values) >= _LONG and len(kinds) == 1:
            array = np.array(values) if kinds <= {float, str} else None
            if array is not None and array.tolist() == list(values):
                return self.encode(array, name)
        return [self.encode(value, name) for value in values]

    def _reference(self, value: Any, name: str) -> dict[str, Any]:
        """Return the place of an array or an object among those that are kept."""
        if id(value) in self._known:
            found = self._known[id(value)][1]
            if found is None:
                raise ValueError(f"expected a model without cycles, got one in {name}")
            return found
        self._known[id(value)] = value, None  # the value too: its id is not used again
        if isinstance(value, np.ndarray) and type(value) in (np.ndarray, np.memmap):
            if value.dtype.kind not in _ARRAYS or value.dtype.char in "gG":
                raise _refusal(value, name)
            self.arrays.append(value)
            found = {"array": len(self.arrays) - 1}
        else:
            cls, state = self._take_apart(value, name)
            encoded = {part: self.encode(one, f"{name}.{part}") for part, one in state.items()}
            self.objects.append({"class": cls, "state": encoded})
            found = {"object": len(self.objects) - 1}
        self._known[id(value)] = value, found
        return found

    def _take_apart(self, value: Any, name: str) -> tuple[str, Any]:
        kind = type(value)
        if kind is np.ma.MaskedArray:
            mask = np.ma.getmaskarray(value)
            return "masked", {"data": value.data, "mask": mask, "fill": value.fill_value}
        if _SPARSE.get(kind.__name__) is kind:
            parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
            return kind.__name__, {"shape": tuple(map(int, value.shape)), **parts}
        known = self._own.get(kind) or class_name(kind)
        if known is None:
            raise _refusal(value, name)
        return known, state_of(value)


def _refusal(value: Any, name: str) -> ValueError:
    if isinstance(value, np.random.RandomState | np.random.Generator):
        got = f"a {type(value).__name__}, which pickle can keep"
        return ValueError(f"expected an integer or None as {name}, got {got}")
    own = isinstance(value, FunctionType)
    what = f"the function {value.__name__}" if own else f"an object of {type(value)}"
    return ValueError(f"expected parts of kernelfit's own, got {what} as {name}")


def _dtype(dtype: np.dtype[Any]) -> str:
    return dtype.newbyteorder("<").str


class Decoder:
    """Turns JSON into values again.

    Parameters
    ----------
    arrays : sequence of ndarray
    complete : bool
        Whether all parameters of an estimator must be there.
    classes : sequence of type, default=()
        The user's own classes: no others but kernelfit's are ever looked up.
    """

    def __init__(
        self, arrays: Sequence[Array], complete: bool, classes: Sequence[type] = ()
    ) -> None:
        self._own = {f"{OWN}{cls.__name__}": cls for cls in classes}
        self._complete = complete
        self._objects: list[Any] = []
        self._readers: dict[str, Callable[[Any], Any]] = {
            "array": lambda place: _at(arrays, place),
            "dict": self._dict,
            "float": lambda text: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[text],
            "frozenset": lambda items: frozenset(self._items(items)),
            "function": lambda name: FUNCTIONS[name],
            "list": self._items,
            "object": lambda place: _at(self._objects, place),
            "objects": self._object_array,
            "scalar": self._scalar,
            "set": lambda items: set(self._items(items)),
            "tuple": lambda items: tuple(self._items(items)),
        }

    def decode_objects(self, objects: list[dict[str, Any]]) -> None:
        """Build the objects, each of which may refer to those before it."""
        for one in objects:
            state = {name: self.decode(value) for name, value in one["state"].items()}
            self._objects.append(self._build(one["class"], state))

    def decode(self, value: Any) -> Any:
        """Return the value that a piece of JSON stands for."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        return self._readers[kind](content)

    def _build(self, cls: str, state: dict[str, Any]) -> Any:
        if cls == "masked":
            data, mask = np.asarray(state["data"]), np.asarray(state["mask"])
            if data.shape != mask.shape or mask.dtype != bool:
                raise ValueError("a mask does not fit its array")
            return np.ma.MaskedArray(data, mask, fill_value=state["fill"])
        if cls in _SPARSE:
            parts = (state["data"], state["indices"], state["indptr"])
            matrix = _SPARSE[cls](parts, shape=state["shape"])
            matrix.check_format(full_check=True)  # indices beyond the shape would crash
            return matrix
        if cls.startswith(OWN) and cls not in self._own:
            raise ValueError(
                f"it holds an object of your class {cls[len(OWN) :]}: name it in classes"
            )
        return build(self._own.get(cls) or find_class(cls), state, self._complete)

    def _items(self, items: Any) -> list[Any]:
        """Return the members of a sequence, which may be an array."""
        items = self.decode(items)
        return items.tolist() if isinstance(items, np.ndarray) else list(items)

    def _dict(self, pairs: list[list[Any]]) -> dict[Any, Any]:
        found = {self.decode(key): self.decode(value) for key, value in pairs}
        if len(found) != len(pairs):
            raise ValueError("a key is repeated")
        return found

    def _scalar(self, pair: list[Any]) -> Any:
        dtype = np.dtype(str(pair[0]))
        if dtype.kind not in _SCALARS:
            raise ValueError(f"no scalar has type {dtype}")
        value = self.decode(pair[1])
        scalar = dtype.type(value)
        if scalar.item() != value and value == value:
            raise ValueError(f"{value!r} is no {dtype}")
        return scalar

    def _object_array(self, pair: list[Any]) -> Array:
        shape, items = pair[0], [self.decode(item) for item in pair[1]]
        if not is_shape(shape) or math.prod(shape) != len(items):
            raise ValueError(f"{len(items)} items have no shape {shape}")
        out = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            out[place] = item
        return out.reshape(shape)


def is_shape(sides: Any) -> bool:
    """Return whether a piece of JSON is the shape of an array."""
    return isinstance(sides, list) and all(type(side) is int and side >= 0 for side in sides)


def _at(kept: Sequence[Any], place: Any) -> Any:
    if type(place) is not int or not 0 <= place < len(kept):
        raise ValueError(f"a reference to part {place} points to none of the {len(kept)} before it")
    return kept[place]
