"""CDSKClustering and CDSClustering as estimators."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from kernelfit import CDSClustering, CDSKClustering, KernelKMeans
from kernelfit.clustering.literal import sparse_weights
from tests.reference import clustering as reference

AFFINITIES = ["rbf", "self_tuning", "nearest_neighbors", "self_representation"]
BUNDLED = {
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
}


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(120, centers=4, n_features=5, cluster_std=0.8, random_state=1)
    return X, y


def subspaces():
    """Points near four subspaces of dimension three in a space of dimension thirty."""
    rng = np.random.default_rng(0)
    bases = rng.standard_normal((4, 3, 30))
    X = np.vstack([rng.standard_normal((30, 3)) @ basis for basis in bases])
    return X + 0.05 * rng.standard_normal(X.shape), np.repeat(range(4), 30)


def read(name, benchmark_data):
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
    else:
        data = benchmark_data(name)
        X, y = data["X"].astype(float), data["y"]
    return StandardScaler().fit_transform(X[:600]), y[:600]


@pytest.mark.parametrize("name", [*BUNDLED, "ionosphere", "umist"])
@pytest.mark.parametrize("mode", ["balanced", "relaxed"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_objective_never_rises(name, mode, benchmark_data):
    """On twelve kernels: a dense and a sparse one of each set."""
    X, y = read(name, benchmark_data)
    c = len(np.unique(y))
    for affinity in ("rbf", "nearest_neighbors"):
        model = CDSKClustering(c, affinity=affinity, mode=mode, n_init=2, random_state=0)
        history = model.fit(X).history_
        assert model.n_iter_ >= 1
        assert np.all(np.diff(history) <= 1e-9 * np.abs(history[1:]))
        assert model.objective_ == history[-1]


def test_literal_mode_collapses_on_wine_and_says_so():
    X = StandardScaler().fit_transform(load_wine().data)
    model = CDSKClustering(3, mode="literal", random_state=0)
    with pytest.warns(UserWarning, match=r"collapsed onto \d of 178 points"):
        model.fit(X)
    assert np.sum(model.weights_ > 1e-3 * len(X)) <= 4


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
@pytest.mark.filterwarnings("ignore:the affinity graph")
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_uniform_weights_are_spectral_clustering(name, affinity, benchmark_data):
    """scikit-learn ignores the diagonal of the affinity, so it is left out here."""
    X, y = read(name, benchmark_data)
    c = len(np.unique(y))
    K = CDSKClustering(c, affinity=affinity, max_iter=0).fit(X).affinity_matrix_
    if not sparse.issparse(K):
        K = K - np.diag(np.diag(K))
    options = {"affinity": "precomputed", "assign_labels": "cluster_qr", "random_state": 0}
    model = CDSKClustering(c, max_iter=0, normalize_rows=False, **options).fit(K)
    expected = SpectralClustering(c, **options).fit(K).labels_
    assert adjusted_rand_score(expected, model.labels_) == 1.0


@pytest.mark.parametrize("estimator", [CDSKClustering, CDSClustering])
def test_pivots_are_not_decided_by_rounding(estimator):
    """Shifts of the points and orders of a given matrix change nothing but rounding."""
    X = StandardScaler().fit_transform(load_wine().data)
    model = estimator(3, assign_labels="cluster_qr", max_iter=0, random_state=0)
    expected = model.fit(X).labels_
    for shift in (0.5, 1.0, 2.0, 5.0):
        assert adjusted_rand_score(expected, model.fit(X + shift).labels_) == 1.0
    order = np.random.default_rng(0).permutation(len(X))
    K = model.fit(X).affinity_matrix_[order][:, order]
    given = clone(model).set_params(affinity="precomputed").fit(K)
    assert adjusted_rand_score(expected[order], given.labels_) == 1.0


def accuracy(y, labels):
    table = contingency_matrix(y, labels)
    return table[linear_sum_assignment(-table)].sum() / len(y)


@pytest.mark.parametrize(
    ("name", "options", "least"),
    [
        ("wine", {}, 0.96),
        ("iris", {}, 0.85),
        ("digits", {"affinity": "nearest_neighbors"}, 0.79),
    ],
)
def test_accuracy(name, options, least):
    X, y = BUNDLED[name](return_X_y=True)
    if name == "wine":
        X = StandardScaler().fit_transform(X)
    model = CDSKClustering(len(np.unique(y)), random_state=0, **options)
    assert accuracy(y, model.fit_predict(X)) >= least


def test_accuracy_on_faces_under_varying_light(benchmark_data):
    """Where the relaxed objective cuts off small groups, the partition's cut does not."""
    data = benchmark_data("yale_b")
    X, y = data["X"].astype(float), data["y"]
    people = np.unique(y)[:10]
    X, y = X[np.isin(y, people)], y[np.isin(y, people)]
    model = CDSKClustering(10, affinity="self_representation")
    balanced, relaxed = (
        np.median(
            [
                accuracy(y, model.set_params(mode=mode, random_state=seed).fit_predict(X))
                for seed in range(3)
            ]
        )
        for mode in ("balanced", "relaxed")
    )
    assert balanced >= 0.85
    assert relaxed < balanced


