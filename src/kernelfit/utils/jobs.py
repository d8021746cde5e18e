"""Jobs that run at the same time: in threads, in processes or on a cluster.

Machines, searches and ensembles go through :func:`run_jobs`, and so through the joblib backend in
force. What all jobs read is sent once; a job gives the same bits wherever it runs, as each has one
thread of linear algebra; and the jobs of a worker that is lost run again.
"""

import gc
import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from numbers import Integral
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from kernelfit.utils.threads import one_blas_thread

Function = Callable[..., Any]
Jobs = Mapping[int, tuple[Any, ...]]

_MAX_FAILURES = 4  # in a row, after which a job that ends its worker is an error
# Arrays of more bytes are shared by processes of one host. They can be written to, which changes
# nothing for others: code that is compiled for arrays to read alone would be compiled once more.
_MEMMAP = {"max_nbytes": 2**20, "mmap_mode": "c"}
# Bytes that a process keeps for its next job; larger arrays it shares with others.
_MAX_KEPT = 2**26

_latest: dict[str, "Shared"] = {}  # what this process was sent last


class Shared:
    """What all jobs read: sent once, also for jobs that are run later.

    Parameters
    ----------
    *values : object
        The first arguments of all jobs.
    """

    def __init__(self, *values: Any) -> None:
        self.values = values
        self._sent: dict[Any, Any] = {}

    def __reduce__(self) -> Any:
        """Travel with every job to processes of this host; they read it once, if it is small.

        So what a job has computed of it is there for the next.
        """
        packed = self.sent("processes", _packed)
        return (Shared, self.values) if packed is None else (_received, packed)

    def sent(self, where: Any, send: Callable[[tuple[Any, ...]], Any]) -> Any:
        """Return what stands for the values somewhere; they are sent by the first call."""
        if where not in self._sent:
            self._sent[where] = send(self.values)
        return self._sent[where]

    def forget(self) -> None:
        """Have the values sent anew."""
        self._sent.clear()


def run_jobs(
    function: Function,
    jobs: Sequence[tuple[Any, ...]],
    shared: Shared | tuple[Any, ...] = (),
    *,
    n_jobs: int | None = None,
    prefer: Literal["threads", "processes"] = "threads",
) -> Iterator[tuple[int, Any]]:
    """Yield the number and the result of every job, in the order in which they end.

    Parameters
    ----------
    function : callable
        ``function(*shared, *job)``, of a module, so that processes find it. It must not change
        what is shared.
    jobs : sequence of tuple
        The arguments in which jobs differ: few bytes, as they travel with each.
    shared : Shared or tuple, default=()
        The arguments that they have in common.
    n_jobs : int, default=None
        How many run at a time, as in joblib.
    prefer : {"threads", "processes"}, default="threads"
        Where they run unless a backend of joblib is in force.

    Yields
    ------
    (int, object)

    Examples
    --------
    >>> from kernelfit.utils.jobs import run_jobs
    >>> sorted(run_jobs(pow, [(0,), (1,), (2,)], shared=(3,), n_jobs=2))
    [(0, 1), (1, 3), (2, 9)]
    """
    check_n_jobs(n_jobs)
    shared = shared if isinstance(shared, Shared) else Shared(*shared)
    if _one_at_a_time(n_jobs, prefer):
        with one_blas_thread():
            for number, job in enumerate(jobs):
                yield number, function(*shared.values, *job)
        return
    left = dict(enumerate(jobs))
    failures = 0  # without a job that ended in between
    while True:
        try:
            with one_blas_thread():  # here and now, rather than for every job anew
                for number, result in _run(function, dict(left), shared, n_jobs, prefer):
                    failures = 0
                    del left[number]
                    yield number, result
            return
        except (BrokenProcessPool, CancelledError):  # a process, or data on a cluster, is lost
            shared.forget()
            failures += 1
            if failures == _MAX_FAILURES:
                raise


def run_in_order(
    function: Function, jobs: Sequence[tuple[Any, ...]], *args: Any, **kwargs: Any
) -> Any:
    """Return the results of `run_jobs` as a list, in the order of the jobs."""
    found = dict(run_jobs(function, jobs, *args, **kwargs))
    return [found[number] for number in range(len(jobs))]


def shares_memory(prefer: Literal["threads", "processes"] = "threads") -> bool:
    """Return whether jobs would run in threads of this process."""
    backend, _ = get_active_backend(prefer=prefer)
    return bool(getattr(backend, "supports_sharedmem", False))


def n_threads(n_jobs: int | None) -> int:
    """Return how many jobs would run at a time in threads of this process."""
    check_n_jobs(n_jobs)  # it may have changed after a fit
    return int(effective_n_jobs(n_jobs)) if shares_memory() else 1


