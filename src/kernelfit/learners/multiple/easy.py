r"""Weights by EasyMKL [1]_: the kernels' parts of the margin of their sum.

.. math::

    \gamma^* = \arg\min_\gamma\; (1 - \lambda)\, \gamma^\top Y \Big(\sum_m K_m\Big) Y \gamma
    + \lambda \|\gamma\|^2, \qquad \gamma \ge 0,\;
    \sum_{y_i = 1} \gamma_i = \sum_{y_i = -1} \gamma_i = 1

and :math:`\mu_m \propto \gamma^{*\top} Y K_m Y \gamma^*` (Algorithm 1 of [1]_; the final machine is
here the support vector machine of all combinations). Up to a factor :math:`Y \gamma^*` is the dual
solution of a machine with the squared hinge loss: the problem is homogeneous in gamma.

References
----------
.. [1] F. Aiolli, M. Donini, "EasyMKL: a scalable multiple kernel learning algorithm",
   Neurocomputing 169 (2015).
"""

import numpy as np

from kernelfit.families.multiple.bank import Array
from kernelfit.families.multiple.weights import KernelWeights
from kernelfit.kernels.gram import Gram
from kernelfit.learners.learner import Tasks
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.task import Task

_TOL, _MAX_ITER = 1e-10, 1000


def easy(family: KernelWeights, tasks: Tasks, weight: Array, *, lam: float) -> Array:
    """Return the weights of EasyMKL, from the sum over the tasks.

    Parameters
    ----------
    family : KernelWeights
    tasks : tuple of Task
        Of classification.
    weight : ndarray of shape (n,)
        Of the rows; a row of weight w is repeated w times, each with its part of gamma.
    lam : float
        Lambda, above 0 and at most 1, where gamma is constant on each class.

    Returns
    -------
    ndarray of shape (n_kernels,)
        They sum to one.
    """
    bank = family.bank
    gram = bank.gram(np.ones(bank.size))
    margins = np.stack([_margin(gram, task.p, weight, lam) for task in tasks])
    forms = np.maximum(bank.respond(margins).forms(), 0.0)
    total = float(forms.sum())
    return forms / total if total > 0.0 else family.initial


def _margin(gram: Gram, y: Array, weight: Array, lam: float) -> Array:
    """Return Y gamma of one task."""
    if lam == 1.0:
        beta = y * weight
    else:
        far = np.where(y > 0.0, np.inf, -np.inf)
        ridge = lam / (1.0 - lam) / weight
        task = Task(y, np.minimum(far, 0.0), np.maximum(far, 0.0), ridge=ridge)
        beta = solve_dual(gram, task, tol=_TOL, max_iter=_MAX_ITER, assume_psd=True).x
    positive = y > 0.0
    sums = np.where(positive, beta[positive].sum(), -beta[~positive].sum())
    return np.asarray(beta / sums)
