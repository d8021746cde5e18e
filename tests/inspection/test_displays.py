"""What the pictures show, and where they are drawn; not how they look."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelfit as kf
from kernelfit.inspection import (
    ConvergenceDisplay,
    EmbeddingDisplay,
    KernelMatrixDisplay,
    MetricDisplay,
    SpectrumDisplay,
    WeightsDisplay,
    kernel_matrices,
)
from kernelfit.inspection.fit_displays import describe_kernel
from kernelfit.inspection.kernel_displays import effective_rank
from kernelfit.kernels.standard import RBF

plt = pytest.importorskip("matplotlib.pyplot")

X, Y = make_moons(60, noise=0.2, random_state=0)
NAMES = np.where(Y == 1, "upper", "lower")


@pytest.fixture(scope="module")
def tkl():
    return kf.TKLClassifier(C=10.0).fit(X, NAMES)


def test_matrix_is_sorted_by_class(tkl):
    display = KernelMatrixDisplay.from_estimator(tkl, X, NAMES)
    assert display.labels.tolist() == sorted(NAMES)
    whole = kernel_matrices(tkl, X).learned
    assert_allclose(display.matrix, whole[np.ix_(display.rows, display.rows)])
    assert_allclose(display.image_.get_array(), display.matrix)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["lower", "upper"]
    assert len(display.ax_.lines) == 2  # between the classes, across and down


def test_initial_matrix_of_some_points(tkl):
    display = KernelMatrixDisplay.from_estimator(tkl, X, NAMES, which="initial", max_points=20)
    rows = display.rows
    assert len(rows) == 20
    assert_allclose(display.matrix, kernel_matrices(tkl, X, rows=rows).initial)
    svc = kf.KernelSVC().fit(X, Y)
    with pytest.raises(ValueError, match="expected a learned kernel for which='initial', got Ker"):
        KernelMatrixDisplay.from_estimator(svc, X, Y, which="initial")
    with pytest.raises(ValueError, match="expected which to be"):
        KernelMatrixDisplay.from_estimator(tkl, X, Y, which="last")


def test_matrix_of_a_regression_has_no_groups():
    model = kf.KernelSVR().fit(X, X[:, 0])
    display = KernelMatrixDisplay.from_estimator(model, X, X[:, 0], colorbar=False)
    assert (np.diff(display.labels) >= 0).all()
    assert not display.ax_.lines
    assert len(display.figure_.axes) == 1


def test_spectrum(tkl):
    display = SpectrumDisplay.from_estimator(tkl, X)
    assert_allclose([display.learned.sum(), display.initial.sum()], 1.0)
    assert (np.diff(display.learned) <= 1e-15).all()
    assert [line.get_label().split(",")[0] for line in display.lines_] == ["learned", "initial"]
    assert display.ax_.get_yscale() == "log"
    assert_allclose(effective_rank(np.full(7, 1 / 7)), 7.0)
    assert_allclose(effective_rank(np.array([1.0, 0.0])), 1.0)


def test_embedding_is_kernel_pca():
    model = kf.KernelSVC(kernel="linear").fit(X, Y)
    display = EmbeddingDisplay.from_estimator(model, X, NAMES)
    order = np.argsort(NAMES, kind="stable")
    centred = X[order] - X.mean(axis=0)
    # Two components of a linear kernel on two features keep all inner products.
    assert_allclose(display.points @ display.points.T, centred @ centred.T, atol=1e-9)
    assert_allclose(display.share, 1.0)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["lower", "upper"]


def test_embedding_of_targets_and_of_clusters():
    model = kf.KernelSVR().fit(X, X[:, 0])
    assert len(EmbeddingDisplay.from_estimator(model, X, X[:, 0]).scatter_) == 1
    assert len(EmbeddingDisplay.from_estimator(model, X).scatter_) == 1
    clusters = kf.CDSKClustering(2, random_state=0).fit(X)
    assert len(EmbeddingDisplay.from_estimator(clusters, X).scatter_) == 2


def test_convergence_shows_the_bounds_of_the_history(tkl):
    display = ConvergenceDisplay.from_estimator(tkl)
    assert_allclose(display.lower, tkl.history_[:, 0])
    assert_allclose(display.upper - display.lower, tkl.history_[:, 1])
    upper, lower = (line.get_ydata() for line in display.lines_)
    assert_allclose([upper[-1], lower[-1]], [tkl.objective_ + tkl.dual_gap_, tkl.objective_])
    gap = ConvergenceDisplay.from_estimator(tkl, kind="gap").lines_[0].get_ydata()
    assert_allclose(gap[-1], tkl.dual_gap_ / (tkl.objective_ + tkl.dual_gap_))


def test_convergence_of_a_problem_and_of_an_objective_without_bounds():
    IRIS, y = load_iris(return_X_y=True)
    model = kf.KernelSVC().fit(IRIS, y)
    assert_allclose(
        ConvergenceDisplay.from_estimator(model, problem=2).lower, model.history_[2][:, 0]
    )
    with pytest.raises(ValueError, match=r"one of 0 \.\. 2, got 3"):
        ConvergenceDisplay.from_estimator(model, problem=3)
    clusters = kf.CDSKClustering(2, random_state=0).fit(X)
    display = ConvergenceDisplay.from_estimator(clusters)
    assert display.lower is None
    assert_allclose(display.lines_[0].get_ydata(), clusters.history_)
    with pytest.raises(ValueError, match="expected bounds for kind='gap'"):
        display.plot(kind="gap")
    with pytest.raises(ValueError, match="expected an estimator with a history_"):
        ConvergenceDisplay.from_estimator(StandardScaler().fit(X))


def test_weights_of_a_bank_are_named():
    bank = [{"kernel": "rbf", "gamma": (0.1, 1.0)}, {"kernel": "linear", "features": [1]}]
    model = kf.MKLClassifier(kernels=bank).fit(X, Y)
    display = WeightsDisplay.from_estimator(model)
    assert_allclose(display.weights, model.weights_)
    assert display.names == ["RBF, gamma 0.1", "RBF, gamma 1", "x1: Linear"]
    widths = [bar.get_width() for bar in display.bars_]
    assert_allclose(widths, np.sort(model.weights_[model.weights_ > 0])[::-1])
    few = WeightsDisplay(np.array([0.5, 0.3, 0.2]), list("abc")).plot(max_bars=1)
    assert few.ax_.get_xlabel() == "weight: 3 of 3 in use; 2 more have 0.5"


def test_weights_of_other_learners():
    union = kf.KernelUnionClassifier(families=["gaussian", "tessellated"]).fit(X, Y)
    assert_allclose(WeightsDisplay.from_estimator(union).weights, union.weights_)
    auto = kf.AutoKernelClassifier(members=["gaussian"], random_state=0).fit(X, Y)
    assert WeightsDisplay.from_estimator(auto).names == auto.members_
    with pytest.raises(ValueError, match="expected an estimator with weights of kernels"):
        WeightsDisplay.from_estimator(kf.KernelSVC().fit(X, Y))


def test_names_of_kernels():
    assert describe_kernel(RBF(0.25)) == "RBF, gamma 0.25"
    assert describe_kernel(np.dot) == "dot"


def test_metric():
    wide = np.hstack([X, np.random.default_rng(0).standard_normal((60, 1))])
    metric = kf.KernelMetric().fit(wide, X[:, 0] ** 2)
    display = MetricDisplay.from_estimator(metric)
    assert display.matrix is None
    assert_allclose(display.importances, metric.feature_importances_)
    assert display.bars_[0].get_width() == metric.feature_importances_.max()
    pipeline = make_pipeline(kf.KernelMetric(), kf.KernelSVR()).fit(wide, X[:, 0] ** 2)
    assert MetricDisplay.from_estimator(pipeline).names == ["x0", "x1", "x2"]
    full = kf.KernelMetric(method="agop", diagonal=False).fit(wide, X[:, 0] * X[:, 1])
    display = MetricDisplay.from_estimator(full)
    assert_allclose(np.diagonal(display.matrix), full.feature_importances_, atol=1e-12)
    assert display.image_.get_array().shape == (3, 3)
    with pytest.raises(ValueError, match="expected a KernelMetric"):
        MetricDisplay.from_estimator(StandardScaler().fit(wide))


@pytest.mark.parametrize(
    "display",
    [
        KernelMatrixDisplay(np.eye(3)),
        SpectrumDisplay(np.full(3, 1 / 3)),
        EmbeddingDisplay(np.eye(2)),
        ConvergenceDisplay(np.ones(3)),
        WeightsDisplay(np.ones(2), ["a", "b"]),
        MetricDisplay(np.ones(2), ["a", "b"]),
    ],
    ids=lambda display: type(display).__name__,
)
def test_they_draw_where_they_are_told(display):
    figure, ax = plt.subplots()
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is figure


def test_a_missing_matplotlib_is_one_sentence(monkeypatch, tkl):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"^pictures need matplotlib.*kernelfit\[plot\]'$"):
        ConvergenceDisplay.from_estimator(tkl)
