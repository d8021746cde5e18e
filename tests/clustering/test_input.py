"""What the clusterings accept, refuse and warn of."""

import warnings
from inspect import signature

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from kernelfit import (
    BayesianMaxMarginClustering,
    CDSClustering,
    CDSKClustering,
    KernelKMeans,
    RIMClustering,
)

AFFINITIES = ["rbf", "self_tuning", "nearest_neighbors", "self_representation"]


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(120, centers=4, n_features=5, cluster_std=0.8, random_state=1)
    return X, y


@pytest.mark.parametrize("mu", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering])
def test_mu_that_holds_the_weights_is_refused(cls, mu, blobs):
    message = r"'mu' parameter of .* in the range \(0\.0, |expected mu < 1 for mode='balanced', got"
    with pytest.raises(ValueError, match=message):
        cls(4, mu=mu).fit(blobs[0])


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_one_point(affinity):
    model = CDSKClustering(1, affinity=affinity).fit([[1.0, 2.0]])
    np.testing.assert_array_equal(model.labels_, [0])
    np.testing.assert_array_equal(model.predict([[0.0, 3.0]]), [0])


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_repeated_points(affinity):
    X = np.repeat([[0.0, 1.0], [9.0, 0.0]], 15, axis=0)
    if affinity == "self_representation":
        X[:15] += 0.1  # orthogonal points do not represent each other
    labels = CDSKClustering(2, affinity=affinity, random_state=0).fit_predict(X)
    assert adjusted_rand_score(np.repeat([0, 1], 15), labels) == 1.0


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering])
def test_too_few_different_points_are_told_in_one_warning(cls, affinity):
    X = np.repeat([[1.0, 1.0], [9.0, 5.0]], 20, axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = cls(4, affinity=affinity, random_state=0).fit(X)
    told = [str(warning.message) for warning in caught]
    expected = "found 2 clusters, fewer than n_clusters=4: there are only 2 different points"
    assert told == [f"{cls.__name__} {expected}"]
    np.testing.assert_array_equal(model.labels_, np.repeat(model.labels_[[0, -1]], 20))
    assert model.embedding_.shape == (40, 4) and np.isfinite(model.embedding_).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_useless_affinities_are_explained(blobs):
    X, _ = blobs
    with pytest.warns(UserWarning, match="almost diagonal"):
        CDSKClustering(4, gamma=1e6).fit(X)
    with pytest.warns(UserWarning, match=r"in \d+ pieces, more than the 2 clusters"):
        CDSKClustering(2, affinity="nearest_neighbors", n_neighbors=2).fit(X)
    with pytest.warns(UserWarning, match="of the 120 points are unlike every landmark"):
        CDSKClustering(4, gamma=1e3, n_landmarks=20, random_state=0).fit(X)


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 100}])
@pytest.mark.filterwarnings("error")
def test_disconnected_dense_affinities(options):
    """As many pieces as clusters are found; more of them are not divided in silence."""
    X, y = make_blobs(400, centers=100.0 * np.eye(5), random_state=0)
    options = {"gamma": 0.1, "random_state": 0, **options}
    labels = CDSKClustering(5, **options).fit(X).labels_
    assert adjusted_rand_score(y, labels) == 1.0
    with pytest.warns(UserWarning, match="in 5 pieces, more than the 3 clusters wanted"):
        CDSKClustering(3, **options).fit(X)


@pytest.mark.parametrize(
    ("affinity", "options", "advice"),
    [
        ("rbf", {"gamma": 20.0}, "; widen the kernel"),
        ("nearest_neighbors", {"n_neighbors": 2}, "; raise n_neighbors"),
        ("self_representation", {"n_nonzero": 1}, r"; set n_nonzero=None \(the lasso\)$"),
        ("precomputed", {}, "arbitrarily$"),
        (lambda X, Y: np.equal.outer(X[:, 0] // 5, Y[:, 0] // 5), {}, "arbitrarily$"),
    ],
)
@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering])
def test_advice_on_pieces_is_of_the_affinity(cls, affinity, options, advice, blobs):
    X, y = blobs
    X = np.equal.outer(y, y).astype(float) if affinity == "precomputed" else X
    with pytest.warns(UserWarning, match=r"in \d+ pieces, more than the 2 clusters.*" + advice):
        cls(2, affinity=affinity, random_state=0, **options).fit(X)


def test_copies_beyond_the_number_of_neighbours():
    """A point and its copies are one point, so that they are not its neighbours."""
    X = np.repeat(np.random.default_rng(0).standard_normal((12, 2)), 15, axis=0)
    labels = CDSKClustering(3, affinity="nearest_neighbors", random_state=0).fit_predict(X)
    np.testing.assert_array_equal(labels, np.repeat(labels[::15], 15))


