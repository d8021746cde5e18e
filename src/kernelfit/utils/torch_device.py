"""The one door to torch, and to triton beside it: what runs on a device asks here for them."""

from threading import Lock
from types import ModuleType
from typing import Any

Tensor = Any  # torch.Tensor, which is not there without torch

_SHARE = 0.8  # of the device's free memory that a fit plans to use
_ready: set[str] = set()  # GPUs that torch has begun to work with
_lock = Lock()


def load_torch(device: str) -> tuple[ModuleType, Any]:
    """Return torch and the device of a name, or say what is missing.

    Parameters
    ----------
    device : str
        As torch writes it: "cpu", "cuda", "cuda:1".

    Returns
    -------
    torch : module
    device : torch.device
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError(f'device="{device}" needs torch: pip install "kernelfit[gpu]"') from error
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f'expected device None, "cpu" or "cuda", got {device!r}') from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(f'device="{device}" needs a GPU that torch can use, and there is none')
    if place.type == "cuda" and (place.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise RuntimeError(f'device="{device}" is not there: torch can use {count} of them')
    if place.type not in ("cpu", "cuda"):
        raise ValueError(f'expected device None, "cpu" or "cuda", got {device!r}')
    if place.type == "cuda" and str(place) not in _ready:
        # Threads that ask for the linear algebra of a GPU at the same time for the first time make
        # torch fail.
        with _lock:
            torch.linalg.cholesky_ex(torch.eye(2, dtype=torch.float64, device=place))
            _ready.add(str(place))
    return torch, place


def load_triton() -> tuple[ModuleType, ModuleType]:
    """Return triton, which comes with torch for CUDA on Linux, and its language."""
    try:
        import triton
        import triton.language
    except ImportError as error:
        raise ImportError('device="cuda" needs triton, which torch brings on Linux') from error
    return triton, triton.language


def planned_bytes(device: Any, host_bytes: float) -> float:
    """Return the memory that a fit may plan with: a share of what a GPU has free.

    Parameters
    ----------
    device : torch.device
    host_bytes : float
        The answer for a device without memory of its own.

    Returns
    -------
    float
    """
    if device.type == "cpu":
        return host_bytes
    torch, _ = load_torch(str(device))
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return float(_SHARE * (free + unused))
