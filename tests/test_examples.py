"""The examples run, on reduced data."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DEMO = runpy.run_path(str(EXAMPLES / "demo.py"))
PICTURES = {"cds_digits": 500, "dank_boundaries": 60, "tkl_edges": 60}


@pytest.mark.parametrize("section", DEMO["SECTIONS"], ids=lambda section: section.__name__)
def test_demo_section(section):
    rows = list(section(DEMO["SECTIONS"][section]))
    assert len(rows) >= 4
    for row in rows:
        assert row.keys() == rows[0].keys()
        assert all(DEMO["cell"](*item) for item in row.items())
        score = row.get("test", row.get("AC", row.get("test error")))
        assert 0.0 <= score <= 1.0
        gap = row.get("relative gap", 0.0)
        assert gap == "-" or 0.0 <= gap <= 1e-3


def test_every_example_is_known():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"demo", *PICTURES}
    readme = (EXAMPLES.parent / "README.md").read_text()
    assert all(f"python examples/{name}.py" in readme for name in PICTURES)


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.filterwarnings("ignore:the affinity graph")
def test_picture(name, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    path = tmp_path / "picture.png"
    runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](path, PICTURES[name])
    assert path.stat().st_size > 10_000
