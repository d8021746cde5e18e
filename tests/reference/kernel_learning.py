r"""Learning a kernel as one cone programme: over positive matrices, and over sums of kernels.

With G_ab the basis products of every pair of points, K_P = sum_ab P_ab G_ab, and the machine in its
primal form, v the values of the decision function without intercept on the training points,

.. math::
    \min_{P, v, c}\; \tfrac12 v' K_P^{-1} v
    + \sum_i u_i (r_i - \epsilon)_+ + (-l_i) (-r_i - \epsilon)_+,
    \qquad r = p - v - c,\; P \succeq 0,\; \operatorname{tr} P = n_P
"""

import cvxpy as cp
import numpy as np


def sdp_value(G, p, lower, upper, epsilon):
    """Return the optimum and the optimal P."""
    m, size = len(p), G.shape[-1]
    P = cp.Variable((size, size), PSD=True)
    flat = G.reshape(m * m, size * size)
    K = cp.reshape(flat @ cp.vec(P, order="C"), (m, m), order="C")
    v, c = cp.Variable(m), cp.Variable()
    r = p - v - c
    losses = upper @ cp.pos(r - epsilon) - lower @ cp.pos(-r - epsilon)
    # t >= v'K^-1 v as a Schur complement; interior points need a regular K.
    ridge = 1e-9 * np.einsum("iiaa->", G) / m * np.eye(m)
    t = cp.Variable((1, 1))
    column = cp.reshape(v, (m, 1), order="C")
    schur = cp.bmat([[0.5 * (K + K.T) + ridge, column], [column.T, t]])
    objective = 0.5 * cp.sum(t) + losses
    model = cp.Problem(cp.Minimize(objective), [cp.trace(P) == size, schur >> 0])
    model.solve(solver=cp.CLARABEL)
    return float(model.value), P.value


def bounds(G, p, lower, upper, epsilon, beta, P, witness):
    """Return the lower bound of the witness and the upper bound of (beta, P), from G alone."""
    size = G.shape[-1]
    K = np.einsum("ijab,ab->ij", G, P)
    D = np.einsum("i,j,ijab->ab", witness, witness, G)
    kappa = p @ witness - epsilon * abs(witness).sum()
    low = kappa - 0.5 * size * np.linalg.eigvalsh(0.5 * (D + D.T))[-1]
    f = K @ beta
    breaks = np.concatenate([p - f - epsilon, p - f + epsilon])
    losses = [
        upper @ np.maximum(p - f - c - epsilon, 0) - lower @ np.maximum(f + c - p - epsilon, 0)
        for c in breaks
    ]
    return low, 0.5 * beta @ f + min(losses)


def conic_value(matrices, tasks, energy):
    """Return the largest kappa(beta) - energy(d), ``d_r = sum_t beta_t'K_r beta_t``.

    For multiple kernels, whose energy is a convex and rising function of d, as a cone programme.
    """
    roots = [np.linalg.cholesky(K + 1e-11 * np.eye(len(K))) for K in matrices]
    betas, value, constraints = [cp.Variable(task.n) for task in tasks], 0.0, []
    for b, task in zip(betas, tasks, strict=True):
        value += task.p @ b - task.epsilon * cp.norm1(b)
        if task.ridge is not None:
            value -= 0.5 * cp.sum_squares(cp.multiply(np.sqrt(task.ridge), b))
        constraints.append(cp.sum(b) == 0)
        for bound, sign in ((task.lower, -1.0), (task.upper, 1.0)):
            finite = np.isfinite(bound)
            constraints.append(sign * b[finite] <= sign * bound[finite])
    forms = [sum(cp.sum_squares(root.T @ b) for b in betas) for root in roots]
    model = cp.Problem(cp.Maximize(value - energy(forms)), constraints)
    return float(model.solve(solver=cp.CLARABEL))
