"""The discriminative similarities against their definitions and finite differences."""

import numpy as np
import pytest
from scipy import sparse

from kernelfit.clustering import similarity as module
from kernelfit.clustering.matrices import LowRank, counted
from kernelfit.clustering.similarity import GeneralSimilarity, KernelSimilarity
from tests.reference import clustering as reference

MU = 0.4
N = 18


@pytest.fixture
def K():
    X = np.random.default_rng(0).standard_normal((N, 3))
    return np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))


@pytest.fixture
def graph(K):
    """A sparse affinity without self-loops: half of its spectrum is negative."""
    A = np.where(np.quantile(K, 0.6) < K, K, 0.0)
    np.fill_diagonal(A, 0.0)
    return A + np.diag(np.ones(N - 1), 1) + np.diag(np.ones(N - 1), -1)


def weights(seed=1):
    b = np.random.default_rng(seed).uniform(0.2, 2.0, N)
    return b * N / b.sum()


def labels():
    return np.arange(N) % 3


def finite_differences(f, b, step=1e-6):
    return np.array([(f(b + e) - f(b - e)) / (2 * step) for e in step * np.eye(len(b))])


def forms(K):
    """The same matrix as an array, as CSR and by its factor."""
    values, vectors = np.linalg.eigh(K)
    return {
        "dense": K,
        "sparse": sparse.csr_array(K),
        "low rank": LowRank(vectors * np.sqrt(np.maximum(values, 0))),
    }


@pytest.mark.parametrize("form", ["dense", "sparse", "low rank", "operator"])
def test_normalised_matrix(K, form, monkeypatch):
    b = weights()
    if form == "operator":  # a dense matrix without room for a second one
        monkeypatch.setattr(module, "_MATRIX_BYTES", 0)
        form = "dense"
    N_, scale = KernelSimilarity(forms(K)[form], MU).normalised(b)
    W = reference.similarity(K, b, MU)
    root = 1 / np.sqrt(W.sum(axis=1))
    np.testing.assert_allclose(scale, root, rtol=1e-12)
    np.testing.assert_allclose(N_ @ np.eye(N), W * np.outer(root, root), atol=1e-12)
    v = np.arange(N) / N
    np.testing.assert_allclose(N_ @ v, (W * np.outer(root, root)) @ v, atol=1e-12)


@pytest.mark.parametrize("form", ["dense", "sparse", "low rank"])
def test_cut_of_a_partition(K, form):
    b = weights()
    similarity = KernelSimilarity(forms(K)[form], MU)
    value = similarity.cuts([np.eye(3)[labels()]])[0](b, 1.0)[0] - similarity.penalty(b, K @ b)[0]
    expected = reference.normalised_cut(reference.similarity(K, b, MU), labels())
    assert value == pytest.approx(expected, rel=1e-10)


def test_cut_bounds_the_eigenvalue_sum_and_touches_it(K):
    b, other = weights(1), weights(2)
    similarity = KernelSimilarity(K, MU)

    def embedding(b):
        W = reference.similarity(K, b, MU)
        root = 1 / np.sqrt(W.sum(axis=1))
        return np.linalg.eigh(W * np.outer(root, root))[1][:, -3:] * root[:, None]

    for at in (b, other):
        value = similarity.cuts([embedding(b)])[0](at, 1.0)[0] - similarity.penalty(at, K @ at)[0]
        total = reference.eigenvalue_sum(reference.similarity(K, at, MU), 3)
        assert value >= total - 1e-12
        if at is b:
            assert value == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("form", ["dense", "sparse", "low rank"])
@pytest.mark.parametrize("indicators", [True, False])
def test_gradient(K, form, indicators):
    Z = np.eye(3)[labels()] if indicators else np.random.default_rng(3).standard_normal((N, 4))
    cut = KernelSimilarity(forms(K)[form], MU).cuts([Z])[0]
    expected = finite_differences(lambda b: cut(b, 0.7)[0], weights())
    np.testing.assert_allclose(cut(weights(), 0.7)[1], expected, rtol=1e-5, atol=1e-8)


