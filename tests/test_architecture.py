"""ARCHITECTURE.md shows the real imports and names what exists."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


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
