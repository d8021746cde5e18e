"""Downloads are checked against the known shapes; no test asks the network."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from kernelfit.datasets import fetch_benchmark, openml
from kernelfit.papers.splits import load


@pytest.fixture
def server(monkeypatch):
    """Stand in for OpenML: what it was asked for, and what it holds."""
    asked, held = [], {}

    def fetch(**options):
        asked.append(options)
        return held["set"]

    monkeypatch.setattr(openml, "fetch_openml", fetch)
    return asked, held


def test_a_set_is_written_as_the_protocols_read_it(server, tmp_path, monkeypatch):
    asked, held = server
    X = np.random.default_rng(0).normal(size=(208, 60))
    y = np.array(["Rock"] * 97 + ["Mine"] * 111, dtype=object)
    held["set"] = Bunch(data=X, target=y)
    assert fetch_benchmark("sonar", tmp_path) == tmp_path / "sonar.npz"
    assert asked == [{"data_id": 40, "as_frame": False, "parser": "liac-arff"}]
    monkeypatch.setenv("KERNELFIT_DATA", str(tmp_path))
    parts = load("sonar")
    np.testing.assert_array_equal(parts["X"], X)
    np.testing.assert_array_equal(parts["y"], np.where(y == "Mine", 0, 1))


def test_rows_with_missing_values_are_left_out(server, tmp_path):
    X = np.ones((699, 9))
    X[:16, 5] = np.nan
    y = np.array(["benign"] * 460 + ["malignant"] * 239, dtype=object)
    server[1]["set"] = Bunch(data=X, target=y)
    with np.load(fetch_benchmark("breast_cancer", tmp_path)) as archive:
        assert archive["X"].shape == (683, 9) and np.bincount(archive["y"]).tolist() == [444, 239]


def test_targets_may_be_numbers(server, tmp_path):
    y = np.linspace(-3.0, 0.1, 3107)
    server[1]["set"] = Bunch(data=np.ones((3107, 6)), target=y)
    with np.load(fetch_benchmark("space_ga", tmp_path)) as archive:
        np.testing.assert_array_equal(archive["y"], y)


@pytest.mark.parametrize(("d", "sizes"), [(61, (97, 111)), (60, (98, 110)), (60, (97, 110))])
def test_another_set_is_refused(d, sizes, server, tmp_path):
    target = np.repeat(["Rock", "Mine"], sizes)
    server[1]["set"] = Bunch(data=np.ones((sum(sizes), d)), target=target)
    with pytest.raises(ValueError, match="OpenML has another set under 40"):
        fetch_benchmark("sonar", tmp_path)
    assert not list(tmp_path.iterdir())


def test_unknown_names_are_refused(server, tmp_path):
    with pytest.raises(ValueError, match=r"expected one of breast_cancer, .*, got 'nothing'"):
        fetch_benchmark("nothing", tmp_path)
    assert not server[0]


@pytest.mark.parametrize("name", openml._SETS)
def test_shapes_are_those_of_the_known_sets(name, benchmark_data):
    arrays = benchmark_data(name)
    _, n_features, known = openml._SETS[name]
    assert arrays["X"].shape[1] == n_features
    counts = [len(arrays["y"])]
    if len(known) > 1:
        counts = np.unique(arrays["y"], return_counts=True)[1].tolist()
    assert tuple(sorted(counts, reverse=True)) == known