def test_penalty_of_a_kernel_is_the_balanced_one(K):
    """For positive definite K the penalty is (-d'b + mu b'K b) / s up to the bound on sigma."""
    b = weights()
    similarity = KernelSimilarity(K, MU)
    assert similarity.sigma <= 1e-8
    expected = (-K.sum(axis=1) @ b + MU * b @ K @ b) / K.sum()
    assert similarity.penalty(b, K @ b)[0] == pytest.approx(expected, rel=1e-7)


def test_penalty_of_a_graph_is_least_at_uniform_weights(graph):
    """At mu = 1/2; the unrepaired quadratic form is indefinite and prefers uneven weights."""
    similarity = KernelSimilarity(sparse.csr_array(graph), 0.5)
    assert np.linalg.eigvalsh(graph)[0] < -0.5
    assert similarity.sigma > 0.1
    uniform = np.ones(N)
    least, gradient = similarity.penalty(uniform, graph @ uniform)
    np.testing.assert_allclose(gradient, gradient.mean(), atol=1e-12)
    worst = np.linalg.eigh(graph)[1][:, 0]
    for direction in (worst, *np.random.default_rng(4).standard_normal((20, N))):
        step = direction - direction.mean()
        b = uniform + 0.3 * step / np.abs(step).max()
        assert similarity.penalty(b, graph @ b)[0] > least


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", ["neighbours", "ring"])
def test_sigma_is_the_smallest_eigenvalue(form, kind):
    X = np.random.default_rng(6).standard_normal((400, 2))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    near = D < np.sort(D, axis=1)[:, [8]]
    A = (near | near.T) * (1.0 - np.eye(400))
    if kind == "ring":
        A = np.roll(np.eye(400), 1, axis=0) + np.roll(np.eye(400), -1, axis=0)
    root = 1 / np.sqrt(A.sum(axis=1))
    lowest = np.linalg.eigvalsh(A * np.outer(root, root))[0]
    assert KernelSimilarity(form(A), 0.5).sigma == pytest.approx(-lowest, abs=1e-3)


def test_general_similarity():
    """Equation (6): entries by definition, clipped; cut and gradient as for a kernel."""
    rng = np.random.default_rng(5)
    S = rng.uniform(-0.5, 1, (N, N))
    S = 0.5 * (S + S.T)
    assert np.linalg.eigvalsh(S)[0] < 0
    similarity = GeneralSimilarity(S, MU)
    values, U = np.linalg.eigh(S)
    plus, minus = (U * np.maximum(values, 0)) @ U.T, (U * np.maximum(-values, 0)) @ U.T
    np.testing.assert_allclose(similarity.absolute, plus + minus, atol=1e-12)
    b = weights()
    capped = plus + minus
    capped[S > 0] = np.minimum(capped, S)[S > 0]
    assert (capped < plus + minus).any()
    W = np.add.outer(b, b) * S - MU * np.outer(b, b) * capped
    assert (W < 0).any()
    np.testing.assert_allclose(similarity.similarity(b), np.maximum(W, 0), atol=1e-12)
    cut = similarity.cuts([np.eye(3)[labels()]])[0]
    penalty = (-S.sum(axis=1) @ b + MU * b @ (plus + minus) @ b) / (plus + minus).sum()
    expected = reference.normalised_cut(np.maximum(W, 0), labels()) + penalty
    assert cut(b, 1.0)[0] == pytest.approx(expected, rel=1e-10)
    differences = finite_differences(lambda v: cut(v, 0.7)[0], b)
    np.testing.assert_allclose(cut(b, 0.7)[1], differences, rtol=1e-5, atol=1e-8)


