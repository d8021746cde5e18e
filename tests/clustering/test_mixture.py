"""The mean of several affinities against its definition."""

import numpy as np
import pytest
from scipy import sparse

from kernelfit.clustering.affinities import NeighbourAffinity, RBFAffinity, SelfTuningAffinity
from kernelfit.clustering.mixture import MixedAffinity

MAKERS = {
    "sparse": lambda: [NeighbourAffinity(3, None), NeighbourAffinity(6, None)],
    "dense": lambda: [RBFAffinity(0.5, 1), SelfTuningAffinity()],
    "both": lambda: [NeighbourAffinity(3, None), RBFAffinity(0.5, 1)],
}


def as_array(K):
    return K.toarray() if sparse.issparse(K) else K


@pytest.mark.parametrize("kind", MAKERS)
def test_mean_of_normalised_affinities(kind):
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(30, 3)), rng.integers(1, 4, 30).astype(float)
    mixed = MixedAffinity(MAKERS[kind]())
    K = mixed.fit(X, counts, np.matmul)
    assert sparse.issparse(K) == (kind == "sparse")
    expected = np.zeros((30, 30))
    for part in MAKERS[kind]():
        P = as_array(part.fit(X, counts, np.matmul))
        degrees = P @ counts
        expected += P / np.sqrt(np.outer(degrees, degrees)) / 2.0
    np.testing.assert_allclose(as_array(K), expected, atol=1e-14)
    np.testing.assert_array_equal(as_array(mixed.matrix()), as_array(K))
    np.testing.assert_allclose(as_array(K), as_array(K).T, rtol=1e-14)


@pytest.mark.parametrize("kind", MAKERS)
def test_new_points_are_alike_to_their_surroundings(kind):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)), 20.0 + rng.normal(size=(20, 2))])
    counts = rng.integers(1, 4, 40).astype(float)
    mixed = MixedAffinity(MAKERS[kind]())
    mixed.fit(X, counts, np.matmul)
    C = as_array(mixed.cross(np.array([[0.0, 0.5], [500.0, 500.0]])))
    assert C.shape == (2, 40) and C.min() >= 0.0
    np.testing.assert_allclose(C @ counts, 1.0, atol=0.5)
    assert C[0, :20] @ counts[:20] > 0.9 * (C[0] @ counts)
    assert C[1, 20:] @ counts[20:] > 0.9 * (C[1] @ counts)
