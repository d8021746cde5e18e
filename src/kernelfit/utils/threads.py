"""Control of the threads of linear algebra libraries."""

import time
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  # so that the LAPACK which numba calls is among those controlled
import threadpoolctl

_MAX_SINGLE_THREAD = 2000
_TRIAL = 600  # rows of a matrix that shows whether threads help
_TRIALS = 5
# Looking for the libraries takes a millisecond.
_controller = cache(threadpoolctl.ThreadpoolController)


class _OneBlasThread:
    """The limit, which is that of the whole process: the first to enter sets it, the last ends it.

    Limits that threads set and end one by one would end with the wrong number: a thread that enters
    while another is inside takes one for the original. Inner loops enter again and again, which
    must cost less than a small matrix.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._depth = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._depth += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                _release()
                self._limit.restore_original_limits()
                _release()


def _release() -> None:
    """Let any thread set the number: since threadpoolctl 3.8 only the one that did so first may."""
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    release = getattr(openblas, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


_one_blas_thread = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context with single-threaded BLAS and LAPACK.

    Threads that wait for each other actively cost small matrices more than they gain, and on busy
    cores a hundred times more.

    Returns
    -------
    context manager
    """
    return _one_blas_thread


def one_openmp_thread() -> AbstractContextManager[object]:
    """Return a context with one OpenMP thread: sums have one order, so one result.

    The libraries are looked for anew, as scikit-learn may have loaded its own since.

    Returns
    -------
    context manager
    """
    context: AbstractContextManager[object] = threadpoolctl.ThreadpoolController().limit(
        limits=1, user_api="openmp"
    )
    return context


def threads_for(n_rows: int) -> AbstractContextManager[object]:
    """Return the context for work on matrices with this many rows: one thread if they are small."""
    return one_blas_thread() if n_rows <= _MAX_SINGLE_THREAD else nullcontext()


def threads_in_time(n_rows: int) -> AbstractContextManager[object]:
    """Return the context for work under a limit of time: several threads only where they help.

    On busy cores they can take a thousand times as long as one.

    Parameters
    ----------
    n_rows : int

    Returns
    -------
    context manager
    """
    return threads_for(n_rows if n_rows <= _MAX_SINGLE_THREAD or _threads_help() else 0)


def _threads_help() -> bool:
    """Measure whether several threads multiply matrices faster than one, here and now."""
    if blas_threads() == 1:
        return False
    A = np.eye(_TRIAL)

    def seconds() -> float:
        began = time.perf_counter()
        A @ A
        return time.perf_counter() - began

    with one_blas_thread():
        one = min(seconds() for _ in range(3))
    # Every trial counts: a busy core is free for some of them. The first slow one is enough.
    return all(seconds() < one for _ in range(_TRIALS))


def blas_threads() -> int:
    """Return how many threads BLAS and LAPACK may use now."""
    libraries = _controller().select(user_api="blas").info()
    return max((library["num_threads"] for library in libraries), default=1)
