"""What predict promises: labels of the training points, and a rule for new ones."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from kernelfit import CDSClustering, CDSKClustering, KernelKMeans


def wide(X, Y):
    return np.exp(-((X[:, None] - Y) ** 2).sum(axis=2) / 50)


SPECTRAL = ["rbf", "self_tuning", "nearest_neighbors", "self_representation", "precomputed"]
MODELS = [
    *(CDSKClustering(4, affinity=affinity) for affinity in SPECTRAL),
    *(CDSClustering(4, affinity=affinity) for affinity in SPECTRAL),
    CDSKClustering(4, n_landmarks=30),
    CDSKClustering(4, normalize_rows=False),
    CDSKClustering(4, assign_labels="cluster_qr"),
    CDSKClustering(4, mode="relaxed"),
    CDSKClustering(4, affinity=wide),
    *(KernelKMeans(4, affinity=affinity) for affinity in ("rbf", "self_tuning", "precomputed")),
    KernelKMeans(4, max_iter=1, n_init=1),
]


def overlapping(model, n=150):
    """Points of clusters that overlap, some of them repeated, or affinities of such points."""
    X, _ = make_blobs(n, centers=4, n_features=3, cluster_std=3.0, random_state=3)
    X[40:60] = X[:20]
    return wide(X, X) if model.affinity == "precomputed" else X


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model).split(" at 0x")[0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_training_points_have_their_label(model):
    X = overlapping(model)
    model = clone(model).set_params(random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    alone = [model.predict(X[i : i + 1])[0] for i in range(len(X))]
    np.testing.assert_array_equal(alone, model.labels_)
    np.testing.assert_array_equal(model.labels_[40:60], model.labels_[:20])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model).split(" at 0x")[0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_new_points_do_not_depend_on_their_company(model):
    """Among them points between the clusters, where rounding would decide."""
    X = overlapping(model)
    new = np.vstack((0.5 * (X[:60] + X[60:120]), X.mean(axis=0), np.zeros(X.shape[1]) + X.max()))
    model = clone(model).set_params(random_state=0).fit(X)
    labels = model.predict(new)
    alone = [model.predict(new[i : i + 1])[0] for i in range(len(new))]
    np.testing.assert_array_equal(alone, labels)
    np.testing.assert_array_equal(model.predict(new[::-1]), labels[::-1])


@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering, KernelKMeans])
def test_point_in_the_middle(cls):
    """As far from both clusters: the first of them is taken, in any company."""
    X = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0]])
    model = cls(2, random_state=0).fit(X)
    middle = np.zeros((1, 1))
    assert model.predict(middle)[0] == 0
    for size in (2, 7, 300):
        company = np.vstack((middle, np.linspace(-3, 3, size)[:, None]))
        assert model.predict(company)[0] == 0


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_and_dense_rows_are_recognised(form):
    K = np.maximum(overlapping(CDSKClustering(affinity="precomputed")) - 0.3, 0.0)
    model = CDSKClustering(4, affinity="precomputed", random_state=0).fit(form(K))
    for rows in (K, np.asfortranarray(K), form(K)):
        np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.parametrize(
    ("load", "options", "least"),
    [
        (load_iris, {}, 0.85),
        (load_wine, {}, 0.85),
        (load_wine, {"affinity": "nearest_neighbors"}, 0.85),
        (load_digits, {}, 0.8),
        (load_digits, {"affinity": "nearest_neighbors"}, 0.7),
    ],
)
def test_new_points_are_assigned_as_a_clustering_of_all_would(load, options, least):
    """Two thirds of the points are clustered and the others predicted, three times."""
    X, y = (array[:1000] for array in load(return_X_y=True))
    X = StandardScaler().fit_transform(X) if load is load_wine else X
    model = CDSKClustering(len(np.unique(y)), random_state=0, **options)
    whole = clone(model).fit(X).labels_
    scores = {"embedding": [], "similarity": []}
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(X))
        part, rest = order[: 2 * len(X) // 3], order[2 * len(X) // 3 :]
        for rule, found in scores.items():
            model.set_params(assign_new=rule).fit(X[part])
            found.append(adjusted_rand_score(whole[rest], model.predict(X[rest])))
    assert np.mean(scores["embedding"]) >= least
    assert np.mean(scores["embedding"]) >= np.mean(scores["similarity"]) - 0.02


def test_similarity_classifier():
    """The classifier of the paper by its definition, for training and new points."""
    X = StandardScaler().fit_transform(load_breast_cancer().data)
    model = CDSKClustering(2, assign_new="similarity", random_state=0).fit(X)
    new = np.vstack((X, 0.5 * X[:100] + 0.5))
    K = np.exp(-model.gamma_ * ((new[:, None] - X) ** 2).sum(axis=2))
    votes = [K @ (model.weights_ * (model.labels_ == k)) for k in range(2)]
    np.testing.assert_array_equal(model.predict(new), np.argmax(votes, axis=0))
    # It prefers the large cluster, which labels_ does not.
    assert np.mean(model.predict(X) == model.labels_) < 0.85
    assert model.predict(1e4 + X[:1]).shape == (1,)  # whose kernel values all underflow


@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering])
def test_point_without_similarity_goes_to_the_largest_cluster(cls):
    y = np.repeat([0, 1, 2], [5, 20, 10])
    A = np.equal.outer(y, y) + 0.01
    model = cls(3, affinity="precomputed", random_state=0).fit(A)
    assert model.predict(np.zeros((1, 35)))[0] == model.labels_[10]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model).split(" at 0x")[0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pickle_holds_no_matrix(model):
    """At most a few times the data and a few numbers a point and cluster, never n x n."""
    X = overlapping(model, 1000)
    model = clone(model).set_params(random_state=0, n_init=1).fit(X)
    data = 0 if model.affinity == "precomputed" else X.nbytes
    graph = 12 * 20 * len(X) if model.affinity == "nearest_neighbors" else 0
    pickled = pickle.dumps(model)
    assert len(pickled) <= 4 * data + 2 * 8 * len(X) * (model.n_clusters + 8) + graph + 10_000
    again = pickle.loads(pickled)
    np.testing.assert_array_equal(again.predict(X), model.labels_)


def test_affinity_matrix_is_computed_on_request():
    X = overlapping(CDSKClustering())
    model = CDSKClustering(4, random_state=0)
    assert not hasattr(model, "affinity_matrix_")
    K = model.fit(X).affinity_matrix_
    expected = np.exp(-model.gamma_ * ((X[:, None] - X) ** 2).sum(axis=2))
    np.testing.assert_allclose(K, expected, rtol=1e-12)
    model = CDSKClustering(4, affinity="precomputed", random_state=0).fit(K)
    with pytest.raises(AttributeError, match="it is the matrix given to fit"):
        _ = model.affinity_matrix_


@pytest.mark.parametrize("options", [{}, {"affinity": "nearest_neighbors"}, {"n_landmarks": 100}])
def test_affinity_matrix_of_points_of_weight_zero(options):
    X = overlapping(CDSKClustering())
    weight = np.ones(len(X))
    weight[[5, 45, 70]] = [0.0, 2.0, 0.0]  # the second is equal to the first
    absent = np.array([5, 70])
    model = CDSKClustering(4, random_state=0, **options).fit(X, sample_weight=weight)
    K = model.affinity_matrix_ @ np.eye(len(X))
    assert not K[absent].any() and not K[:, absent].any()
    assert K[45].any()
    np.testing.assert_allclose(K[0], K[40], rtol=1e-12)


def test_clone_and_refit():
    X = overlapping(CDSKClustering())
    model = CDSKClustering(4, affinity="nearest_neighbors", random_state=0).fit(X)
    np.testing.assert_array_equal(clone(model).fit(X).labels_, model.labels_)


def test_labels_of_a_run_that_has_not_settled():
    X = overlapping(KernelKMeans())
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        models = [KernelKMeans(6, max_iter=k, n_init=1, random_state=0).fit(X) for k in (1, 2)]
    assert not models[0].converged_
    for model in models:
        np.testing.assert_array_equal(model.predict(X), model.labels_)
