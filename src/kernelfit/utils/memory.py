"""How much memory there is: of the machine, of the container, of the process."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

# A share for one kernel matrix leaves room for its copies, for other processes and for the page
# cache. Without any figures, this much is taken to be available.
_SHARE = 0.25
_UNKNOWN = 4 * 2**30
_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Return how many bytes this process may still take.

    That is what the operating system can give without swapping, or what the limits of the control
    group (of a container, or of a job under a batch system) and of the process leave, if that is
    less. Where nothing is known, it is 4 GiB.

    Returns
    -------
    int

    Examples
    --------
    >>> from kernelfit.utils.memory import available_memory
    >>> available_memory() > 0
    True
    """
    return max(min([*_of_system(), *_of_control_groups(), *_of_process()], default=_UNKNOWN), 1)


def cache_bytes(cache_size: float | str, available: float | None = None) -> float:
    """Return the memory for a kernel matrix in bytes.

    Parameters
    ----------
    cache_size : float or "auto"
        In MB; "auto" stands for a quarter of the available memory.
    available : float, default=None
        In bytes; looked for when None.

    Returns
    -------
    float
    """
    if cache_size != "auto":
        return float(cache_size) * 2**20
    return _SHARE * (available_memory() if available is None else available)


def _of_system() -> Iterator[int]:
    with suppress(OSError, ValueError, StopIteration):
        lines = (_PROC / "meminfo").read_text().splitlines()
        found = next(line for line in lines if line.startswith("MemAvailable:"))
        yield int(found.split()[1]) * 1024
        return
    if sys.platform == "win32":
        yield _of_windows()
        return
    with suppress(OSError, ValueError, AttributeError):
        # Half of all of it, where what is free is not told.
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _of_windows() -> int:
    class Status(ctypes.Structure):
        _fields_ = [
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "available", *"abcde")),
        ]

    status = Status(length=ctypes.sizeof(Status))
    kernel: Any = ctypes.windll.kernel32  # type: ignore[attr-defined]
    kernel.GlobalMemoryStatusEx(ctypes.byref(status))
    return int(status.available)


def _of_control_groups() -> Iterator[int]:
    """Yield what the groups of this process and those above them leave, of both versions."""
    with suppress(OSError):
        for line in (_PROC / "self" / "cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds == "":
                names, root = ("memory.max", "memory.current", "inactive_file"), _CGROUPS
            elif "memory" in kinds.split(","):
                names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
                root = _CGROUPS / "memory"
            else:
                continue
            folder = root / path.strip("/")
            # Inside a container the root is the group itself, whatever its path is called outside.
            for group in (folder, *folder.parents):
                yield from _left(group, *names)
                if group == root:
                    break


def _left(group: Path, limit: str, usage: str, reclaimable: str) -> Iterator[int]:
    """Yield what one group leaves, pages of files that can be dropped included."""
    with suppress(OSError, ValueError):
        left = int((group / limit).read_text()) - int((group / usage).read_text())
        with suppress(OSError, ValueError):
            for line in (group / "memory.stat").read_text().splitlines():
                name, value = line.split()
                if name == reclaimable:
                    left += int(value)
        yield left


def _of_process() -> Iterator[int]:
    """Yield what the limit on the address space of this process leaves."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            pages = int((_PROC / "self" / "statm").read_text().split()[0])
            yield soft - pages * resource.getpagesize()
