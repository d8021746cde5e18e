"""ARCHITECTURE.md shows the real imports, and the page on families runs as it stands."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_picture_of_the_imports_is_up_to_date():
    command = [sys.executable, str(ROOT / "tools" / "draw_imports.py"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0


def test_named_files_and_functions_exist():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "kernelfit"
    for name in re.findall(r"`((?:tests|tools|docs)/[\w/]+\.\w+)`", page):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`((?!tests|tools|docs)\w+/[\w/]+\.py)`", page):
        assert (package / name).exists(), name
    for name in re.findall(r"\]\(([\w/]+\.md)\)", page):
        assert (ROOT / name).exists(), name
    source = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    walk = page.partition("## From fit to the inner loop")[2].partition("A search calls")[0]
    for name in re.findall(r"^ +([\w.]+) ", walk, re.MULTILINE):
        last = name.rpartition(".")[2]
        assert re.search(rf"\b{last}\b", source), name


def test_page_on_families_runs_and_its_family_conforms(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "add_a_family.md").read_text(encoding="utf-8")
    # A module of its own, so that the kernels in it can be pickled.
    (tmp_path / "page_on_families.py").write_text("\n".join(BLOCK.findall(page)), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    suite = importlib.import_module("page_on_families").TestMultipleKernels()
    checks = [
        method
        for name, method in inspect.getmembers(suite, inspect.ismethod)
        if name.startswith("test_") and len(inspect.signature(method).parameters) == 0
    ]
    assert len(checks) >= 6
    for check in checks:
        check()
