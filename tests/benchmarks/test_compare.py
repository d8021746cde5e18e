"""The table of ratios, from timings that are given."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import wilcoxon

import kernelfit
from benchmarks import __main__ as runner
from benchmarks import cases, compare, data, records
from benchmarks.cases import CASES


def timings(factors, calls=3, **options):
    """Return timings with the given ratios new / old, one a repeat."""
    found = compare.Timings(**options)
    rng = np.random.default_rng(0)
    for factor in factors:
        old = rng.uniform(0.5, 2.0, calls)  # the machine is slow or fast for both sides
        new = factor * old
        new[0] *= 1.5  # but something may disturb one side alone
        for seconds in (found.cpu, found.wall):
            seconds["old"].append(list(old))
            seconds["new"].append(list(new))
    return found


def test_rows_have_median_quartiles_and_verdict():
    factors = [0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03]
    same, slower = timings(factors), timings([1.2 * factor for factor in factors])
    rows = compare.rows_of({"kind/same": same, "kind/slower": slower})
    assert [row["verdict"] for row in rows] == ["within 5 %", "slower"]
    assert rows[0]["ratio"] == pytest.approx(1.0)
    assert rows[0]["wall ratio"] == pytest.approx(1.0)
    assert rows[0]["quartiles"] == pytest.approx([0.985, 1.015])
    assert rows[1]["ratio"] == pytest.approx(1.2)
    assert 0.95 < rows[0]["interval"][0] < 1.0 < rows[0]["interval"][1] < 1.05


def test_table_prints_ratios_and_their_mean_by_kind():
    named = {
        "svm/a": timings([0.5] * 7),
        "svm/b": timings([2.0] * 7, note="old lacks tol"),
        "tkl/c": timings([1.0] * 2),
        "tkl/d": timings([], failed=True, note="new: ValueError: no"),
        "tkl/e": timings([]),  # interrupted before its first repeat
    }
    page = compare.table(compare.rows_of(named))
    cells = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
        for line in page.splitlines()
        if line.startswith("|")
    }
    assert cells["svm/a"][2:5] == ["0.500", "0.500 .. 0.500", "0.500 .. 0.500"]
    assert cells["svm/a"][6:] == ["faster", ""]
    assert cells["svm/b"][6:] == ["slower", "old lacks tol"]
    assert cells["tkl/c"][4] == "1.000 .. 1.000 (50%)"
    assert cells["tkl/c"][6] == "too few repeats"
    assert cells["tkl/d"][2:] == ["", "", "", "", "failed", "new: ValueError: no"]
    assert cells["tkl/e"] == [""] * 8
    assert cells["svm"] == ["2", "1.000", "2.000"]
    assert cells["tkl"] == ["1", "1.000", "1.000"]


@pytest.mark.parametrize(
    ("low", "high", "sure", "expected"),
    [
        (0.96, 1.04, 0.96, "within 5 %"),
        (0.80, 1.04, 0.96, "not slower"),
        (0.80, 0.94, 0.96, "faster"),
        (1.01, 1.06, 0.96, "unclear"),
        (0.90, 1.10, 0.96, "unclear"),
        (1.06, 1.20, 0.96, "slower"),
        (1.06, 1.20, 0.75, "too few repeats"),
    ],
)
def test_verdict(low, high, sure, expected):
    assert compare.verdict(low, high, sure) == expected


@pytest.mark.parametrize("n", [6, 9, 15])
def test_interval_inverts_the_signed_rank_test(n):
    """A ratio is in the interval exactly where scipy's exact test does not reject it."""
    values = np.exp(np.random.default_rng(n).normal(0.0, 0.1, n))
    low, high, sure = compare.interval(values)
    assert sure >= 0.95
    for ratio, inside in (
        (low * (1 - 1e-9), False),
        (low * (1 + 1e-9), True),
        (high * (1 - 1e-9), True),
        (high * (1 + 1e-9), False),
    ):
        p = wilcoxon(np.log(values / ratio), method="exact").pvalue
        assert (p > 1 - sure + 1e-12) == inside


@pytest.mark.parametrize("n", [1, 2, 5])
def test_interval_of_few_values_says_that_it_is_not_sure(n):
    low, high, sure = compare.interval(np.linspace(0.9, 1.2, n))
    assert (low, high) == pytest.approx((0.9, 1.2 if n > 1 else 0.9))
    assert sure == pytest.approx(1 - 2 * 0.5**n)


