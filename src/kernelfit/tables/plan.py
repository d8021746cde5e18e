"""How to read a table: what each column means, decided on all training rows, without labels.

`read_plan` finds a reader for every column. Their `Plan` turns any table with these columns into a
float64 array, the parsed features: nan is missing, a category is its number, and -1 one that
training had not. What depends on targets or on how values are distributed (imputation, scales) is
not here but in `kernelfit.tables.views`: that is learned in the training part of every fold.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from kernelfit.tables.frames import Column, as_table, columns_of
from kernelfit.tables.kinds import KINDS, reader_of
from kernelfit.tables.roles import CATEGORY, TEXT
from kernelfit.utils.values import is_missing

Array = NDArray[Any]


@dataclass(frozen=True)
class Plan:
    """How to read a table.

    Attributes
    ----------
    names : tuple of str
        What messages call the columns.
    readers : tuple
        One reader a column.
    missing : tuple of int
        Missing values in training, one number a column.
    """

    names: tuple[str, ...]
    readers: tuple[Any, ...]
    missing: tuple[int, ...]

    @cached_property
    def roles(self) -> Array:
        """The role of every parsed feature; blocks of text have one number each, from TEXT on."""
        roles: list[int] = []
        n_blocks = 0
        for reader in self.readers:
            roles += [role + n_blocks * (role == TEXT) for role in reader.roles]
            n_blocks += TEXT in reader.roles
        return np.array(roles, dtype=int)

    @cached_property
    def sources(self) -> Array:
        """The column of every parsed feature."""
        return np.repeat(np.arange(len(self.readers)), [len(one.roles) for one in self.readers])

    @property
    def columns(self) -> list[Array]:
        """The parsed features of every column."""
        return [np.flatnonzero(self.sources == j) for j in range(len(self.readers))]

    def parsed_names(self) -> list[str]:
        """Return the names of the parsed features."""
        pairs = zip(self.names, self.readers, strict=True)
        return [
            f"{name}: {suffix}" if suffix else name
            for name, one in pairs
            for suffix in one.suffixes
        ]

    def labels(self) -> dict[int, tuple[Any, ...]]:
        """Return the categories of the parsed features that have such, by their place."""
        found = {}
        for place in np.flatnonzero(self.roles == CATEGORY).tolist():
            reader = self.readers[self.sources[place]]
            found[place] = getattr(reader, "category", reader).values
        return found

    def _columns_of(self, X: Any) -> list[Column]:
        columns = columns_of(X)
        if len(columns) != len(self.readers):  # dense here and sparse in training, or otherwise
            X = as_table(X)
            columns = columns_of(X.toarray() if issparse(X) else csr_array(X))
        return columns

    def read_column(self, X: Any, j: int) -> Array:
        """Return the parsed features of one column, of shape (n, k)."""
        return np.asarray(self.readers[j].read(self._columns_of(X)[j]))

    def read(self, X: Any) -> Array:
        """Return the parsed features of a table, of shape (n, n_parsed)."""
        pairs = zip(self.readers, self._columns_of(X), strict=True)
        return np.hstack([reader.read(column) for reader, column in pairs])


def read_plan(X: Any, column_kinds: Mapping[Any, str] | None = None) -> Plan:
    """Find out what the columns of a table mean.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        A numpy array, or a frame of any library that narwhals reads.
    column_kinds : mapping from str or int to str, default=None
        Kinds of columns, by name or place, that are not to be found out: "number", "category",
        "text", "date", "day first", "month first", "unix", "duration", "time" or "drop".

    Returns
    -------
    Plan

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.tables.plan import read_plan
    >>> X = np.array([[1.5, "red"], [None, "blue"]], dtype=object)
    >>> plan = read_plan(X)
    >>> plan.read(X)
    array([[1.5, 1. ],
           [nan, 0. ]])
    """
    columns = columns_of(X)
    names = tuple(column.name for column in columns)
    kinds = _kinds_by_place(column_kinds, names)
    readers, missing = [], []
    for j, column in enumerate(columns):
        readers.append(reader_of(column, kinds.get(j)))
        missing.append(_count_missing(column.values))
    plan = Plan(names, tuple(readers), tuple(missing))
    if not len(plan.roles):
        raise ValueError("expected a column to learn from, got only such as are dropped")
    return plan


def _count_missing(values: Array) -> int:
    if values.ndim > 1:  # a sparse matrix
        return 0
    if values.dtype.kind == "f":
        return int(np.isnan(values).sum())
    if values.dtype.kind in "mM":
        return int(np.isnat(values).sum())
    return sum(map(is_missing, values.tolist())) if values.dtype.kind == "O" else 0


def _kinds_by_place(kinds: Mapping[Any, str] | None, names: tuple[str, ...]) -> dict[int, str]:
    found = {}
    for name, kind in (kinds or {}).items():
        if isinstance(name, str) and name in names:
            place = names.index(name)
        elif isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(names):
            place = name
        else:
            raise ValueError(
                f"expected column_kinds to name columns, by name or place, got {name!r}"
            )
        if kind not in KINDS:
            raise ValueError(
                f"expected column_kinds among {', '.join(KINDS)}, got {kind!r} for {name!r}"
            )
        found[place] = kind
    return found
