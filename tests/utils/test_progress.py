import subprocess
import sys

import pytest


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
