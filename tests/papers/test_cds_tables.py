"""Protocol of the CDS paper: measures, drawn points, and an answer to every printed figure."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from kernelfit.papers import cds_tables
from kernelfit.papers.cds_tables import METHODS, PROTOCOL, SETS, agreement, measure, n_splits
from kernelfit.papers.ledger import answers
from kernelfit.papers.printed import published
from kernelfit.papers.protocols import protocol

PRINTED = list(dict.fromkeys(figure.method for figure in published("cds")))


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Small sets under the names of public ones; one of the columns is longer than the others."""

    def clear():
        for function in (cds_tables._data, cds_tables._graph, cds_tables._similarities):
            function.cache_clear()

    X, y = make_blobs(45, 6, centers=3, cluster_std=2.0, random_state=0)
    X[:, 0] *= 20.0
    for name in ("ionosphere", "umist", "wine"):
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    y = np.repeat([0, 1], (1100, 700))
    X = np.arange(1800.0)[:, None]
    np.savez(tmp_path / "mnist.npz", X=X[::2], y=y[::2], X_test=X[1::2], y_test=y[1::2])
    monkeypatch.setenv("KERNELFIT_DATA", str(tmp_path))
    clear()
    yield
    clear()


def entropy(p):
    return -sum(q * np.log(q) for q in np.ravel(p) if q > 0)


def test_agreement_by_definition():
    rng = np.random.default_rng(0)
    y, labels = rng.integers(3, size=20), rng.integers(3, size=20)
    matched = max(np.mean(np.array(p)[labels] == y) for p in permutations(range(3)))
    shares = np.array([[np.mean((y == i) & (labels == j)) for j in range(3)] for i in range(3)])
    ours, theirs = entropy(shares.sum(1)), entropy(shares.sum(0))
    information = ours + theirs - entropy(shares)
    assert agreement(y, labels) == pytest.approx(
        {"AC": matched, "NMI": information / max(ours, theirs)}
    )
    assert agreement(y, (y + 1) % 3) == pytest.approx({"AC": 1.0, "NMI": 1.0})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", PRINTED)
def test_printed_methods_give_printed_measures(method, data):
    found = measure("umist", 1, method)
    printed = {figure.measure for figure in published("cds") if figure.method == method}
    assert found.scores.keys() == printed
    assert all(0.0 <= score <= 1.0 for score in found.scores.values())
    assert found.chosen == {} and found.edges == ()  # no method searches
    cds_tables._data.cache_clear()
    cds_tables._similarities.cache_clear()
    assert measure("umist", 1, method) == found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", [method for method in METHODS if method not in PRINTED])
def test_other_methods_run(method, data):
    assert measure("ionosphere", 0, method).scores.keys() == {"AC", "NMI"}


@pytest.mark.filterwarnings("ignore")
def test_sc_is_the_best_of_three_by_labels(data):
    parts = [measure("umist", 0, part).scores for part in ("SC self-tuning", "SC-MS", "SC-NS")]
    assert len({part["AC"] for part in parts}) > 1
    assert measure("umist", 0, "SC").scores == max(parts, key=lambda part: part["AC"])


def test_every_printed_figure_is_measured_or_left_out_for_a_reason():
    figures = published("cds")
    assert set(PROTOCOL.answers) == {("cds", figure.table) for figure in figures}
    assert protocol("cds") is PROTOCOL
    for figure in figures:
        (answer,) = answers([figure], dict.fromkeys(PROTOCOL.answers, PROTOCOL), {})
        lacking = (figure.set, figure.method) in PROTOCOL.left_out
        assert figure.method in METHODS and (figure.set in SETS or lacking)
        assert lacking == (answer.remark != "")
        assert figure.measure in ("AC", "NMI")


def test_what_is_left_out():
    run = {(name, method) for name in SETS for method in METHODS} - PROTOCOL.left_out
    assert {name for name, _ in run} == set(SETS)
    assert {m for name, m in run if name == "iris_80"} == set(cds_tables._ON_GRAPHS)
    assert ("mnist_70000", "K-Means") in run and ("mnist_70000", "MMC") not in run
    assert ("coil20", "CDS") in run and ("yale_b", "CDS") not in run


def test_sets_are_drawn_by_the_split(data):
    X, y = cds_tables._data("mnist", 0)
    assert np.bincount(y).tolist() == [500, 500]
    assert len(np.unique(X)) == 1000
    assert X.max() > 1700  # the second class comes last, as in the file
    again, _ = cds_tables._data("mnist", 1)
    assert len(np.intersect1d(X, again)) < 800
    assert len(cds_tables._data("mnist_10000", 0)[0]) == 1800  # all there are
    X, _ = cds_tables._data("iris_80", 0)
    assert X.shape == (120, 4) and not np.array_equal(X, cds_tables._data("iris_80", 1)[0])
    whole, _ = cds_tables._data("iris", 0)
    np.testing.assert_array_equal(whole, cds_tables._data("iris", 1)[0])
    assert (n_splits("iris"), n_splits("mnist"), n_splits("iris_80")) == (10, 3, 20)


def test_points_that_estimators_get(data):
    def points(name, kind):
        return cds_tables._points(name, 0, kind)

    X = points("umist", "raw")
    kept = np.searchsorted(np.cumsum(PCA().fit(X).explained_variance_ratio_), 0.98) + 1
    assert kept < 6
    assert points("umist", "components of some").shape == (45, kept)
    assert points("ionosphere", "components of some").shape == (45, 6)
    assert points("ionosphere", "components").shape == (45, kept)
    np.testing.assert_allclose(np.linalg.norm(points("umist", "unit rows"), axis=1), 1.0)
    np.testing.assert_allclose(points("wine", "raw").std(axis=0), 1.0)
    np.testing.assert_allclose(points("umist", "largest value 1") * np.abs(X).max(), X)
    graph = points("umist", "graph")
    assert graph.shape == (45, 45) and graph.nnz <= 45 * 11
    rows = points("umist", "embedding")
    assert rows.shape == (45, 3)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0)


def test_stamps_change_with_what_a_figure_depends_on():
    runs = [("umist", "CDSK"), ("umist", "CDSK default"), ("orl", "CDS"), ("orl_80", "CDS")]
    assert len({PROTOCOL.stamp(name, method) for name, method in runs}) == 4
