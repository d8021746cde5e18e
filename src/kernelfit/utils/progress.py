"""What a fit says while it runs, through the logger ``kernelfit``."""

import logging
import sys
from pathlib import Path
from typing import Any

logger = logging.getLogger("kernelfit")
_console = logging.StreamHandler()
_console.setFormatter(logging.Formatter("[%(name)s] %(message)s"))


def show_progress() -> logging.Logger:
    """Return the logger, its messages made visible unless the application has set it up."""
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        logger.addHandler(_console)
    _console.stream = sys.stderr  # which may have been replaced since the last call
    return logger


def announce_compilation(function: Any) -> None:
    """Say that the numerical core will be compiled, unless this function of it has been."""
    if not is_compiled(function):
        show_progress().info("compiling the numerical core, once a machine")


def is_compiled(function: Any) -> bool:
    """Return whether a numba function has machine code, in this process or in the cache on disk."""
    if getattr(function, "signatures", True):  # also True where numba is switched off
        return True
    folder = function.stats.cache_path
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}-*.nbi"
    return folder is not None and any(Path(folder).glob(name))