def test_components_of_a_disconnected_graph_are_found():
    """Eight components: the eigenvalue one repeats eight times."""
    centres = 100.0 * np.arange(8)[:, None] * np.ones(3)
    X, y = make_blobs(800, centers=centres, random_state=0)
    model = CDSKClustering(8, affinity="nearest_neighbors", random_state=0).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, 1.0, atol=1e-10)
    assert adjusted_rand_score(y, model.labels_) == 1.0


@pytest.mark.parametrize("size", [30, 400])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering])
def test_point_without_similarity_is_a_component(cls, form, size):
    sizes = [size, 5, 3, 1]
    y = np.repeat(range(4), sizes)
    A = np.equal.outer(y, y).astype(float)
    A[-1, -1] = 0.0
    model = cls(4, affinity="precomputed", random_state=0).fit(form(A))
    assert adjusted_rand_score(y, model.labels_) == 1.0
    np.testing.assert_allclose(model.eigenvalues_, 1.0, atol=1e-10)
    np.testing.assert_array_equal(model.predict(form(A)), model.labels_)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering])
def test_too_many_points_without_similarity_leave_the_clusters_to_the_others(cls, form):
    y = np.repeat(range(3), [30, 20, 10])
    A = np.zeros((80, 80))
    A[:60, :60] = np.equal.outer(y, y)
    model = cls(3, affinity="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="20 of the 80 points have no similarity to any point"):
        model.fit(form(A))
    assert adjusted_rand_score(y, model.labels_[:60]) == 1.0
    np.testing.assert_array_equal(model.predict(form(A)), model.labels_)


def test_point_that_all_others_repel_is_a_component():
    y = np.repeat(range(3), [20, 10, 1])
    S = np.where(np.equal.outer(y, y), 1.0, -0.2)
    S[-1, -1] = -1.0
    labels = CDSClustering(3, affinity="precomputed", random_state=0).fit_predict(S)
    assert adjusted_rand_score(y, labels) == 1.0


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering])
def test_transform(cls, affinity, blobs):
    X, y = blobs if affinity != "self_representation" else subspaces()
    model = cls(4, affinity=affinity, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) >= 0.95
    assert model.transform(X[:7]).shape == (7, 4)
    np.testing.assert_allclose(model.transform(X)[:7], model.transform(X[:7]), atol=1e-10)
    assert model.get_feature_names_out()[0] == f"{cls.__name__.lower()}0"


@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors", "precomputed"])
@pytest.mark.parametrize("cls", [CDSKClustering, CDSClustering, KernelKMeans])
def test_fitted_state_does_not_change_with_data_or_parameters(cls, affinity, blobs):
    if cls is KernelKMeans and affinity == "nearest_neighbors":
        return
    X = blobs[0] @ blobs[0].T if affinity == "precomputed" else blobs[0].copy()
    X = np.maximum(X, 0.0)
    model = cls(4, affinity=affinity, random_state=0).fit(X)
    new = X[:30].copy()
    outputs = [model.predict] if cls is KernelKMeans else [model.predict, model.transform]
    before = [output(new) for output in outputs]
    X[:] = np.random.default_rng(0).uniform(size=X.shape)
    model.set_params(n_clusters=7, affinity="precomputed" if affinity == "rbf" else "rbf")
    if cls is CDSKClustering:
        model.set_params(mode="literal")
    for output, expected in zip(outputs, before, strict=True):
        np.testing.assert_array_equal(output(new), expected)


