"""One table in all guises gives one matrix."""

import datetime

import numpy as np
import pandas as pd
import pytest

from kernelfit.tables.plan import read_plan

DATES = [datetime.date(2022, 1, 1) + datetime.timedelta(days=17 * k) for k in range(40)]
COLUMNS = {
    "number": [None if k % 7 == 0 else k / 4 for k in range(40)],
    "flag": [k % 3 == 0 for k in range(40)],
    "colour": [None if k % 5 == 0 else "red" if k % 2 else "blue" for k in range(40)],
    "when": DATES,
    "price": [f"${1000 + 37 * k:,}" for k in range(40)],
}
ROWS = [dict(zip(COLUMNS, values, strict=True)) for values in zip(*COLUMNS.values(), strict=True)]


@pytest.fixture(scope="module")
def expected():
    return read_plan(pd.DataFrame(COLUMNS)).read(pd.DataFrame(COLUMNS))


def _polars():
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def _structured():
    frame = pd.DataFrame(COLUMNS)
    frame["when"] = pd.to_datetime(frame["when"]).astype("datetime64[s]")
    types = {"number": "f8", "flag": "?", "colour": "O", "when": "M8[s]", "price": "U8"}
    rows = zip(*(frame[name].to_numpy() for name in types), strict=True)
    return np.array(list(rows), dtype=[*types.items()])


GUISES = {
    "objects": lambda: pd.DataFrame(COLUMNS).to_numpy(dtype=object),
    "dates of pandas": lambda: pd.DataFrame(COLUMNS).assign(when=pd.to_datetime(DATES)),
    "arrow": lambda: pytest.importorskip("pyarrow").table(COLUMNS),
    "polars": _polars,
    "lazy polars": lambda: _polars().lazy(),
    "dask": lambda: pytest.importorskip("dask.dataframe").from_pandas(
        pd.DataFrame(COLUMNS).assign(when=pd.to_datetime(DATES)), npartitions=3
    ),
    "list of dicts": lambda: ROWS,
    "structured array": _structured,
}


@pytest.mark.parametrize("guise", GUISES)
def test_guises(guise, expected):
    X = GUISES[guise]()
    plan = read_plan(X)
    np.testing.assert_array_equal(plan.read(X), expected)
    np.testing.assert_array_equal(read_plan(pd.DataFrame(COLUMNS)).read(X), expected)
