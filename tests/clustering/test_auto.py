"""KernelClustering: tables as they come, choices without labels, and their reasons."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from kernelfit import CDSKClustering, KernelClustering


def blobs(n=150, centers=3, seed=0, **options):
    return make_blobs(n, centers=centers, n_features=3, random_state=seed, **options)


@pytest.mark.parametrize("centers", [2, 3, 5])
def test_the_number_of_clear_clusters_is_found(centers):
    X, y = blobs(120, centers, seed=1, cluster_std=0.6)
    model = KernelClustering(max_clusters=7, random_state=0).fit(X)
    assert model.n_clusters_ == centers
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.embedding_.shape == (120, centers)


@pytest.mark.parametrize("make", [make_moons, lambda *a, **k: make_circles(*a, factor=0.4, **k)])
def test_clusters_of_any_shape(make):
    X, y = make(200, noise=0.04, random_state=0)
    model = KernelClustering(2, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_a_given_number_is_kept():
    X, _ = blobs()
    for number in (1, 2, 7):
        model = KernelClustering(number, random_state=0).fit(X)
        assert model.n_clusters_ == number == len(np.unique(model.labels_))


def test_units_do_not_matter():
    """Columns in different units are standardised, so that a change of units changes nothing."""
    X, y = load_wine(return_X_y=True)
    model = KernelClustering(3, random_state=0).fit(X)
    assert model.scaling_ == "standard"
    other = KernelClustering(3, random_state=0).fit(X * 2.0 ** np.arange(-6, 7))
    np.testing.assert_array_equal(model.labels_, other.labels_)
    assert adjusted_rand_score(y, model.labels_) > 0.75


def test_columns_in_one_unit_are_left_as_they_are():
    X, _ = load_iris(return_X_y=True)
    assert KernelClustering(3, random_state=0).fit(X).scaling_ == "given"
    model = KernelClustering(3, scaling="ranks", random_state=0).fit(X)
    assert model.scaling_ == "ranks"
    assert "asked for" in model.explanation_


def test_a_frame_with_categories_and_missing_values():
    pd = pytest.importorskip("pandas")
    X, y = blobs(120, 3, cluster_std=0.5)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["colour"] = np.array(["red", "green", "blue"])[y]
    frame.loc[::10, "a"] = np.nan
    model = KernelClustering(max_clusters=5, random_state=0).fit(frame)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) == 1.0
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    new = frame.iloc[:5].copy()
    new["b"] = np.nan  # never missing in training
    new["colour"] = "violet"  # unknown
    assert model.predict(new).shape == (5,)


def test_candidates_and_explanation():
    X, _ = blobs()
    model = KernelClustering(max_clusters=4, random_state=0).fit(X)
    table = model.candidates_
    n = len(table["graph"])
    assert {len(column) for column in table.values()} == {n}
    assert set(table["n_clusters"]) == {2, 3, 4}
    assert table["graph"][0] == model.graph_
    assert table["n_clusters"][0] == model.n_clusters_
    assert np.all(table["stability"] <= 1.0) and np.all(table["agreement"] <= 1.0)
    text = model.explanation_
    assert model.graph_ in text and "Units:" in text and "Number of clusters: 3" in text


def test_new_rows_follow_their_cluster():
    X, y = blobs(200, 3, cluster_std=0.6)
    model = KernelClustering(3, random_state=0).fit(X[:150])
    np.testing.assert_array_equal(model.predict(X[:150]), model.labels_)
    assert adjusted_rand_score(y[150:], model.predict(X[150:])) == 1.0


@pytest.mark.parametrize("number", ["auto", 3])
def test_weights_are_repeated_rows(number):
    X, _ = blobs(90, 3, cluster_std=2.0)
    weight = np.random.default_rng(1).integers(0, 4, 90)
    order = np.random.default_rng(2).permutation(90)
    model = KernelClustering(number, max_clusters=5, random_state=0)
    weighted = clone(model).fit(X[order], sample_weight=weight[order])
    repeated = clone(model).fit(np.repeat(X, weight, axis=0))
    assert weighted.graph_ == repeated.graph_
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    np.testing.assert_array_equal(weighted.labels_, weighted.predict(X[order]))


def test_threads_and_pickles_change_nothing():
    X, _ = blobs(150, 4, cluster_std=3.0)
    models = [
        KernelClustering(max_clusters=5, random_state=3, n_jobs=n_jobs).fit(X)
        for n_jobs in (None, 2)
    ]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    np.testing.assert_array_equal(models[0].candidates_["score"], models[1].candidates_["score"])
    copy = pickle.loads(pickle.dumps(models[0]))
    np.testing.assert_array_equal(copy.predict(X[:9] + 0.1), models[0].predict(X[:9] + 0.1))


def test_many_rows_are_judged_on_a_sample():
    X, y = blobs(600, 3, cluster_std=0.6)
    model = KernelClustering(3, random_state=0).fit(X)
    assert "500 of 600" in model.explanation_
    assert adjusted_rand_score(y, model.labels_) == 1.0


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_few_rows(n):
    X = np.arange(2.0 * n).reshape(n, 2)
    model = KernelClustering(random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == model.n_clusters_ <= n
    assert model.explanation_


def test_equal_rows_are_one_cluster():
    model = KernelClustering(random_state=0).fit(np.ones((30, 2)))
    assert model.n_clusters_ == 1
    np.testing.assert_array_equal(model.predict([[1.0, 1.0], [5.0, 5.0]]), [0, 0])


def test_bad_parameters_leave_the_model_as_it_was():
    X, _ = blobs(60)
    model = KernelClustering(2, random_state=0).fit(X)
    before = model.labels_
    for bad in ({"n_clusters": 61}, {"n_clusters": True}, {"n_clusters": "many"}, {"scaling": 1}):
        with pytest.raises(ValueError):
            model.set_params(**{"n_clusters": 2, "scaling": "auto", **bad}).fit(X)
        assert model.labels_ is before
    few = KernelClustering(2, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(few.labels_, before)


def test_the_clusters_are_those_of_spectral_clustering():
    X, _ = blobs(150, 3, cluster_std=1.5)
    model = KernelClustering(3, random_state=0).fit(X)
    K = model.model_.affinity_matrix_
    plain = CDSKClustering(3, affinity="precomputed", max_iter=0, random_state=0).fit(K)
    assert adjusted_rand_score(model.model_.labels_, plain.labels_) > 0.95


@pytest.mark.parametrize("scaling", ["auto", "given"])
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-160, 1e160, 1e200])
def test_the_common_unit_of_the_columns_does_not_matter(scale, scaling):
    y = np.repeat(np.arange(3), 30)
    X = np.tile(4.0 * np.eye(3)[y], 2)
    X += 0.4 * np.random.default_rng(0).standard_normal(X.shape)
    model = KernelClustering(scaling=scaling, max_clusters=6, random_state=0).fit(X * scale)
    assert model.scaling_ == "given"
    assert adjusted_rand_score(y, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(X * scale * (1.0 + 1e-6)), model.labels_)


@pytest.mark.parametrize("n_rows", [2, 3, 4])
def test_a_few_repeated_rows_are_clusters(n_rows):
    rows = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 3.0], [5.0, 1.0]])[:n_rows]
    model = KernelClustering(random_state=0).fit(np.repeat(rows, 20, axis=0))
    assert model.n_clusters_ == n_rows == len(np.unique(model.labels_[::20]))
    assert f"{n_rows} different rows, each of them repeated" in model.explanation_
    weighted = KernelClustering(random_state=0).fit(rows, sample_weight=np.full(n_rows, 20.0))
    np.testing.assert_array_equal(weighted.labels_, model.labels_[::20])
    once = KernelClustering(random_state=0).fit(rows)
    assert once.n_clusters_ == 1
    assert f"1 cluster of {n_rows} different rows cannot" in once.explanation_


def test_fewer_clusters_are_told_in_its_own_name():
    expected = r"^KernelClustering found 1 cluster, fewer than n_clusters=3: there is only 1 diff"
    with pytest.warns(ConvergenceWarning, match=expected):
        KernelClustering(3, random_state=0).fit(np.ones((9, 2)))


def test_columns_that_vary_by_rounding_are_told():
    X = np.random.default_rng(0).standard_normal((30, 2)) + 8.0 * (np.arange(30) < 15)[:, None]
    with pytest.warns(ConvergenceWarning, match="there is only 1 different point up to rounding$"):
        KernelClustering(2, random_state=0).fit(X + 1e16)  # whose last digit is 2


@pytest.mark.parametrize("scaling", ["auto", "standard"])
@pytest.mark.parametrize("n_features", [2, 40])
def test_digits_that_there_are_are_used(scaling, n_features):
    y = np.repeat(np.arange(3), 30)
    X = 0.5 * np.random.default_rng(0).standard_normal((90, n_features))
    X[:, :2] += 8.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[y]
    X[:, 2:] += X[:, :1]
    model = KernelClustering(scaling=scaling, random_state=0).fit(X + 1e15)  # in steps of 0.125
    assert adjusted_rand_score(y, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(X + 1e15), model.labels_)
    np.testing.assert_array_equal(model.predict(X + 1e15 + 0.125), model.labels_)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ([0], "there is one column of numbers, left as it is"),
        ([0, 1], "one column varies, left as it is"),
        ([1, 1], "no column varies, left as it is"),
    ],
)
def test_columns_that_vary_are_counted(columns, words):
    table = np.column_stack((np.random.default_rng(0).standard_normal(20), np.ones(20)))
    model = KernelClustering(1, random_state=0).fit(table[:, columns])
    assert f"Units: {words}." in model.explanation_


def test_a_pickle_has_no_graphs():
    X = np.random.default_rng(0).standard_normal((400, 2))
    model = KernelClustering(2, random_state=0).fit(X)
    assert len(pickle.dumps(model)) < 200_000
    K = model.model_.affinity_matrix_
    assert np.shape(K) == (400, 400) and abs(K - K.T).max() < 1e-12


def test_reasons_of_few_rows_name_the_number():
    X = np.random.default_rng(0).standard_normal((5, 3))
    assert (
        "Number of clusters: 2, the only one"
        in KernelClustering(random_state=0).fit(X).explanation_
    )
    assert "Number" not in KernelClustering(2, random_state=0).fit(X).explanation_


def test_values_far_beyond_those_of_the_training_are_refused():
    model = KernelClustering(2, random_state=0).fit(1e-3 * blobs(40)[0])
    with pytest.raises(ValueError, match=r"values of at most 1e\+150 times the size of those in"):
        model.predict([[1e152, 0.0, 0.0]])
