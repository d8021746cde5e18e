import io
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from kernelfit.utils.progress import GapForecast, ProgressBar


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


def test_the_bar_fits_the_terminal(monkeypatch):
    """A line that is broken could not be rewritten."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    best = SimpleNamespace(losses=[0.5], members=[SimpleNamespace(name="a machine " * 20)])
    for stream, longest in ((Terminal(), 39), (io.StringIO(), 300)):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("COLUMNS", "40")
        with ProgressBar(True, np.inf) as bar:
            bar.show(1, 2, "searching", [best])
            bar.show(2, 2, "done", [best])
        lines = stream.getvalue().strip("\r\n").split("\r")
        assert len(lines) == 2 and lines[1].startswith("[####################] done")
        assert 39 <= max(map(len, lines)) <= longest
        assert (longest == 39) == ("about" not in lines[0])