def test_transform_extends_the_embedding(blobs):
    """With uniform weights the training points are mapped to their own embedding."""
    X, _ = blobs
    model = CDSKClustering(4, max_iter=0, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-8)


def test_precomputed_and_callable_equal_the_named_affinity(blobs):
    X, _ = blobs
    named = CDSKClustering(4, random_state=0).fit(X)

    def kernel(A, B):
        return np.exp(-named.gamma_ * ((A[:, None] - B) ** 2).sum(axis=2))

    K = named.affinity_matrix_
    given = CDSKClustering(4, affinity="precomputed", random_state=0).fit(K)
    called = CDSKClustering(4, affinity=kernel, random_state=0).fit(X)
    np.testing.assert_array_equal(called.labels_, named.labels_)
    assert adjusted_rand_score(given.labels_, named.labels_) == 1.0
    for model in (given, called):
        np.testing.assert_allclose(model.weights_, named.weights_, atol=1e-3)
    new = X[::3] + 0.3
    assert adjusted_rand_score(given.predict(kernel(new, X)), named.predict(new)) == 1.0
    np.testing.assert_allclose(called.transform(new), named.transform(new), atol=1e-5)


def test_sparse_and_dense_matrices_agree(blobs):
    X, _ = blobs
    graph = CDSKClustering(4, affinity="nearest_neighbors", max_iter=0).fit(X).affinity_matrix_
    assert sparse.issparse(graph)
    ours = [
        CDSKClustering(4, affinity="precomputed", random_state=0).fit(K)
        for K in (graph, graph.toarray())
    ]
    assert adjusted_rand_score(ours[0].labels_, ours[1].labels_) == 1.0
    assert ours[0].objective_ == pytest.approx(ours[1].objective_, rel=1e-6)


@pytest.mark.parametrize(("n_neighbors", "d"), [(4, 2), (4, 30), (39, 2), (100, 2)])
def test_of_equally_near_points_the_first_are_neighbours(n_neighbors, d):
    """In ascending order of the points, which is the order of the fit."""
    X = np.random.default_rng(0).integers(0, 8 if d == 2 else 2, (100, d)).astype(float)
    X = np.unique(X, axis=0)[:40]
    model = CDSKClustering(4, affinity="nearest_neighbors", n_neighbors=n_neighbors, max_iter=0)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    graph = np.zeros((40, 40))
    order = np.argsort(D, axis=1, kind="stable")[:, : min(n_neighbors, 39)]
    np.put_along_axis(graph, order, 1.0, axis=1)
    found = model.fit(X).affinity_matrix_.toarray()
    np.testing.assert_array_equal(found, 0.5 * (graph + graph.T))


def test_landmarks_approximate_the_kernel(blobs):
    X, y = blobs
    model = CDSKClustering(4, n_landmarks=40, random_state=0).fit(X)
    whole = CDSKClustering(4, random_state=0).fit(X)
    Z = model.affinity_matrix_.Z
    assert Z.shape[1] <= 40
    np.testing.assert_allclose(Z @ Z.T, whole.affinity_matrix_, atol=0.05)
    assert adjusted_rand_score(y, model.labels_) >= 0.95
    with pytest.raises(ValueError, match="expected n_landmarks >= n_clusters, got n_landmarks=3"):
        CDSKClustering(4, n_landmarks=3).fit(X)
    for affinity in (*AFFINITIES[1:], "precomputed", lambda X, Y: X @ Y.T):
        with pytest.raises(ValueError, match="expected n_landmarks=None for affinity="):
            CDSKClustering(4, affinity=affinity, n_landmarks=40).fit(X)
    with pytest.raises(ValueError, match="expected n_landmarks=None for mode='literal', got 40"):
        CDSKClustering(4, n_landmarks=40, mode="literal").fit(X)


