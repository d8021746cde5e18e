"""The devices that tests of the torch engine run on."""

import pytest


def devices():
    """Return the parameters of a test: torch's CPU device, and a GPU where there is one."""
    torch = pytest.importorskip("torch")
    there = torch.cuda.is_available()
    gpu = pytest.param("cuda", marks=pytest.mark.skipif(not there, reason="needs a GPU"))
    return ["cpu", gpu]
