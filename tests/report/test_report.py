"""Reports of every kind of estimator: complete, self-contained, safe, small, and true."""

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelfit as kf
from kernelfit.report import write_report

Figure = pytest.importorskip("matplotlib.figure").Figure
pytest.importorskip("jinja2")

X, Y = make_moons(90, noise=0.25, random_state=0)
TARGET = X[:, 0] ** 2 + 0.1 * X[:, 1]
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """What a page holds: tags, ids, links and text; complains of tags that do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.texts, self.tags = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs[name] for name in ("href", "src") if name in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def report(model, path, *data, **options):
    file = write_report(model, *data[:2], path / "report.html", *data[2:], **options)
    text = file.read_text(encoding="utf-8")
    assert len(text.encode()) < 3_000_000
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        assert link.startswith(("#", "data:")), link
        assert not link.startswith("#") or link[1:] in page.ids, link
    assert "script" not in page.tags
    assert "@import" not in text
    outside = re.sub(r'xmlns(:\w+)?="[^"]*"|data:[^"]*', "", text)
    assert "http" not in outside
    assert "url(" not in outside.replace("url(#", "")
    assert "#0a0a" not in text  # every colour has become a variable
    return page


@pytest.fixture
def unrendered(monkeypatch):
    """Let pictures be painted but not laid out, which takes most of the time of a report."""
    monkeypatch.setattr(Figure, "savefig", lambda self, out, format: out.write("<svg></svg>"))


def titles(page):
    return {name for name in page.ids if re.fullmatch(r"[a-z]+", name)}


COMMON = {"performance", "choice", "proof", "kernel", "features", "points", "data"}
GRID = {"gammas": [0.5, 2.0], "Cs": [1.0, 10.0], "cv": 3}
CASES = {
    "svm": (kf.KernelSVC(C=10.0), Y, COMMON),
    "svm-cv": (kf.KernelSVCCV(**GRID), Y, COMMON | {"parameters"}),
    "ridge": (kf.KernelRidgeRegressor(), TARGET, COMMON),
    "ridge-cv": (kf.KernelRidgeClassifierCV([0.5], [1.0]), Y, COMMON | {"parameters"}),
    "tkl": (kf.TKLClassifier(C=10.0), Y, COMMON),
    "tkl-regression": (kf.TKLRegressor(C=10.0), TARGET, COMMON),
    "dank": (kf.DANKClassifier(C=10.0), Y, COMMON),
    "knpl": (kf.KNPLRegressor(C=10.0), TARGET, COMMON),
    "gpk": (kf.GPKClassifier(), Y, COMMON),
    "mkl": (kf.MKLClassifier(kernels=[{"kernel": "rbf", "gamma": (0.5, 2.0)}]), Y, COMMON),
    "union": (kf.KernelUnionRegressor(families=["gaussian"]), TARGET, COMMON),
    "quantile": (
        kf.KernelQuantileRegressor([0.1, 0.9]), TARGET, COMMON - {"features"},
    ),
    "pipeline": (make_pipeline(StandardScaler(), kf.KernelSVC()), Y, COMMON),
    "metric": (make_pipeline(kf.KernelMetric(), kf.KernelSVR()), TARGET, COMMON),
    "averages": (kf.NadarayaWatson(), TARGET, COMMON - {"kernel", "proof"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_estimator(case, tmp_path, unrendered):
    model, y, expected = CASES[case]
    page = report(model.fit(X[:60], y[:60]), tmp_path, X[:60], y[:60], X[60:], y[60:])
    assert titles(page) == expected
    text = " ".join(page.texts)
    assert ("30 held-out rows (95 % interval" in text) == (case != "quantile")
    assert ("several predictions a row have no single score" in text) == (case == "quantile")


@pytest.mark.parametrize("classify", [True, False])
def test_autokernel_on_a_frame(classify, tmp_path):
    """Categories, missing values, booleans, and names that are not ASCII or not harmless."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "größe $x$": np.where(rng.random(90) < 0.1, np.nan, X[:, 0]),
            "<b>度</b>": X[:, 1],
            "colour": pd.Categorical(np.where(X[:, 0] > 0.5, "red", "blue")),
            "flag": X[:, 1] > 0,
        }
    )
    frame.loc[3, "colour"] = None
    cls = kf.AutoKernelClassifier if classify else kf.AutoKernelRegressor
    y = np.where(Y == 1, "<i>a</i>", "b & c") if classify else TARGET
    model = cls(members=["gaussian", "laplacian"], random_state=0).fit(frame[:60], y[:60])
    foretold = f"{100 * model.cv_score_:.1f} % accuracy" if classify else ""
    page = report(model, tmp_path, frame[:60], y[:60], frame[60:], y[60:], title="A <title>")
    assert titles(page) == COMMON | {"parameters"}
    text = " ".join(page.texts)
    assert "A <title>" in text
    assert "größe $x$" in text
    assert "<b>度</b>" in text  # as text, not as a tag
    assert "b" not in page.tags
    assert "How the columns were read" in text and "2 categories" in text
    assert foretold in text
    assert ("foretell" in text) == classify  # never computed for the report alone
    for name in model.leaderboard_["member"][:5]:
        assert name in text


