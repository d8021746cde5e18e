"""Sample weights: a weight of 2 is a repeated row, a weight of 0 a row that is left out."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

from kernelfit import (
    BayesianMaxMarginClustering,
    CDSClustering,
    CDSKClustering,
    KernelKMeans,
    MaxMarginClustering,
    RIMClustering,
)

SPECTRAL = ["rbf", "self_tuning", "nearest_neighbors", "self_representation"]
PUBLISHED = [
    "density",
    "sparse_manifold",
    "smooth_representation",
    "random_forest",
    "ratio_forest",
    "adaptive_widths",
    "sparse_subspace",
]
MODELS = [
    *(CDSKClustering(3, affinity=affinity) for affinity in SPECTRAL + PUBLISHED),
    *(CDSClustering(3, affinity=affinity) for affinity in SPECTRAL),
    *(CDSKClustering(3, gamma=gamma) for gamma in ("variance", "scale", "reconstruction")),
    CDSKClustering(3, n_landmarks=20),
    CDSKClustering(3, mode="literal"),
    CDSKClustering(3, mode="literal", alpha_init="sparse"),
    CDSKClustering(3, mu="entropy"),
    KernelKMeans(3),
    KernelKMeans(3, affinity="self_tuning"),
    MaxMarginClustering(3),
    MaxMarginClustering(2),
    RIMClustering(3),
    BayesianMaxMarginClustering(3, max_iter=20),
]


@pytest.fixture
def data():
    X, _ = make_blobs(60, centers=3, n_features=3, cluster_std=2.0, random_state=0)
    return X, np.random.default_rng(1).integers(0, 4, 60)


def fitted(model, *arguments):
    return clone(model).set_params(random_state=0).fit(*arguments)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model).split(" at 0x")[0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:the weights collapsed")
def test_weights_are_repeated_rows(model, data):
    """To the last bit, in any order of the rows."""
    X, weight = data
    order = np.random.default_rng(2).permutation(60)
    weighted = fitted(model, X[order], None, weight[order])
    repeated = fitted(model, np.repeat(X, weight, axis=0))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    np.testing.assert_array_equal(weighted.labels_, weighted.predict(X[order]))
    kept = weight[order] > 0
    first = (np.cumsum(weight) - weight)[order][kept]
    np.testing.assert_array_equal(weighted.labels_[kept], repeated.labels_[first])
    for name in ("inertia_", "objective_", "bound_", "information_", "log_density_"):
        np.testing.assert_equal(getattr(weighted, name, 0.0), getattr(repeated, name, 0.0))
    if not hasattr(model, "transform"):
        return
    np.testing.assert_array_equal(weighted.transform(X), repeated.transform(X))
    np.testing.assert_array_equal(weighted.embedding_[kept], repeated.embedding_[first])
    np.testing.assert_array_equal(weighted.weights_[kept], repeated.weights_[first])
    np.testing.assert_array_equal(weighted.weights_[~kept], 0.0)
    assert weight[order] @ weighted.weights_ == pytest.approx(weight.sum(), rel=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering, KernelKMeans])
def test_weights_of_given_affinities(cls, form, data):
    """The columns of the points left out do not count, nor do copies count apart."""
    X, weight = data
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 20)
    place = np.repeat(range(60), weight)
    model = cls(3, affinity="precomputed")
    weighted = fitted(model, form(K), None, weight)
    repeated = fitted(model, form(K[place][:, place]))
    kept = weight > 0
    first = (np.cumsum(weight) - weight)[kept]
    np.testing.assert_array_equal(weighted.labels_[kept], repeated.labels_[first])
    np.testing.assert_array_equal(weighted.predict(form(K)), weighted.labels_)
    np.testing.assert_array_equal(repeated.predict(form(K[:, place])), weighted.labels_)
    if cls is not KernelKMeans:
        assert weighted.objective_ == repeated.objective_
        np.testing.assert_array_equal(
            weighted.transform(form(K)), repeated.transform(form(K[:, place]))
        )


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:the weights collapsed")
def test_points_of_weight_zero_are_labelled_like_new_ones(model, data):
    """Or like the equal point that counts."""
    X, _ = data
    X = np.vstack((X, X))
    weight = np.r_[np.ones(40), np.zeros(20), np.zeros(20), np.ones(20), np.zeros(20)]
    model = fitted(model, X, None, weight)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    np.testing.assert_array_equal(model.labels_[:60], model.labels_[60:])


@pytest.mark.parametrize("factor", [0.5, 2.0**-600, 2.0**600])
@pytest.mark.parametrize(
    "model",
    [
        CDSKClustering(3),
        CDSKClustering(3, n_landmarks=20),
        CDSKClustering(3, affinity="nearest_neighbors", mode="relaxed"),
        CDSClustering(3),
        KernelKMeans(3),
    ],
    ids=str,
)
def test_common_factor_of_the_weights_does_not_matter(model, factor, data):
    """Not even to the last bit, if it is a power of two, however large or small."""
    X, weight = data
    one, other = fitted(model, X, None, weight), fitted(model, X, None, factor * weight)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    if hasattr(model, "transform"):
        assert one.objective_ == other.objective_
        np.testing.assert_array_equal(one.weights_, other.weights_)
        np.testing.assert_array_equal(one.transform(X), other.transform(X))


@pytest.mark.parametrize("factor", [1e-172, 1e172])
def test_literal_weights_have_a_unit(factor, data):
    X, weight = data
    with pytest.raises(ValueError, match="expected the largest sample weight between 1e-100 and"):
        CDSKClustering(3, mode="literal").fit(X, sample_weight=factor * weight)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(60), "expected sample_weight >= 0, got -1"),
        (np.zeros(60), "expected a positive sample weight"),
        (np.ones(59), r"expected sample_weight of shape \(60,\), got \(59,\)"),
    ],
)
@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering, KernelKMeans])
def test_bad_weights_are_refused(cls, weight, message, data):
    model = cls(3)
    with pytest.raises(ValueError, match=message):
        model.fit(data[0], sample_weight=weight)
    assert not hasattr(model, "labels_") and not hasattr(model, "n_features_in_")


def test_fit_predict_and_fit_transform_take_weights(data):
    X, weight = data
    model = CDSKClustering(3, random_state=0)
    expected = clone(model).fit(X, sample_weight=weight)
    labels = model.fit_predict(X, sample_weight=weight)
    np.testing.assert_array_equal(labels, expected.labels_)
    embedding = model.fit_transform(X, sample_weight=weight)
    np.testing.assert_array_equal(embedding, expected.transform(X))


@pytest.mark.parametrize("affinity", SPECTRAL)
def test_order_of_the_rows_does_not_matter(affinity, data):
    X, _ = data
    order = np.random.default_rng(3).permutation(60)
    model = CDSKClustering(3, affinity=affinity)
    given, shuffled = fitted(model, X), fitted(model, X[order])
    np.testing.assert_array_equal(given.labels_[order], shuffled.labels_)
    np.testing.assert_array_equal(given.weights_[order], shuffled.weights_)


@pytest.mark.parametrize("model", [CDSKClustering(2), CDSClustering(2)], ids=repr)
@pytest.mark.parametrize("light", [1e-30, 1e-100, 1e-200])
def test_points_of_next_to_no_weight_go_with_their_neighbours(model, light):
    X, y = make_blobs(60, centers=2, cluster_std=0.5, random_state=0)
    labels = fitted(model, X, None, np.where(np.arange(60) % 2, light, 1.0)).labels_
    assert len(set(zip(labels, y, strict=True))) == 2
