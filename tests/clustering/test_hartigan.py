"""Single moves after Lloyd's iteration, against trying out every move."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_blobs

from kernelfit import (
    BayesianMaxMarginClustering,
    KernelKMeans,
    MaxMarginClustering,
    RIMClustering,
)
from kernelfit.clustering import feature_space
from kernelfit.clustering.hartigan import move_single_points
from kernelfit.clustering.lloyd import kernel_kmeans, spread_start
from tests.reference.clustering import kmeans_objective, least_change, single_moves
from tests.reference.strategies import gram_matrices, seeds

ROUNDING = 1e-9  # of the largest entry of the kernel, for every count


def kernel(X):
    return np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))


def blobs(seed, n=40):
    return make_blobs(n, centers=5, n_features=3, cluster_std=3.0, random_state=seed)[0]


def problem(seed, weighted=True):
    """Return a kernel matrix and counts."""
    K = kernel(blobs(seed))
    counts = np.random.default_rng(seed).uniform(0.2, 5.0, len(K))
    return K, counts if weighted else np.ones(len(K))


def partition(K, labels, n_clusters, counts):
    """Return labels as the outcome of no iteration."""
    return kernel_kmeans(K, labels, n_clusters, 0, counts)


def lloyd(K, n_clusters, counts, seed):
    uniform = np.random.default_rng(seed).uniform(size=n_clusters)
    return kernel_kmeans(K, spread_start(K, n_clusters, uniform, counts), n_clusters, 300, counts)


def slack(K, counts):
    return ROUNDING * np.abs(K).max() * counts.sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_moves_are_those_found_by_trying(seed, weighted):
    """Point by point, from labels without any order and from where Lloyd's iteration ends."""
    K, counts = problem(seed, weighted)
    for start in (
        partition(K, np.random.default_rng(seed).integers(0, 4, len(K)), 4, counts),
        lloyd(K, 4, counts, seed),
    ):
        found = move_single_points(K, start, 300, counts)
        expected = single_moves(K, start.labels, counts, 4)
        np.testing.assert_array_equal(found.labels, expected)
        assert found.converged
        assert found.inertia == pytest.approx(kmeans_objective(K, expected, counts), rel=1e-9)
        for k in range(4):
            share = np.where(found.labels == k, counts, 0.0)
            share /= share.sum()
            assert found.mean_norms[k] == pytest.approx(share @ K @ share, rel=1e-9)


