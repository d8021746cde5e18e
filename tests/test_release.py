"""What a release relies on: extras, entry point, workflows and the changelog agree."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import kernelfit
from kernelfit.cli.main import main
from tests import matrix

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
THROUGH_OTHERS = {"pyarrow"}  # pandas reads Parquet files with it


def imported():
    """Return the packages that the source imports."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("extra", ["plot", "report", "cli", "gpu"])
def test_extras_install_what_the_source_uses(extra):
    wanted = {Requirement(line).name for line in PROJECT["optional-dependencies"][extra]}
    assert wanted <= imported() | THROUGH_OTHERS


def test_the_command_is_an_entry_point():
    assert PROJECT["scripts"] == {"kernelfit": "kernelfit.cli.main:main"}


def test_a_missing_typer_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "kernelfit.cli.app", raising=False)
    monkeypatch.setattr(sys, "argv", ["kernelfit", "demo"])
    with pytest.raises(SystemExit, match=r"needs typer: pip install 'kernelfit\[cli\]'"):
        main()


def test_the_changelog_begins_with_this_version():
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert versions[0] == kernelfit.__version__


def test_workflows_test_what_is_promised():
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert set(re.findall(r'"(3\.\d+)"', text)) == set(matrix.PYTHONS)
    for system in ("ubuntu", "macos", "windows"):
        assert f"{system}-" in text
    assert matrix.OLDEST.relative_to(ROOT).as_posix() in text


def test_workflows_pin_their_actions():
    for path in WORKFLOWS:
        for action in re.findall(r"uses: (\S+)", path.read_text()):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action), action