def test_oddities_name_settings_and_results_that_differ():
    def answers(old, new):
        return {"old": {"value": 1.0, "lacking": old}, "new": {"value": 1.001, "lacking": new}}

    assert compare.oddities(answers(["n_jobs"], ["n_jobs"])) == ""
    assert compare.oddities(answers([], ["search_tol"])) == "new lacks search_tol"
    differing = {side: {"value": v, "lacking": []} for side, v in (("old", 1.0), ("new", 1.1))}
    assert compare.oddities(differing) == "results differ: 1, 1.1"


def test_cases_are_chosen_by_pattern():
    assert compare.chosen(["*"], quick=False) == list(CASES)
    quick = compare.chosen(["svm-*", "cdsk/*"], quick=True)
    assert quick == [n for n in CASES if CASES[n].quick and n.startswith(("svm-", "cdsk/"))]
    assert {name.split("/")[0] for name in compare.chosen(["*"], quick=True)} == {
        name.split("/")[0] for name in CASES
    }
    with pytest.raises(ValueError, match="expected patterns of cases"):
        compare.chosen(["none"], quick=False)


@pytest.mark.parametrize("interrupted", [False, True])
def test_trees_are_checked_out_and_removed(repository, interrupted):
    repository.git("init")
    base = repository.commit("src/module.py", "a = 1")
    repository.commit("src/module.py", "a = 2")
    (records.ROOT / "src" / "module.py").write_text("a = 3")
    texts = []
    try:
        with compare.source_trees(base, None) as trees:
            texts += [(tree / "src" / "module.py").read_text() for tree in trees.values()]
            assert len(repository.git("worktree", "list")) == 2
            if interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert interrupted
    assert texts == ["a = 1", "a = 3"]
    assert not trees["old"].exists()
    assert len(repository.git("worktree", "list")) == 1


def test_a_process_answers_orders_and_goes_on_after_a_failure(monkeypatch):
    class Model:
        objective_ = (1.0, 2.0)

    def broken():
        raise RuntimeError("no")

    made = {"good": lambda: lambda: Model, "bad": lambda: broken}
    monkeypatch.setattr(cases, "CASES", {name: cases.Case(make) for name, make in made.items()})
    answers = []
    source = Path(kernelfit.__file__).parents[2]
    cases.serve(source, ["good\n", "\n", "bad\n", "good\n"], answers.append)
    assert answers[0] == answers[3] == {"value": 3.0, "lacking": []}
    assert set(answers[1]) == {"cpu", "wall"}
    assert answers[2] == {"error": "RuntimeError: no"}


def test_a_process_refuses_another_tree(tmp_path):
    answers = []
    cases.serve(tmp_path, ["good\n"], answers.append)
    (answer,) = answers
    assert "expected to import kernelfit from the tree" in answer["error"]


@pytest.mark.parametrize(
    "name", ["svm-grid/heart", "tkl-fit/abalone/tol=0.01", "tkl-search/pima", "dank/heart/tau=0"]
)
def test_cases_give_settings_that_the_estimators_have(name, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELFIT_DATA", str(tmp_path))
    cases.lacking.clear()
    CASES[name].make()
    assert cases.lacking <= {"n_jobs", "search_tol"}


def test_synthetic_data_stand_in_for_missing_files(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELFIT_DATA", str(tmp_path))
    for name, (kind, rows, columns) in data.STAND_INS.items():
        X, y = data.load_or_make(name)
        assert (X.shape, y.shape) == ((rows, columns), (rows,))
        assert (len(np.unique(y)) > 10) == (kind == "targets")
    assert len(data.load_or_make("usps", 50)[0]) == 50
    np.savez(tmp_path / "heart.npz", X=np.ones((4, 2)), y=np.arange(4))
    assert data.load_or_make("heart")[0].shape == (4, 2)


def test_lists(capsys):
    runner.main(["--list"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(runner.BENCHMARKS)
    assert {"auto_tables", "tkl", "svm_core"} <= set(runner.BENCHMARKS)
    assert compare.main(["--list"]) == 0
    assert [line[2:] for line in capsys.readouterr().out.splitlines()] == list(CASES)


def test_unknown_benchmark_is_named(capsys):
    with pytest.raises(SystemExit):
        runner.main(["no_such"])
    assert "expected names among imports" in capsys.readouterr().err
