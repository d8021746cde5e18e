"""The papers' protocols run, beside the printed figures, and go on where they were stopped."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_classification, make_friedman1
from typer.testing import CliRunner

from kernelfit.cli.app import app
from kernelfit.papers import cells as module
from kernelfit.papers.cells import reproduce, summary
from kernelfit.papers.printed import published
from kernelfit.papers.protocols import PROTOCOLS, SPLITS, TARGETS, n_splits


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Small sets under the names of public ones."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("heart", "sonar", "german", "haberman"):
        X, y = make_classification(60, 4, random_state=0)
        np.savez(folder / f"{name}.npz", X=X, y=y)
    X, y = make_classification(60, 4, random_state=0)
    np.savez(folder / "monks1.npz", X=X[:30], y=y[:30], X_test=X[30:], y_test=y[30:])
    X, y = make_friedman1(60, 5, random_state=0)
    np.savez(folder / "mpg.npz", X=X, y=y)
    np.savez(folder / "airfoil.npz", X=X[:30, :2], y=y[:30])
    X, y = load_wine(return_X_y=True)
    np.savez(folder / "umist.npz", X=X, y=y)
    monkeypatch.setenv("KERNELFIT_DATA", str(folder))
    return folder


def test_published_figures_are_complete():
    known = {paper: published(paper)["sets"] for paper in PROTOCOLS}
    assert known["dank"]["heart"]["DANK"] == {"train": [94.3, 1.7], "test": [87.9, 2.9]}
    assert known["knpl"]["heart"]["KNPL"]["test"][0] == 87.47
    assert known["tkl"]["fourclass"]["TKL"]["test"][0] == 99.77
    assert known["cds"]["umist"]["CDSK"] == {"AC": [0.67], "NMI": [0.8]}
    assert known["mkl"]["german"]["SMKL"]["test"] == [74.3, 3.55]
    assert SPLITS.keys() == PROTOCOLS.keys()
    for sets in known.values():
        parts = [parts for methods in sets.values() for parts in methods.values()]
        values = [value for one in parts for value in one.values()]
        assert all(0.0 < value[0] <= 100.0 and len(value) <= 2 for value in values)


@pytest.mark.parametrize(
    ("paper", "name", "methods"),
    [
        ("dank", "heart", {"SVM-CV", "DANK"}),
        ("dank", "mpg", {"SVM-CV", "DANK"}),
        ("knpl", "monks1", {"SVM-CV", "KNPL"}),
        ("tkl", "german", {"TKL", "random forest"}),
        ("tkl", "airfoil", {"TKL", "random forest"}),
        ("cds", "umist", {"K-Means", "spectral", "CDSK"}),
        ("mkl", "haberman", {"BMKL", "EasyMKL"}),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_protocols_give_figures_for_what_is_printed(paper, name, methods, data):
    scores = PROTOCOLS[paper](name, 0)
    assert scores.keys() == methods == published(paper)["sets"][name].keys()
    for method, parts in scores.items():
        assert parts.keys() == published(paper)["sets"][name][method].keys()
        best = 100.0 if name not in TARGETS and paper != "cds" else np.inf
        assert all(0.0 <= value <= best for value in parts.values())
    if paper == "dank":
        assert PROTOCOLS[paper](name, 0) == scores  # nothing is left to chance


def test_given_splits_count_once():
    assert n_splits("monks1", "dank", 10) == 1
    assert n_splits("heart", "dank", 10) == 10


def figures(split):
    return {"SVM-CV": {"train": 90.0, "test": 80.0 + split}, "DANK": {"test": 85.0}}


def test_cells_are_kept_and_a_killed_run_goes_on(tmp_path, monkeypatch):
    computed, limit = [], [3]

    def protocol(name, split):
        if len(computed) == limit[0]:
            raise KeyboardInterrupt
        computed.append((name, split))
        return figures(split)

    path = tmp_path / "results" / "dank.jsonl"
    monkeypatch.setitem(module.PROTOCOLS, "dank", protocol)
    said = []
    with pytest.raises(KeyboardInterrupt):
        reproduce("dank", ["heart", "sonar"], 2, path, said.append)
    with path.open("a") as out:
        out.write('{"set": "sonar", "spl')  # killed while writing
    before = path.read_text().splitlines()
    limit[0] = 99
    cells = reproduce("dank", ["heart", "sonar"], 2, path, said.append)
    assert computed == [("heart", 0), ("heart", 1), ("sonar", 0), ("sonar", 1)]
    assert path.read_text().splitlines()[:3] == before[:3]
    assert [line.split(", ")[-1] for line in said[-4:-1]] == ["kept"] * 3
    reproduce("dank", ["heart", "sonar"], 2, path, said.append)
    assert len(computed) == 4
    rows = summary("dank", cells)
    assert [row["set"] for row in rows] == ["heart"] * 3 + ["sonar"] * 3
    assert rows[1] == {
        "set": "heart", "method": "SVM-CV", "part": "test", "splits": 2, "ours": 80.5,
        "deviation": 0.5, "paper": 81.9, "paper deviation": 2.4,
    }  # fmt: skip
    assert rows[2]["paper"] == 87.9


def test_cells_of_other_versions_are_computed_anew(tmp_path, monkeypatch):
    path = tmp_path / "dank.jsonl"
    row = {"set": "heart", "split": 0, "scores": figures(0), "kernelfit": "0.0.1"}
    path.write_text(json.dumps(row) + "\n")
    monkeypatch.setitem(module.PROTOCOLS, "dank", lambda name, split: figures(7))
    cells = reproduce("dank", ["heart"], 1, path, lambda text: None)
    assert cells["heart", 0]["SVM-CV"]["test"] == 87.0


def test_command_prints_both_columns(data, tmp_path):
    results = tmp_path / "results"
    first = run("dank", "--sets", "heart,sonar", "--splits", 2, "--results", results)
    assert first.exit_code == 0, first.output
    assert "ours" in first.stdout and "paper" in first.stdout and "87.9 ± 2.9" in first.stdout
    again = run("dank", "--sets", "heart,sonar", "--splits", 2, "--results", results, "--json")
    figures = json.loads(again.stdout)["figures"]
    assert len(figures) == 8 and {row["splits"] for row in figures} == {2}


def test_complaints(tmp_path, monkeypatch, data):
    wrong = run("dank", "--sets", "heart,nonsense", "--results", tmp_path)
    assert wrong.exit_code == 2 and "got nonsense" in wrong.stderr
    missing = run("dank", "--sets", "wine", "--results", tmp_path)
    assert missing.exit_code == 2 and "KERNELFIT_DATA" in missing.stderr
    monkeypatch.delenv("KERNELFIT_DATA")
    missing = run("dank", "--sets", "heart", "--results", tmp_path)
    assert missing.exit_code == 2 and "wine.npz" not in missing.stderr


@pytest.mark.filterwarnings("ignore")
def test_figures_on_the_papers_sets(benchmark_data, tmp_path, monkeypatch):
    """Two splits of two of the paper's sets: what a protocol must reach to be the paper's."""
    for name in ("heart", "sonar"):
        np.savez(tmp_path / f"{name}.npz", **benchmark_data(name))
    monkeypatch.setenv("KERNELFIT_DATA", str(tmp_path))
    cells = reproduce("dank", ["heart", "sonar"], 2, tmp_path / "results", lambda text: None)
    rows = summary("dank", cells)
    plain = {row["set"]: row for row in rows if row["method"] == "SVM-CV" and row["part"] == "test"}
    for row in plain.values():
        assert abs(row["ours"] - row["paper"]) < 6.0
