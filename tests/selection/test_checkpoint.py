"""Searches that go on where they were killed."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1, make_moons

from kernelfit import (
    AutoKernelRegressor,
    DANKClassifierCV,
    KernelRidgeRegressorCV,
    KernelSVCCV,
    MKLRegressorCV,
    TKLRegressorCV,
)
from kernelfit.selection import work as work_module
from kernelfit.utils.checkpoint import Checkpoint
from kernelfit.utils.digest import digest

X, y = make_friedman1(60, 5, random_state=0)
POINTS, LABELS = make_moons(60, noise=0.3, random_state=0)
GRID = {"gammas": [0.1, 1.0], "Cs": [0.5, 20.0]}
CASES = {
    "svc": (KernelSVCCV(**GRID, n_average=2), POINTS, LABELS),
    "dank": (DANKClassifierCV(**GRID, etas=[np.inf, 0.1], cv=3), POINTS, LABELS),
    "tkl": (TKLRegressorCV([1.0], [0.1, 0.5], cv=3), X, y),
    "mkl": (MKLRegressorCV([1.0], cv=3), X, y),
    "ridge": (KernelRidgeRegressorCV(**GRID), X, y),
    "ensemble": (
        AutoKernelRegressor(members=["gaussian (standard", "forest (standard)"], cv=3), X, y,
    ),
}  # fmt: skip


def outcome(search, points):
    table = getattr(search, "cv_results_", {"weights": getattr(search, "weights_", None)})
    table = {name: value for name, value in table.items() if "time" not in name}
    values = [search.predict(points)]
    if hasattr(search, "predict_proba"):
        values.append(search.predict_proba(points))
    return digest(table, values)


def stamps(folder):
    """Return which cells there are, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.npz")}


class Killed(BaseException):
    """The end of a run, as a signal would bring it."""


@pytest.mark.parametrize("name", CASES)
def test_a_run_goes_on_from_its_cells(name, tmp_path, monkeypatch):
    estimator, points, targets = CASES[name]
    estimator = clone(estimator).set_params(checkpoint=tmp_path / "cells")
    put = Checkpoint.put

    def limited(self, key, arrays):
        if stamps(tmp_path / "cells"):
            raise Killed
        put(self, key, arrays)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "put", limited)
        with pytest.raises(Killed):
            clone(estimator).fit(points, targets)
    before = stamps(tmp_path / "cells")
    resumed = clone(estimator).fit(points, targets)
    after = stamps(tmp_path / "cells")
    assert len(before) == 1 < len(after)
    assert {cell: after[cell] for cell in before} == before  # not computed again
    undisturbed = clone(estimator).set_params(checkpoint=tmp_path / "other")
    if name == "ensemble":  # whose seed was drawn, and kept
        (tmp_path / "other").mkdir()
        manifest = (tmp_path / "cells" / "checkpoint.json").read_text()
        (tmp_path / "other" / "checkpoint.json").write_text(manifest)
    undisturbed.fit(points, targets)
    assert outcome(resumed, points) == outcome(undisturbed, points)
    # What is finished is not computed a second time.
    assert stamps(tmp_path / "cells") == after
    assert outcome(clone(estimator).fit(points, targets), points) == outcome(resumed, points)
    assert stamps(tmp_path / "cells") == after


def test_cells_of_an_extended_grid_and_of_exact_values_are_kept(tmp_path):
    search = KernelSVCCV(checkpoint=tmp_path, cv=2).fit(POINTS, LABELS)
    n_gammas = len(np.unique(search.cv_results_["param_gamma"]))
    assert len(stamps(tmp_path)) >= 2 * n_gammas + 2


@pytest.mark.parametrize(
    "change, what",
    [
        (lambda s: (s, POINTS + 1e-9, LABELS), "data"),
        (lambda s: (s, POINTS, 1 - LABELS), "data"),
        (lambda s: (s.set_params(tol=1e-5), POINTS, LABELS), "parameters"),
        (lambda s: (s.set_params(Cs=[0.5]), POINTS, LABELS), "parameters"),
        (lambda s: (s.set_params(cv=4), POINTS, LABELS), "folds"),
    ],
)
def test_another_search_is_one_sentence(tmp_path, change, what):
    search = KernelSVCCV(**GRID, cv=2, checkpoint=tmp_path)
    clone(search).fit(POINTS, LABELS)
    other, points, labels = change(clone(search))
    with pytest.raises(ValueError, match=f"expected the {what} that the checkpoint in"):
        other.fit(points, labels)


def test_what_changes_no_cell_is_free(tmp_path):
    search = KernelSVCCV(**GRID, cv=2, checkpoint=tmp_path)
    clone(search).fit(POINTS, LABELS)
    before = stamps(tmp_path)
    clone(search).set_params(scoring="balanced_accuracy", verbose=0, n_jobs=1).fit(POINTS, LABELS)
    assert before.items() <= stamps(tmp_path).items()


def test_a_foreign_directory_is_one_sentence(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    search = KernelSVCCV(**GRID, checkpoint=str(tmp_path))
    with pytest.raises(ValueError, match="expected an empty directory for a checkpoint"):
        search.fit(POINTS, LABELS)
    assert not hasattr(search, "best_params_")


def test_cells_of_other_processes_are_kept(tmp_path):
    search = KernelSVCCV(**GRID, cv=2, checkpoint=tmp_path, n_jobs=2).fit(POINTS, LABELS)
    before = stamps(tmp_path)
    alone = clone(search).set_params(n_jobs=None).fit(POINTS, LABELS)
    assert stamps(tmp_path) == before and outcome(alone, POINTS) == outcome(search, POINTS)


# In a process of its own, which forks: its children need not load compiled code anew.
SCRIPT = """
import os, signal, sys, time
from pathlib import Path
import numpy as np
from sklearn.datasets import make_moons
from kernelfit import KernelSVCCV
from kernelfit.utils.digest import digest

X, y = make_moons(150, noise=0.3, random_state=0)


def run(folder):
    search = KernelSVCCV(gammas=2.0 ** np.arange(-6, 6), Cs=[1.0, 10.0], checkpoint=folder)
    search.fit(X, y)
    scores = [value for name, value in search.cv_results_.items() if "time" not in name]
    machine = search.best_estimator_
    return digest(scores, search.best_params_, search.predict_proba(X), machine.dual_coef_)


def stamps(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.npz")}


base, rng = Path(sys.argv[1]), np.random.default_rng(0)
expected = run(base / "undisturbed")
n_cells = len(stamps(base / "undisturbed"))
assert n_cells == 60 + 5, n_cells  # the grid, and the folds behind the probabilities
began = time.perf_counter()
run(base / "timed")
seconds = time.perf_counter() - began
for k in range(int(sys.argv[2])):
    folder = base / str(k)
    child = os.fork()
    if child == 0:
        run(folder)
        os._exit(0)
    time.sleep(rng.uniform(0.02, seconds))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    before = stamps(folder)
    assert run(folder) == expected
    after = stamps(folder)
    # What was finished is not computed again, what was half written is gone.
    assert before.items() <= after.items() and len(after) == n_cells
    assert not list(folder.glob("*.partial"))
    print(len(before), "cells at the kill")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kill_9_at_random_moments(tmp_path):
    """By default at three; KERNELFIT_KILLS says how many else."""
    n_kills = os.environ.get("KERNELFIT_KILLS", "3")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), n_kills],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("cells at the kill") == int(n_kills)


def test_the_identity_covers_every_parameter_but_those_that_change_no_cell():
    names = set(KernelSVCCV().get_params()) | set(DANKClassifierCV().get_params())
    assert set(work_module._FREE) <= names
