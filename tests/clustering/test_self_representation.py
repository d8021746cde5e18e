"""Sparse self-representation against its definition."""

import numpy as np
import pytest

from kernelfit.clustering.self_representation import matching_pursuit


def points(n=30, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def pursuit(x, atoms, k):
    """Orthogonal matching pursuit by its definition, one point, unit vectors."""
    chosen, left = [], x
    for _ in range(k):
        j = max(
            (j for j in range(len(atoms)) if j not in chosen), key=lambda j: abs(atoms[j] @ left)
        )
        chosen.append(j)
        coefs = np.linalg.lstsq(atoms[chosen].T, x, rcond=None)[0]
        left = x - coefs @ atoms[chosen]
    return chosen, coefs


@pytest.mark.parametrize("chunk_bytes", [2**26, 1])
def test_matching_pursuit(chunk_bytes):
    X = points(25, 8, 4)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    indices, coefs = matching_pursuit(X, X, 3, exclude_self=True, chunk_bytes=chunk_bytes)
    for i in range(len(X)):
        others = unit.copy()
        others[i] = 0.0
        chosen, expected = pursuit(unit[i], others, 3)
        np.testing.assert_array_equal(indices[i], chosen)
        np.testing.assert_allclose(coefs[i], expected, atol=1e-9)


def test_matching_pursuit_of_repeated_and_zero_points():
    X = np.array([[1.0, 0, 0], [2.0, 0, 0], [0, 1, 0], [0, 0, 0]])
    indices, coefs = matching_pursuit(X, X, 3, exclude_self=True)
    assert np.isfinite(coefs).all()
    assert indices[0, 0] == 1 and coefs[0, 0] == pytest.approx(1.0)
    np.testing.assert_array_equal(coefs[0, 1:], 0.0)
    np.testing.assert_array_equal(coefs[3], 0.0)
    for row in indices:
        assert len(set(row)) == len(row)


@pytest.mark.parametrize("scale", [1e-160, 1e-200, 1e-305])
def test_small_points_are_represented_as_large_ones(scale):
    X = points(30, 6)
    for found, expected in zip(
        matching_pursuit(scale * X, scale * X, 3, exclude_self=True),
        matching_pursuit(X, X, 3, exclude_self=True),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_points_of_a_subspace_represent_each_other():
    rng = np.random.default_rng(5)
    bases = rng.standard_normal((2, 3, 20))
    X = np.vstack([rng.standard_normal((15, 3)) @ basis for basis in bases])
    indices, coefs = matching_pursuit(X, X, 3, exclude_self=True)
    for i in range(30):
        assert np.all(indices[i][coefs[i] != 0] // 15 == i // 15)
