"""Models come back from files as they were, to the last bit."""

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import kernelfit
from kernelfit.io.encoding import Encoder
from kernelfit.kernels.radial import RBF
from kernelfit.kernels.standard import Linear
from tests.io import models

STORED = Path(__file__).parent / "model_v1.kernelfit"


def contents(value):
    """Return a value taken apart: JSON and bytes that are equal for equal values."""
    encoder = Encoder()
    root = encoder.encode(value, "it")
    arrays = [a.astype(a.dtype.newbyteorder("<")) for a in encoder.arrays]
    arrays = [(a.dtype.str, a.shape, a.tobytes("A")) for a in arrays]
    return root, encoder.objects, arrays


def assert_equal(value, again):
    assert type(again) is type(value)
    if sparse.issparse(value):
        value, again = value.toarray(), again.toarray()
    if isinstance(value, np.ndarray):
        assert value.dtype == again.dtype
        np.testing.assert_array_equal(again, value, strict=True)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", models.NAMES)
def test_every_estimator_comes_back(name, tmp_path):
    for estimator in models.variants(name):
        blank = kernelfit.load(kernelfit.save(estimator, tmp_path / "blank"))
        assert repr(blank) == repr(estimator)
        models.fit(estimator)
        said = models.results(estimator)
        again = kernelfit.load(kernelfit.save(estimator, tmp_path / "fitted"))
        assert contents(again) == contents(estimator)
        for method, value in models.results(again).items():
            assert_equal(said[method], value)
        assert again.get_params().keys() == estimator.get_params().keys()


@pytest.mark.parametrize("name", ["AutoKernelRegressor", "KernelClustering", "TKLClassifier"])
def test_skops_keeps_them_too(name):
    skops = pytest.importorskip("skops.io")
    (estimator, *_) = models.variants(name)
    said = models.results(models.fit(estimator))
    data = skops.dumps(estimator)
    unknown = skops.get_untrusted_types(data=data)
    assert any(kind.startswith("kernelfit.") for kind in unknown)
    again = models.results(skops.loads(data, trusted=unknown))
    for method, value in said.items():
        assert_equal(value, again[method])


def test_ensembles_keep_what_they_compute_later(tmp_path):
    (first, *_) = models.variants("AutoKernelRegressor")
    models.fit(first)
    shares, new = first.feature_importances_, models.points(first)[1]
    again = kernelfit.load(kernelfit.save(first, tmp_path / "model"))
    assert_equal(shares, again.feature_importances_)
    assert_equal(first.predict_interval(new), again.predict_interval(new))


@pytest.mark.parametrize("number", [0, 1])
def test_pipelines_come_back(number, tmp_path):
    pipeline = models.fit(models.pipelines()[number])
    again = kernelfit.load(kernelfit.save(pipeline, tmp_path / "model"))
    assert_equal(pipeline.predict(models.data(31)[0]), again.predict(models.data(31)[0]))


def test_frames_names_and_sparse_points_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, _ = models.data()
    frame = pd.DataFrame(X, columns=["größe", "b", "c"]).assign(colour=list("rgb") * 8)
    auto = kernelfit.AutoKernelClassifier(members=["gaussian (standard)"], cv=2).fit(frame, y)
    again = kernelfit.load(kernelfit.save(auto, tmp_path / "auto"))
    assert_equal(auto.feature_names_in_, again.feature_names_in_)
    assert_equal(auto.predict_proba(frame), again.predict_proba(frame))
    thin = sparse.csr_array(np.where(X > 0, X, 0.0))
    machine = kernelfit.KernelSVC().fit(thin, y)
    again = kernelfit.load(kernelfit.save(machine, tmp_path / "machine"))
    assert_equal(machine.support_vectors_, again.support_vectors_)
    assert_equal(machine.decision_function(thin), again.decision_function(thin))


def test_kernels_come_back(tmp_path):
    kernel = 2.0 * RBF(gamma=[0.1, 0.2, 0.3]) + Linear()
    again = kernelfit.load(kernelfit.save(kernel, tmp_path / "kernel"))
    assert again == kernel


