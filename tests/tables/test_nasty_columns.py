"""Sixty columns as they lie about in the world, each read as a careful analyst would."""

import datetime
import hashlib
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import kernelfit
from kernelfit.tables import TableReader
from kernelfit.tables.describe import describe_columns
from kernelfit.tables.plan import read_plan

N = 80
RNG = np.random.default_rng(0)
DAYS = [datetime.date(2023, 1, 3) + datetime.timedelta(days=9 * k) for k in range(N)]
MOMENTS = [datetime.datetime(2024, 5, 1, 6) + datetime.timedelta(hours=7 * k) for k in range(N)]
NUMBERS = np.round(RNG.lognormal(6.0, 1.5, N), 2)
COUNTS = RNG.integers(1, 400, N)
WORDS = "red green blue oak steel glass lamp chair table shelf".split()
TEXTS = [" ".join(RNG.choice(WORDS, 4)) + f" {k}" for k in range(N)]


def hexadecimal(k):
    return hashlib.sha256(str(k).encode()).hexdigest()[:16]


def every(values):
    """Return as many values, in turn."""
    return [values[k % len(values)] for k in range(N)]


# Name: values, kind, number of parsed features, words of the note.
COLUMNS = {
    "whole": (COUNTS, "number", 1, ""),
    "nullable": (pd.array([None, *COUNTS[1:]], dtype="Int64"), "number", 1, ""),
    "flag": (RNG.random(N) < 0.5, "boolean", 1, ""),
    "maybe": (pd.array([None, *(COUNTS[1:] > 200)], dtype="boolean"), "boolean", 1, ""),
    "decimal": ([Decimal(str(v)) for v in NUMBERS], "number", 1, ""),
    "text of numbers": ([str(v) for v in NUMBERS], "number", 1, ""),
    "powers": ([f"{v:.2e}" for v in NUMBERS], "number", 1, ""),
    "dollars": ([f"${v:,.2f}" for v in NUMBERS], "number", 1, "'$'"),
    "euros": (
        [f"{v:,.2f} €".translate(str.maketrans(",.", ".,")) for v in NUMBERS], "number", 1, "'€'",
    ),
    "negative": ([f"(${v:,.2f})" if v < 300 else f"${v:,.2f}" for v in NUMBERS], "number", 1, "$"),
    "percent": ([f"{v} %" for v in COUNTS], "number", 1, "'%'"),
    "weights": ([f"{v / 10} kg" for v in COUNTS], "number", 1, "'kg'"),
    "followers": ([f"{v}K" if v % 2 else f"{v / 10}M" for v in COUNTS], "number", 1, "'K'"),
    "limits": (["<5" if v < 50 else str(v) for v in COUNTS], "number", 1, ""),
    "gaps": (["n/a" if v < 50 else "-" if v < 90 else str(v) for v in COUNTS], "number", 1, ""),
    "typo": ([*(str(v) for v in NUMBERS[1:]), "unknown"], "number", 1, "1 others, such as 'unkn"),
    "few whole texts": (every(["1", "2", "3"]), "category", 1, ""),
    "postcodes": (every([f"0{v}" for v in range(1067, 1090)]), "category", 1, ""),
    "versions": (every(["1.2.3", "1.2.4", "1.10.0"]), "category", 1, ""),
    "colours": (every(["red", "green", None]), "category", 1, ""),
    "bytes": (every([b"x", b"y"]), "category", 1, ""),
    "ordered": (pd.Categorical(every(["low", "high"]), ordered=True), "category", 1, ""),
    "intervals": (pd.cut(NUMBERS, 3), "category", 1, ""),
    "days": (DAYS, "date", 4, ""),
    "iso": ([day.isoformat() for day in DAYS], "date", 4, ""),
    "datetime64": (np.array(DAYS, dtype="datetime64[ns]"), "date", 4, ""),
    "periods": (pd.period_range("2019-01", periods=N, freq="M"), "date", 2, ""),
    "zones": (pd.DatetimeIndex(MOMENTS).tz_localize("Europe/Berlin"), "date", 3, ""),
    "iso with zone": ([f"{m.isoformat()}+02:00" for m in MOMENTS], "date", 3, ""),
    "day first": ([day.strftime("%d/%m/%Y") for day in DAYS], "date", 4, ""),
    "month first": ([day.strftime("%m/%d/%Y") for day in DAYS], "date", 4, ""),
    "points": ([f"{1 + k % 12}.{1 + k % 11}.2024" for k in range(N)], "date", 3, "day first"),
    "slashes": ([f"{1 + k % 11}/{1 + k % 12}/24" for k in range(N)], "date", 3, "month first"),
    "month names": ([day.strftime("%b %d, %Y") for day in DAYS], "date", 4, ""),
    "digits of dates": ([int(day.strftime("%Y%m%d")) for day in DAYS], "date", 4, "digits of"),
    "game clock": ([f"{v // 36:02}:{v % 36:02}" for v in COUNTS], "time", 1, ""),
    "time of day": ([f"{v % 24}:{v % 60:02}" for v in COUNTS], "time", 2, ""),
    "durations": ([f"{v // 60}h {v % 60}m" for v in COUNTS], "duration", 1, ""),
    "timedelta": (pd.to_timedelta(COUNTS, unit="h"), "duration", 1, ""),
    "reviews": (TEXTS, "text", 60, ""),
    "labels": (every([text[:-3] for text in TEXTS[:31]]), "label", 31, ""),
    "hashes": ([hexadecimal(k) for k in range(N)], "id", 0, "without shared pieces"),
    "uuids": ([uuid.UUID(hexadecimal(k) * 2) for k in range(N)], "id", 0, "without shared pieces"),
    "orders": ([f"ORD-{k:06}" for k in RNG.permutation(N)], "id", 0, "without shared pieces"),
    "customer_id": (RNG.permutation(N) + 1000, "id", 0, "by its name an id"),
    "constant": ([7] * N, "constant", 1, "always 7"),
    "nothing": ([None] * N, "empty", 1, "no values"),
    "no time": (np.full(N, "NaT", dtype="datetime64[ns]"), "empty", 1, "no values"),
    "two forms": (
        [day.strftime("%d %B %Y") if k % 2 else str(day) for k, day in enumerate(DAYS)],
        "date", 4, "",
    ),
    "open end": (["9999-12-31", *map(str, DAYS[1:])], "date", 4, ""),
    "no such day": (["2023-02-30", *map(str, DAYS[1:])], "date", 4, "such as '2023-02-30'"),
    "on request": (["ask", *(f"${v:,.2f}" for v in NUMBERS[1:])], "number", 1, "such as 'ask'"),
    "ordinals": (["1st", "2nd", "3rd", *(f"{k}th" for k in range(4, N + 1))], "number", 1, ""),
    "classes": (every(["1st", "2nd", "3rd"]), "category", 1, ""),
    "or more": ([f"{v * 100:,}+" for v in COUNTS], "number", 1, ""),
    "points of thousands": (
        [f"{v * v:,}".replace(",", ".") for v in COUNTS], "number", 1, "",
    ),
    "lakh": ([f"{1 + k},{10 + k},{100 + v}" for k, v in enumerate(COUNTS)], "number", 1, ""),
    "places": ([f"{v / 7:.4f}, -{v / 9:.5f}" for v in COUNTS], "numbers", 2, "in '#, #'"),
    "pressure": ([f"{100 + k}/{60 + k % 40}" for k in range(N)], "numbers", 2, "in '#/#'"),
    "addresses": ([f"10.{k}.{2 * k}.1" for k in range(N)], "numbers", 4, "in '#.#.#.#'"),
    "phones": ([f"(030) 555-{37 * k:04}" for k in range(N)], "id", 0, "without shared pieces"),
    "chinese": (
        ["".join(RNG.choice([*"天地玄黄宇宙洪荒日月盈昃"], 8)) for _ in range(N)], "text", 60, "",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame({name: values for name, (values, *_) in COLUMNS.items()})


@pytest.fixture(scope="module")
def plan(frame):
    return read_plan(frame)


@pytest.mark.parametrize("name", COLUMNS)
def test_kind_and_note(plan, name):
    _, kind, n_features, note = COLUMNS[name]
    reader = plan.readers[list(COLUMNS).index(name)]
    assert (reader.kind, len(reader.roles)) == (kind, n_features), reader
    assert note in reader.note


def test_values_are_those_written(frame, plan):
    parsed = plan.read(frame)
    column = {name: parsed[:, plan.columns[j]] for j, name in enumerate(plan.names)}
    for name in ("decimal", "text of numbers", "dollars", "euros"):
        np.testing.assert_array_equal(column[name][:, 0], NUMBERS)
    np.testing.assert_allclose(column["powers"][:, 0], NUMBERS, rtol=5e-3)
    np.testing.assert_array_equal(
        column["negative"][:, 0], np.where(NUMBERS < 300, -NUMBERS, NUMBERS)
    )
    np.testing.assert_array_equal(column["percent"][:, 0], COUNTS)
    np.testing.assert_allclose(column["weights"][:, 0], COUNTS / 10)
    expected = np.where(COUNTS % 2, 1e3 * COUNTS, 1e5 * COUNTS)
    np.testing.assert_allclose(column["followers"][:, 0], expected)
    np.testing.assert_array_equal(column["limits"][:, 0], np.where(COUNTS < 50, 5, COUNTS))
    np.testing.assert_array_equal(column["gaps"][:, 0], np.where(COUNTS < 90, np.nan, COUNTS))
    assert np.isnan(column["typo"]).sum() == 1
    days = ("iso", "datetime64", "day first", "month first", "month names", "digits of dates")
    for name in (*days, "two forms"):
        np.testing.assert_array_equal(column[name], column["days"], err_msg=name)
    for name in ("open end", "no such day"):
        np.testing.assert_array_equal(column[name][1:], column["days"][1:])
        assert np.isnan(column[name][0]).all()
    np.testing.assert_array_equal(column["on request"][1:, 0], NUMBERS[1:])
    np.testing.assert_array_equal(column["ordinals"][:, 0], np.arange(1, N + 1))
    np.testing.assert_array_equal(column["or more"][:, 0], 100 * COUNTS)
    np.testing.assert_array_equal(column["points of thousands"][:, 0], COUNTS**2)
    expected = 1e5 * np.arange(1, N + 1) + 1e3 * np.arange(10, N + 10) + 100 + COUNTS
    np.testing.assert_array_equal(column["lakh"][:, 0], expected)
    expected = [[float(f"{v / 7:.4f}"), float(f"-{v / 9:.5f}")] for v in COUNTS]
    np.testing.assert_array_equal(column["places"], expected)
    np.testing.assert_array_equal(column["zones"], column["iso with zone"])
    np.testing.assert_allclose(column["durations"], column["timedelta"] / 60, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:KF00")
def test_the_plan_is_saved(frame, tmp_path):
    reader = TableReader(shape="given").fit(frame)
    again = kernelfit.load(kernelfit.save(reader, tmp_path / "reader"))
    np.testing.assert_array_equal(again.transform(frame), reader.transform(frame))


def test_every_column_is_described(plan):
    found = describe_columns(plan)
    assert list(found.columns) == ["name", "kind", "use", "n_features", "missing", "note"]
    assert found["name"].tolist() == list(COLUMNS)
    unused = set(found["name"][found["use"] == "not used"])
    dropped = {"hashes", "uuids", "orders", "customer_id", "constant", "nothing"}
    dropped |= {"no time", "phones"}
    assert unused == set(found["name"][found["n_features"] == 0]) == dropped
    missing = dict(zip(found["name"], found["missing"], strict=True))
    assert missing["nullable"] == 1 and missing["nothing"] == N and missing["whole"] == 0


def test_numbers_in_text_of_another_form_are_missing():
    column = [f"{k}/{k % 7}" for k in range(40)]
    plan = read_plan(pd.DataFrame({"a": [None, *column]}))
    new = pd.DataFrame({"a": ["-3/4.5", "3-4", "n/a", None, 7.0]})
    nothing = [np.nan, np.nan]
    np.testing.assert_array_equal(plan.read(new), [[-3, 4.5], *[nothing] * 4])
    mixed = pd.DataFrame({"a": [*column, *["x y"] * 5], "b": range(45)})
    assert read_plan(mixed).readers[0].kind != "numbers"  # more than a tenth have another form


def test_a_column_without_values_says_nothing_later():
    plan = read_plan(pd.DataFrame({"a": [None, None], "b": [1, 2]}))
    for value in ("new", 3.5, pd.Timestamp("2024-01-01")):
        read_all = plan.read(pd.DataFrame({"a": [value], "b": [1]}))
        assert read_all.shape == (1, 2) and read_all[0, 1] == 1.0
