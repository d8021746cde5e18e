import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# Two processes that save different signatures of one function at the same moment can leave
# numba's index pointing at the other's machine code (index and data are replaced one after the
# other), so each pytest-xdist worker keeps its own cache. numba reads the variable on import.
ROOT = Path(__file__).resolve().parents[1]
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
if WORKER is not None:
    base = os.environ.get("NUMBA_CACHE_DIR") or ROOT / ".cache" / "numba"
    os.environ["NUMBA_CACHE_DIR"] = str(Path(base) / WORKER)

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures are drawn, not shown

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

# Compilation makes the first example slow, hence no deadline.
hypothesis.settings.register_profile("dev", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
# For settings in which examples take long, as without numba.
hypothesis.settings.register_profile(
    "brief", deadline=None, derandomize=True, max_examples=5, stateful_step_count=5
)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip large problems where the core is not compiled."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        for item in items:
            if item.get_closest_marker("large") is not None:
                item.add_marker(pytest.mark.skip(reason="takes minutes without numba"))


@pytest.fixture(scope="session")
def benchmark_data() -> Callable[[str], dict[str, np.ndarray]]:
    """Load a benchmark set by name, as its dict of read-only arrays, or skip the test.

    The sets lie in the folder that KERNELFIT_DATA names; without the variable, in the folder
    ``shared/data`` beside the checkout.
    """
    folder = Path(os.environ.get("KERNELFIT_DATA") or ROOT.parent / "shared" / "data")

    def load(name: str) -> dict[str, np.ndarray]:
        path = folder / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"benchmark set {name!r} not found; KERNELFIT_DATA names its folder")
        with np.load(path) as file:
            arrays = dict(file)
        for array in arrays.values():
            array.setflags(write=False)
        return arrays

    return load


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close the figures that a test has left open: matplotlib warns of many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
