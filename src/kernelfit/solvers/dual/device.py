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

import numpy as np

from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.solvers.dual.device_state import NEWTON_RIDGES, DeviceState
from kernelfit.solvers.dual.rounds import (
    MAX_POLISH_VARIABLES,
    POLISH_ROUNDS,
    sample_is_psd,
    stands_still,
)
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.solvers.result import Callback, DualResult, Ending, FloatArray
from kernelfit.tasks.task import Task

_SLOW = 0.5  # a gap that shrinks by less asks for Newton steps
_REFRESH = 32  # rounds after which rounding errors are taken out in any case
_MAX_DOUBTS = 3  # after which float64 takes over
_PATIENCE = 30  # rounds without progress after which rounding is taken to prevent it


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
    state = DeviceState(gram, task.take(gram.order), task.start(start)[gram.order])
    found = run_on_device(state, task, tol, max_iter, assume_psd, polish, callback)
    return replace(found, intercept=found.intercept + shift)


def solver_for(gram: Any) -> Callable[..., DualResult]:
    """Return `solve_on_device` for a matrix on a device, `solve_dual` for any other."""
    return solve_on_device if isinstance(gram, DeviceGram) else solve_dual


def run_on_device(
    state: DeviceState,
    task: Task,
    tol: float,
    max_iter: int,
    assume_psd: bool,
    polish: bool,
    callback: Callback | None,
) -> DualResult:
    """Improve a point until its gap meets the tolerance; return it in the order of the task."""
    gram = state.gram
    known: Any = gram  # a Gram in what the test reads of it
    convex = bool((gram.source.diagonal >= 0.0).all()) and (assume_psd or sample_is_psd(known))
    met, ending, history = _run(state, tol, max_iter, polish, callback)
    beta = state.on_host(state.beta)
    decision = state.on_host(state.decision())
    found = task.certificate(beta, decision)
    rounding = 2.0 * found.resolution + 1e-3 * float(np.abs(task.p) @ np.abs(beta))
    # The values of a kernel that is known are off by the rounding of float32.
    convex = convex and (assume_psd or state.curvature >= -NEWTON_RIDGES[-1][0])
    convex = convex and (not task.p.any() or bool(beta @ decision >= -rounding))
    return DualResult(
        x=beta,
        objective=found.objective + state.surplus(),
        gap=found.gap if convex else np.nan,
        n_iter=len(history),
        converged=met,
        history=tuple(history),
        status="proved" if convex else "stationary",
        ending=ending,
        intercept=found.intercept,
        decision=decision,
    )


def _run(
    state: DeviceState, tol: float, max_iter: int, polish: bool, callback: Callback | None
) -> tuple[bool, Ending, list[tuple[float, float]]]:
    """Improve a point round by round; return whether and why it ended, and its history."""
    history: list[tuple[float, float]] = []
    rounds, stuck, slow, was_met = 0, False, False, False
    doubts, estimate = 0, np.inf  # how often rounding hid most of a gap; the gap before a refresh
    polishing = POLISH_ROUNDS if polish and state.alone else 0
    while True:
        if rounds and (state.alone or rounds % _REFRESH == 0):
            state.refresh()
        found = state.certificate()
        if state.exact:
            doubts += found.gap > 2.0 * estimate
            estimate = np.inf
        if (stuck or doubts > _MAX_DOUBTS) and state.widen():
            doubts, stuck = 0, False
        resolved = not found.gap > found.resolution
        met = found.gap <= tol * abs(found.objective) or resolved
        enough = met and (polishing == 0 or state.count_free() > MAX_POLISH_VARIABLES)
        hopeless = stuck or np.isnan(found.gap)
        ends = enough or resolved or hopeless or rounds == max_iter
        if not state.exact and (ends or (met and not was_met)):
            estimate = found.gap
            state.refresh()
            continue  # and judge again
        was_met = met
        if rounds or ends:
            history.append((found.objective, found.gap))
            if callback is not None:
                callback(len(history), found.objective, found.gap)
        if ends:
            break
        polishing -= met
        # The violation in proportion to the gap that suffices.
        wanted = 0.0 if met else 0.3 * tol * abs(found.objective) / found.gap
        moved = state.improve(found.intercept, wanted, slow or met)
        if not moved and wanted > 0.0:
            # A variable off its bound by rounding alone can be the worst violator, by far.
            moved = state.improve(found.intercept, 0.0, True)
        slow = len(history) > 1 and history[-1][1] > _SLOW * history[-2][1]
        stuck = not moved or stands_still(history, _PATIENCE)
        rounds += 1
    if met:
        return True, "tolerance", history
    return False, "rounding" if stuck or rounds < max_iter else "max_iter", history
