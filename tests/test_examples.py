"""The examples run: those of the gallery as they are, the demo on fewer rows."""

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
    others = {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.py")} - set(GALLERY)
    assert others == {"demo.py"}


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


def test_demo(tmp_path, capsys, monkeypatch):
    demo = runpy.run_path(str(EXAMPLES / "demo.py"))
    quick = {"members": ["gaussian", "laplacian"], "random_state": 0}
    for name in ("AutoKernelClassifier", "AutoKernelRegressor"):
        original = getattr(demo["kf"], name)
        monkeypatch.setattr(demo["kf"], name, lambda original=original, **_: original(**quick))
    rows = demo["main"](tmp_path / "out", 80)
    printed = capsys.readouterr().out
    table = printed[printed.index("score") :]
    assert max(map(len, table.splitlines()[:-3])) <= 100
    assert table.count("\n") <= 40  # fits a screen
    assert len(rows) == 15
    for _, name, _, score, gap, _, _ in rows:
        assert -1.0 <= score <= 1.0
        assert name in table
        assert gap == "-" or 0.0 <= float(gap) <= 1e-2
    assert b"</html>" in (tmp_path / "out" / "report.html").read_bytes()
    assert (tmp_path / "out" / "learned.png").stat().st_size > 10_000
