"""Whatever the columns hold: order does not matter, rows stand alone, new values are safe."""

import string
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelfit
from kernelfit.tables import TableReader
from kernelfit.tables.plan import read_plan

WORDS = st.sampled_from("red green blue oak steel glass lamp chair table shelf".split())
VALUES = {
    "number": st.floats(-1e6, 1e6),
    "money": st.integers(-(10**6), 10**6).map(lambda v: f"${v:,}"),
    "iso": st.dates().filter(lambda d: d.year >= 1000).map(str),
    "moment": st.datetimes(),
    "word": WORDS,
    "text": st.lists(WORDS, min_size=2, max_size=6).map(" ".join),
    "noise": st.text(string.printable, max_size=8),
    "clock": st.times(),
    "duration": st.timedeltas(),
    "flag": st.booleans(),
}


@st.composite
def columns(draw):
    """Return a column of one sort, with gaps, of 45 rows drawn from a few different values."""
    sort = draw(st.sampled_from(sorted(VALUES)))
    values = draw(st.lists(VALUES[sort], min_size=1, max_size=40))
    gaps = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    column = [values[k] for k in rng.integers(0, len(values), 45)]
    return [None if gaps and k % 11 == 0 else value for k, value in enumerate(column)]


@settings(max_examples=40)
@given(columns(), st.randoms())
def test_order_and_company_of_rows_do_not_matter(values, random):
    X = np.array([values, np.arange(45.0)], dtype=object).T
    plan = read_plan(X)
    parsed = plan.read(X)
    order = random.sample(range(45), 45)
    np.testing.assert_array_equal(read_plan(X[order]).read(X[order]), parsed[order])
    # Sums of products of few rows may be rounded otherwise.
    np.testing.assert_allclose(plan.read(X[order[:7]]), parsed[order[:7]], atol=1e-12)


@settings(max_examples=40)
@given(columns(), columns())
def test_every_reader_is_saved_and_reads_other_tables_or_refuses_them(tmp_path_factory, a, b):
    X, Y = (np.array([values, np.arange(45.0)], dtype=object).T for values in (a, b))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = TableReader().fit(X)
        Z = reader.transform(X)
        assert np.isfinite(Z).all() and Z.shape[1] == len(reader.get_feature_names_out())
        path = tmp_path_factory.mktemp("saved") / "reader"
        again = kernelfit.load(kernelfit.save(reader, path))
        np.testing.assert_array_equal(again.transform(X), Z)
        try:
            other = reader.transform(Y)
        except ValueError as error:
            assert "as in training" in str(error)
        else:
            assert np.isfinite(other).all() and other.shape == Z.shape


@pytest.mark.parametrize("seed", range(3))
def test_a_column_of_unique_strings_costs_nothing(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=150)
    frame = pd.DataFrame(X, columns=list("abc"))
    names = [" ".join(rng.choice(["anna", "otto", "emil", "ida", "smith", "jones"], 3)) for _ in X]
    noise = frame.assign(
        name=[f"{name} {k}" for k, name in enumerate(names)],
        key=[f"{value:x}" for value in rng.integers(2**48, size=150)],
        order=[f"ORD-{k:05}" for k in rng.permutation(150)],
    )
    model = kernelfit.AutoKernelRegressor(members=["gaussian (standard)"], random_state=0)
    plain = model.fit(frame[:100], y[:100]).score(frame[100:], y[100:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        beside = model.fit(noise[:100], y[:100]).score(noise[100:], y[100:])
    assert plain > 0.8 and beside > plain - 0.03
