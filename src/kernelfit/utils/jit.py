"""Compilation of the inner loops: once on a machine, and wherever a fit runs.

numba keeps compiled functions in a cache on disk, but fails where it finds no folder for it, lets
parallel processes compile the same function each for itself, and in rare cases confuses what two
of them save at a time. :func:`jit` is ``numba.njit`` with a cache without these faults.
"""

import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import IO, Any

import numba
from numba.core import caching, event
from numba.core.dispatcher import Dispatcher
from numba.extending import register_jitable

from kernelfit.utils.progress import announce_compilation

try:
    import fcntl
except ImportError:  # not there on Windows, where processes do not wait for each other then
    fcntl = None  # type: ignore[assignment]

Function = Callable[..., Any]
# numba's types do not cover what is used of it here.
_njit: Any = numba.njit
_config: Any = numba.config
_caching: Any = caching
_event: Any = event

# Division by zero gives infinity or nan, as in numpy: the test for it would keep loops from being
# vectorised. All functions work on arrays alone, so none needs the interpreter's lock, and what is
# the same for all is compiled once. The entry point for C that numba makes is never used.
_OPTIONS = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}
_POLL = 0.02  # seconds between looks at the cache while another process compiles
_MAX_WAIT = 60.0  # seconds after which it is taken to be stuck


def jit(**options: Any) -> Callable[[Function], Any]:
    """Return the decorator of a compiled function that Python code calls.

    Compilation takes place at the first call with arguments of new types. Its result is kept in
    the first folder that can be written: that of numba (the one that NUMBA_CACHE_DIR names, beside
    the source or in the user's cache) or a private one for temporary files. Where there is none,
    every process compiles for itself. Nothing that happens to the cache is an error.

    Parameters
    ----------
    **options
        Of ``numba.njit``, such as `fastmath`.

    Returns
    -------
    decorator : callable
        With NUMBA_DISABLE_JIT set, it returns the function itself.

    Examples
    --------
    >>> from kernelfit.utils.jit import jit
    >>> @jit()
    ... def twice(x):
    ...     return 2 * x
    >>> twice(3)
    6
    """

    def decorate(function: Function) -> Any:
        compiled: Any = _njit(**_OPTIONS, **options)(function)
        if isinstance(compiled, Dispatcher):
            dispatcher: Any = compiled
            dispatcher._cache = _Cache(function)
        return compiled

    return decorate


def inner(**options: Any) -> Callable[[Function], Any]:
    """Return the decorator of a function that compiled functions call.

    It is compiled as a part of them, which is much faster: nothing has to be made for calls from
    Python, where it remains an ordinary function.

    Parameters
    ----------
    **options
        Of ``numba.njit``. It needs `forceinline` where its caller takes sums in any order: there
        are several compilations of it otherwise, each with an order of its own, and whether the
        caller was loaded from the cache or just compiled decides which one it uses.

    Returns
    -------
    decorator : callable
    """
    decorator: Callable[[Function], Any] = register_jitable(**_OPTIONS, **options)
    return decorator


