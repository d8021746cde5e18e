"""The examples run: those of the gallery as they are, the demo on fewer rows."""

import runpy
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("jinja2")

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
GALLERY = sorted(path.stem for path in EXAMPLES.glob("plot_*.py"))


@pytest.mark.parametrize("name", GALLERY)
@pytest.mark.filterwarnings("ignore:the affinity graph")
def test_gallery(name, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    axes = [ax for number in plt.get_fignums() for ax in plt.figure(number).axes]
    assert axes
    assert all(ax.has_data() for ax in axes)


def test_gallery_is_complete():
    others = {path.stem for path in EXAMPLES.glob("*.py")} - set(GALLERY)
    assert others == {"demo"}
    assert len(GALLERY) >= 14


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
