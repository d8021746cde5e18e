"""Table 1 on tessellated kernels: the programme's optimum is that of the certified machine."""

import numpy as np
import pytest

from kernelfit import TKLClassifier
from kernelfit.papers import tkl_programme
from kernelfit.papers.printed import published
from kernelfit.papers.tkl_programme import PROTOCOL, measure, programme

cvxpy = pytest.importorskip("cvxpy")


def points():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(16, 2))
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return X, np.where(X[:, 0] + 0.4 * rng.standard_normal(16) > 0.5, 1.0, -1.0)


@pytest.mark.parametrize(("C", "delta"), [(10.0, 0.5), (0.1, 0.0)])
def test_optimum_is_that_of_tkl(C, delta):
    X, y = points()
    value, seconds = programme(X, y, C, delta, solver="CLARABEL")
    model = TKLClassifier(C=C, delta=delta, normalize=False, tol=1e-8).fit(X, y)
    assert value == pytest.approx(model.objective_, rel=1e-5)
    assert seconds > 0.0


def test_every_printed_figure_is_measured_or_left_out(tmp_path, monkeypatch):
    printed = {(f.set, f.method) for f in published("tkl") if f.table == "table 1"}
    assert printed >= PROTOCOL.left_out
    assert {(name, method) for name in PROTOCOL.sets for method in PROTOCOL.methods} == printed
    X, y = points()
    np.savez(tmp_path / "liver.npz", X=X, y=y)
    monkeypatch.setenv("KERNELFIT_DATA", str(tmp_path))
    monkeypatch.setitem(tkl_programme.METHODS, "SDP", {"solver": "CLARABEL"})
    for method in PROTOCOL.methods:
        assert measure("liver", 0, method).scores.keys() == {"seconds"}


def test_a_missing_solver_is_named(monkeypatch):
    monkeypatch.setattr(cvxpy, "installed_solvers", lambda: ["SCS"])
    with pytest.raises(ImportError, match="pip install cvxopt"):
        programme(*points(), 1.0, 0.5, solver="CVXOPT")
