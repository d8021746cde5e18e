"""The devices that tests of the torch engine run on."""

from importlib.util import find_spec

import pytest


def devices():
    """Return the parameters of a test: torch's CPU device, and a GPU where there is one."""
    there = find_spec("torch") is not None
    gpu = there and __import__("torch").cuda.is_available()
    return [
        pytest.param("cpu", marks=pytest.mark.skipif(not there, reason="needs torch")),
        pytest.param("cuda", marks=pytest.mark.skipif(not gpu, reason="needs a GPU")),
    ]