@pytest.mark.parametrize("mode", ["balanced", "literal"])
@pytest.mark.filterwarnings("ignore:the weights collapsed")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_options(mode, blobs):
    X, y = blobs
    for options in ({"assign_labels": "cluster_qr"}, {"mu": "entropy"}):
        model = CDSKClustering(4, mode=mode, random_state=0, **options).fit(X)
        if mode == "balanced":
            assert adjusted_rand_score(y, model.labels_) >= 0.95
        assert np.isfinite(model.embedding_).all()
    assert model.mu_ in np.arange(1, 11) * 0.05


LITERAL = {"mode": "literal", "random_state": 0}


@pytest.mark.parametrize("lambda_", [0.3, 2.0])
@pytest.mark.parametrize("alpha_init", ["uniform", "sparse"])
@pytest.mark.filterwarnings("ignore:the weights collapsed")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_literal_mode_clusters_the_rows_of_the_printed_embedding(lambda_, alpha_init):
    """Y'DY = I for the degrees of (8), and no partition of k-means has rows closer together."""
    X = load_iris().data[::3]
    options = {"mu": lambda_, "alpha_init": alpha_init, "max_iter": 3, "gamma": 2.0}
    model = CDSKClustering(3, **options, **LITERAL).fit(X)
    alpha, Y = model.weights_ / len(X), model.embedding_
    S = 2.0 * reference.similarity(model.affinity_matrix_, alpha, lambda_)
    np.testing.assert_allclose(Y.T @ (S.sum(axis=1)[:, None] * Y), np.eye(3), atol=1e-6)
    inertia = sum(
        np.sum((Y[at] - Y[at].mean(axis=0)) ** 2) for at in model.labels_ == [[0], [1], [2]]
    )
    best = KMeans(3, n_init=10, random_state=0).fit(Y).inertia_
    assert inertia <= best * (1 + 1e-6)
    if alpha_init == "sparse":
        start = CDSKClustering(3, **{**options, "max_iter": 0}, **LITERAL).fit(X).weights_
        assert np.sum(start == 0) > len(X) / 2
        np.testing.assert_allclose(start, len(X) * sparse_weights(X @ X.T), atol=1e-9)


@pytest.mark.filterwarnings("ignore")  # ten small fits, some of which collapse
def test_entropy_rule_is_the_printed_one():
    """Least mean entropy of the softmax of the rows of Y, of the grid's values."""
    X = load_iris().data
    model = CDSKClustering(3, mu="entropy", gamma=2.0, **LITERAL).fit(X)
    seed = check_random_state(0).randint(np.iinfo(np.int32).max)
    points = np.unique(X, axis=0)
    rows = np.sort(
        np.random.default_rng(seed).choice(len(points), len(points) // 10, replace=False)
    )
    entropies = []
    for lambda_ in np.arange(1, 11) * 0.05:
        trial = CDSKClustering(3, mode="literal", mu=lambda_, gamma=2.0, random_state=seed)
        trial.fit(points[rows], sample_weight=[np.sum((X == x).all(axis=1)) for x in points[rows]])
        entropies.append(reference.softmax_entropy(trial.embedding_))
    assert np.ptp(entropies) > 1e-3
    assert model.mu_ == pytest.approx(0.05 * (1 + np.argmin(entropies)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": 1.0}, r"expected mu < 1 for mode='balanced', got mu=1\.0"),
        ({"mode": "relaxed", "alpha_init": "sparse"}, "expected alpha_init='uniform' for mode="),
    ],
)
def test_options_of_the_literal_mode_alone(options, message, blobs):
    with pytest.raises(ValueError, match=message):
        CDSKClustering(4, **options).fit(blobs[0])


def test_objective_of_a_graph_does_not_depend_on_the_seed():
    X = StandardScaler().fit_transform(load_wine().data)
    fits = [
        CDSKClustering(3, affinity="nearest_neighbors", random_state=seed).fit(X)
        for seed in range(4)
    ]
    for model in fits[1:]:
        assert adjusted_rand_score(model.labels_, fits[0].labels_) == 1.0
        assert model.objective_ == pytest.approx(fits[0].objective_, rel=1e-6)


def test_lasso_representation_and_reconstruction_bandwidth(blobs):
    X, y = subspaces()
    lasso = CDSKClustering(4, affinity="self_representation", n_nonzero=None, random_state=0)
    assert adjusted_rand_score(y, lasso.fit(X).labels_) >= 0.95
    X, y = blobs
    scms = CDSKClustering(4, gamma="reconstruction", max_iter=0, random_state=0).fit(X)
    assert adjusted_rand_score(y, scms.labels_) >= 0.95


def test_start_of_the_history(blobs):
    """With no round the partition of least inertia counts, else that of the least objective."""
    X = np.random.default_rng(0).standard_normal((150, 2))
    options = {"random_state": 0, "tol": 0.0}
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        none, one = (CDSKClustering(8, max_iter=k, **options).fit(X) for k in (0, 1))
        alone = [CDSKClustering(8, max_iter=k, n_init=1, **options).fit(X) for k in (0, 1)]
    assert one.history_[0] < none.history_[0] == none.objective_
    assert alone[0].history_[0] == pytest.approx(alone[1].history_[0], rel=1e-12)


def test_general_similarity_of_any_sign():
    X, y = make_blobs(60, centers=[[5, 0], [-3, 4], [-3, -4]], random_state=0)
    S = X @ X.T  # inner products: many are negative
    model = CDSClustering(3, affinity="precomputed", random_state=0).fit(S)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    with pytest.raises(ValueError, match="expected non-negative affinities, got -"):
        CDSKClustering(3, affinity="precomputed").fit(S)


def test_strongly_negative_similarities():
    """Groups that repel each other: |S| exceeds the similarity within them."""
    y = np.repeat([0, 1], 15)
    S = np.where(np.equal.outer(y, y), 1.0, -5.0)
    model = CDSClustering(2, affinity="precomputed", random_state=0).fit(S)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(S), model.labels_)


