"""Tables of numbers and categories are read, and seen, as a few lines of numpy would do it."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from sklearn.datasets import load_iris, load_wine

from kernelfit.tables.plan import read_plan
from kernelfit.tables.views import learn_view


def mixed_table():
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(
        {
            "x": np.round(rng.normal(50.0, 9.0, n), 1),
            "colour": rng.choice(["red", "green", "blue"], n),
            "count": rng.integers(0, 5, n),
            "town": [f"t{k}" for k in rng.integers(0, 60, n) ** 2 % 47],
            "flag": rng.random(n) < 0.3,
        }
    )
    frame.loc[::7, "x"] = np.nan
    frame.loc[3::11, "colour"] = None
    return frame


TABLES = {
    "iris": load_iris().data,
    "wine": load_wine().data,
    "mixed": mixed_table(),
}


def columns_in(table):
    """Return the columns, numbers as float64, categories as objects."""
    for values in pd.DataFrame(table).items():
        is_text = values[1].dtype == object or pd.api.types.is_string_dtype(values[1])
        yield values[1].to_numpy(object if is_text else np.float64)


def parse(table):
    """Return the numbers, and those of categories in the order of the alphabet."""
    parsed = []
    for values in columns_in(table):
        if values.dtype == object:
            known = sorted({v for v in values if isinstance(v, str)})
            values = [known.index(v) if isinstance(v, str) else np.nan for v in values]
        parsed.append(np.asarray(values, dtype=np.float64))
    return np.column_stack(parsed)


def features_of_number(x, w, shape):
    """Return the number, standardised, and whether it is missing."""
    there = ~np.isnan(x)
    value = x[there]
    if shape == "ranks":  # the middle of those that a repeated row would have
        rank = [w[there] @ ((value < v) + 0.5 * (value == v)) for v in value]
        value = ndtri(np.array(rank) / w[there].sum())
    mean = np.average(value, weights=w[there])
    scale = np.sqrt(np.average((value - mean) ** 2, weights=w[there]))
    out = np.zeros(len(x)) if shape != "given" else np.full(len(x), mean)
    out[there] = value if shape == "given" else (value - mean) / scale
    return [out] if there.all() else [out, np.sqrt(2.0) * ~there]


def features_of_category(code, w):
    """Return one column a category: of the thirty of the largest weight, and of all others."""
    known = sorted({c for c in code if c == c}, key=lambda c: (-w[code == c].sum(), c))
    own = [(code == c).astype(float) for c in sorted(known[:30])]
    rest = 1.0 - np.sum(own, axis=0)
    return [*own, rest] if rest.any() else own


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", ["standard", "ranks", "given"])
@pytest.mark.parametrize("name", TABLES)
def test_matrix_and_views(name, shape, weighted):
    table = TABLES[name]
    plan = read_plan(table)
    parsed = plan.read(table)
    np.testing.assert_array_equal(parsed, parse(table))
    n = len(parsed)
    w = 1.0 + np.arange(n) % 3 if weighted else np.ones(n)
    expected = []
    for values, column in zip(columns_in(table), parsed.T, strict=True):
        if values.dtype == object:
            expected += features_of_category(column, w)
        else:
            expected += features_of_number(column, w, shape)
    targets = np.sin(np.arange(n))[:, None]
    for seen in (None, targets):  # which matter to dates and texts alone
        view = learn_view(parsed, plan.roles, w, shape, seen)
        np.testing.assert_allclose(view(parsed), np.column_stack(expected), rtol=1e-9, atol=1e-10)


def test_different_categories_are_at_equal_distances():
    frame = mixed_table()[["colour"]].fillna("none")
    plan = read_plan(frame)
    Z = learn_view(plan.read(frame), plan.roles, np.ones(len(frame)), "standard")(plan.read(frame))
    different = frame.to_numpy() != frame.to_numpy().T
    np.testing.assert_array_equal(((Z[:, None] - Z) ** 2).sum(axis=2), 2.0 * different)
