import subprocess
import sys

SCRIPT = """
from threading import Event, Thread
from types import SimpleNamespace

from threadpoolctl import threadpool_info

from kernelfit.utils import threads
from kernelfit.utils.threads import blas_threads, one_blas_thread, threads_for, threads_in_time


def pools():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


assert pools() == {2}, pools()
assert blas_threads() == 2
with one_blas_thread():
    assert pools() == {1}
    assert blas_threads() == 1
    with one_blas_thread():
        assert pools() == {1}
    assert pools() == {1}
assert pools() == {2}
try:
    with one_blas_thread():
        raise RuntimeError
except RuntimeError:
    assert pools() == {2}
with threads_for(100):
    assert pools() == {1}
with threads_for(100_000):
    assert pools() == {2}

# Under a limit of time, several threads work where they are faster than one, here and now.
for slow, expected in ((1, 2), (2, 1)):
    now = [0.0]

    def tick(slow=slow, now=now):
        now[0] += 5.0 if blas_threads() == slow else 1.0
        return now[0]

    threads.time = SimpleNamespace(perf_counter=tick)
    with threads_in_time(100_000):
        assert pools() == {expected}, (slow, pools())
    with threads_in_time(100):
        assert pools() == {1}
assert pools() == {2}

# Blocks of two threads overlap: the first to leave does not end the limit, the last one does.
inside, leave = Event(), Event()


def hold():
    with one_blas_thread():
        inside.set()
        leave.wait(60)


for _ in range(2):
    inside.clear(), leave.clear()
    other = Thread(target=hold)
    with one_blas_thread():
        other.start()
        assert inside.wait(60)
    assert pools() == {1}
    leave.set()
    other.join()
    assert pools() == {2}
"""


def test_the_limit_holds_inside_and_ends_with_the_block(monkeypatch):
    """In a process of its own: the tests run on one BLAS thread, where nothing would show."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
