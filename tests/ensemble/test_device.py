"""AutoKernel on a device: the same ensemble as on the processor, and clear words otherwise."""

import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_friedman1

from kernelfit import AutoKernelClassifier, AutoKernelRegressor
from kernelfit.ensemble import assemble as assemble_module
from kernelfit.ensemble import engine as engine_module
from kernelfit.ensemble import search as search_module
from kernelfit.ensemble import training as training_module
from kernelfit.ensemble.engine import choose_engine
from kernelfit.ensemble.features import Data
from kernelfit.ensemble.members import Member, Recipe, default_recipes
from kernelfit.ensemble.part import Machines, TrainingPart
from kernelfit.ensemble.training import n_landmarks
from kernelfit.inspection import audit
from tests.reference.devices import devices

KERNELS = ["gaussian", "exponential", "laplacian", "additive", "spline", "forest"]
FEW = ["gaussian (standard)", "laplacian (ranks)", "forest (standard)"]


def data(n=90, seed=0):
    X, y = make_friedman1(n, n_features=5, noise=0.3, random_state=seed)
    Y = np.column_stack([y - y.mean(), np.sign(y - y.mean())])
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, n)
    return Data(X, np.zeros(5, dtype=bool), Y, None, weight)


@pytest.mark.parametrize("make", [AutoKernelClassifier, AutoKernelRegressor])
def test_without_torch_or_a_gpu_one_sentence(make, monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = make(device="cuda")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "torch", None)
        with pytest.raises(ImportError, match='device="cuda" needs torch: pip install'):
            model.fit(X, y)
    assert not hasattr(model, "members_")
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match='device="cuda" needs a GPU that torch can use'):
        model.fit(X, y)
    with pytest.raises(ValueError, match='expected device None, "cpu" or "cuda", got'):
        make(device="gpu").fit(X, y)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_and_machines_are_those_of_the_processor(kernel, device):
    rows, other = data(), data(20, 1).table
    recipe = Recipe(kernel, widths=(0.3, 2.0), ridges=(1e-2, 1.0))
    parts = [TrainingPart(rows, 0, place) for place in (None, device)]
    here, there = (part.scores(recipe, recipe.widths, recipe.ridges, other)[0] for part in parts)
    assert here.shape == (2, 2, 20, 2)
    assert_allclose(there, here, rtol=1e-9, atol=1e-9)
    member = Member(recipe, 0.3, 1e-2)
    machines = [part.fit(member) for part in parts]
    assert all(machine.gap < 1e-12 for machine in machines)
    values = [Machines([machine])(other, device) for machine in machines]
    assert_allclose(values[1], values[0], rtol=1e-9, atol=1e-9)
    assert_allclose(values[0], Machines(machines[:1])(other), rtol=1e-9, atol=1e-9)
    # Landmarks: kernel values of the device, the rest on the processor.
    parts = [TrainingPart(rows, 0, place, n_landmarks=40) for place in (None, device)]
    spanned = [Machines([part.fit(member)])(other, device) for part in parts]
    assert_allclose(spanned[1], spanned[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("few", [1000, 10])  # rows up to which the processor solves them
def test_support_vector_machines(few, device, monkeypatch):
    monkeypatch.setattr(engine_module, "_FEW_ROWS", few)
    rows, other = data(), data(20, 1).table
    rows = Data(rows.table, rows.roles, np.sign(rows.targets), None, rows.weight)
    recipe = Recipe("gaussian", widths=(1.0,), ridges=(0.1,), loss="hinge")
    here, there = (TrainingPart(rows, 0, place) for place in (None, device))
    assert_allclose(
        there.scores(recipe, (1.0,), (0.1, 1.0), other)[0],
        here.scores(recipe, (1.0,), (0.1, 1.0), other)[0],
        atol=1e-6,
    )
    machine, expected = (part.fit(Member(recipe, 1.0, 0.1)) for part in (there, here))
    assert machine.gap <= 1e-3
    values = Machines([machine])(other, device)
    assert_allclose(values, Machines([expected])(other), atol=1e-6 if few > 90 else 0.1)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("make", [AutoKernelClassifier, AutoKernelRegressor])
def test_ensemble_is_that_of_the_processor(make, device):
    X, y = make_friedman1(150, n_features=5, noise=0.3, random_state=0)
    y = np.digitize(y, [12.0, 17.0]) if make is AutoKernelClassifier else y
    options = {"members": [*FEW, "gaussian SVM"][: 3 + (make is AutoKernelClassifier)]}
    options |= {"random_state": 0, "cv": 3}
    here = make(**options).fit(X[:110], y[:110])
    there = make(device=device, n_jobs=2, **options).fit(X[:110], y[:110])
    assert there.members_ == here.members_
    assert_allclose(there.weights_, here.weights_, atol=1e-6)
    predict = "predict_proba" if make is AutoKernelClassifier else "predict"
    expected = getattr(here, predict)(X[110:])
    assert_allclose(getattr(there, predict)(X[110:]), expected, rtol=1e-6, atol=1e-6)
    assert audit(there, X[:110], y[:110]).confirmed
    again = pickle.loads(pickle.dumps(there))
    assert_array_equal(getattr(again, predict)(X[110:]), getattr(there, predict)(X[110:]))
    # What was trained there predicts here.
    again.set_params(device=None)
    assert_allclose(getattr(again, predict)(X[110:]), expected, rtol=1e-6, atol=1e-6)
    if make is AutoKernelRegressor:
        assert_allclose(there.predict_interval(X[110:]), here.predict_interval(X[110:]), rtol=1e-6)
        assert_allclose(there.feature_importances_, here.feature_importances_, atol=1e-6)


@pytest.mark.parametrize("device", devices())
def test_many_rows_are_trained_exactly_where_the_device_has_room(device, monkeypatch):
    monkeypatch.setattr(search_module, "RACE_ROWS", 80)
    for module in (search_module, assemble_module):
        monkeypatch.setattr(module, "MAX_ROWS", 160)
    monkeypatch.setattr(training_module, "MANY_ROWS", 200)
    monkeypatch.setattr(training_module, "_LANDMARKS", 100)
    monkeypatch.setattr(engine_module, "_MAX_MATRIX_BYTES", 8 * 100**2)
    X, y = make_friedman1(450, n_features=5, noise=0.5, random_state=1)
    options = {"members": FEW, "random_state": 0, "n_jobs": 2}
    here = AutoKernelRegressor(**options).fit(X[:400], y[:400])
    assert here.training_.startswith("100 landmarks of 400 rows")
    there = AutoKernelRegressor(device=device, **options).fit(X[:400], y[:400])
    assert there.training_.startswith("exact on 400 rows")
    assert np.max(there.certificate_["machines"]) < 1e-12
    assert there.score(X[400:], y[400:]) > here.score(X[400:], y[400:]) - 0.02
    monkeypatch.setattr(engine_module, "planned_bytes", lambda *_: 60.0 * 400**2)
    small = AutoKernelRegressor(device=device, **options).fit(X[:400], y[:400])
    assert small.training_.startswith("100 landmarks of 400 rows")
    assert_allclose(small.predict(X[400:]), here.predict(X[400:]), rtol=1e-4)


@pytest.mark.parametrize("device", devices())
def test_time_is_forecast_for_the_device(device):
    engine = choose_engine(device)
    assert n_landmarks(300, np.inf, engine) is None
    assert n_landmarks(3000, 0.0, engine) == 200
    assert 0.0 < engine.seconds(1e6) < engine.seconds(1e9)


def test_forests_do_not_depend_on_the_number_of_jobs():
    recipes = [one for one in default_recipes(5, False) if one.kernel == "forest"]
    for recipe in recipes:
        alone, together = (TrainingPart(data(), 0, None, jobs).features(recipe) for jobs in (1, 2))
        assert_array_equal(alone(data().table), together(data().table))