class _Cache:
    """The cache of one function on disk, through the interface that numba's dispatcher calls.

    All calls come under numba's lock, from one thread at a time.
    """

    def __init__(self, function: Function) -> None:
        self._function = function

    @cached_property
    def _storage(self) -> Any:
        return _open_storage(self._function)

    @property
    def cache_path(self) -> str | None:
        path: str | None = self._storage.cache_path
        return path

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled function; if None, the dispatcher compiles it next.

        Only one process does so at a time; the others look whether it has saved what they need.
        """
        deadline = time.monotonic() + _MAX_WAIT
        kept = self.cache_path is not None
        found = self._load(signature, context)
        while found is None and not _turn.begin(deadline, exclusive=kept):
            time.sleep(_POLL)
            found = self._load(signature, context)
        if found is not None:
            return found
        # It may have come between the look and the lock.
        found = self._load(signature, context)
        if found is None:
            announce_compilation(kept)
        else:
            _turn.end()
        return found

    def save_overload(self, signature: Any, result: Any) -> None:
        """Save a compiled function."""
        try:
            with suppress(OSError):  # such as a full disk
                self._storage.save_overload(signature, result)
        finally:
            _turn.end()

    def _load(self, signature: Any, context: Any) -> Any:
        try:
            found = self._storage.load_overload(signature, context)
        except OSError:
            return None
        except Exception:  # whatever reading a damaged file gives
            self.flush()
            return None
        # Two processes that save at a time without the lock (on two machines, say) can leave
        # the code of the one under the signature of the other.
        if found is not None and tuple(found.signature.args) != tuple(signature):
            self.flush()
            return None
        return found

    def flush(self) -> None:
        """Forget all that has been saved."""
        with suppress(OSError):
            self._storage.flush()

    def enable(self) -> None:
        """Switch the cache on."""
        self._storage.enable()

    def disable(self) -> None:
        """Switch the cache off."""
        self._storage.disable()


def _open_storage(function: Function) -> Any:
    """Return numba's cache in the first folder that can be written, or one that keeps nothing."""
    try:
        return _caching.FunctionCache(function)
    except (OSError, RuntimeError):
        folder = _temporary_folder()
    if folder is not None:
        before = _config.CACHE_DIR
        _config.CACHE_DIR = str(folder / f"numba-{numba.__version__}")
        try:
            return _caching.FunctionCache(function)
        except (OSError, RuntimeError):
            pass
        finally:
            _config.CACHE_DIR = before
    return _caching.NullCache()


def _temporary_folder() -> Path | None:
    """Return our folder among the temporary files, if nobody else can write there.

    Code is loaded from it, so one that somebody else made does not do.
    """
    user = os.getuid() if hasattr(os, "getuid") else None
    try:
        folder = Path(tempfile.gettempdir()) / (
            "kernelfit" if user is None else f"kernelfit-{user}"
        )
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return None
    private = user is None or (state.st_uid == user and not state.st_mode & 0o077)
    return folder if stat.S_ISDIR(state.st_mode) and private else None


class _Turn:
    """The right to compile, which one process has at a time.

    A function is compiled together with those that it calls, so turns are nested.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._file: IO[str] | None = None

    def begin(self, deadline: float, exclusive: bool) -> bool:
        """Begin a turn; return False while it is another process's, until the deadline."""
        if self._depth == 0 and exclusive:
            try:
                self._file = _lock()
            except BlockingIOError:
                if time.monotonic() < deadline:
                    return False
            except OSError:  # a file system without locks
                pass
        self._depth += 1
        return True

    def end(self) -> None:
        """End a turn."""
        self._depth -= 1
        if self._depth == 0 and self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)  # also where a fork has left the file open
            self._file.close()
            self._file = None


def _lock() -> IO[str] | None:
    """Return a locked file of this package and its cache, None where there are no locks.

    Raises ``BlockingIOError`` where another process holds the lock. The system takes it from a
    process that ends.
    """
    folder = _temporary_folder()
    if fcntl is None or folder is None:
        return None
    names = f"{Path(__file__).parent}\n{_config.CACHE_DIR}"
    file = (folder / f"{hashlib.sha256(names.encode()).hexdigest()[:16]}.lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


class _CompilationListener(event.Listener):
    """Adds up the time of compilations, and ends the turn of one that failed."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock, self._running, self._began = Lock(), 0, 0.0

    def on_start(self, event: Any) -> None:
        """Note the time; functions that are compiled for another one are part of its time."""
        with self._lock:
            if self._running == 0:
                self._began = time.perf_counter()
            self._running += 1

    def on_end(self, event: Any) -> None:
        """Note the time, and end the turn if one of our functions failed: nothing is saved."""
        with self._lock:
            self._running -= 1
            if self._running == 0:
                self.seconds += time.perf_counter() - self._began
        if event.is_failed and isinstance(event.data["dispatcher"]._cache, _Cache):
            _turn.end()


_turn = _Turn()
_compilations = _CompilationListener()
_event.register("numba:compile", _compilations)


def compiling_seconds() -> float:
    """Return how long this process has compiled functions so far.

    Returns
    -------
    float
        Without what was found in a cache, and without compilations that are not over.
    """
    return _compilations.seconds
