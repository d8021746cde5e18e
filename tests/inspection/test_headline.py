"""What comes first about a fit: scores on new rows, the baseline, and what a proof proves."""

import json
import math

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, log_loss, r2_score, root_mean_squared_error

import kernelfit as kf
from kernelfit.inspection.headline import (
    fit_facts,
    headline,
    measure_classes,
    measure_numbers,
    r2_interval,
    wilson_interval,
)

X, Y = make_friedman1(120, n_features=5, noise=0.3, random_state=0)


@pytest.mark.parametrize(("right", "n"), [(0, 10), (10, 10), (37, 50), (950, 1000)])
def test_wilson_interval_is_where_the_score_test_is_just_met(right, n):
    low, high = wilson_interval(right, n)
    assert 0.0 <= low <= right / n <= high <= 1.0
    for end in (low, high):
        if 0.0 < end < 1.0:
            deviation = abs(right / n - end) / math.sqrt(end * (1.0 - end) / n)
            assert deviation == pytest.approx(1.959964, rel=1e-6)


def test_interval_of_r2_covers_and_has_its_limits():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(500):
        signal = rng.normal(size=80)
        low, high = r2_interval(signal + 0.5 * rng.normal(size=80), signal)
        inside.append(low <= 0.8 <= high)
    assert 0.91 < np.mean(inside) < 0.98
    assert r2_interval(Y, Y) == (1.0, 1.0)
    assert all(map(math.isnan, r2_interval(np.ones(9), Y[:9])))
    # In every unit and from every origin.
    moved = r2_interval(5.0 - 1e3 * Y, 5.0 - 1e3 * (Y + X[:, 0]))
    assert moved == pytest.approx(r2_interval(Y, Y + X[:, 0]))
    assert moved[0] < r2_score(Y, Y + X[:, 0]) < moved[1]


def test_interval_of_r2_is_that_of_a_jackknife():
    rng = np.random.default_rng(1)
    y = rng.normal(size=400)
    predicted = 0.7 * y + 0.4 * rng.standard_t(5, size=400)
    kept = ~np.eye(400, dtype=bool)
    logs = np.log([1.0 - r2_score(y[rows], predicted[rows]) for rows in kept])
    error = np.sqrt(399 / 400 * np.sum((logs - logs.mean()) ** 2))
    half = 1.965927 * error  # Student's t with 399 degrees of freedom
    low, high = np.log(1.0 - np.array(r2_interval(y, predicted)))
    assert low - high == pytest.approx(2.0 * half, rel=0.02)


def test_classes_are_measured_beside_the_majority_of_training():
    train, y = np.array(list("aaab")), np.array(list("abbbb"))
    predicted, p = np.array(list("abbba")), np.array([[0.9, 0.1]] + 3 * [[0.2, 0.8]] + [[0.6, 0.4]])
    facts = measure_classes(y, predicted, train, p, np.array(["a", "b"]))
    assert facts["test accuracy"] == accuracy_score(y, predicted) == 0.8
    assert facts["baseline accuracy"] == pytest.approx(0.2)  # of training, not of these rows
    assert facts["gain"] == pytest.approx(0.6)
    assert facts["test log loss"] == pytest.approx(log_loss(y, p, labels=["a", "b"]))
    assert facts["baseline log loss"] == pytest.approx(-np.log([0.75] + 4 * [0.25]).mean())
    said = dict(headline(facts))
    assert said["accuracy"] == "80.0 % on 5 held-out rows (95 % interval 37.6 % to 96.4 %, Wilson)"
    wanted = "20.0 % by always predicting 'a', on the same rows; gain +60.0 points"
    assert said["baseline"] == wanted
    unseen = measure_classes(np.array(["c", "a"]), np.array(["a", "a"]), train, p[:2], ["a", "b"])
    assert "test log loss" not in unseen and unseen["test accuracy"] == 0.5


