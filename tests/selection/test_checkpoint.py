"""Searches that go on where they were killed."""

import os
import signal
import subprocess
import sys
import time

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


# A search of 60 cells, and 5 for its probabilities.
SCRIPT = """
import sys
import numpy as np
from sklearn.datasets import make_moons
from kernelfit import KernelSVCCV
from kernelfit.utils.digest import digest

X, y = make_moons(150, noise=0.3, random_state=0)
search = KernelSVCCV(gammas=2.0 ** np.arange(-6, 6), Cs=[1.0, 10.0], checkpoint=sys.argv[1])
search.fit(X, y)
scores = [value for name, value in search.cv_results_.items() if "time" not in name]
machine = search.best_estimator_
print(digest(scores, search.best_params_, search.predict_proba(X), machine.dual_coef_))
"""
CELLS = 65


def start(folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_kill_9_at_random_moments(tmp_path):
    """By default at two; KERNELFIT_KILLS says how often else."""
    expected = start(tmp_path / "undisturbed").communicate()[0]
    assert len(stamps(tmp_path / "undisturbed")) == CELLS and len(expected) == 65
    rng = np.random.default_rng(0)
    folder, before = tmp_path / "cells", {}
    n_kills = int(os.environ.get("KERNELFIT_KILLS", 2))
    moments = np.sort(rng.choice(CELLS - 2, n_kills, replace=n_kills > CELLS - 2)) + 1
    for moment in moments:
        run = start(folder)
        while len(stamps(folder)) < moment and run.poll() is None:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.01))  # somewhere in a cell, or in the writing of its file
        run.kill()
        run.communicate()
        after = stamps(folder)
        assert before.items() <= after.items() and len(after) >= moment
        before = after
    found, _ = start(folder).communicate()
    assert found == expected
    assert before.items() <= stamps(folder).items() and len(stamps(folder)) == CELLS
    assert not list(folder.glob("*.partial"))


def test_the_identity_covers_every_parameter_but_those_that_change_no_cell():
    names = set(KernelSVCCV().get_params()) | set(DANKClassifierCV().get_params())
    assert set(work_module._FREE) <= names
