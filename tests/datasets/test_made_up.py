"""The made-up tables are raw, always the same, and made by the rules that they state."""

import sys

import numpy as np
import pandas as pd
import pytest

from kernelfit.datasets import load_flats, load_tickets
from kernelfit.tables import TableReader

KINDS = {
    load_tickets: ["id", "date", "category", "number", "text"],
    load_flats: ["date", "category", "number", "text"],
}


@pytest.mark.filterwarnings("ignore:KF00")
@pytest.mark.parametrize("load", KINDS)
def test_columns_are_what_they_say(load):
    found = load()
    assert list(TableReader().fit(found.data).columns_["kind"]) == KINDS[load]
    assert found.data.isna().any(axis=None) and "made up" in found.DESCR
    X, y = load(return_X_y=True)
    pd.testing.assert_frame_equal(X, found.data)
    np.testing.assert_array_equal(y, found.target)


@pytest.mark.parametrize("load", KINDS)
def test_the_first_rows_are_the_same_for_every_number(load):
    few, many = load(30), load(90)
    pd.testing.assert_frame_equal(few.data, many.data.head(30))
    np.testing.assert_array_equal(few.target, many.target[:30])


def test_shares_of_tickets_follow_the_rule():
    """Within four standard errors, in groups whose log odds depend on the invoice alone."""
    X, y = load_tickets(20_000, return_X_y=True)
    opened = pd.to_datetime(X["opened"], format="%d.%m.%Y %H:%M")
    late, weekend, plan, text = (
        opened.dt.hour >= 16,
        opened.dt.day_of_week >= 5,
        X["plan"],
        X["message"],
    )
    assert X["ticket"].is_unique
    invoice = X["invoice"].str.replace(r"[$,]", "", regex=True).replace("-", "nan").astype(float)

    def says(what, mood):
        return text.str.contains(what) & text.str.contains(mood)

    for group, odds in (
        (says("cannot log in", "No hurry") & ~late & ~weekend & (plan == "team"), -5.5),
        (says("are gone", "third time") & late & ~weekend & (plan == "team"), 3.5),
        (says("is slow", "waiting") & ~late & weekend & (plan == "business"), 3.0),
    ):
        p = 1.0 / (1.0 + np.exp(-odds - 0.4 * np.log(invoice[group] / 50.0)))
        assert group.sum() > 30
        error = np.sqrt(np.sum(p * (1.0 - p)))
        assert abs(np.sum(y[group] == "escalated") - p.sum()) < 4.0 * error


def test_rents_follow_the_rule():
    X, rent = load_flats(5000, return_X_y=True)
    known = X["area"].notna() & X["district"].notna()
    X, rent = X[known], rent[known]
    area = X["area"].str.removesuffix(" m²").astype(float)
    days = (pd.to_datetime(X["listed"]) - pd.Timestamp("2023-01-01")).dt.days
    factors = {"balcony": 1.08, "kitchen": 1.1, "courtyard": 1.04, "river": 1.15,
               "renovation": 0.8, "railway": 0.93, "lift": 1.03}  # fmt: skip
    expected = 14.0 * area**0.9 * np.where(X["district"] == "centre", 1.3, 1.0)
    expected *= 1.04 ** (days / 365) * (1.0 + 0.05 * np.cos(2 * np.pi * (days % 365 - 258) / 365))
    for word, factor in factors.items():
        expected *= np.where(X["description"].str.contains(word, case=False), factor, 1.0)
    ratio = rent / expected
    assert abs(ratio.mean() - 1.0) < 0.005 and abs(ratio.std() - 0.05) < 0.005
    assert ratio.between(0.87, 1.13).all()


@pytest.mark.parametrize("load", KINDS)
def test_missing_pandas_is_one_sentence(load, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=f"expected pandas, which {load.__name__} needs"):
        load(20)