def test_moves_of_points_that_dominate_their_clusters():
    """Few points of very different counts: what a heavy one leaves is unlike what was there."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        K, counts = kernel(3.0 * rng.standard_normal((9, 2))), 10.0 ** rng.uniform(-4, 0, 9)
        start = partition(K, np.arange(9) % 3, 3, counts)
        found = move_single_points(K, start, 300, counts)
        np.testing.assert_array_equal(found.labels, single_moves(K, start.labels, counts, 3))


def test_a_move_that_lloyd_does_not_see():
    """The middle point is as far from both means: alone it leaves 2, with the last one 1/2."""
    X = np.array([[-2.0], [0.0], [1.0]])
    start = kernel_kmeans(X @ X.T, np.array([1, 1, 0]), 2, 10)
    assert start.converged and start.inertia == pytest.approx(2.0)
    found = move_single_points(X @ X.T, start, 10)
    np.testing.assert_array_equal(found.labels, [1, 0, 0])
    assert found.inertia == pytest.approx(0.5)
    np.testing.assert_allclose(found.mean_norms, [0.25, 4.0])
    np.testing.assert_array_equal(start.labels, [1, 1, 0])  # not changed in place


@pytest.mark.parametrize(("count", "expected"), [(0.1, [1, 0, 0]), (9.0, [1, 1, 0])])
def test_counts_decide(count, expected):
    """The middle point gains 4w/(w + 1) by leaving, and pays 1.8^2 3w/(w + 3)."""
    X, counts = np.array([[-2.0], [0.0], [1.8]]), np.array([1.0, count, 3.0])
    start = partition(X @ X.T, np.array([1, 1, 0]), 2, counts)
    found = move_single_points(X @ X.T, start, 10, counts)
    np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("kind", ["rbf", "self_tuning", "precomputed", "distances"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_no_single_move_is_left_after_a_fit(seed, weighted, kind):
    X = blobs(seed)
    counts = np.random.default_rng(seed).uniform(0.2, 5.0, len(X)) if weighted else np.ones(len(X))
    model = KernelKMeans(5, n_init=1, random_state=seed)
    if kind in ("rbf", "self_tuning"):
        model.set_params(affinity=kind).fit(X, sample_weight=counts)
        K = model.affinity_matrix_
    else:
        K = kernel(X) if kind == "precomputed" else -((X[:, None] - X) ** 2).sum(axis=2)
        model.set_params(affinity="precomputed").fit(K, sample_weight=counts)
    assert model.converged_ and len(set(model.labels_)) == 5
    assert model.inertia_ == pytest.approx(kmeans_objective(K, model.labels_, counts), rel=1e-9)
    assert least_change(K, model.labels_, counts, 5) >= -slack(K, counts)
    np.testing.assert_array_equal(model.predict(K if kind[0] in "pd" else X), model.labels_)


def fits(X, **options):
    """Return ten inertias."""
    models = [KernelKMeans(5, random_state=seed, **options) for seed in range(10)]
    return np.array([model.fit(X).inertia_ for model in models])


@pytest.mark.parametrize("n_init", [1, 3])
def test_the_result_is_never_above_that_of_lloyd(n_init, monkeypatch):
    X = load_iris().data
    found = fits(X, n_init=n_init)
    with monkeypatch.context() as patch:
        patch.setattr(feature_space, "move_single_points", lambda K, start, *_, **__: start)
        before = fits(X, n_init=n_init)
    assert np.all(found <= before * (1.0 + 1e-8))  # of starts equal up to 1e-9 the first is taken
    assert np.sum(found < before * (1.0 - 1e-7)) >= 3


def test_inertia_never_rises():
    """Sweep by sweep, from labels without any order, and falls with every sweep but the last."""
    for seed in range(5):
        K, counts = problem(seed)
        labels = np.random.default_rng(seed).integers(0, 5, len(K))
        result = partition(K, labels, 5, counts)
        inertias = [kmeans_objective(K, labels, counts)]
        while not result.converged and result.n_iter < 100:
            result = move_single_points(K, result, result.n_iter + 1, counts)
            inertias.append(kmeans_objective(K, result.labels, counts))
            assert result.inertia == pytest.approx(inertias[-1], rel=1e-9)
        assert result.converged and result.n_iter == len(inertias) - 1 > 2
        assert np.all(np.diff(inertias)[:-1] < 0) and inertias[-1] == inertias[-2]


def test_iterations_are_bounded_together_with_those_of_the_start():
    K, counts = problem(0)
    start = lloyd(K, 5, counts, 0)
    found = move_single_points(K, start, start.n_iter, counts)
    np.testing.assert_array_equal(found.labels, start.labels)
    assert found.n_iter == start.n_iter and not found.converged
    found = move_single_points(K, start, 300, counts)
    assert found.converged and start.n_iter < found.n_iter < 300


@pytest.mark.parametrize("factor", [1e10, 1e-10, 1e290, 1e-290])
@pytest.mark.parametrize("of", ["kernel", "counts"])
def test_units_do_not_matter(of, factor):
    for seed in range(3):
        K, counts = problem(seed)
        start = lloyd(K, 5, counts, seed)
        found = move_single_points(K, start, 300, counts)
        assert np.any(found.labels != start.labels)
        K, counts = (factor * K, counts) if of == "kernel" else (K, factor * counts)
        scaled = move_single_points(K, lloyd(K, 5, counts, seed), 300, counts)
        np.testing.assert_array_equal(scaled.labels, found.labels)
        assert scaled.inertia == pytest.approx(factor * found.inertia, rel=1e-9)
        assert scaled.n_iter == found.n_iter


def test_equal_clusters_are_taken_in_their_order():
    """The first point is as far from the means of clusters 1, 2 and 3, up to rounding."""
    for turn in np.linspace(0.0, 3.0, 20):
        R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        X = np.array([[0.0, 0.0], [0.0, -20.0], [3.0, 0.0], [-3.0, 0.0], [0.0, 3.0]]) @ R
        K = X @ X.T
        found = move_single_points(K, partition(K, np.array([0, 0, 1, 2, 3]), 4, np.ones(5)), 10)
        np.testing.assert_array_equal(found.labels, [1, 0, 1, 2, 3])


def test_empty_clusters_are_filled_and_none_is_left_empty():
    K, counts = problem(1)
    start = partition(K, np.zeros(len(K), dtype=np.intp), 4, counts)
    found = move_single_points(K, start, 300, counts)
    assert set(found.labels) == set(range(4)) and np.all(np.isfinite(found.mean_norms))
    full = partition(K[:4, :4], np.arange(4), 4, counts[:4])
    found = move_single_points(K[:4, :4], full, 300, counts[:4])
    np.testing.assert_array_equal(found.labels, range(4))
    assert found.converged and found.n_iter == 1


def test_the_last_point_stays_though_rounding_moves_it():
    """A heavy point leaves a light one: the products of what remains have lost five digits."""
    for seed in range(30):
        x, y = np.random.default_rng(seed).uniform(1.0, 2.0, 2)
        X = np.array([[x], [x + 9.0 * y], [x + 0.1 * y]])
        K, counts = X @ X.T, np.array([1.0, 1e-5, 1e-5])
        found = move_single_points(K, partition(K, np.array([0, 0, 1]), 2, counts), 10, counts)
        np.testing.assert_array_equal(found.labels, [1, 0, 1])


def test_rounding_of_a_distance_moves_no_heavy_point():
    """It counts 1e10 times as a gain, where the mean differs by light points alone."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        heavy = rng.uniform(1.0, 2.0, (1, 3))
        X = np.vstack((heavy + 0.1 * rng.standard_normal((10, 3)), heavy - 9, heavy + 2, heavy))
        counts = np.r_[np.full(10, 1e-11), 1.0, 1e-8, 1.0]
        start = partition(X @ X.T, np.r_[0, np.ones(10, int), 2, 0], 3, counts)
        found = move_single_points(X @ X.T, start, 10, counts)
        np.testing.assert_array_equal(found.labels, np.r_[np.zeros(10), 1, 2, 0])


