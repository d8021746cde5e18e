"""Results are read back as they were written, and kept only for the same code and settings."""

import json

import numpy as np
import pytest

from benchmarks import records


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table" / "set.jsonl"


@pytest.fixture
def at_a_commit(monkeypatch):
    """Let the checkout have a commit and a clean src, whatever its state."""
    monkeypatch.setattr(records, "commit", lambda: "1234567")


def test_round_trip(path):
    record = records.start("demo", rules=("a", "b"), grid=np.array([0.5, 2.0]))
    record.rows = [
        {"split": 0, "score": np.float64(0.1) + 0.2, "n": np.int64(3), "values": np.arange(2.0)},
        {"split": "given", "score": None, "text": "line\nbreak \u2028 \u00b1", "zero": -0.0},
    ]
    record.save(path)
    assert len(path.read_text().splitlines()) == 3  # a header and one line a row
    assert list(path.parent.iterdir()) == [path]  # nothing unfinished is left
    found = records.load(path)
    assert found.header == record.header
    assert found.header["settings"] == {"rules": ["a", "b"], "grid": [0.5, 2.0]}
    assert found.rows == [
        {"split": 0, "score": 0.1 + 0.2, "n": 3, "values": [0.0, 1.0]},
        {"split": "given", "score": None, "text": "line\nbreak \u2028 \u00b1", "zero": 0.0},
    ]
    assert np.signbit(found.rows[1]["zero"])


def test_header_says_what_was_measured_but_not_where():
    header = records.start("demo", tol=1e-3).header
    assert list(header) == ["name", "version", "commit", "settings", "machine"]
    assert list(header["machine"]) == [
        "python", "numpy", "numba", "scikit-learn", "processor", "cores"
    ]  # fmt: skip
    assert header["machine"]["cores"] >= 1
    assert str(records.ROOT) not in json.dumps(header)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_only_strict_json_is_written(path, value):
    record = records.Record({"name": "demo"}, [{"split": 0}])
    record.save(path)
    record.rows.append({"split": 1, "score": value})
    with pytest.raises(ValueError, match="not JSON compliant"):
        record.save(path)
    assert records.load(path).rows == [{"split": 0}]  # what was there is still there


def test_rows_are_kept_for_the_same_code_and_settings(path, at_a_commit, monkeypatch):
    record = records.resume(path, "demo", tol=1e-3, Cs=(1, 10))
    assert record.rows == []
    record.rows.append({"split": 0})
    record.save(path)
    same = []
    monkeypatch.setattr(records, "_same_source", lambda *commits: same.append(commits) or True)
    assert records.resume(path, "demo", tol=1e-3, Cs=(1, 10)).rows == [{"split": 0}]
    assert same == [("1234567", "1234567")]
    assert records.resume(path, "demo", tol=1e-2, Cs=(1, 10)).rows == []
    monkeypatch.setattr(records, "_same_source", lambda *commits: False)
    assert records.resume(path, "demo", tol=1e-3, Cs=(1, 10)).rows == []


def test_commits_are_the_same_where_src_is(repository):
    assert records.commit() is None  # no repository yet
    repository.git("init")
    first = repository.commit("src/module.py", "a = 1")
    results = repository.commit("results.txt", "measured")
    other = repository.commit("src/module.py", "a = 2")
    assert records._same_source(first, results)
    assert not records._same_source(results, other)
    assert not records._same_source(None, other)
    (records.ROOT / "src" / "more.py").write_text("b = 1")
    changed = records.commit()
    assert changed == other + records.CHANGED
    assert not records._same_source(changed, changed)  # nobody knows what the changes were


def test_origin_names_every_commit_and_machine():
    machine = {
        "python": "3.11.7", "numpy": "2", "numba": "1", "scikit-learn": "1.9",
        "processor": "x86_64", "cores": 2,
    }  # fmt: skip
    headers = [
        {"version": "0.1", "commit": "aaa", "machine": machine},
        {"version": "0.1", "commit": "bbb", "machine": machine},
        {"version": "0.1", "commit": "aaa", "machine": {**machine, "cores": 4}},
    ]
    assert records.origin(*map(records.Record, headers)) == (
        "kernelfit 0.1 at aaa, bbb; "
        "Python 3.11.7, numpy 2, numba 1, scikit-learn 1.9, x86_64, 2 cores; "
        "Python 3.11.7, numpy 2, numba 1, scikit-learn 1.9, x86_64, 4 cores."
    )


def test_recorded_results_are_compact_and_complete():
    """What is in the repository has a header, one row a measurement, and belongs to a page."""
    cells = records.RESULTS / "papers"  # of the papers' protocols, in another form
    files = [f for f in sorted(records.RESULTS.rglob("*.jsonl")) if cells not in f.parents]
    assert files
    for file in files:
        found = records.load(file)
        assert {"name", "version", "commit", "settings", "machine"} <= set(found.header), file
        assert found.rows, file
        assert (records.RESULTS / f"{found.header['name']}.md").exists(), file
    assert sum(file.read_text().count("\n") for file in files) < 2500
