"""The examples of the gallery run as they are."""

import ast
import re
import runpy
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("jinja2")

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
GALLERY = sorted(str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("plot_*.py"))


@pytest.mark.parametrize("name", GALLERY)
@pytest.mark.filterwarnings("ignore:the affinity graph")
def test_gallery(name, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    runpy.run_path(str(EXAMPLES / name))
    axes = [ax for number in plt.get_fignums() for ax in plt.figure(number).axes]
    assert axes
    assert all(ax.has_data() for ax in axes)


def test_gallery_is_complete():
    assert {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.py")} == set(GALLERY)


@pytest.mark.parametrize(
    ("paper", "figures"),
    [("dank", {1, 2, 4, 5, 6, 7, 8}), ("knpl", {2, 3}), ("tkl", {1, 2, 3, 4}), ("cds", {1})],
)
def test_figures_of_the_papers_are_drawn(paper, figures):
    names = [Path(name).stem for name in GALLERY if f"plot_{paper}_figure" in name]
    numbers = [int(number) for name in names for number in re.findall(r"\d+", name)]
    assert sorted(numbers) == sorted(figures)
    for name in names:
        source = (EXAMPLES / "papers" / f"{name}.py").read_text(encoding="utf-8")
        title = ast.get_docstring(ast.parse(source)).splitlines()[0]
        shown = re.match(rf"{paper.upper()}, Figures? ([\d and]+)", title)
        assert re.findall(r"\d+", shown[1]) == re.findall(r"\d+", name)
