"""What the machines on a standard, given or user's kernel share: the kernel and its matrix."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.estimators.machine import KernelMachine
from kernelfit.estimators.moderate import moderate_gamma
from kernelfit.kernels.base import KernelFunction, is_psd
from kernelfit.kernels.device import decision_on_device
from kernelfit.kernels.gram import c_ordered
from kernelfit.kernels.standard import (
    KERNEL_NAMES,
    SPARSE_NAMES,
    Linear,
    gamma_of_name,
    kernel_from_name,
    scale_gamma,
)
from kernelfit.learners.training import DeviceTraining, TrainingGram, fits
from kernelfit.utils.memory import available_memory, cache_bytes
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.torch_device import load_torch
from kernelfit.utils.validation import CheckedKernel, as_plain, check_kernel_matrix, check_widths

_CERTAIN = 2**28  # bytes that are taken to be there, without a look
# Of the machines that also run on a device.
DEVICE = {"device": [str, None]}


class StandardKernelMachine(KernelMachine):
    """Base of the machines with the parameters kernel, degree, gamma and coef0."""

    _parameter_constraints: ClassVar[dict] = {
        **KernelMachine._parameter_constraints,
        "kernel": [StrOptions({*KERNEL_NAMES, "precomputed"}), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [
            StrOptions({"scale", "auto"}),
            Interval(Real, 0, None, closed="neither"),
            "array-like",
        ],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }

    _has_targets = True
    _many_targets = False  # whether y may have several columns

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._many_targets
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = self._takes_sparse
        return tags

    @property
    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _takes_sparse(self):
        by_name = isinstance(self.kernel, str) and self.kernel in SPARSE_NAMES
        return by_name and self.device is None

    def _check_training_data(self, X, y, owner=None):
        """Return checked data. Names of features are stored in, and errors name, the owner."""
        _check_density(X, self._takes_sparse, self.kernel, self.device)
        # A square kernel matrix is checked for symmetry and finiteness at once, later.
        shape = getattr(X, "shape", (0, 1))
        square = self._precomputed and len(shape) == 2 and len(set(shape)) == 1
        targets = {}
        if self._has_targets:
            targets = {"y": as_plain(y), "multi_output": self._many_targets}
        checked = validate_data(
            self if owner is None else owner,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32) if self._precomputed else np.float64,
            ensure_all_finite=not square,
            **targets,
        )
        X, y = checked if self._has_targets else (checked, np.zeros(checked.shape[0]))
        y = self._check_targets(y)
        if self._precomputed:
            if X.shape[0] != X.shape[1]:
                message = f"expected a square precomputed kernel matrix, got shape {X.shape}"
                raise ValueError(message)
            X = c_ordered(X)
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X, y

    def _check_test_data(self, X, owner=None):
        """Return checked data. Errors name the owner."""
        owner = self if owner is None else owner
        # What counts is the kernel of the fit, whatever the parameters are now.
        initial = self._initial_kernel
        takes_sparse = isinstance(initial, KernelFunction) and initial.takes_sparse
        takes_sparse = takes_sparse and self.device is None
        _check_density(X, takes_sparse, "precomputed" if initial is None else initial, self.device)
        if initial is not None:
            return validate_data(owner, X, reset=False, accept_sparse="csr", dtype=np.float64)
        X = check_array(X, dtype=(np.float64, np.float32))
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(owner).__name__} is expecting "
                f"{self.n_features_in_} features as input: a precomputed kernel has one column for "
                "every training row, shape (n_test, n_train)"
            )
        return X

    def _check_matrix(self, X):
        if self._precomputed:
            check_kernel_matrix(X, "the precomputed kernel matrix")

    def _take_rows(self, X, rows):
        if self._precomputed and not np.array_equal(rows, np.arange(X.shape[0])):
            return X[np.ix_(rows, rows)]
        return super()._take_rows(X, rows)

    def _make_kernel(self, X, weight):
        """Return the kernel with its gamma resolved on the training data; None if precomputed."""
        if self._precomputed:
            return None
        if callable(self.kernel):
            return self.kernel
        gamma = None if self.kernel == "linear" else self._resolve_gamma(X, weight)
        if gamma is not None:
            self.gamma_ = gamma
        kernel = kernel_from_name(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)
        with np.errstate(over="ignore"):
            diagonal = kernel.diag(X)
        if not np.isfinite(diagonal).all():
            raise ValueError(f"expected finite kernel values, got overflow in {kernel}")
        return kernel

    def _resolve_gamma(self, X, weight):
        """Return gamma in numbers: one, or one a feature."""
        gamma, d = self.gamma, X.shape[1]
        if np.ndim(gamma):
            return check_widths(gamma, d)
        if isinstance(gamma, str):
            gamma = scale_gamma(X, weight) if gamma == "scale" else 1.0 / d
            gamma = gamma_of_name(self.kernel, gamma, d)
        return moderate_gamma(gamma)

    def _make_gram(self, X, weight, matrix):
        """Return the kernel, its matrix and whether it is known to be positive semidefinite."""
        kernel = self._initial_kernel = self._make_kernel(X, weight)
        memory = cache_bytes(self.cache_size, self._memory)
        dense_bytes = self._dense_bytes(memory)
        psd = is_psd(kernel)
        if self.device is not None:
            self._shares_cache = True
            return kernel, self._device_gram(kernel, X, memory), psd
        matrix = X if kernel is None else None if matrix is None else matrix(kernel)
        if matrix is None:
            _check_memory(X.shape[0], memory, dense_bytes)
        checked = kernel
        if callable(self.kernel):
            checked = CheckedKernel(self.kernel)
            if matrix is None and fits(X.shape[0], dense_bytes):
                matrix = c_ordered(checked.given(X, X))
                check_kernel_matrix(matrix, "the matrix returned by the kernel")
        gram = TrainingGram(checked, X, memory, dense_bytes=dense_bytes, matrix=matrix)
        self._shares_cache = not gram.dense
        return kernel, gram, psd

    def _dense_bytes(self, memory):
        """Return up to what size the whole matrix is computed at once, rather than rows of it."""
        return memory

    def _device_gram(self, kernel, X, cache_bytes):
        load_torch(self.device)  # or says at once what is missing
        return DeviceTraining(kernel, X, self.device, cache_bytes)

    def _chunk_rows(self, X):
        return super()._chunk_rows(X) if self._kernel_on_host else X.shape[0]

    def _chunk_values(self, X):
        if self._kernel_on_host:
            return super()._chunk_values(X)
        coef = self._coef_of(range(len(self.intercept_)))
        values = decision_on_device(self.kernel_, X, self.support_vectors_, coef, self.device)
        return values + self.intercept_

    def _prepared_kernel(self):
        return super()._prepared_kernel() if self._kernel_on_host else None

    @property
    def _kernel_on_host(self):
        fixed = isinstance(getattr(self, "kernel_", None), KernelFunction) and self._root is None
        return self.device is None or not fixed or not len(self.support_)

    @property
    def coef_(self):
        """The weights of the features, for the linear kernel."""
        check_is_fitted(self)
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("coef_ is available for a linear kernel alone")
        coef = self._coef_of(range(len(self.intercept_))) @ self.support_vectors_
        thin = sparse.issparse(self.support_vectors_)
        return type(self.support_vectors_)(coef) if thin else np.asarray(coef)


def _check_memory(n, memory, dense_bytes):
    """Complain before the fit of a kernel matrix that memory has no room for."""
    planned = 8.0 * n * n if fits(n, dense_bytes) else min(memory, 4.0 * n * n)
    if planned <= _CERTAIN:
        return
    room = available_memory()
    if planned > room:
        raise MemoryError(
            f"expected a cache_size that fits into the {room / 2**20:.0f} MB of memory available, "
            f"got one by which the kernel matrix of {n} rows takes {planned / 2**20:.0f} MB: set "
            f"cache_size={room / 2**21:.0f}, and rows are computed when needed"
        )


def _check_density(X, takes_sparse, kernel, device):
    if sparse.issparse(X) and not takes_sparse:
        cause = f"kernel={kernel!r}" if device is None else f"device={device!r}"
        raise TypeError(f"expected dense X for {cause}, got a sparse matrix")
