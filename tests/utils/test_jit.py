"""Compilation works wherever a fit runs, once a machine, and says what it does."""

import os
import subprocess
import sys

import pytest

FIT = """
import numpy as np
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
from kernelfit import KernelSVC
X = np.random.default_rng(0).standard_normal((40, 3))
y = X[:, 0] + X[:, 1] ** 2 > 0.5
print(KernelSVC(C=10.0).fit(X, y).score(X, y), sorted(compiled))
"""


def run(code, cache, **changes):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **changes}
    environment = {key: value for key, value in environment.items() if value is not None}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def first_and_second(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    return run(FIT, cache), run(FIT, cache)


def test_second_process_compiles_nothing_and_says_nothing(first_and_second):
    first, second = first_and_second
    assert "pair_steps" in first.stdout
    assert first.stderr.count("compiling") == 1
    assert second.stdout.split(" ", 1)[1].strip() == "[]"
    assert second.stderr == ""
    assert first.stdout.split()[0] == second.stdout.split()[0]


def test_few_functions_are_compiled_for_a_fit(first_and_second):
    # Each costs some tenths of a second: specialisations should not creep back.
    names = first_and_second[0].stdout.split("[", 1)[1].strip("]\n").replace("'", "").split(", ")
    named = [name for name in names if name != "impl"]  # those are numba's own
    assert len(named) == len(set(named)), names
    assert len(named) <= 14, names


def test_the_time_of_compilation_is_told(tmp_path):
    code = """
import numpy as np
from kernelfit.linalg.indexed import gather
from kernelfit.utils.jit import compiling_seconds
places = np.arange(2)
for _ in range(3):
    print(compiling_seconds())
    gather(np.eye(3), places, places, np.empty((2, 2)))
"""
    before, first, second = map(float, run(code, tmp_path).stdout.split())
    assert before == 0.0 < first == second
    assert run(code, tmp_path).stdout.split() == ["0.0"] * 3  # found in the cache


@pytest.mark.parametrize("home", [None, "/proc/no-such-folder"])
def test_fit_works_where_no_cache_can_be_written(tmp_path, home):
    blocked = tmp_path / "file"
    blocked.write_text("")  # a folder below a file cannot be made, by nobody
    changes = {"HOME": home, "XDG_CACHE_HOME": home, "TMPDIR": str(blocked)}
    found = run(FIT, blocked / "cache", **changes)
    assert float(found.stdout.split()[0]) > 0.9
    assert "Traceback" not in found.stderr


def test_core_runs_without_compilation(tmp_path):
    code = """
import numpy as np
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge
print(solve_dual(np.eye(2), hinge([-1.0, 1.0], C=9.0)).x)
"""
    found = run(code, tmp_path, NUMBA_DISABLE_JIT="1")
    assert found.stdout.split() == ["[-1.", "1.]"]
    assert found.stderr == ""