def test_equal_points_leave_clusters_empty():
    start = partition(np.ones((6, 6)), np.zeros(6, dtype=np.intp), 3, np.ones(6))
    found = move_single_points(np.ones((6, 6)), start, 10)
    assert len(set(found.labels)) == 1 and found.converged
    np.testing.assert_array_equal(np.isfinite(found.mean_norms), [True, False, False])


@pytest.mark.parametrize("seed", range(4))
def test_indefinite_kernels(seed):
    """The changes are exact whatever the signs of the eigenvalues."""
    rng = np.random.default_rng(seed)
    K = rng.standard_normal((30, 30))
    K, counts = K + K.T, rng.uniform(0.2, 5.0, 30)
    start = partition(K, np.arange(30) % 3, 3, counts)
    found = move_single_points(K, start, 300, counts)
    assert found.converged and set(found.labels) == {0, 1, 2}
    np.testing.assert_array_equal(found.labels, single_moves(K, start.labels, counts, 3))


@pytest.mark.filterwarnings("ignore:the kernel is not positive semidefinite:UserWarning")
@pytest.mark.parametrize("seed", range(10))
def test_no_single_move_is_left_where_lloyd_would_go_in_circles(seed):
    K = np.random.default_rng(seed).standard_normal((12, 12))
    K, counts = K + K.T, np.ones(12)
    model = KernelKMeans(3, affinity="precomputed", random_state=0).fit(K)
    assert model.converged_ and model.n_iter_ < 100
    assert least_change(K, model.labels_, counts, 3) >= -slack(K, counts)


def test_a_kernel_that_is_not_quite_symmetric():
    """Entries differ from their mirror image by more than rounding, where points have many ties."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 3, (60, 2)).astype(float)
        K = X @ X.T + 1e-8 * np.triu(rng.standard_normal((60, 60)), 1)
        start = kernel_kmeans(K, np.arange(60) % 7, 7, 100)
        found = move_single_points(K, start, 100)
        assert start.converged and found.converged
        assert found.inertia <= start.inertia + 1e-12


def test_clusters_that_one_point_dominates():
    """Where a mean is so near to its heaviest point that rounding hides the distance."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        K, counts = kernel(rng.standard_normal((12, 2))), 10.0 ** rng.uniform(-20, 0, 12)
        start = partition(K, np.arange(12) % 4, 4, counts)
        found = move_single_points(K, start, 300, counts)
        assert found.converged and set(found.labels) == set(range(4))
        assert found.inertia <= start.inertia * (1.0 + 1e-9)
        # A share r of the count that is not the heaviest point's gains r at most, and shows if r^2
        # is above 1e-12.
        assert least_change(K, found.labels, counts, 4) >= -2e-6 * counts.sum()


def test_copies_of_a_point_gain_nothing_apart():
    """Where no point that counts several times moves as a whole, none of its copies does alone."""
    for seed in range(3):
        K = kernel(blobs(seed, 30))
        copies = 1 + np.arange(30) % 3
        counts = copies.astype(float)
        found = move_single_points(K, lloyd(K, 4, counts, seed), 300, counts)
        place = np.repeat(range(30), copies)
        K, labels = K[place][:, place], found.labels[place]
        assert least_change(K, labels, np.ones(len(K)), 4) >= -slack(K, counts)


@st.composite
def partitions(draw):
    """Draw a kernel matrix, labels of up to four clusters, and counts."""
    n = draw(st.integers(2, 14))
    K = draw(gram_matrices(n))
    rng = np.random.default_rng(draw(seeds))
    counts = draw(
        st.sampled_from(
            [np.ones(n), rng.integers(1, 4, n).astype(float), 10.0 ** rng.uniform(-2, 2, n)]
        )
    )
    return K, rng.integers(0, draw(st.integers(1, 4)), n), counts


@given(partitions())
def test_every_result_is_a_local_optimum(problem):
    K, labels, counts = problem
    start = partition(K, labels, 4, counts)
    found = move_single_points(K, start, 300, counts)
    assert found.converged
    assert set(labels) <= set(found.labels)
    assert found.inertia <= start.inertia + slack(K, counts)
    assert abs(found.inertia - kmeans_objective(K, found.labels, counts)) <= slack(K, counts)
    assert least_change(K, found.labels, counts, 4) >= -slack(K, counts)


@pytest.mark.parametrize(
    "cls", [KernelKMeans, MaxMarginClustering, RIMClustering, BayesianMaxMarginClustering]
)
def test_all_that_start_from_kernel_kmeans_start_from_single_moves(cls, monkeypatch):
    found = []

    def record(*arguments, **options):
        found.append(move_single_points(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(feature_space, "move_single_points", record)
    cls(4, n_init=2, random_state=0).fit(blobs(0))
    assert len(found) == 2 and all(result.converged for result in found)
