"""The machines along a path of growing costs."""

import numpy as np
from sklearn.base import clone

from kernelfit.estimators.machine import KernelMachine
from kernelfit.selection.values import positive
from kernelfit.utils.threads import threads_for
from kernelfit.utils.validation import check_weights


def path(estimator, X, y, Cs, *, sample_weight=None):
    """Train a machine for several costs, in much less time than one by one.

    What does not depend on C is computed once, and the solution for one cost is where the next one
    starts.

    Parameters
    ----------
    estimator : kernel machine with a cost C
        Such as KernelSVC, KernelRidgeRegressor or TKLClassifier, unfitted; it is not changed. Its
        C does not matter.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training points.
    y : array-like of shape (n_samples,)
        Class labels, or targets.
    Cs : array-like
        The costs.
    sample_weight : array-like of shape (n_samples,), default=None
        As in `fit`.

    Returns
    -------
    list of estimators
        Fitted, with their certificates, in the order of `Cs`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from kernelfit import KernelSVC, path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> [len(machine.support_) for machine in path(KernelSVC(), scale(X), y, [0.1, 1.0, 10.0])]
    [230, 119, 93]
    """
    if not isinstance(estimator, KernelMachine):
        raise ValueError(f"expected a kernel machine such as KernelSVC(), got {estimator!r}")
    if "C" not in estimator.get_params(deep=False):
        raise ValueError(f"expected a machine with a cost C, got {estimator!r}")
    costs = np.array(positive(Cs, "Cs"))
    machine = clone(estimator)
    machine._validate_params()
    X, y = machine._check_training_data(X, y)
    weight = check_weights(sample_weight, len(y))
    order = np.argsort(costs, kind="stable")
    machines = {}
    with threads_for(len(y)):
        plan, rows = machine._plan(X, y, weight, Cs=costs)
        paths = [
            plan.learner.path(group[0].rows, plan.tasks_at(group), costs[order])
            for group in plan.groups
        ]
        for place, learned in zip(order, zip(*paths, strict=True), strict=True):
            fitted = clone(estimator).set_params(C=float(costs[place]))
            fitted.__dict__.update(
                {name: v for name, v in vars(machine).items() if name not in vars(fitted)}
            )
            fitted._keep(X, y, plan, rows, learned)
            fitted._warn_if_unproven()
            machines[place] = fitted
    return [machines[place] for place in range(len(costs))]