def test_clusterings(tmp_path, unrendered):
    model = kf.CDSKClustering(2, random_state=0).fit(X)
    page = report(model, tmp_path, X, None)
    assert titles(page) == {"choice", "proof", "kernel", "points", "data"}
    assert "no proof of optimality" in " ".join(page.texts)
    page = report(kf.KernelKMeans(2, random_state=0).fit(X), tmp_path, X, None)
    assert titles(page) == {"choice", "kernel", "data"}
    auto = kf.KernelClustering(2, random_state=0).fit(X)
    page = report(auto, tmp_path, X, None)
    assert titles(page) == {"choice", "kernel", "data", "parameters"}
    text = " ".join(page.texts)
    assert auto.explanation_.split("\n")[0] in text and "found again in subsamples, 1 for" in text
    assert "effective rank" in text and "rank nan" not in text  # a graph has no trace


def test_outliers(tmp_path, unrendered):
    page = report(kf.KernelOneClass(nu=0.2).fit(X), tmp_path, X, None)
    assert titles(page) == {"choice", "proof", "kernel", "points", "data"}


def test_a_precomputed_kernel(tmp_path, unrendered):
    K = X @ X.T
    page = report(kf.KernelSVC(kernel="precomputed").fit(K, Y), tmp_path, K, Y)
    assert titles(page) == COMMON - {"features"}


def test_the_certificate_in_words(tmp_path):
    model = kf.TKLClassifier(C=10.0, tol=1e-2).fit(X, Y)
    text = " ".join(report(model, tmp_path, X, Y).texts)
    stated = float(re.search(r"The fit is within ([\d.]+) % of the optimum", text)[1])
    assert stated == pytest.approx(100 * model.dual_gap_ / model.objective_, rel=0.11)
    assert "An audit recomputed both bounds from the coefficients alone and confirms" in text
    assert "score not measured" in " ".join(text.split())
    weights = np.where(Y == 1, 3.0, 1.0)
    weighted = kf.KernelSVC(C=10.0).fit(X, Y, sample_weight=weights)
    text = " ".join(report(weighted, tmp_path, X, Y).texts)
    assert "does not confirm the bounds for these data" in text


def test_an_indefinite_kernel_has_no_proof(tmp_path, unrendered):
    K = np.diag(np.where(np.arange(90) % 2, 1.0, -1.0)) + 0.1 * X @ X.T
    with pytest.warns(UserWarning, match="indefinite"):
        model = kf.KernelSVC(kernel="precomputed").fit(K, Y)
    assert "no proof of optimality here" in " ".join(report(model, tmp_path, K, Y).texts)


def test_a_compressed_machine_has_no_proof_of_its_own(tmp_path, unrendered):
    small = kf.compress(kf.KernelSVC().fit(X, Y), max_change=0.1)
    text = " ".join(report(small, tmp_path, X, Y).texts)
    assert "was compressed after its training" in text
    assert "no proof of optimality" not in text


def test_figures_on_held_out_rows(tmp_path, unrendered):
    data, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(0).permutation(150)
    train, test = rows[:100], rows[100:]
    model = kf.KernelSVCCV(**GRID).fit(data[train], y[train])
    page = report(model, tmp_path, data[train], y[train], data[test], y[test])
    text = " ".join(page.texts)
    head = text[: text.index("On new rows")]
    assert f"{100 * model.score(data[test], y[test]):.1f} % on 50 held-out rows (95 %" in head
    majority = np.argmax(np.bincount(y[train]))
    baseline = f"{100 * np.mean(y[test] == majority):.1f} % by always predicting '{majority}'"
    assert baseline in head and baseline.partition(" by")[0] in text[len(head) :]
    assert "says nothing about accuracy on new rows" in head
    counts = np.zeros((3, 3), dtype=int)
    np.add.at(counts, (y[test], model.predict(data[test])), 1)
    raw = (tmp_path / "report.html").read_text(encoding="utf-8")
    table = raw.split('class="confusion"')[1].split("</table>")[0]
    found = re.findall(r'<td class="(?:right|wrong)"[^>]*>(\d+)</td>', table)
    assert [int(count) for count in found] == counts.ravel().tolist()


def test_intervals_of_regression(tmp_path, unrendered):
    data, y = load_diabetes(return_X_y=True)
    model = kf.AutoKernelRegressor(members=["gaussian"], random_state=0).fit(data[:200], y[:200])
    page = report(model, tmp_path, data[:200], y[:200], data[200:], y[200:])
    low, high = model.predict_interval(data[200:], alpha=0.2).T
    inside = np.mean((low <= y[200:]) & (y[200:] <= high))
    assert f"{100 * inside:.1f} %" in " ".join(page.texts)


def test_two_reports_of_one_fit_are_alike(tmp_path, unrendered):
    model = kf.KernelSVC().fit(X, Y)
    texts = []
    for name in ("a.html", "b.html"):
        text = write_report(model, X, Y, tmp_path / name).read_text(encoding="utf-8")
        texts.append(re.sub(r"\bf\d+-\w+", "", text))
    assert texts[0] == texts[1]


def test_a_missing_folder_is_told_before_any_work(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a folder for"):
        write_report(None, None, None, tmp_path / "no" / "report.html")


def test_complaints(tmp_path, monkeypatch):
    model = kf.KernelSVC().fit(X, Y)
    with pytest.raises(ValueError, match="expected X_test and y_test together"):
        write_report(model, X, Y, tmp_path / "a.html", X)
    with pytest.raises(ValueError, match="expected 90 values of y, one a row of X, got 3"):
        write_report(model, X, Y[:3], tmp_path / "a.html")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"^reports need jinja2.*kernelfit\[report\]'$"):
        write_report(model, X, Y, tmp_path / "a.html")
    assert not list(tmp_path.iterdir())
