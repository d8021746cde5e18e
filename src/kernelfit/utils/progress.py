"""What a fit says while it runs, through the logger ``kernelfit``."""

import logging
import sys
from contextlib import suppress

logger = logging.getLogger("kernelfit")
_console = logging.StreamHandler()
_console.setFormatter(logging.Formatter("[%(name)s] %(message)s"))
_announced = False


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
    where = "once on this machine (about 5 s)"
    if not kept:
        where = "in every process (about 5 s), as no folder for a cache can be written"
    with suppress(AttributeError, OSError, ValueError):  # stderr may be missing or closed
        sys.stderr.write(f"kernelfit: compiling its numerical core, {where}\n")
        sys.stderr.flush()
