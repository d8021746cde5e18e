"""Views of a table: the features that kernels compare, learned from training rows alone.

Numbers are standardised, first brought to a Gaussian shape by their ranks, or left as they are.
Categories become one column each, so that two different ones are at squared distance two, as two
random values of a standardised column are on average. A missing number is the mean, and is marked
in a column of its own. Places on a circle become two coordinates, and opposite ones are at the
distance of two categories. The places of a text keep their distances: all of them together
vary as much as a few standardised columns. Columns that are constant or repeat another one are
left out, and so are those that vary by no more than sums of numbers are rounded; where there is
no other column, only those that vary by no more than a few of the last digits.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from kernelfit.tables.relevance import telling
from kernelfit.tables.roles import CATEGORY, CIRCLE, NUMBER, TEXT, UNKNOWN

Array = NDArray[Any]
Shape = Literal["standard", "ranks", "given"]

_MAX_CATEGORIES = 30  # with a column of their own; the rarer ones share one
_MAX_KNOTS = 1000  # of the map from values to ranks
_CIRCLE = np.sqrt(0.5)  # radius
_TEXT = 2.0  # variance of all places of a text
_SILENT = -1  # role of features that are left out
_KNOTS = 16  # of what a number may explain
_WAVES = 3  # on a circle, by which a weekday is told from any other
_ROWS_A_DIRECTION = 4  # of a text, at least, where it is judged
_ROUNDING = 1e-14  # a relative standard deviation that sums of numbers may have by rounding
_LAST_DIGITS = 4.0  # one that single numbers may have, in units of their last digits


@dataclass(frozen=True)
class _Number:
    """One column of numbers."""

    place: int
    knots: Array | None  # values whose Gaussian scores are known; None: no change of shape
    scores: Array | None
    centre: float
    scale: float
    fill: float  # what a missing value becomes
    marked: bool  # whether missing values have a column of their own

    def __call__(self, table: Array) -> list[Array]:
        value = table[:, self.place]
        missing = np.isnan(value)
        if self.knots is not None and self.scores is not None:
            value = np.interp(value, self.knots, self.scores)
        out = np.where(missing, self.fill, (value - self.centre) / self.scale)
        return [out, np.sqrt(2.0) * missing] if self.marked else [out]

    def names(self, name: str, labels: tuple[Any, ...]) -> list[str]:
        """Return the names of the features."""
        return [name, f"{name} is missing"] if self.marked else [name]


@dataclass(frozen=True)
class _Category:
    """One column of categories."""

    place: int
    values: Array  # that have a column of their own
    rest: bool  # whether all others, the missing among them, share one

    def __call__(self, table: Array) -> list[Array]:
        value = table[:, self.place]
        columns = [(value == one).astype(np.float64) for one in self.values]
        if self.rest:
            columns.append((~np.isin(value, self.values)).astype(np.float64))
        return columns

    def names(self, name: str, labels: tuple[Any, ...]) -> list[str]:
        """Return the names of the features."""
        return [f"{name} = {labels[int(k)]}" for k in self.values] + [f"{name} = other"] * self.rest


@dataclass(frozen=True)
class _Circle:
    """One column of places on a circle."""

    place: int
    marked: bool  # whether missing values have a column of their own

    def __call__(self, table: Array) -> list[Array]:
        missing = np.isnan(table[:, self.place])
        angle = 2.0 * np.pi * table[:, self.place]
        columns = [np.where(missing, 0.0, _CIRCLE * wave(angle)) for wave in (np.cos, np.sin)]
        return [*columns, np.sqrt(2.0) * missing] if self.marked else columns

    def names(self, name: str, labels: tuple[Any, ...]) -> list[str]:
        """Return the names of the features."""
        found = [f"{name}, cos", f"{name}, sin"]
        return [*found, f"{name} is missing"] if self.marked else found


@dataclass(frozen=True)
class _Text:
    """One place of a text."""

    place: int
    centre: float
    scale: float

    def __call__(self, table: Array) -> list[Array]:
        return [(table[:, self.place] - self.centre) / self.scale]

    def names(self, name: str, labels: tuple[Any, ...]) -> list[str]:
        """Return the name of the feature."""
        return [name]


@dataclass(frozen=True)
class View:
    """Turns parsed features, as a `Plan` reads them, into those that kernels compare.

    Attributes
    ----------
    columns : tuple
        What makes the features of each parsed feature.
    sources : ndarray of int of shape (n_features,)
        The parsed feature that a feature comes from.
    """

    columns: tuple[Any, ...]
    sources: Array

    def __call__(self, table: Array) -> Array:
        """Return the features, of shape (n, n_features)."""
        features = [feature for column in self.columns for feature in column(table)]
        if not features:  # nothing varies: all rows are alike
            return np.zeros((len(table), 1))
        return np.column_stack(features)

    def names(self, parsed: list[str], labels: dict[int, tuple[Any, ...]]) -> list[str]:
        """Return the names of the features, from those of parsed features and categories."""
        found: list[str] = []
        for column in self.columns:
            found += column.names(parsed[column.place], labels.get(column.place, ()))
        return found or ["nothing varies"]


def learn_view(
    table: Array, roles: Array, weight: Array, shape: Shape, targets: Array | None = None
) -> View:
    """Learn a view from training rows.

    Parameters
    ----------
    table : ndarray of shape (n, d)
        Parsed features, as a `Plan` reads them.
    roles : ndarray of int of shape (d,)
        What they are: see `kernelfit.tables.roles`.
    weight : ndarray of shape (n,)
        Positive. A weight of 2 equals a repeated row.
    shape : {"standard", "ranks", "given"}
        Whether numbers are standardised, get the shape of a Gaussian, or stay as they are.
    targets : ndarray of shape (n, k), default=None
        Places on circles and in texts that tell nothing of them are left out; none when None.

    Returns
    -------
    View
    """
    roles = roles if targets is None else _without_silent(table, roles, weight, targets)
    found = _learn_columns(table, roles, weight, shape, alone=False)
    if not found.columns:
        found = _learn_columns(table, roles, weight, shape, alone=True)
    return found


def _without_silent(table: Array, roles: Array, weight: Array, targets: Array) -> Array:
    """Return the roles, _SILENT for circles and texts that tell nothing by themselves.

    Dates have a weekday, and names have pieces, whether or not these matter. Numbers and
    categories stay: somebody thought them worth a column.
    """
    groups: dict[int, Array] = {}
    for place in np.flatnonzero(roles == CIRCLE).tolist():
        angle = 2.0 * np.pi * np.nan_to_num(table[:, place])[:, None] * np.arange(1, _WAVES + 1)
        groups[place] = np.hstack([np.cos(angle), np.sin(angle)])
    for block in np.unique(roles[roles >= TEXT]):
        places = np.flatnonzero(roles == block)
        most = max(1, len(table) // _ROWS_A_DIRECTION)
        groups[int(places[0])] = table[:, places[:most]]
    if groups:  # what numbers explain is no noise to these
        numbers = np.flatnonzero(roles == NUMBER).tolist()
        groups |= {place: _hats(table[:, place]) for place in numbers}
    kept = telling(groups, targets, weight)
    silent = [place for place in groups if place not in kept and roles[place] != NUMBER]
    blocks = roles[[place for place in silent if roles[place] >= TEXT]]
    roles = np.where(np.isin(roles, blocks), _SILENT, roles)
    roles[silent] = _SILENT
    return roles


def _hats(values: Array) -> Array:
    """Return the hat functions of a number, which sum up to broken lines; 0 where it is missing."""
    missing = np.isnan(values)
    if missing.all():
        return np.zeros((len(values), 1))
    knots = np.unique(np.quantile(values[~missing], np.linspace(0.0, 1.0, _KNOTS)))
    hats = [np.where(missing, 0.0, np.interp(values, knots, hat)) for hat in np.eye(len(knots))]
    return np.column_stack(hats)


def _learn_columns(table: Array, roles: Array, weight: Array, shape: Shape, alone: bool) -> View:
    """Learn a view; alone where no column varies by more than the rounding of sums."""
    columns: list[Any] = []
    sources: list[int] = []
    seen: set[bytes] = set()
    share = weight / weight.sum()
    scales = {
        role: _scale_of_text(table[:, roles == role], share) for role in {*roles} if role >= TEXT
    }
    for j in range(table.shape[1]):
        if roles[j] == _SILENT:
            continue
        values = table[:, j]
        print_of_column = np.nan_to_num(values, nan=np.inf).tobytes()
        if print_of_column in seen:
            continue
        seen.add(print_of_column)
        role = roles[j]
        if role == NUMBER:
            column: Any = _learn_number(j, values, weight, shape, alone)
        elif role == CATEGORY:
            column = _learn_category(j, values, weight)
        elif role == CIRCLE:
            column = _learn_circle(j, values)
        else:
            column = _Text(j, share @ values, scales[role])
        if column is not None:
            columns.append(column)
            sources += [j] * len(column(table[:1]))
    return View(tuple(columns), np.array(sources or [0]))


def _learn_number(
    j: int, values: Array, weight: Array, shape: Shape, alone: bool
) -> _Number | None:
    present = ~np.isnan(values)
    marked = bool(present.any() and not present.all())
    x, w = values[present], weight[present]
    if not len(x) or x.min() == x.max():
        return _Number(j, None, None, 0.0, np.inf, 0.0, True) if marked else None
    knots = scores = None
    if shape == "ranks":
        knots, scores = _gaussian_scores(x, w)
        x = np.interp(x, knots, scores)
    # Differences of numbers that have most digits in common are exact, and have the others.
    origin = float(x.min()) if alone else 0.0
    x = x - origin
    # In units of the largest number, so that no square overflows.
    unit = np.abs(x).max()
    share = w / w.sum()
    centre = share @ (x / unit)
    scale = np.sqrt(share @ (x / unit - centre) ** 2)
    rounding = _LAST_DIGITS * np.spacing(abs(origin)) / unit if alone else _ROUNDING
    if not scale > rounding:
        return None
    centre, scale = float(centre * unit), float(scale * unit)
    if shape == "given":
        return _Number(j, None, None, origin, 1.0, centre, marked)
    return _Number(j, knots, scores, origin + centre, scale, 0.0, marked)


def _gaussian_scores(x: Array, w: Array) -> tuple[Array, Array]:
    """Return distinct values and the Gaussian quantiles of their mid-ranks."""
    knots, inverse = np.unique(x, return_inverse=True)
    mass = np.bincount(inverse, weights=w)
    rank = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    if len(knots) > _MAX_KNOTS:
        keep = np.linspace(0, len(knots) - 1, _MAX_KNOTS).round().astype(int)
        knots, rank = knots[keep], rank[keep]
    return knots, ndtri(rank)


def _learn_category(j: int, values: Array, weight: Array) -> _Category | None:
    known = values[~np.isnan(values) & (values != UNKNOWN)]
    mass = weight[~np.isnan(values) & (values != UNKNOWN)]
    if not len(known):
        return None
    codes, inverse = np.unique(known, return_inverse=True)
    total = np.bincount(inverse, weights=mass)
    order = np.argsort(-total, kind="stable")[:_MAX_CATEGORIES]
    chosen = codes[np.sort(order)]
    rest = bool(len(known) < len(values) or len(codes) > len(chosen))
    if len(chosen) == 1 and not rest:
        return None
    return _Category(j, chosen, rest)


def _learn_circle(j: int, values: Array) -> _Circle | None:
    present = ~np.isnan(values)
    if len(np.unique(values[present] % 1.0)) < 2:
        return None
    return _Circle(j, not bool(present.all()))


def _scale_of_text(places: Array, share: Array) -> float:
    """Return what to divide the places of a text by."""
    variance = float((share @ (places - share @ places) ** 2).sum())
    return np.sqrt(variance / _TEXT) if variance > 0.0 else np.inf
