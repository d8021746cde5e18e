"""Kernel matrices against what the estimators say of them, by plain formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelfit as kf
from kernelfit.inspection import kernel_matrices
from kernelfit.inspection.matrices import sorted_rows

X, Y = make_moons(50, noise=0.2, random_state=0)
IRIS, CLASSES = load_iris(return_X_y=True)
ROWS = np.array([40, 3, 17])


def gaussian(A, gamma):
    return np.exp(-gamma * ((A[:, None] - A[None]) ** 2).sum(axis=2))


def test_a_given_kernel_has_no_initial_one():
    found = kernel_matrices(kf.KernelSVC(gamma=0.7).fit(X, Y), X, rows=ROWS)
    assert_allclose(found.learned, gaussian(X[ROWS], 0.7))
    assert found.initial is None
    assert found.rows.tolist() == ROWS.tolist()


def test_a_given_matrix():
    K = gaussian(X, 0.7)
    found = kernel_matrices(kf.KernelSVC(kernel="precomputed").fit(K, Y), K, rows=ROWS)
    assert_allclose(found.learned, K[np.ix_(ROWS, ROWS)])


@pytest.mark.parametrize("cls", [kf.DANKClassifier, kf.KNPLClassifier])
def test_factor(cls):
    model = cls(C=5.0, gamma=0.7).fit(X, Y)
    rows = model.support_
    found = kernel_matrices(model, X, rows=rows)
    F = model.adaptive_matrix_[np.ix_(rows, rows)]
    assert_allclose(found.initial, gaussian(X[rows], 0.7))
    assert_allclose(found.learned, F * found.initial)
    assert np.ptp(F) > 0.0


def test_factor_on_the_rows_of_a_pair_of_classes():
    model = kf.DANKClassifier(gamma=0.7).fit(IRIS, CLASSES)
    found = kernel_matrices(model, IRIS, problem=1)
    assert len(model.adaptive_matrix_) == 3
    assert_allclose(
        found.learned, model.adaptive_matrix_[1] * gaussian(IRIS[found.rows], 0.7), atol=1e-12
    )


def test_positive_matrix_begins_with_the_identity():
    model = kf.TKLClassifier(C=5.0).fit(X, Y)
    found = kernel_matrices(model, X)
    assert_allclose(np.trace(found.initial), len(X))  # the scale makes it so
    assert_allclose(found.learned, model.kernel_(X, X))
    assert np.abs(found.learned - found.initial).max() > 0.1


def test_bank():
    bank = [{"kernel": "rbf", "gamma": (0.1, 1.0)}, {"kernel": "linear"}]
    model = kf.MKLClassifier(kernels=bank).fit(X, Y)
    found = kernel_matrices(model, X)
    parts = np.array([kernel(X) for kernel in model.bank_])
    assert_allclose(found.learned, np.tensordot(model.weights_, parts, 1), atol=1e-12)
    assert_allclose(found.initial, model.weights_.sum() * parts.mean(axis=0), atol=1e-12)
    stack = np.moveaxis(parts, 0, -1)
    given = kf.MKLClassifier(kernels="precomputed").fit(stack, Y)
    assert_allclose(kernel_matrices(given, stack).learned, found.learned, atol=1e-3)


def test_clustering():
    model = kf.CDSKClustering(2, affinity="rbf", random_state=0).fit(X)
    found = kernel_matrices(model, X, rows=ROWS)
    b, mu = model.weights_[ROWS], model.mu_
    K = gaussian(X[ROWS], model.gamma_)
    assert_allclose(found.initial, K)
    assert_allclose(found.learned, (b[:, None] + b[None] - mu * b[:, None] * b[None]) * K)
    sparse = kf.CDSKClustering(2, affinity="nearest_neighbors", random_state=0).fit(X)
    assert kernel_matrices(sparse, X, rows=ROWS).learned.shape == (3, 3)
    assert kernel_matrices(kf.KernelKMeans(2, random_state=0).fit(X), X).initial is None


def test_clustering_of_a_table_is_in_the_order_of_its_rows():
    """Whose different rows it sorts."""
    twice = np.vstack([X, X[::-1]])
    model = kf.KernelClustering(2, random_state=0).fit(twice)
    K = kernel_matrices(model, twice).learned
    n = len(X)
    assert_allclose(K[:n, :n], K[n:, n:][::-1, ::-1])
    found = kf.CDSKClustering(2, affinity="precomputed", max_iter=0, random_state=0).fit(K)
    assert adjusted_rand_score(found.labels_, model.labels_) == 1.0
    chosen = kernel_matrices(model, twice, rows=ROWS).learned
    assert_allclose(chosen, K[np.ix_(ROWS, ROWS)])


def test_ensemble_is_the_weighted_sum_of_its_members():
    model = kf.AutoKernelClassifier(members=["gaussian", "laplacian"], random_state=0).fit(X, Y)
    found = kernel_matrices(model, X)
    assert_allclose(np.trace(found.learned), len(X))  # weights sum to one
    assert_allclose(np.diagonal(found.initial), 1.0)
    assert np.linalg.eigvalsh(found.learned).min() > -1e-9


def test_searches_and_pipelines_are_looked_into():
    model = make_pipeline(StandardScaler(), kf.KernelSVCCV([0.5], [1.0])).fit(X, Y)
    assert_allclose(kernel_matrices(model, X).learned, gaussian(model[0].transform(X), 0.5))


def test_complaints():
    model = kf.KernelSVC().fit(X, Y)
    with pytest.raises(ValueError, match=r"expected problem to be one of 0 \.\. 0, got 1"):
        kernel_matrices(model, X, problem=1)
    with pytest.raises(ValueError, match="expected an estimator of kernelfit with a kernel"):
        kernel_matrices(SVC().fit(X, Y), X)


def test_rows_are_sorted_and_evenly_spaced():
    labels = np.array(list("babcab"))
    assert labels[sorted_rows(labels, 6, 10)].tolist() == sorted(labels)
    assert sorted_rows(None, 11, 3).tolist() == [0, 5, 10]
