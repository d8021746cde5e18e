"""What `make matrix` relies on."""

import re
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests import matrix


def test_the_oldest_versions_are_those_that_are_allowed():
    project = tomllib.loads((matrix.ROOT / "pyproject.toml").read_text())["project"]
    wanted = {}
    for line in project["dependencies"] + project["optional-dependencies"]["test"]:
        requirement = Requirement(line)
        for bound in requirement.specifier:
            assert bound.operator in (">=", "=="), line
            if bound.operator == ">=":
                wanted[requirement.name] = Version(bound.version)
    pins = re.findall(r"^([\w-]+)==(\S+)$", matrix.OLDEST.read_text(), re.M)
    assert {name: Version(version) for name, version in pins} == wanted


def test_the_oldest_python_is_the_one_that_is_allowed():
    project = tomllib.loads((matrix.ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={matrix.OLDEST_PYTHON}" == f">={matrix.PYTHONS[0]}"
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert tuple(named) == matrix.PYTHONS


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A project of one test in place of this one."""
    monkeypatch.setattr(matrix, "ROOT", tmp_path)
    monkeypatch.setattr(matrix, "WORK", tmp_path / ".cache")
    return tmp_path


@pytest.mark.parametrize(("outcome", "status"), [("True", 0), ("False", 1)])
def test_settings_end_with_the_status_of_their_tests(outcome, status, elsewhere, capsys):
    script = (
        f"import os\ndef test_it(): assert {outcome} and os.environ['OMP_NUM_THREADS'] == '2'\n"
    )
    (elsewhere / "test_it.py").write_text(script)
    assert matrix.main(["threads"]) == status
    said = capsys.readouterr().out
    assert re.match(r"threads: 1 (passed|failed) in ", said)
    assert ("FAILED test_it.py" in said) == (status == 1)


def test_what_is_missing_is_said_and_no_failure(elsewhere, monkeypatch, capsys):
    monkeypatch.setattr(matrix, "SETTINGS", ("python2.6",))
    assert matrix.main([]) == 0
    assert capsys.readouterr().out == "python2.6: skipped, no python2.6 found\n"
    monkeypatch.setattr(matrix.platform, "machine", lambda: "arm64")
    monkeypatch.setattr(matrix, "SETTINGS", ("haswell",))
    assert matrix.main(["haswell"]) == 0
    assert capsys.readouterr().out == "haswell: skipped, the processor is arm64\n"


def test_unknown_settings_are_refused(capsys):
    assert matrix.main(["oldset"]) == 2
    assert "got oldset" in capsys.readouterr().out


def test_an_installation_that_fails_is_an_error(elsewhere, monkeypatch):
    (elsewhere / "pyproject.toml").write_text("nonsense")
    monkeypatch.setattr(
        matrix.subprocess,
        "run",
        lambda step, **options: subprocess.CompletedProcess(step, 1, "", "no space"),
    )
    with pytest.raises(RuntimeError, match="no space"):
        matrix.environment("oldest", "python", [])
