r"""Table 1 of the paper on tessellated kernels [1]_: Algorithm 2 beside a semidefinite programme.

With y in {-1, 1} the best value of the machine with kernel K_P is a linear objective under linear
matrix inequalities, as in [2]_ and [3]_:

.. math::

    \min_{P, t, \nu, \theta, \lambda}\; t, \qquad
    \begin{bmatrix} y y^\top \circ K_P & 1 + \nu - \theta + \lambda y \\
    \cdot & 2 t - 2 C\, 1^\top \theta \end{bmatrix} \succeq 0, \quad
    \nu, \theta \ge 0,\; P \succeq 0,\; \operatorname{tr} P = n_P

The paper prints neither rows nor C, delta or tolerance of this table. Ours: 80 % of the rows, C =
10 and monomials in x of degree 1; delta = 0.5, at most 100 steps and tol = 0.01, the defaults that
it documents. cvxpy passes the programme to CVXOPT: its linear systems have as many rows as there
are variables, as those of CSDP, which the paper cites. Clarabel's have as many as the matrix
inequality has entries, tens of GiB for liver; SCS had no solution after 20,000 steps on 50 rows.

"seconds" is processor time, cvxpy's translation included.

References
----------
.. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
   learning", Journal of Machine Learning Research 25 (2024).
.. [2] B. Colbert, M. M. Peet, "A convex parametrization of a new class of universal kernel
   functions", Journal of Machine Learning Research 21 (2020).
.. [3] G. Lanckriet, N. Cristianini, P. Bartlett, L. El Ghaoui, M. Jordan, "Learning the kernel
   matrix with semidefinite programming", Journal of Machine Learning Research 5 (2004).
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler

from kernelfit.estimators.tkl import TKLClassifier
from kernelfit.papers.protocol import Measured, Protocol
from kernelfit.papers.splits import four_fifths

SETTINGS: dict[str, Any] = {"splits": 5, "C": 10.0, "delta": 0.5, "revision": 1}
METHODS: dict[str, dict[str, Any]] = {
    "SDP": {"solver": "CVXOPT", "kktsolver": "chol"},
    "Algorithm 2": {
        "solver": "frank_wolfe", "basis": "x", "normalize": False, "tol": 0.01, "max_iter": 100,
    },
}  # fmt: skip


def _n_splits(name: str) -> int:
    return int(SETTINGS["splits"])


def measure(name: str, split: int, method: str) -> Measured:
    """Return the seconds of one training."""
    X, y, *_ = four_fifths(name, split, MinMaxScaler())
    options = {key: SETTINGS[key] for key in ("C", "delta")} | METHODS[method]
    if method == "SDP":
        _, seconds = programme(X, np.where(y == y.max(), 1.0, -1.0), **options)
        return Measured({"seconds": seconds})
    model = TKLClassifier(**options).fit(X, y)  # compiles
    began = time.process_time()
    model.fit(X, y)
    return Measured({"seconds": time.process_time() - began})


def programme(
    X: NDArray[Any], y: NDArray[Any], C: float, delta: float, **options: Any
) -> tuple[float, float]:
    """Solve the semidefinite programme.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        Points of the unit cube.
    y : ndarray of shape (m,)
        -1 or 1.
    C, delta : float
    **options
        Of cvxpy's ``solve``.

    Returns
    -------
    value : float
        The optimum.
    seconds : float
        Processor time of ``solve``.
    """
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError("the semidefinite programme needs: pip install cvxpy cvxopt") from error
    cp: Any = cvxpy
    if options["solver"] not in cp.installed_solvers():
        raise ImportError(f"cvxpy lacks the solver {options['solver']}: pip install cvxopt")
    m, size = len(X), 2 * (X.shape[1] + 1)
    upper = np.triu_indices(size)
    products = (np.outer(y, y)[:, :, None] * _products(X, delta, upper)).reshape(m * m, -1)
    P, t, shift = cp.Variable((size, size), PSD=True), cp.Variable(), cp.Variable()
    below, above = cp.Variable(m, nonneg=True), cp.Variable(m, nonneg=True)
    K = cp.reshape(products @ P[upper], (m, m), order="C")
    column = cp.reshape(1.0 + below - above + shift * y, (m, 1), order="C")
    corner = cp.reshape(2.0 * t - 2.0 * C * cp.sum(above), (1, 1), order="C")
    inequality = cp.bmat([[K, column], [column.T, corner]]) >> 0
    model = cp.Problem(cp.Minimize(t), [inequality, cp.trace(P) == size])
    began = time.process_time()
    model.solve(**options)
    return float(model.value), time.process_time() - began


def _products(
    X: NDArray[Any], delta: float, pairs: tuple[NDArray[Any], NDArray[Any]]
) -> NDArray[Any]:
    """Return the symmetric kernel matrices whose sum with weights P_ab, a <= b, is K_P."""
    upper = 1.0 + delta
    both = np.prod(upper - np.maximum(X[:, None], X), axis=2)
    one = np.prod(upper - X, axis=1)
    neither = (1.0 + 2.0 * delta) ** X.shape[1] - one[:, None] - one + both
    boxes = np.array([[both, one[:, None] - both], [one - both, neither]])
    Z = np.column_stack([np.ones(len(X)), X])
    q = Z.shape[1]
    found = np.empty((len(X), len(X), len(pairs[0])))
    for k, (a, b) in enumerate(zip(*pairs, strict=True)):
        G = boxes[a // q, b // q] * np.outer(Z[:, a % q], Z[:, b % q])
        found[:, :, k] = 0.5 * (G + G.T) if a == b else G + G.T
    return found


PROTOCOL = Protocol(
    name="tkl-programme",
    answers=(("tkl", "table 1"),),
    sets={name: {} for name in ("liver", "heart", "breast_cancer", "pima")},
    methods=METHODS,
    settings=SETTINGS,
    measure=measure,
    n_splits=_n_splits,
    left_out=frozenset({("breast_cancer", "SDP"), ("pima", "SDP")}),
)
