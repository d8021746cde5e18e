"""ARCHITECTURE.md shows the real imports and names what exists."""

import re
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np

from kernelfit import TKLClassifierCV
from kernelfit.solvers.dual import solve
from kernelfit.solvers.dual.rounds import run_rounds

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
    walk = page.partition("## From fit to the inner loop")[2].partition("Everything parallel")[0]
    for name in re.findall(r"^ +([\w.]+)", walk, re.MULTILINE):
        last = name.rpartition(".")[2]
        assert re.search(rf"\b{last}\b", source), name


def test_the_way_of_a_search_to_the_dual_core(monkeypatch):
    """ARCHITECTURE.md shows every frame of ours between a search and the dual core."""
    ways = set()

    def note(*args, **options):
        frames = (frame for frame, _ in traceback.walk_stack(sys._getframe(1)))
        ours = [f.f_code for f in frames if "/kernelfit/" in Path(f.f_code.co_filename).as_posix()]
        ways.add(tuple(code.co_qualname for code in reversed(ours)))
        return run_rounds(*args, **options)

    monkeypatch.setattr(solve, "run_rounds", note)
    X = np.random.default_rng(0).uniform(size=(60, 2))
    TKLClassifierCV(deltas=[0.5], Cs=[1.0, 10.0], cv=2).fit(X, X[:, 0] > X[:, 1])
    text = (ROOT / "ARCHITECTURE.md").read_text()
    shown = text[text.index("    KernelSearch.fit ") :].split("\n\n")[0]
    names = [line.split()[0].split(".")[-1] for line in shown.splitlines()]
    names[names.index("steps")] = "fully_corrective_steps"
    assert len(names) == 10
    assert tuple(names) in {tuple(name.split(".")[-1] for name in way) for way in ways}
