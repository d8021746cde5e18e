"""Dates against Python's calendar, and how text writes them."""

import datetime
import math

import numpy as np
import pandas as pd
import pytest

from kernelfit.tables.date_text import clock_in, date_in, duration_in, find_order
from kernelfit.tables.plan import read_plan

EPOCH = datetime.datetime(1970, 1, 1)


def days(*parts):
    return (datetime.datetime(*parts) - EPOCH).total_seconds() / 86400.0


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("2024-02-29", "ymd", days(2024, 2, 29)),
        ("2024/2/9 17:05", "ymd", days(2024, 2, 9, 17, 5)),
        ("1969-12-31T23:59:59.5Z", "ymd", -0.5 / 86400),
        ("2024-02-09 17:05:01+02:00", "ymd", days(2024, 2, 9, 17, 5, 1)),
        ("20240229", "compact", days(2024, 2, 29)),
        ("2024-03", "ym", days(2024, 3, 1)),
        ("31.12.99", "dmy", days(1999, 12, 31)),
        ("3/4/2024 5:06 PM", "mdy", days(2024, 3, 4, 17, 6)),
        ("12:30 am", None, None),
        ("Mon, 4 Mar 2024", "day, month", days(2024, 3, 4)),
        ("04-MAR-24", "day, month", days(2024, 3, 4)),
        ("March 4th, 2024", "month, day", days(2024, 3, 4)),
        ("Sept 2024", "month, year", days(2024, 9, 1)),
        ("Mar-2018", "month, year", days(2018, 3, 1)),
        ("2023-02-29", None, None),
        ("30/2/2024", None, None),
        ("1.2.3", None, None),
        ("192.168.0.1", None, None),
        ("smarch 4, 2024", None, None),
    ],
)
def test_forms_of_dates(text, order, expected):
    found = find_order([text])
    assert (found and found.order) == order
    if order is not None:
        assert math.isclose(date_in(text, order), expected, abs_tol=1e-9)


def test_the_column_tells_whether_days_come_first():
    assert find_order(["1/2/2024", "13/2/2024"]) == ("dmy", False)
    assert find_order(["1/2/2024", "2/13/2024"]) == ("mdy", False)
    assert find_order(["1/2/2024", "3/4/2024"]) == ("mdy", True)
    assert find_order(["1.2.2024", "3.4.2024"]) == ("dmy", True)
    assert find_order(["1/1/2024", "2/2/2024"]) == ("mdy", False)  # the same either way
    assert find_order(["13/2/2024", "2/13/2024"]) is None
    assert find_order(["2024-01-01", "1/2/2024"]) == ("mixed mdy", True)
    assert find_order(["2024-01-01", "2 March 2024", "13/2/2024"]) == ("mixed dmy", False)
    assert date_in("2 March 2024", "mixed dmy") == date_in("2/3/2024", "mixed dmy")
    assert math.isnan(date_in("9999-12-31", "ymd"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("04:26", 15960), ("4:26 PM", 59160), ("12:00 AM", 0), ("36:10:05", 130205), ("1:60", None)],
)
def test_clock_times(text, expected):
    assert clock_in(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1h 30m", 0.0625), ("2 days 12:00:00", 2.5), ("90 min", 0.0625), ("", np.nan), ("h", None)],
)
def test_durations(text, expected):
    assert duration_in(text) == expected or (expected != expected and np.isnan(duration_in(text)))


def test_parts_are_those_of_the_calendar():
    rng = np.random.default_rng(0)
    moments = [EPOCH + datetime.timedelta(seconds=int(s)) for s in rng.integers(-1e9, 2e9, 200)]
    plan = read_plan(pd.DataFrame({"when": moments}))
    parsed = dict(
        zip(plan.parsed_names(), plan.read(pd.DataFrame({"when": moments})).T, strict=True)
    )
    for k, m in enumerate(moments):
        start, end = datetime.datetime(m.year, 1, 1), datetime.datetime(m.year + 1, 1, 1)
        expected = {
            "elapsed": (m - EPOCH).total_seconds() / 86400,
            "day of year": (m - start) / (end - start),
            "day of month": (m.day - 1) / 31,
            "weekday": m.weekday() / 7,
            "time of day": (3600 * m.hour + 60 * m.minute + m.second) / 86400,
        }
        assert set(parsed) == {f"when: {name}" for name in expected}
        for name, value in expected.items():
            assert math.isclose(parsed[f"when: {name}"][k], value, abs_tol=1e-9), (name, m)


def test_what_does_not_vary_is_no_part():
    def parts(dates):
        return read_plan(pd.DataFrame({"d": dates})).readers[0].parts

    assert parts(pd.date_range("2024-01-01", periods=5, freq="h")) == ("elapsed",)
    assert parts(pd.date_range("2024-01-01", periods=20)) == ("elapsed", "weekday")
    assert parts(pd.date_range("2020-01-01", periods=48, freq="MS")) == ("elapsed", "day of year")
    assert parts(pd.date_range("1990-01-01", periods=30, freq="YS")) == ("elapsed",)
    assert parts(pd.to_datetime(["2024-01-01"] * 3)) == ("elapsed",)


def test_dates_beyond_training_are_held():
    plan = read_plan(pd.DataFrame({"d": pd.date_range("2020-01-01", "2023-12-31", freq="5D")}))
    later = pd.DataFrame({"d": pd.to_datetime(["2040-07-01", "2023-12-31", None])})
    parsed = plan.read(later)
    assert parsed[0, 0] == plan.readers[0].last >= parsed[1, 0] - 5
    assert 0.49 < parsed[0, 1] < 0.5  # the season is that of the date
    assert np.isnan(parsed[2]).all()


def test_seconds_since_1970_only_when_told():
    seconds = np.arange(50) * 86400 * 30 + 1.6e9
    X = seconds[:, None]
    assert read_plan(X).readers[0].kind == "number"
    plan = read_plan(X, {0: "unix"})
    np.testing.assert_array_equal(plan.read(X)[:, 0], seconds / 86400)


def test_dates_of_all_origins_are_the_same():
    iso = ["2021-05-04", "2022-11-30", "2020-02-29", None]
    stamps = pd.to_datetime(iso)
    plan = read_plan(pd.DataFrame({"d": iso}))
    expected = plan.read(pd.DataFrame({"d": iso}))
    objects = [None if d is None else datetime.date.fromisoformat(d) for d in iso]
    for column in (stamps, stamps.to_period("D"), objects, stamps.astype("datetime64[s]")):
        frame = pd.DataFrame({"d": column})
        np.testing.assert_array_equal(plan.read(frame), expected)
        np.testing.assert_array_equal(read_plan(frame).read(frame), expected)
    with pytest.raises(ValueError, match=r"expected dates in column 'd', .* got 'soon'"):
        plan.read(pd.DataFrame({"d": ["soon"]}))
