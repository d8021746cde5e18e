import subprocess
import sys

import numpy as np
import pytest

from kernelfit.utils.progress import GapForecast


def run_python(code, **environment):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True)


SAY_HELLO = """
from kernelfit.utils.progress import logger, show_progress
show_progress()
show_progress()  # adds no second handler
logger.info("hello")
"""


def test_messages_are_visible_without_configuration():
    assert run_python(SAY_HELLO).stderr == "[kernelfit] hello\n"


@pytest.mark.parametrize(
    ("configuration", "output"),
    [
        ("logging.basicConfig(format='%(message)s!')", "hello!\n"),
        ("logging.getLogger('kernelfit').setLevel('WARNING')", ""),
        ("logging.getLogger('kernelfit').addHandler(logging.NullHandler())", ""),
    ],
)
def test_configuration_is_respected(configuration, output):
    assert run_python(f"import logging\n{configuration}\n{SAY_HELLO}").stderr == output


def test_forecast_of_a_falling_gap(monkeypatch):
    clock = iter(np.arange(100.0))
    monkeypatch.setattr("kernelfit.utils.progress.time.perf_counter", lambda: next(clock))
    forecast = GapForecast(1e-6)  # at 0 s, and a decade a second from there on
    assert forecast.add(2.0, 2e-1) == "1.0 s"
    assert forecast.add(2.0, 2e-2) == "2.0 s"
    assert forecast.add(2.0, 2e-3) == "3.0 s, about 3.0 s left"
    assert forecast.add(2.0, np.nan) == "4.0 s"
    assert forecast.add(2.0, 2e-7) == "5.0 s"
    assert forecast.is_due() and not forecast.is_due()
