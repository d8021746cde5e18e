import numpy as np
import pandas as pd
import pytest

import kernelfit
from kernelfit.ensemble.prepared import TableEstimator


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=40), "colour": list("rgby") * 10, "z": 1.0})
    frame.loc[::7, "x"] = np.nan
    return frame


def test_estimators_of_numbers_read_tables(frame, tmp_path):
    y = np.where(frame["colour"].isin(["r", "g"]), "yes", "no")
    model = TableEstimator(kernelfit.KernelSVC(), target="answer").fit(frame, y)
    assert model.names_ == ["x", "colour", "z"]
    # Nothing that is constant.
    names = ["x", "x is missing", *(f"colour = {one}" for one in "bgry")]
    assert list(model.features(frame)) == list(model.estimator_.feature_names_in_) == names
    assert (model.predict(frame[["z", "colour", "x"]]) == y).all()
    again = kernelfit.load(kernelfit.save(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.features(frame), model.features(frame))


def test_ensembles_get_the_frame(frame):
    inner = kernelfit.AutoKernelRegressor(members=["gaussian (standard)"], cv=2, random_state=0)
    y = frame["x"].fillna(0.0) + (frame["colour"] == "r")
    model = TableEstimator(inner).fit(frame, y)
    assert list(model.features(frame)) == model.names_
    np.testing.assert_array_equal(model.predict(frame), model.estimator_.predict(frame))
    low, high = model.predict_interval(frame, 0.2).T
    assert (low <= high).all()


def test_a_failed_fit_leaves_the_estimator_as_it_was(frame):
    model = TableEstimator(kernelfit.KernelSVC())
    with pytest.raises(ValueError):
        model.fit(frame, np.zeros(40))
    assert not hasattr(model, "names_")