def test_general_similarity_of_a_kernel_is_the_kernel_similarity(K):
    b = weights()
    general, kernel = GeneralSimilarity(K, MU), KernelSimilarity(K, MU)
    N_ = kernel.normalised(b)[0] @ np.eye(N)
    np.testing.assert_allclose(general.normalised(b)[0] @ np.eye(N), N_, atol=1e-12)


def test_point_without_similarity_gets_no_embedding(K):
    K = K.copy()
    K[0] = K[:, 0] = 0.0
    N_, scale = KernelSimilarity(K, MU).normalised(np.ones(N))
    assert scale[0] == 0.0 and np.isfinite(N_ @ np.eye(N)).all()


def test_cluster_without_volume_counts_as_cut_off(K):
    K = K.copy()
    K[:2] = K[:, :2] = 0.0
    Z = np.eye(2)[(np.arange(N) < 2).astype(int)]
    b = weights()
    for similarity in (KernelSimilarity(K, MU), GeneralSimilarity(K, MU)):
        cut = similarity.cuts([Z])[0]
        penalty = cut(b, 0.0)[0]
        assert cut(b, 1.0)[0] - penalty == pytest.approx(1.0, rel=1e-10)
        differences = finite_differences(lambda v, cut=cut: cut(v, 0.7)[0], b)
        np.testing.assert_allclose(cut(b, 0.7)[1], differences, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("form", ["dense", "sparse", "low rank", "general"])
def test_values_of_several_cuts(K, form):
    similarity = GeneralSimilarity(K, MU) if form == "general" else None
    similarity = similarity or KernelSimilarity(forms(K)[form], MU)
    Zs = [np.eye(3)[labels()], np.eye(2)[np.arange(N) % 2], np.eye(4)[np.arange(N) % 4]]
    cuts, b = similarity.cuts(Zs), weights()
    alone = [similarity.cuts([Z])[0](b, 0.7)[0] for Z in Zs]
    assert len({round(value, 6) for value in alone}) == 3
    np.testing.assert_allclose(similarity.values(cuts, b, 0.7), alone, rtol=1e-12)


@pytest.mark.parametrize("kind", ["kernel", "graph", "general"])
def test_points_that_count_several_times(K, graph, kind):
    """Value, gradient and embedding are those of the points written out."""
    copies = 1 + np.arange(N) % 4
    place, counts = np.repeat(range(N), copies), copies.astype(float)
    b = weights()
    S = {"kernel": K, "graph": graph, "general": K - 0.4}[kind]
    if kind == "general":
        similarity = GeneralSimilarity(counted(S, counts), MU, counts)
        whole = GeneralSimilarity(S[place][:, place], MU)
    else:
        similarity = KernelSimilarity(counted(S, counts), MU)
        whole = KernelSimilarity(S[place][:, place], MU)
        assert similarity.sigma == pytest.approx(whole.sigma, abs=2e-3)  # each to within 1e-3
        whole.sigma = similarity.sigma
    short = similarity.cuts([np.eye(3)[labels()]])[0](b, 0.7)
    long = whole.cuts([np.eye(3)[labels()[place]]])[0](b[place], 0.7)
    assert short[0] == pytest.approx(long[0], rel=1e-9)
    np.testing.assert_allclose((short[1] / counts)[place], long[1], rtol=1e-6, atol=1e-9)
    normal, scale = similarity.normalised(b)
    long_normal, long_scale = whole.normalised(b[place])
    values, vectors = np.linalg.eigh(normal @ np.eye(N))
    long_values, long_vectors = np.linalg.eigh(long_normal @ np.eye(len(place)))
    np.testing.assert_allclose(values[-3:], long_values[-3:], atol=1e-10)
    embedding = vectors[:, -3:] * scale[:, None]
    expected = long_vectors[:, -3:] * long_scale[:, None]
    np.testing.assert_allclose(
        (embedding @ embedding.T)[place][:, place], expected @ expected.T, atol=1e-9
    )