def test_numbers_are_measured_beside_the_mean_of_training():
    predicted, train = Y + X[:, 0], Y[:40] + 1.0
    facts = measure_numbers(Y, predicted, train)
    constant = np.full(len(Y), train.mean())
    assert facts["test R2"] == pytest.approx(r2_score(Y, predicted))
    assert facts["baseline R2"] == pytest.approx(r2_score(Y, constant))
    assert facts["test RMSE"] == pytest.approx(root_mean_squared_error(Y, predicted))
    assert facts["baseline RMSE"] == pytest.approx(root_mean_squared_error(Y, constant))
    flat = measure_numbers(np.ones(5), np.ones(5), train)
    assert "test R2" not in flat and flat["test RMSE"] == 0.0
    assert [name for name, _ in headline(flat)] == ["RMSE"]


def test_a_certificate_claims_no_more_than_it_proves():
    machine = kf.KernelSVC(C=10.0, tol=1e-2).fit(X, Y > Y.mean())
    facts = fit_facts(machine)
    assert facts["relative gap"] == pytest.approx(machine.dual_gap_ / machine.objective_)
    assert "says nothing about accuracy on new rows" in facts["certificate"]
    small = fit_facts(kf.compress(machine, max_change=0.1))
    assert small["relative gap"] is None and "compressed" in small["certificate"]
    K = np.diag(np.where(np.arange(40) % 2, 1.0, -1.0))
    with pytest.warns(UserWarning, match="indefinite"):
        lost = kf.KernelSVC(kernel="precomputed").fit(K, np.arange(40) % 2)
    assert fit_facts(lost)["certificate"].startswith("none: its kernel is indefinite")
    assert "certificate" not in fit_facts(Ridge().fit(X, Y))


def test_members_without_a_proof_are_counted():
    model = kf.AutoKernelRegressor(members=["gaussian (standard)", Ridge()], random_state=0)
    facts = fit_facts(model.fit(X, Y))
    gaps = model.certificate_["machines"]
    assert facts["proved"] == np.isfinite(gaps).sum() < facts["problems"] == len(gaps)
    assert facts["relative gap"] == np.nanmax(gaps)
    assert facts["certificate"].startswith(f"{facts['proved']} of {len(gaps)} machines are trained")
    assert "Nothing is proved about the others." in facts["certificate"]
    alone = kf.AutoKernelRegressor(members=[Ridge()], random_state=0).fit(X, Y)
    assert fit_facts(alone)["relative gap"] is None
    assert fit_facts(alone)["certificate"].startswith("none: ")
    json.dumps(fit_facts(model), allow_nan=False)


def test_a_search_that_was_cut_short_is_told():
    model = kf.AutoKernelRegressor(members=["gaussian (standard)"], random_state=0).fit(X, Y)
    assert "search cut short" not in dict(headline(fit_facts(model)))
    model.cut_short_ = ["5 of 17 recipes were not tried", "rows were left out"]
    model.n_landmarks_ = 1234
    said = dict(headline(fit_facts(model) | {"training rows": 5000}))
    assert said["search cut short"] == "5 of 17 recipes were not tried; rows were left out"
    assert said["trained on"].startswith("5,000 rows, ") and "1,234 landmarks" in said["trained on"]
    assert said["score"] == "not measured: no rows were held out"


def test_what_was_foretold_says_by_what():
    y, data = make_classification(80, 4, random_state=0)[::-1]
    search = kf.KernelSVCCV([0.5], [1.0, 10.0]).fit(data, y)
    said = dict(headline(fit_facts(search)))["foretold score"]
    assert (
        said == f"{search.best_score_:.3f} by cross-validation (the parameters were chosen by it)"
    )
    model = kf.AutoKernelClassifier(members=["gaussian (standard)"], random_state=0).fit(data, y)
    assert "best member alone" in fit_facts(model)["estimated by"]
    nested = model.cv_score_
    assert fit_facts(model)["estimated score"] == nested
    assert fit_facts(model)["estimated by"] == "cross-validation of the whole fit"
