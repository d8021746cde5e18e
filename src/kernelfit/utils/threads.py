"""Control of the threads of linear algebra libraries."""

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401  # so that the LAPACK which numba calls is among those controlled
from threadpoolctl import ThreadpoolController

_controller = cache(ThreadpoolController)  # looking for the libraries takes a millisecond


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context with single-threaded BLAS and LAPACK.

    Threads that wait for each other actively cost small matrices more than they gain, and on busy
    cores a hundred times more.
    """
    context: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return context