def test_values_of_all_kinds_come_back(tmp_path):
    machine = kernelfit.KernelSVC()
    values = {
        "numbers": [1, 2**70, 0.1, -0.0, np.inf, np.float32(0.1), np.int8(-3), np.bool_(True)],
        "long": [0.1] * 300,
        "texts": tuple(f"é{k}" for k in range(300)),
        "sets": [{1, "a"}, frozenset({2.5})],
        "arrays": [
            np.arange(6.0).reshape(2, 3).T,
            np.array(3.0),
            np.zeros((0, 4)),
            np.array([[True, False]]),
            np.array(["a", "größe"]),
            np.array([b"x"]),
            np.array([1 + 2j]),
            np.arange(5, dtype=">i4"),
            np.array([None, "a", 1.5], dtype=object),
            np.ma.array([1.0, 2.0], mask=[False, True]),
        ],
        "nested": {(1, 2): {"a": None}},
    }
    machine.values_ = values
    again = kernelfit.load(kernelfit.save(machine, tmp_path / "model")).values_
    assert contents(again) == contents(values)
    assert [type(one) for one in again["numbers"]] == [type(one) for one in values["numbers"]]
    assert again["arrays"][0].flags.f_contiguous
    assert again["arrays"][7].tolist() == [0, 1, 2, 3, 4]
    assert again["arrays"][9].mask.tolist() == [False, True]


def test_what_is_shared_is_shared_again(tmp_path):
    search = models.fit(kernelfit.KernelSVCCV([1.0], [1.0, 2.0], cv=2, n_average=2))
    again = kernelfit.load(kernelfit.save(search, tmp_path / "model"))
    assert again.best_estimator_ is again.estimators_[0]


def test_equal_models_give_equal_files(tmp_path):
    first, second = (models.fit(kernelfit.TKLClassifier()) for _ in range(2))
    files = [kernelfit.save(m, tmp_path / str(k)) for k, m in enumerate((first, second))]
    assert files[0].read_bytes() == files[1].read_bytes()
    with zipfile.ZipFile(files[0]) as archive:
        assert np.load(archive.open("float64.npy")).ndim == 1


def own_kernel(X, Y):
    return X @ Y.T


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (kernelfit.KernelSVC(kernel=own_kernel), "function own_kernel as KernelSVC.kernel"),
        (kernelfit.KernelSVC(kernel=lambda X, Y: X @ Y.T), "function <lambda>"),
        (
            kernelfit.ForestKernel(random_state=np.random.RandomState(0)),
            "an integer or None as ForestKernel.random_state, got a RandomState",
        ),
        (kernelfit.KernelSVC(C=-1.0), "'C' parameter"),
        (LogisticRegression(), "LogisticRegression"),
        (3.0, "expected an estimator or a kernel"),
    ],
)
def test_what_cannot_be_saved_is_refused(estimator, message, tmp_path):
    with pytest.raises(ValueError, match=message) as caught:
        kernelfit.save(estimator, tmp_path / "model")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_fitted_machines_of_own_kernels_are_refused(tmp_path):
    with pytest.raises(ValueError, match="function own_kernel"):
        kernelfit.save(models.fit(kernelfit.KernelSVC(kernel=own_kernel)), tmp_path / "model")


def test_a_failed_save_leaves_the_old_file(tmp_path):
    file = kernelfit.save(kernelfit.KernelSVC(C=2.0), tmp_path / "model")
    with pytest.raises(ValueError, match="function own_kernel"):
        kernelfit.save(kernelfit.KernelSVC(kernel=own_kernel), file)
    assert kernelfit.load(file).C == 2.0


def test_pickle_keeps_working(tmp_path):
    machine = models.fit(kernelfit.TKLClassifier())
    again = kernelfit.load(kernelfit.save(machine, tmp_path / "model"))
    for one in (machine, again):
        copy = pickle.loads(pickle.dumps(one))
        assert_equal(machine.predict(models.data()[0]), copy.predict(models.data()[0]))


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "no" / "x", tmp_path / "folder"):
        with pytest.raises(OSError, match=r"\]") as caught:
            kernelfit.save(kernelfit.KernelSVC(), path)
        assert caught.value.filename == str(path) and caught.value.filename2 is None
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_a_missing_file_is_told_as_such(tmp_path):
    with pytest.raises(FileNotFoundError):
        kernelfit.load(tmp_path / "none")


def test_stored_file_of_format_1_is_read():
    """Saved by 0.1.0.dev0 from `models.stored`, fitted; later versions must go on to read it.

    Parameters that estimators have got since then have their defaults.
    """
    model = kernelfit.load(STORED)
    values = model.decision_function([[0.1, 0.2, 0.3], [-1.0, 0.5, 2.0]])
    known = [[2.1993575175305, -0.2020825663331, 1.0163730509971]]
    known += [[2.0975902101516, -0.1002410434038, 1.0052752728424]]
    np.testing.assert_allclose(values, known, rtol=1e-9)
    assert model.named_steps["search"].best_params_ == {"C": 2.0, "gamma": 0.5}
