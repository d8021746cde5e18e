"""A Newton step on many free variables, by Cholesky factors on the device.

It is that of :mod:`kernelfit.solvers.dual.newton_steps` without its walk along bounds: variables
that the solution would carry past a bound are put there and the rest is solved again. The step goes
to the minimum on the segment towards that point, or on the plain Newton direction up to the first
bound, whichever is lower. Symbols are those of that module.
"""

from typing import Any

from kernelfit.utils.torch_device import Tensor

_MAX_PASSES = 10
_RIDGE = 1e-10  # of the diagonal, above the rounding of a factor of some ten thousand rows


def newton_move(
    torch: Any, K: Tensor, slope: Tensor, least: Tensor, most: Tensor, fixed_sum: bool
) -> Tensor | None:
    """Return the displacement of the free variables; None where there is none to gain from.

    Parameters
    ----------
    torch : module
    K : tensor of shape (f, f)
        In float64, with the task's ridge. Its diagonal is changed.
    slope : tensor of shape (f,)
        The gradient, with that of the l1 term.
    least, most : tensor of shape (f,)
        How far each variable may move, ``least <= 0 <= most``.
    fixed_sum : bool
        Whether the sum of the displacements is 0.

    Returns
    -------
    tensor of shape (f,) or None
    """
    if fixed_sum:
        slope = slope - slope.mean()  # without effect but on rounding
    diagonal = K.diagonal()
    shift = _RIDGE * diagonal
    diagonal += shift
    first = _minimise(torch, K, -slope, 0.0, fixed_sum)
    if first is None:
        return None
    rooms = torch.where(first < 0.0, least, most) / first
    shortest = float(torch.where(first != 0.0, rooms, torch.inf).min())
    candidates = [first * min(shortest, 1.0)]
    if shortest < 1.0:
        many = _fit_into_bounds(torch, K, slope, least, most, first, fixed_sum)
        candidates += [] if many is None else [many]
    best, gain = None, 0.0
    for move in candidates:
        rate = float(slope @ move)
        curvature = float(move @ (K @ move - shift * move))
        length = min(1.0, -rate / curvature) if curvature > 0.0 else 1.0
        decrease = -length * (rate + 0.5 * length * curvature)
        if rate < 0.0 and decrease > gain:
            best, gain = move * length, decrease
    return best


def _minimise(torch: Any, A: Tensor, rhs: Tensor, fixed: float, fixed_sum: bool) -> Tensor | None:
    """Return the solution of ``A x = rhs``, with ``sum(x) = -fixed`` where that is asked."""
    factor, info = torch.linalg.cholesky_ex(A)
    if int(info):
        return None
    solved = torch.cholesky_solve(torch.stack([rhs, torch.ones_like(rhs)], dim=1), factor)
    target, weights = solved.unbind(dim=1)
    if fixed_sum:
        target = target - weights * ((target.sum() + fixed) / weights.sum())
        target = target - (target.sum() + fixed) / len(target)
    return target if bool(torch.isfinite(target).all()) else None


def _fit_into_bounds(
    torch: Any,
    A: Tensor,
    slope: Tensor,
    least: Tensor,
    most: Tensor,
    first: Tensor,
    fixed_sum: bool,
) -> Tensor | None:
    """Fix all that would leave their range at its end, minimise over the rest, and so on."""
    move = torch.minimum(torch.maximum(first, least), most)
    fixed = (first <= least) | (first >= most)
    for _ in range(_MAX_PASSES - 1):
        inside = (~fixed).nonzero()[:, 0]
        if not len(inside):
            break
        at_end = torch.where(fixed, move, 0.0)
        rhs = -(slope + A @ at_end)[inside]
        part = A[inside][:, inside]
        target = _minimise(torch, part, rhs, float(at_end.sum()), fixed_sum)
        if target is None:
            return None
        low, high = least[inside], most[inside]
        move[inside] = torch.minimum(torch.maximum(target, low), high)
        leaves = (target <= low) | (target >= high)
        if not bool(leaves.any()):
            break
        fixed[inside[leaves]] = True
    if fixed_sum and abs(float(move.sum())) > 1e-9 * float(move.abs().sum()):
        return None
    return move
