"""Tables 3 and 4 on tessellated kernels: each printed figure is measured, or it is said why not."""

import csv
import sys
from importlib.resources import files
from types import ModuleType

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.preprocessing import MinMaxScaler

from kernelfit.papers import tkl_tables, tree_search
from kernelfit.papers.printed import published
from kernelfit.papers.splits import REGRESSION, four_fifths
from kernelfit.papers.tkl_tables import METHODS, PROTOCOL, SETS, measure

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # few steps, an indefinite kernel
SMALL = {"C": (0.1, 1.0, 10.0), "sizes": (2, 4, 6)}


class Boosted(RandomForestClassifier):
    """What the protocol uses of XGBoost."""

    def __init__(self, n_estimators=10, n_jobs=1):
        super().__init__(n_estimators, random_state=0)

    def get_booster(self):
        raise AssertionError

    def predict(self, X, iteration_range=None):
        chosen = self.estimators_[slice(*iteration_range)] if iteration_range else self.estimators_
        votes = sum(tree.predict_proba(X) for tree in chosen)
        return self.classes_[np.argmax(votes, axis=1)]


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Small sets under public names, short grids, and a stand-in for XGBoost."""
    X, y = make_classification(80, 3, n_informative=3, n_redundant=0, random_state=0)
    np.savez(tmp_path / "german.npz", X=X, y=np.where(y == 1, 2, 1))
    np.savez(tmp_path / "abalone.npz", X=X, y=np.arange(80) % 16)
    X, y = make_friedman1(80, 9, random_state=0)
    for name in ("housing", "space_ga"):
        np.savez(tmp_path / f"{name}.npz", X=X[:, :2], y=y)
    np.savez(tmp_path / "gas_turbine.npz", X=X, y=y, y_co=-y)
    monkeypatch.setenv("KERNELFIT_DATA", str(tmp_path))
    for name in ("german", "housing"):
        entry = {"test_size": 20, "deltas": (0.1, 0.5), "search_rows": None}
        costs = {"TKL": SMALL["C"], "SVM": SMALL["C"]}
        monkeypatch.setitem(tkl_tables.SETS, name, {**entry, "Cs": costs})
    for method, options in METHODS.items():
        short = {key: SMALL["C"] for key in ("Cs", "gammas") if key in options}
        short |= {"sizes": SMALL["sizes"]} if "sizes" in options else {}
        short |= {"max_iter": 5} if "max_iter" in options else {}
        monkeypatch.setitem(tkl_tables.METHODS, method, options | short)
    xgboost = ModuleType("xgboost")
    xgboost.XGBClassifier = Boosted
    xgboost.XGBRegressor = lambda n_jobs: RandomForestRegressor(random_state=0)
    monkeypatch.setitem(sys.modules, "xgboost", xgboost)


def figures():
    return [figure for figure in published("tkl") if figure.table in ("table 3", "table 4")]


@pytest.mark.parametrize("name", ["german", "housing"])
def test_each_method_gives_what_is_printed_for_it(name, data):
    printed = {}
    for figure in figures():
        if figure.set == name and figure.value is not None:
            printed.setdefault(figure.method, set()).add(figure.measure)
    assert printed
    for method in METHODS:
        if (name, method) in PROTOCOL.left_out:
            assert method not in printed
            continue
        found = measure(name, 0, method)
        scored = "MSE" if name in REGRESSION else "test accuracy"
        timed = method in ("TKL", "SMKL", "RF", "XGBoost")
        assert found.scores.keys() == {scored} | ({"seconds"} if timed else set())
        assert found.scores.keys() <= printed.get(method, {scored})
        assert measure(name, 0, method).scores[scored] == found.scores[scored]
        assert bool(found.chosen) == (method != "NNet")
    assert measure(name, 1, "RF").scores[scored] != measure(name, 0, "RF").scores[scored]


def test_every_printed_figure_is_measured_or_explained():
    text = files("kernelfit.papers").joinpath("remarks.csv").read_text(encoding="utf-8")
    reasons = [row for row in csv.DictReader(text.splitlines()) if row["kind"] == "not run"]
    for figure in figures():
        assert figure.set in SETS and figure.method in METHODS
        run = (figure.set, figure.method) not in PROTOCOL.left_out
        if figure.measure == "seconds":
            run = run and figure.method in tkl_tables.SETTINGS["seconds"]
            run = run and isinstance(SETS[figure.set]["test_size"], int)
        explained = any(
            all(
                not row[key] or getattr(figure, key) in row[key].split("; ")
                for key in ("paper", "table", "set", "method", "measure")
            )
            for row in reasons
        )
        assert run or explained or figure.value is None, figure


def test_a_choice_at_the_end_of_a_grid_is_reported(data, monkeypatch):
    # So small that all predict the larger class, and the first is as good as any.
    costs = {"TKL": (1e-7, 1e-6, 1e-5), "SVM": (1e-7, 1e-6, 1e-5)}
    monkeypatch.setitem(tkl_tables.SETS, "german", {**SETS["german"], "Cs": costs})
    found = measure("german", 0, "TKL")
    assert "C" in found.edges and found.chosen["C"] in costs["TKL"]


def test_error_is_in_the_units_of_the_target(data):
    X, y, X_test, y_test = four_fifths("housing", 0, MinMaxScaler(), 20)
    assert len(y) == 60 and len(y_test) == 20
    trees = int(measure("housing", 0, "RF").chosen["trees"])
    forest = RandomForestRegressor(trees, random_state=0).fit(X, y)
    expected = np.mean((forest.predict(X_test) - y_test) ** 2)
    assert measure("housing", 0, "RF").scores["MSE"] == pytest.approx(expected, rel=0.2)


def test_classes_of_abalone_and_target_of_the_turbine(data):
    *_, y_test = four_fifths("abalone", 0, MinMaxScaler())
    assert y_test.mean() == pytest.approx(7 / 16, abs=0.04)
    X, y, *_ = four_fifths("gas_turbine", 0, MinMaxScaler())
    assert X.shape == (64, 10) and 0.0 <= y.min() and y.max() <= 1.0


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_trees_of_one_forest_are_those_of_smaller_ones(kind):
    X, y = make_friedman1(60, random_state=0)
    y = y if kind is RandomForestRegressor else (y > y.mean()).astype(int)
    sizes, scores = (1, 3, 8), []
    chosen = tree_search.choose_trees(kind(random_state=0), X, y, sizes, cv=2)
    for size in sizes:
        model = kind(size, random_state=0)
        folds = tree_search.check_cv(2, y, classifier=kind is RandomForestClassifier).split(X, y)
        scores.append(np.mean([model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]))
    assert chosen == sizes[int(np.argmax(scores))]


def test_missing_xgboost_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match="pip install xgboost"):
        tree_search.boosted_trees(regression=True)
