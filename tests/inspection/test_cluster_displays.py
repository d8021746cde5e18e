"""What the pictures of clusterings show."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelfit import CDSKClustering, KernelClustering, KernelKMeans
from kernelfit.inspection import SilhouetteDisplay, StabilityDisplay

plt = pytest.importorskip("matplotlib.pyplot")

X, _ = make_blobs(60, centers=3, random_state=0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_silhouettes_in_the_embedding():
    model = make_pipeline(StandardScaler(), CDSKClustering(3, random_state=0)).fit(X)
    display = SilhouetteDisplay.from_estimator(model, X)
    E = model[-1].embedding_
    E = E / np.linalg.norm(E, axis=1, keepdims=True)
    np.testing.assert_allclose(display.silhouettes, silhouette_samples(E, model[-1].labels_))
    assert len(display.areas_) == 3
    assert display.figure_ is display.ax_.figure


def test_silhouettes_of_the_data_and_given_axes():
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    _, ax = plt.subplots()
    display = SilhouetteDisplay.from_estimator(model, X, ax=ax)
    assert display.ax_ is ax
    np.testing.assert_allclose(display.silhouettes, silhouette_samples(X, model.labels_))
    with pytest.raises(ValueError, match="two clusters"):
        SilhouetteDisplay.from_estimator(KMeans(1, n_init=1).fit(X), X)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_silhouettes_of_a_given_kernel(make):
    """Distances in feature space: those of the points, for the products of the points."""
    model = KernelKMeans(3, affinity="precomputed", random_state=0).fit(X @ X.T)
    display = SilhouetteDisplay.from_estimator(model, make(X @ X.T))
    expected = silhouette_samples(X, model.labels_)
    np.testing.assert_allclose(display.silhouettes, expected, atol=1e-6)


def test_stability_by_number_and_by_graph():
    model = KernelClustering(max_clusters=4, random_state=0).fit(X)
    display = StabilityDisplay.from_estimator(model)
    table = model.candidates_
    for line in display.lines_:
        mine = table["graph"] == line.get_label()
        np.testing.assert_array_equal(line.get_xdata(), [2, 3, 4])
        np.testing.assert_array_equal(np.sort(line.get_ydata()), np.sort(table["stability"][mine]))
    given = KernelClustering(3, random_state=0).fit(X)
    display = StabilityDisplay.from_estimator(given)
    widths = [[bar.get_width() for bar in bars] for bars in display.bars_]
    for key, found in zip(("stability", "agreement", "balance"), widths, strict=True):
        np.testing.assert_array_equal(found, given.candidates_[key])
    with pytest.raises(ValueError, match="had a choice"):
        StabilityDisplay.from_estimator(KernelClustering(1).fit(X))
