"""Rows that can be found again, columns in the order of importance, and bars of categories."""

import re

import numpy as np
import pandas as pd
import pytest

import kernelfit as kf
from kernelfit.report.about_features import features_section
from kernelfit.report.about_points import points_section
from kernelfit.report.subject import Subject

Figure = pytest.importorskip("matplotlib.figure").Figure
pytest.importorskip("jinja2")

RNG = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame({
    **{f"noise{k}": RNG.normal(size=N) for k in range(4)},
    "colour": pd.Categorical(RNG.choice(["red", "green", "blue"], N, p=[0.6, 0.3, 0.1])),
    "code": RNG.integers(1, 5, N),
    "flag": RNG.random(N) > 0.4,
    "size": RNG.normal(size=N),
})  # fmt: skip
FRAME.index = pd.Index(1000 + 3 * np.arange(N)[::-1], name="line of houses.csv")
HEIGHT = np.array([0.0, 4.0, -4.0, 2.0, -1.0])[FRAME["code"]] + 3.0 * FRAME["size"]
Y = (100.0 + HEIGHT + 2.0 * (FRAME["colour"] == "red") + FRAME["flag"]).to_numpy()


@pytest.fixture
def painted(monkeypatch):
    """Keep the axes of pictures instead of their SVG."""
    kept = []

    def keep(figure, out, format):
        kept.append(figure.axes[0])
        out.write("<svg></svg>")

    monkeypatch.setattr(Figure, "savefig", keep)
    return kept


@pytest.fixture(scope="module")
def subject():
    model = kf.AutoKernelRegressor(
        members=["gaussian (standard)"], column_kinds={"code": "category"}, random_state=0
    )
    model.fit(FRAME[:90], Y[:90])
    return Subject.of(model, FRAME[:90], Y[:90], FRAME[90:], Y[90:])


def test_rows_go_by_the_index_of_the_frame(subject):
    (table,) = points_section(subject).blocks
    assert table.head[0] == "line of houses.csv"
    error = np.abs(Y[90:] - subject.estimator.predict(FRAME[90:]))
    worst = FRAME.index[90:][np.argsort(-error)[:8]]
    assert [row[0] for row in table.rows] == [str(label) for label in worst]
    # And the values beside a name are those of that row.
    place = table.head.index("size")
    for row in table.rows:
        assert float(row[place]) == pytest.approx(FRAME.loc[int(row[0]), "size"], rel=0.01)


def test_rows_of_an_array_are_counted():
    X = FRAME[["size", "code"]].to_numpy()
    model = kf.KernelRidgeRegressor().fit(X[:90], Y[:90])
    section = points_section(Subject.of(model, X[:90], Y[:90], X[90:], Y[90:]))
    assert "Rows are counted from 0." in section.text[0]
    error = np.abs(Y[90:] - model.predict(X[90:]))
    assert section.blocks[-1].rows[0][0] == str(error.argmax())


def test_the_most_important_columns_are_shown(subject):
    (table,) = points_section(subject).blocks
    order = np.argsort(-subject.estimator.feature_importances_, kind="stable")
    assert list(table.head[4:]) == [FRAME.columns[j] for j in order[:4]]
    assert "noise0" not in table.head and "the 4 most important are shown" in table.note


def test_categories_booleans_and_codes_are_bars_with_counts(subject, painted):
    features_section(subject)
    shown = {}
    for ax in painted[1:]:
        if ax.patches:
            labels = [label.get_text() for label in ax.get_yticklabels()]
            shown[ax.get_ylabel()] = (labels, ax)
            assert not ax.lines
        else:
            assert ax.lines and ax.get_xlabel() == "size"
    assert {"colour", "code"} <= shown.keys() and "size" not in shown
    for name, (labels, ax) in shown.items():
        found = dict(re.fullmatch(r"(.*) \((\d+)\)", label).groups() for label in labels)
        counts = FRAME[name][:90].value_counts()
        assert found == {str(value): str(count) for value, count in counts.items()}
        ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
        for label, end in zip(labels, ends, strict=True):
            value = next(v for v in counts.index if label.startswith(f"{v} "))
            rows = np.random.default_rng(0).permutation(90)[:60]
            changed = FRAME[:90].iloc[rows].copy()
            changed[name] = pd.Series([value] * 60, index=changed.index).astype(FRAME[name].dtype)
            assert end == pytest.approx(subject.estimator.predict(changed).mean())


def test_numbers_are_curves_and_classes_have_a_bar_each(painted):
    y = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
    model = kf.AutoKernelClassifier(members=["gaussian (standard)"], random_state=0)
    model.fit(FRAME[["size", "code", "colour"]], y)
    features_section(Subject.of(model, FRAME[["size", "code", "colour"]], y, None, None))
    by_name = {ax.get_ylabel() if ax.patches else ax.get_xlabel(): ax for ax in painted[1:]}
    assert len(by_name["code"].lines) == 3 and not by_name["code"].patches  # not declared
    assert len(by_name["colour"].patches) == 9
