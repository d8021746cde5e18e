"""What a fit says while it runs, through the logger ``kernelfit``."""

import logging
import math
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

logger = logging.getLogger("kernelfit")
_console = logging.StreamHandler()
_console.setFormatter(logging.Formatter("[%(name)s] %(message)s"))
_announced = False
_SECONDS = 5.0  # between messages of a long fit


def show_progress() -> logging.Logger:
    """Return the logger, its messages made visible unless the application has set it up."""
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        logger.addHandler(_console)
    _console.stream = sys.stderr  # which may have been replaced since the last call
    return logger


def announce_compilation(kept: bool) -> None:
    """Say once a process, on stderr, that the numerical core is being compiled.

    It takes some seconds in which nothing else is to be seen, so this does not depend on
    `verbose`; to hear nothing, set the logger's level to a higher one than ``INFO``.

    Parameters
    ----------
    kept : bool
        Whether later processes find the compiled code in a cache.
    """
    global _announced
    if _announced or logger.level > logging.INFO:
        return
    _announced = True
    where = "once a kind of model on this machine (some seconds)"
    if not kept:
        where = "in every process (some seconds), as no folder for a cache can be written"
    _tell(f"kernelfit: compiling its numerical core, {where}\n")


def _tell(text: str) -> None:
    with suppress(AttributeError, OSError, ValueError):  # stderr may be missing or closed
        sys.stderr.write(text)
        sys.stderr.flush()


class GapForecast:
    """How long a relative gap that falls will take to reach its target.

    Parameters
    ----------
    target : float
    """

    def __init__(self, target: float) -> None:
        self._target = target
        self._began = self._shown = time.perf_counter()
        self._seen: list[tuple[float, float]] = []  # seconds, and the smallest logarithm so far

    def add(self, objective: float, gap: float) -> str:
        """Note the gap at this moment; return what is to be said of the time."""
        spent = time.perf_counter() - self._began
        now = math.log(max(gap / max(abs(objective), 1e-300), 1e-300)) if gap == gap else math.inf
        smallest = min(now, self._seen[-1][1]) if self._seen else now
        self._seen.append((spent, smallest))
        # At the rate of the later half: the first rounds of a fit say little of the last.
        then, before = self._seen[len(self._seen) // 2]
        missing = smallest - math.log(self._target)
        if missing <= 0.0:
            return f"{spent:.1f} s"
        if before > smallest and spent > then and len(self._seen) > 2:
            left = missing * (spent - then) / (before - smallest)
            return f"{spent:.1f} s, about {left:.1f} s left"
        return f"{spent:.1f} s"

    def is_due(self) -> bool:
        """Return whether some seconds have passed since it last was."""
        now = time.perf_counter()
        due = now - self._shown >= _SECONDS
        self._shown = now if due else self._shown
        return due


class ProgressBar:
    """One line on stderr that is written anew: how far a search is, and what is best so far.

    Parameters
    ----------
    shown : bool
        Whether to write anything.
    limit : float
        Seconds that there are; infinite for no limit.
    """

    def __init__(self, shown: bool, limit: float) -> None:
        self._shown, self._limit = shown, limit
        self._began = time.perf_counter()
        self._width = 0

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._width:
            _tell("\n")

    def show(self, done: int, total: int, what: str, found: Sequence[Any]) -> None:
        """Say that some of all units of work are done, the last of which was `what`."""
        if not self._shown:
            return
        spent = time.perf_counter() - self._began
        left = min(self._limit - spent, spent / done * (total - done))
        best = min(found, key=lambda one: one.losses[0])
        filled = 20 * done // total
        line = (
            f"[{'#' * filled}{'.' * (20 - filled)}] {what}; best: {best.members[0].name}, "
            f"loss {best.losses[0]:.4g}; {spent:.0f} s, about {max(left, 0.0):.0f} s left"
        )
        if sys.stderr is not None and sys.stderr.isatty():  # a broken line cannot be rewritten
            line = line[: shutil.get_terminal_size().columns - 1]
        _tell("\r" + line.ljust(self._width))
        self._width = len(line)
