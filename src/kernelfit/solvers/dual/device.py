r"""The certified solver of the dual of one task on a device.

The problem and its symbols are those of :mod:`kernelfit.solvers.dual.solve`. Kernel values are in
float32 while steps are taken, and in float64 where that gets no further. The gradient is recomputed
from float64 values now and then and before the end, which no other gradient decides.

A round solves many blocks of variables at the same time, each as if the others stood still. A block
holds neighbouring rows, since a local kernel couples hardly anything else. With the displacements
:math:`d_j` of the blocks, one product :math:`V = K (d_1, \dots, d_m)` gives their best combination

.. math:: \min_t\; c^\top t + \tfrac12 t^\top G t, \quad 0 \le t \le 1, \qquad
    c_j = g^\top d_j, \quad G_{jk} = d_j^\top K d_k

and the new gradient :math:`g + V t`. Where blocks hinder each other, fewer are solved at a time. A
block of the worst violators, wherever they are, follows: it moves what neighbours cannot exchange.
Newton steps on a moderate number of free variables help where the others get slow.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.solvers.dual.device_state import DeviceState
from kernelfit.solvers.dual.rounds import run_rounds
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.solvers.result import Callback, DualResult, FloatArray
from kernelfit.tasks.task import Task


def solve_on_device(
    gram: DeviceGram,
    task: Task,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: FloatArray | None = None,
    assume_psd: bool = False,
    polish: bool = False,
    callback: Callback | None = None,
) -> DualResult:
    """Solve the dual of one task to a relative duality gap, on the device of its Gram matrix.

    Parameters
    ----------
    gram : DeviceGram
    task : Task
    tol, max_iter, start, assume_psd, callback
        As for :func:`kernelfit.solvers.dual.solve.solve_dual`.
    polish : bool, default=False
        Likewise, for tasks that fit into one block, of 2,048 rows on a GPU; others end with `tol`.

    Returns
    -------
    DualResult
        With arrays in the order of the task.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.kernels.device_gram import matrix_on_device
    >>> from kernelfit.solvers.dual.device import solve_on_device
    >>> from kernelfit.tasks.losses import hinge
    >>> gram = matrix_on_device(np.eye(2), "cpu", host_bytes=1e6)  # doctest: +SKIP
    >>> solve_on_device(gram, hinge([-1.0, 1.0], C=9.0)).x  # doctest: +SKIP
    array([-1.,  1.])
    """
    task, shift = task.centred()
    order = gram.order
    state = DeviceState(gram, task.take(order), task.start(start)[order], assume_psd)
    polish = polish and state.alone
    found = run_rounds(state, tol=tol, max_iter=max_iter, polish=polish, callback=callback)
    return replace(found, intercept=found.intercept + shift)


def solver_for(gram: Any) -> Callable[..., DualResult]:
    """Return `solve_on_device` for a matrix on a device, `solve_dual` for any other."""
    return solve_on_device if isinstance(gram, DeviceGram) else solve_dual
