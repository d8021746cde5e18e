"""What the regressors share: targets and their task."""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from kernelfit.tasks.losses import squared, squared_tube, tube
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.validation import check_targets


class RegressorMachine(RegressorMixin):
    """The regression half of a kernel machine; it stands before `KernelMachine`."""

    _parameter_constraints: ClassVar[dict] = {
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "loss": [StrOptions({"tube", "squared_tube", "squared"})],
    }

    loss = "tube"  # where the machine has no such parameter

    def _check_targets(self, y):
        return check_targets(y)

    def _encode(self, y, weight):
        """Return the targets, and ones as the factors of C."""
        largest, most = np.max(np.abs(y)), self._cost_range[1]
        if largest > most:
            raise ValueError(f"expected targets up to {most:g}, got {largest:.3g}")
        return np.asarray(y, dtype=np.float64), np.ones(len(y))

    def _make_task(self, problem, cost):
        if self.loss == "squared":
            return squared(problem.p, cost, fit_intercept=self.fit_intercept)
        make = tube if self.loss == "tube" else squared_tube
        return make(problem.p, cost, self.epsilon, fit_intercept=self.fit_intercept)

    def _shape(self, values):
        """Turn the problems' values, along the last axis, into those of `predict`."""
        return values[..., 0]

    def predict(self, X):
        """Predict the targets of points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; their kernel with the training points, of shape (n_samples, n_samples_fit),
            for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._shape(self._decision_values(X))
