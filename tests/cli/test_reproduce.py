"""The command that measures printed figures, on small sets under the names of public ones."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_classification
from typer.testing import CliRunner

from kernelfit.cli.app import app
from kernelfit.papers import reproduce


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


@pytest.fixture
def data(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("heart", "sonar"):
        X, y = make_classification(60, 4, random_state=0)
        np.savez(folder / f"{name}.npz", X=X, y=y)
    monkeypatch.setenv("KERNELFIT_DATA", str(folder))
    return folder


TABLE = ("dank", "--tables", "table 1", "--methods", "SVM-CV,DANK", "--splits", 2)


def test_command_prints_both_columns_and_states(data, tmp_path):
    results = tmp_path / "results"
    first = run(*TABLE, "--sets", "heart,sonar", "--results", results)
    assert first.exit_code == 0, first.output
    assert "ours" in first.stdout and "paper" in first.stdout and "87.9 ± 2.9" in first.stdout
    assert "4 splits to measure" in first.stderr and "4 of 4" in first.stderr
    again = run(*TABLE, "--sets", "heart,sonar", "--results", results, "--json")
    facts = json.loads(again.stdout)
    assert len(facts["figures"]) == 8 and {row["splits"] for row in facts["figures"]} == {2}
    assert sum(facts["states"].values()) == 8 and facts["states"]["not run"] == 0


def test_complaints(tmp_path, monkeypatch, data):
    wrong = run(*TABLE, "--sets", "heart,nonsense", "--results", tmp_path)
    assert wrong.exit_code == 2 and "got nonsense" in wrong.stderr
    missing = run(*TABLE, "--sets", "wine", "--results", tmp_path)
    assert missing.exit_code == 2 and "KERNELFIT_DATA" in missing.stderr
    monkeypatch.delenv("KERNELFIT_DATA")
    missing = run(*TABLE, "--sets", "heart", "--results", tmp_path)
    assert missing.exit_code == 2 and "heart.npz" in missing.stderr
    with pytest.raises(ValueError, match="expected splits >= 1, got 0"):
        reproduce("dank", splits=0)
    with pytest.raises(ValueError, match="expected paper to be among dank, knpl, tkl, cds"):
        reproduce("nonsense")


def test_what_cannot_be_run_says_why(tmp_path):
    found = reproduce("cds", sets=["georgia_face"], folder=tmp_path)
    assert {one.state for one in found} == {"not run"}
    assert all(one.remark for one in found)


def test_figures_on_the_papers_sets(benchmark_data, tmp_path, monkeypatch):
    """Two splits of two of the paper's sets: what a protocol must reach to be the paper's."""
    for name in ("heart", "sonar"):
        np.savez(tmp_path / f"{name}.npz", **benchmark_data(name))
    monkeypatch.setenv("KERNELFIT_DATA", str(tmp_path))
    found = reproduce(
        "dank", tables=["table 1"], sets=["heart", "sonar"], methods=["SVM-CV"], splits=2,
        folder=tmp_path / "results",
    )  # fmt: skip
    tests = [one for one in found if one.figure.measure == "test accuracy"]
    assert len(tests) == 2
    for one in tests:
        assert abs(one.ours - one.figure.value) < 6.0