@pytest.mark.parametrize(
    ("cls", "affinity"),
    [
        *((cls, affinity) for cls in (CDSKClustering, CDSClustering) for affinity in AFFINITIES),
        (KernelKMeans, "rbf"),
        (KernelKMeans, "self_tuning"),
    ],
)
def test_points_too_far_for_float64(cls, affinity, blobs):
    X = blobs[0]
    model = cls(4, affinity=affinity, random_state=0).fit(X)
    far, too_far = 1e150 * X[:1], 1e200 * X[:1]
    assert model.predict(far)[0] in range(4)
    methods = [model.fit, model.predict]
    if cls is not KernelKMeans:
        assert np.isfinite(model.transform(far)).all()
        methods.append(model.transform)
    for method in methods:
        with pytest.raises(ValueError, match=r"expected values of at most 3e\+153 in size.*, got"):
            method(np.repeat(too_far, 4, axis=0))


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"n_clusters": 5}, np.ones((3, 2)), "expected n_clusters <= n_samples, got n_clusters=5"),
        ({"affinity": "precomputed"}, np.ones((3, 2)), "expected a square affinity matrix"),
        ({"affinity": "precomputed"}, np.triu(np.ones((9, 9))), "to be symmetric"),
        (
            {"affinity": "precomputed"},
            sparse.csr_array(np.triu(np.ones((9, 9)))),
            "to be symmetric",
        ),
        ({"affinity": "precomputed"}, np.zeros((9, 9)), "with positive entries, got none"),
        ({"affinity": "precomputed"}, np.full((9, 9), 1e-310), "affinity between 1e-150 and 1e"),
        ({"affinity": "precomputed"}, np.full((9, 9), 1e200), "affinity between 1e-150 and 1e"),
        ({"affinity": lambda X, Y: np.ones(3)}, np.ones((9, 2)), "to return an array of shape"),
        (
            {"affinity": lambda X, Y: np.ones((9, 9), dtype=complex)},
            np.eye(9),
            "callable to return real numbers, got complex128",
        ),
        (
            {"affinity": lambda X, Y: sparse.csr_array(np.full((9, 9), np.nan))},
            np.eye(9),
            "callable to return finite values",
        ),
        ({"affinity": "self_representation"}, np.eye(9, 2), "got data that are zero"),
        ({"affinity": "self_representation"}, np.eye(9), "or orthogonal"),
        ({}, 1e-161 * np.arange(9.0)[:, None], "too close to each other to square"),
        ({"n_clusters": True}, np.ones((9, 2)), "expected an integer n_clusters, got True"),
        ({"n_jobs": 0}, np.ones((9, 2)), "'n_jobs' parameter .* Got 0 instead"),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing(options, X, message):
    model = CDSKClustering(**{"n_clusters": 2, **options})
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    assert not hasattr(model, "labels_") and not hasattr(model, "n_features_in_")


def test_negative_affinities_of_new_points_are_refused(blobs):
    X, _ = blobs
    K = np.maximum(X @ X.T, 0.0)
    model = CDSKClustering(4, affinity="precomputed", random_state=0).fit(K)
    for method in (model.predict, model.transform):
        for form in (np.asarray, sparse.csr_array):
            with pytest.raises(ValueError, match="expected non-negative affinities, got -1"):
                method(form(K[:3] - 1.0))
    assert CDSClustering(4, affinity="precomputed").fit(K).predict(K[:3] - 1.0).shape == (3,)


@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering, KernelKMeans])
def test_sparse_data_are_refused(cls, blobs):
    model = cls(4, random_state=0)
    for method in (model.fit, model.fit(blobs[0]).predict):
        with pytest.raises(TypeError, match="expected dense X, got a sparse matrix"):
            method(sparse.csr_array(blobs[0]))


def told_of_scales(model, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    return [str(found.message) for found in caught if "squared distances" in str(found.message)]


@pytest.mark.parametrize(
    "model",
    [
        *(CDSKClustering(3, affinity=affinity) for affinity in AFFINITIES[:3]),
        CDSClustering(3),
        KernelKMeans(3),
    ],
    ids=str,
)
def test_features_that_drown_the_others_are_told_once(model):
    X = load_wine().data
    told = told_of_scales(model, X)
    assert len(told) == 1
    assert told[0].startswith("one feature makes up 99.8% of the squared distances")
    assert told_of_scales(model, StandardScaler().fit_transform(X)) == []


def test_affinities_that_are_not_of_distances_do_not_tell_of_scales():
    X = load_wine().data
    models = [
        (CDSKClustering(3, affinity="self_representation"), X),
        (CDSKClustering(3, affinity=lambda X, Y: X @ Y.T), X),
        (KernelKMeans(3, affinity="precomputed"), X @ X.T),
    ]
    for model, data in models:
        assert told_of_scales(model, data) == []


def test_siblings_share_names_order_and_defaults():
    reference = list(signature(CDSKClustering).parameters)
    for cls in (CDSClustering, KernelKMeans):
        parameters = signature(cls).parameters
        assert [name for name in reference if name in parameters] == list(parameters)
        for name, parameter in parameters.items():
            if name != "max_iter":
                assert parameter.default == signature(CDSKClustering).parameters[name].default


@pytest.mark.parametrize("gamma", ["median", "reconstruction"])
@pytest.mark.parametrize(
    "cls", [CDSKClustering, KernelKMeans, RIMClustering, BayesianMaxMarginClustering]
)
def test_points_whose_distances_vanish_are_refused(blobs, cls, gamma):
    with pytest.raises(ValueError, match="expected features of moderate scale, got points that"):
        cls(4, gamma=gamma).fit(blobs[0] * 1e-200)


@pytest.mark.parametrize("K", [np.zeros((9, 9)), -np.eye(9)])
def test_kernels_without_a_positive_eigenvalue_are_told(K):
    with pytest.raises(ValueError, match="a kernel with a positive eigenvalue, got none"):
        RIMClustering(3, affinity="precomputed").fit(K)
    with pytest.warns(ConvergenceWarning, match="BayesianMaxMarginClustering found 1 cluster"):
        BayesianMaxMarginClustering(3, affinity="precomputed", random_state=0).fit(K)


def test_one_cluster_is_one_label():
    X = np.random.default_rng(0).standard_normal((30, 2))
    model = BayesianMaxMarginClustering(2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="BayesianMaxMarginClustering found 1 cluster"):
        model.fit(X, sample_weight=np.append(1e200, np.ones(29)))
    assert len(np.unique(np.append(model.labels_, model.predict(X + 0.1)))) == 1
