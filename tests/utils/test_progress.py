import subprocess
import sys

import numba
import pytest

from kernelfit.utils import progress


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


def test_is_compiled_in_this_process():
    assert progress.is_compiled(len)

    @numba.njit
    def double(x):
        return 2 * x

    if isinstance(double, numba.core.dispatcher.Dispatcher):  # not so when numba is switched off
        assert not progress.is_compiled(double)
    assert double(2) == 4
    assert progress.is_compiled(double)


def test_is_compiled_in_an_earlier_process(tmp_path):
    (tmp_path / "doubling.py").write_text(
        "import numba\n@numba.njit(cache=True)\ndef double(x):\n    return 2 * x\n"
    )
    code = (
        "from doubling import double\nfrom kernelfit.utils.progress import is_compiled\n"
        "print(is_compiled(double)); double(2); print(is_compiled(double))"
    )

    folders = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run_python(code, **folders).stdout.split() == ["False", "True"]
    assert run_python(code, **folders).stdout.split() == ["True", "True"]