@pytest.mark.parametrize("mean", [0.0, -0.5, -1.5])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:the affinity")
@pytest.mark.filterwarnings("ignore:.* have no similarity to any point")
def test_similarities_of_negative_mean(seed, mean):
    """Most points or all but a few are left without similarity."""
    S = np.random.default_rng(seed).standard_normal((20, 20))
    S = S + S.T + 2.0 * mean
    model = CDSClustering(3, affinity="precomputed", random_state=0).fit(S)
    assert np.isfinite(model.embedding_).all() and np.isfinite(model.history_).all()
    assert np.all(np.diff(model.history_) <= 1e-9 * np.abs(model.history_[1:]))


@pytest.mark.parametrize("size", [1, 4, 10, 31])
def test_similarities_that_sum_to_zero(size):
    y = np.repeat([0, 1], size)
    S = np.where(np.equal.outer(y, y), 1.0, -1.0)
    model = CDSClustering(2, affinity="precomputed", random_state=0).fit(S)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert np.isfinite(model.objective_)


def test_verbose_logs_every_round(blobs, caplog):
    X, _ = blobs
    with caplog.at_level("INFO", logger="kernelfit"):
        model = CDSKClustering(4, verbose=1, random_state=0).fit(X)
    assert caplog.text.count("objective") == model.n_iter_


def test_unsettled_objective_is_told(blobs):
    X = np.random.default_rng(0).standard_normal((60, 3))
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        CDSKClustering(6, mode="relaxed", max_iter=1, tol=0.0, random_state=0).fit(X)


def test_too_many_points_are_refused_or_announced(monkeypatch, blobs):
    """Before the similarity is computed, by the number of different points."""
    X, _ = blobs
    module = "kernelfit.clustering.cds"
    with pytest.warns(UserWarning, match=r"of 10000 different points will take about 10 minutes"):
        CDSClustering()._check_size(10_000)
    with monkeypatch.context() as patch:
        patch.setattr(f"{module}._LONG", 0.0)
        with pytest.warns(UserWarning, match="of 120 different points will take about 0 minutes"):
            CDSClustering(4, random_state=0).fit(np.repeat(X, 2, axis=0))
    monkeypatch.setattr(f"{module}.available_memory", lambda: 8 * 8 * 120**2)
    CDSClustering(4, random_state=0).fit(X)

    def similarity(X, Y):
        raise AssertionError("computed")

    with pytest.raises(
        MemoryError, match=r"got 121 different ones, which take about 0\.0 GiB: take"
    ):
        CDSClustering(4, affinity=similarity).fit(np.vstack((X, X[:1] + 1.0)))
