"""Jobs: every one runs once, wherever; those of a lost process run again."""

import os
import signal
import threading
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from kernelfit.utils import jobs as jobs_module
from kernelfit.utils.jobs import n_threads, run_in_order, run_jobs, shares_memory
from kernelfit.utils.threads import blas_threads

needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


def total(array, number):
    return float(array.sum()) + number


def where(_, number):
    return os.getpid(), threading.get_ident(), blas_threads(), number


def is_same(array, _):
    return id(array)


def first_of_its_process(seen, number):
    seen.append(number)
    return os.getpid(), seen[0]


def total_of(arrays, number):
    return float(sum(array.sum() for array in arrays)) + number


def apply(function, number):
    return function(number)


def die_once(folder, number):
    mark = Path(folder) / "died"
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die(folder, number):
    with (Path(folder) / "deaths").open("a") as file:
        file.write("x")
    os.kill(os.getpid(), signal.SIGKILL)


def fail(_, number):
    raise ValueError(f"job {number}")


def jobs(n):
    return [(number,) for number in range(n)]


@pytest.mark.parametrize("prefer", ["threads", "processes"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_every_job_gives_its_result(n_jobs, prefer):
    array = np.arange(200_000.0)  # large enough to be mapped by processes
    expected = [array.sum() + number for number in range(7)]
    options = {"n_jobs": n_jobs, "prefer": prefer}
    assert run_in_order(total, jobs(7), (array,), **options) == expected
    assert sorted(run_jobs(total, jobs(7), (array,), **options)) == list(enumerate(expected))


def test_no_jobs():
    assert list(run_jobs(total, [], (np.ones(2),), n_jobs=2)) == []


def test_threads_share_their_arguments():
    array = np.ones(3)
    assert set(run_in_order(is_same, jobs(4), (array,), n_jobs=2)) == {id(array)}


@pytest.mark.parametrize("size", [10, 2**18])
def test_a_process_keeps_what_it_was_sent(size):
    """What a job computes from it is there for the next one of that process."""
    shared = ([np.ones(size)],)
    for _ in range(2):  # sent anew
        found = run_in_order(first_of_its_process, jobs(6), ([],), n_jobs=2, prefer="processes")
        assert len({(pid, first) for pid, first in found}) == len({pid for pid, _ in found})
    found = run_in_order(total_of, jobs(6), shared, n_jobs=2, prefer="processes")
    assert found == [size + number for number in range(6)]


def test_what_is_large_is_not_kept(monkeypatch):
    """Its arrays are shared by processes, so that they have to be mapped by every job."""
    monkeypatch.setattr(jobs_module, "_MAX_KEPT", 7)
    name, data, arrays = jobs_module._packed((np.ones(1), "a"))
    assert jobs_module._received(name, data, arrays).values[1] == "a"
    assert name not in jobs_module._latest
    assert jobs_module._received(name, data, arrays) is not jobs_module._received(
        name, data, arrays
    )


def test_functions_without_a_name_travel_too():
    shared = (lambda number: 2 * number,)
    assert run_in_order(apply, jobs(3), shared, n_jobs=2, prefer="processes") == [0, 2, 4]


def test_a_backend_in_force_decides():
    assert shares_memory()
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert not shares_memory()
        found = run_in_order(where, jobs(4), (None,))
    assert os.getpid() not in {pid for pid, *_ in found}
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert shares_memory("processes")
        found = run_in_order(where, jobs(4), (None,), prefer="processes")
    assert {pid for pid, *_ in found} == {os.getpid()}


@pytest.mark.skipif(
    not any(library["user_api"] == "blas" for library in threadpool_info()), reason="no BLAS"
)
@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_a_job_has_one_thread_of_linear_algebra(prefer):
    found = run_in_order(where, jobs(3), (None,), n_jobs=2, prefer=prefer)
    assert [threads for _, _, threads, _ in found] == [1, 1, 1]


@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_an_error_is_that_of_the_job(prefer):
    with pytest.raises(ValueError, match="job 0"):
        run_in_order(fail, jobs(1), (None,), n_jobs=2, prefer=prefer)


@needs_kill
def test_the_jobs_of_a_lost_process_run_again(tmp_path):
    found = run_in_order(die_once, jobs(8), (str(tmp_path),), n_jobs=2, prefer="processes")
    assert found == list(range(8)) and (tmp_path / "died").exists()


@needs_kill
def test_a_job_that_ends_its_process_is_an_error_in_the_end(tmp_path):
    with pytest.raises(BrokenProcessPool):
        run_in_order(die, jobs(1), (str(tmp_path),), n_jobs=2, prefer="processes")
    assert 1 <= len((tmp_path / "deaths").read_text()) <= 8


@pytest.mark.parametrize("n_jobs", [0, "two", 1.5])
def test_numbers_of_jobs_without_a_meaning_are_refused(n_jobs):
    message = "expected n_jobs to be a positive or negative integer or None, got"
    with pytest.raises(ValueError, match=message):
        run_in_order(pow, [(1,), (2,)], (3,), n_jobs=n_jobs)
    with pytest.raises(ValueError, match=message):
        n_threads(n_jobs)