def check_n_jobs(n_jobs: Any) -> None:
    """Raise ValueError unless a number of jobs has a meaning.

    Parameters
    ----------
    n_jobs : int or None
    """
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            f"expected n_jobs to be a positive or negative integer or None, got {n_jobs!r}"
        )


def _one_at_a_time(n_jobs: int | None, prefer: str) -> bool:
    """Return whether jobs run here one by one: joblib's dispatch takes as long as a small one."""
    backend, usual = get_active_backend(prefer=prefer)
    if type(backend).__name__ in ("DaskDistributedBackend", "RayBackend"):
        return False
    wanted = usual if n_jobs is None else n_jobs
    return bool(backend.effective_n_jobs(1 if wanted is None else wanted) == 1)


def _run(
    function: Function, jobs: Jobs, shared: Shared, n_jobs: int | None, prefer: str
) -> Iterable[tuple[int, Any]]:
    backend, _ = get_active_backend(prefer=prefer)
    name = type(backend).__name__
    if name == "DaskDistributedBackend":
        return _run_on_dask(backend.client, function, jobs, shared)
    if name == "RayBackend":
        return _run_on_ray(function, jobs, shared)
    as_they_end = getattr(backend, "supports_return_generator", False)
    parallel: Any = Parallel(
        n_jobs=n_jobs,
        prefer=prefer,
        return_as="generator_unordered" if as_they_end else "list",
        batch_size=1,
        **_MEMMAP,
    )
    found: Iterable[tuple[int, Any]] = parallel(
        delayed(_call)(function, shared, *item) for item in jobs.items()
    )
    return found


def _run_on_dask(
    client: Any, function: Function, jobs: Jobs, shared: Shared
) -> Iterator[tuple[int, Any]]:
    """Run jobs on the workers of a dask client.

    Not through joblib's own adapter: it leaves data with one worker, whose loss is that of all
    jobs, and waits for ever for a job whose workers are lost.
    """
    from dask import distributed

    as_completed: Any = distributed.as_completed  # untyped

    def scatter(values: tuple[Any, ...]) -> Any:
        return client.scatter([values], broadcast=True, hash=False)[0]

    data = shared.sent(client.id, scatter)
    futures = {
        client.submit(_call, function, data, number, job, pure=False): number
        for number, job in jobs.items()
    }
    try:
        # Results are fetched many at a time: one by one each would take a round trip.
        for future, result in as_completed(futures, with_results=True):
            if isinstance(result, CancelledError):  # not raised, unlike other errors
                raise result
            del futures[future]
            yield result
    finally:
        client.cancel(list(futures))


def _run_on_ray(function: Function, jobs: Jobs, shared: Shared) -> Iterator[tuple[int, Any]]:
    """Run jobs on the workers of ray, which runs those of a lost one again.

    Not through its own adapter, which starts new processes for every call.
    """
    import ray

    data, call = shared.sent("ray", ray.put), ray.remote(_call_on_copy)
    left = [call.remote(function, data, number, job) for number, job in jobs.items()]
    try:
        while left:
            (done,), left = ray.wait(left)
            yield ray.get(done)
    finally:
        for future in left:
            ray.cancel(future)


def _packed(values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return a name, a pickle and the arrays that it leaves out; None if only joblib can."""
    arrays: list[pickle.PickleBuffer] = []
    try:
        data = pickle.dumps(values, protocol=5, buffer_callback=arrays.append)
    except (AttributeError, TypeError, pickle.PicklingError):  # functions without a name
        return None
    flat = [np.frombuffer(array.raw(), dtype=np.uint8) for array in arrays]
    return uuid.uuid4().hex, data, flat


def _received(name: str, data: bytes, arrays: list[Any]) -> Shared:
    if name in _latest:
        return _latest[name]
    if sum(array.nbytes for array in arrays) > _MAX_KEPT:
        return Shared(*pickle.loads(data, buffers=arrays))
    _latest.clear()
    gc.freeze()  # loky's processes look for garbage every second: 0.1 s long in what is imported
    # A copy: joblib waits for the files of arrays that are mapped still.
    _latest[name] = Shared(*pickle.loads(data, buffers=[array.copy() for array in arrays]))
    return _latest[name]


def _call(
    function: Function, shared: Shared | tuple[Any, ...], number: int, job: tuple[Any, ...]
) -> tuple[int, Any]:
    values = shared.values if isinstance(shared, Shared) else shared
    with one_blas_thread():
        return number, function(*values, *job)


def _call_on_copy(
    function: Function, shared: tuple[Any, ...], number: int, job: tuple[Any, ...]
) -> tuple[int, Any]:
    """Call on arrays that can be written to, as elsewhere."""
    return _call(function, pickle.loads(pickle.dumps(shared)), number, job)
