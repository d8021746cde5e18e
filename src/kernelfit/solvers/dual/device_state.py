"""A point of the dual on a device, and the steps that improve it.

The module :mod:`kernelfit.solvers.dual.device` says what a round is.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.solvers.dual.blocks import restore_sum, sample_is_psd
from kernelfit.solvers.dual.device_blocks import solve_blocks
from kernelfit.solvers.dual.device_newton import newton_move
from kernelfit.solvers.dual.newton_steps import BLOCKED, newton_step
from kernelfit.solvers.dual.pair_steps import single_steps
from kernelfit.solvers.dual.rounds import Rounds
from kernelfit.solvers.result import DualResult, FloatArray
from kernelfit.tasks.task import Certificate, Task
from kernelfit.utils.torch_device import Tensor

_NEVER = 1e300
# Variables of a block; a power of two on a GPU, where one number of them is compiled for.
_BLOCK = {"cuda": 2048, "cpu": 1024}
_MAX_BLOCKS = 256
_REDUCTION = 0.1  # of the violation of a block
_STEPS = 4  # largest number of steps of a block, in multiples of its variables
_WORST_BLOCKS = 2  # of a round
# Part of the expected decrease below which fewer blocks are solved at a time, and above which more.
_FEWER, _MORE = 0.3, 0.7
# Up to this many free variables Newton steps are those of the CPU; up to the second number, those
# of the device.
_FEW_FREE = 512
_MANY_FREE = {"cuda": 24576, "cpu": 2048}
_NEWTON_RIDGES = ((1e-13, False), (1e-6, True))  # as in the rounds on the CPU, for float32
_SLOW = 0.5  # a gap that shrinks by less asks for Newton steps
_REFRESH = 32  # rounds after which rounding errors are taken out in any case


class DeviceState:
    """A point of the dual on a device with its decision values, in the order of the matrix.

    Parameters
    ----------
    gram : DeviceGram
    task : Task
        In the order of the matrix, as `beta` is.
    beta : ndarray of shape (n,)
        A feasible point.
    psd : bool
        Whether K is known to be positive semidefinite; else a part of it is tested.
    """

    rounds_a_pass = 1
    patience = 30

    def __init__(self, gram: DeviceGram, task: Task, beta: FloatArray, psd: bool) -> None:
        torch = gram.torch
        self.torch, self.gram, self.task = torch, gram, task
        self.p, self.lower, self.upper, self.beta, self.ridge = (
            torch.as_tensor(array, dtype=torch.float64, device=gram.device)
            for array in (
                task.p, task.lower, task.upper, beta,
                np.zeros(task.n) if task.ridge is None else task.ridge,
            )
        )  # fmt: skip
        self.diagonal = gram.diagonal() + self.ridge
        gram.prepare()
        self.recompute()
        self.curvature = 0.0  # the lowest one met
        self.psd = psd
        self.at_start = not beta.any()
        # A first slow round costs less than Newton steps: the second one has them.
        self._gap_before, self._slow = np.inf, False
        block = _BLOCK[gram.device.type]
        self.block = block if gram.device.type == "cuda" else min(block, task.n)
        self.alone = task.n <= self.block  # whether one block holds everything
        self.max_blocks = self.n_blocks = gram.plan_blocks(self.block, _MAX_BLOCKS)
        self._random = np.random.default_rng(0)

    def gradient(self) -> Tensor:
        """Return the gradient of the smooth part of the minimised problem."""
        return self.decision() - self.p + self.ridge * self.beta

    def decision(self) -> Tensor:
        """Return the decision values."""
        return self.f

    def surplus(self) -> float:
        """Return what the objective of the dual has beyond that of a quadratic problem."""
        return 0.0

    def is_zero(self) -> bool:
        """Return whether all variables are 0."""
        return not bool(self.beta.any())

    def copy(self) -> Tensor:
        """Return a copy of the variables."""
        return self.beta.clone()

    def go_to(self, copy: Tensor) -> None:
        """Return to a point that was copied, with an exact gradient."""
        self.beta = copy.clone()
        self.recompute()

    def is_due(self, rounds: int) -> bool:
        """Return whether to take rounding errors out after so many rounds in any case."""
        return self.alone or rounds % _REFRESH == 0

    def outcome(self, rounds: Rounds) -> DualResult:
        """Return what the rounds have found, in the order of the rows."""
        beta, decision = self.beta.cpu().numpy(), self.decision().cpu().numpy()
        found = self.task.certificate(beta, decision)
        found = found._replace(objective=found.objective + self.surplus())
        known: Any = self.gram  # a Gram in what the test reads of it
        convex = bool((self.gram.source.diagonal >= 0.0).all())
        # The values of a kernel that is known are off by the rounding of float32.
        convex = convex and (
            self.psd or (self.curvature >= -_NEWTON_RIDGES[-1][0] and sample_is_psd(known))
        )
        result = rounds.result(self.task, beta, decision, found, convex)
        x, decision = self.on_host(self.beta), self.on_host(self.decision())
        return replace(result, x=x, decision=decision)

    def on_host(self, values: Tensor) -> FloatArray:
        """Return an array in the order of the rows."""
        out = np.empty(self.task.n)
        out[self.gram.order] = values.cpu().numpy()
        return out

    def refresh(self) -> None:
        """Take the rounding errors of many steps out of beta and its decision values."""
        if self.exact:
            return
        beta = self.beta.cpu().numpy()
        restore_sum(beta, self.task)
        self.beta = self.torch.as_tensor(beta, device=self.gram.device)
        self.recompute()

    def recompute(self) -> None:
        """Compute the decision values from exact kernel values."""
        self.f = self.gram.decision(self.beta)
        self.exact = True

    def sharpen(self) -> bool:
        """Take steps in float64 from now on; return whether that is a change."""
        if not self.gram.widen():
            return False
        self.max_blocks = self.gram.plan_blocks(self.block, _MAX_BLOCKS)
        self.n_blocks = min(self.n_blocks, self.max_blocks)
        return True

    def certificate(self) -> Certificate:
        """Return the certificate of beta; see :mod:`kernelfit.tasks.certificate`."""
        torch, x, epsilon = self.torch, self.beta, self.task.epsilon
        g = self.decision() - self.p
        intercept = self._intercept(g)
        t = -g - intercept
        excess = t.sign() * (t.abs() - epsilon).clamp_min(0.0)
        bound = torch.where(excess > 0.0, self.upper, torch.where(excess < 0.0, self.lower, 0.0))
        s = torch.where(self.ridge > 0.0, excess / self.ridge.clamp_min(1e-300), bound)
        s = torch.minimum(torch.maximum(s, self.lower), self.upper)
        terms = (s - x) * (t - 0.5 * self.ridge * (s + x)) - epsilon * (s.abs() - x.abs())
        dual = 0.5 * (x * (self.p - g - self.ridge * x)).sum() - epsilon * x.abs().sum()
        size = torch.maximum(s.abs(), x.abs())
        scale = (size * (self.p.abs() + g.abs() + abs(intercept) + epsilon)).sum()
        gap, objective, scale = torch.stack([terms.clamp_min(0.0).sum(), dual, scale]).tolist()
        resolution = 4.0 * np.finfo(np.float64).eps * scale
        self.found = Certificate(gap, objective + self.surplus(), intercept, resolution)
        return self.found

    def _intercept(self, g: Tensor) -> float:
        """Return the intercept of least primal value; with a ridge, one that tends to it."""
        torch, task = self.torch, self.task
        if task.total is None:
            return 0.0
        if task.ridge is not None:
            up, down = self._rates(self.gradient())
            return 0.5 * float(up.max() + down.min())
        above, below = self.upper > 0.0, self.lower < 0.0
        points = torch.cat([-g[above] - task.epsilon, -g[below] + task.epsilon])
        weights = torch.cat([self.upper[above], -self.lower[below]])
        points, at = points.sort()
        slope = weights[at].cumsum(0)
        fall = float(self.upper.sum()) - task.total
        first = int(torch.searchsorted(slope, fall * (1.0 - 1e-12)))
        return float(points[min(first, len(points) - 1)])

    def _rates(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``up`` and ``down`` of :mod:`kernelfit.solvers.dual.pair_steps`."""
        torch, x = self.torch, self.beta
        epsilon = torch.full_like(x, self.task.epsilon)  # a number would be rounded to float32
        rise = torch.where(x >= 0.0, epsilon, -epsilon)
        fall = torch.where(x > 0.0, epsilon, -epsilon)
        up = torch.where(x < self.upper, -g - rise, -_NEVER)
        down = torch.where(x > self.lower, -g - fall, _NEVER)
        return up, down

    # The Hessian is K and a ridge; a problem that is not quadratic has another one at every point.

    def hessian_ridge(self) -> Tensor:
        """Return what the Hessian has on its diagonal alone."""
        return self.ridge

    def hessian_diagonal(self) -> Tensor:
        """Return the diagonal of the Hessian."""
        return self.diagonal

    def hessian_blocks(self, index: Tensor) -> Tensor:
        """Return the Hessian without its ridge on each block, for steps."""
        return self.gram.blocks(index)

    def exact_hessian(self, index: Tensor) -> Tensor:
        """Return the Hessian on some rows in float64."""
        K = self.gram.exact_block(index)
        K.diagonal().add_(self.ridge[index])
        return K

    def products(self, index: Tensor, d: Tensor) -> tuple[Tensor, ...]:
        """Return products of matrices with the displacement of every block, each (m, n)."""
        return (self.gram.products(index, d),)

    def hessian_products(self, products: tuple[Tensor, ...]) -> Tensor:
        """Return from these the products with the Hessian without its ridge."""
        return products[0]

    def move(
        self,
        index: Tensor,
        real: Tensor,
        old: Tensor,
        moved: Tensor,
        lengths: Tensor,
        products: tuple[Tensor, ...],
    ) -> float:
        """Move blocks by parts of their displacements; return what part of the way was gone."""
        self.beta[index[real]] = moved[real]
        self.f += (lengths.to(products[0].dtype) @ products[0]).to(self.f.dtype)
        self.exact = False
        return 1.0

    def move_exactly(self, index: Tensor, moved: Tensor) -> None:
        """Move some variables, with products of exact values."""
        change = self.torch.zeros_like(self.beta)
        change[index] = moved - self.beta[index]
        self.beta[index] = moved
        self.f += self.gram.decision(change)
        self.exact = False

    def count_free(self) -> int:
        """Return the number of free variables."""
        return int(self._free().sum())

    def _free(self) -> Tensor:
        inside = (self.beta > self.lower) & (self.beta < self.upper)
        return inside & (self.beta != 0.0) if self.task.epsilon > 0.0 else inside

    def improve(self, wanted: float, polish: bool) -> bool:
        """Take the steps of one round; return whether anything changed.

        Parameters
        ----------
        wanted : float
            The part of the violation that would suffice.
        polish : bool
            Whether to begin with Newton steps, as where the gap shrinks slowly.
        """
        newton = polish or self._slow
        self._slow = self.found.gap > _SLOW * self._gap_before
        self._gap_before = self.found.gap
        moved = self._improve(wanted, newton)
        # A variable off its bound by rounding alone can be the worst violator, by far.
        return moved or (wanted > 0.0 and self._improve(0.0, newton=True))

    def _improve(self, wanted: float, newton: bool) -> bool:
        before = self.beta.clone()
        up, down = self._rates(self.gradient())
        highest, lowest = float(up.max()), float(down.min())
        has_sum = self.task.has_intercept
        violation = highest - lowest if has_sum else max(highest, -lowest)
        rounding = 8.0 * float(np.finfo(np.float64).eps) * float(self.gradient().abs().max())
        floor = max(violation * min(wanted, _REDUCTION), rounding)
        if newton:
            self._newton()
        if self.alone:
            # No coordination between blocks to wait for.
            everything = self.torch.arange(self.task.n, device=self.gram.device)
            self._solve(*self._cut(everything), floor, min(max(wanted, 1e-4), _REDUCTION))
            return bool((self.beta != before).any())
        if self.at_start:
            index = self._spread_rows()
            self.at_start = False
        else:
            index = self._neighbours(up, down, 0.5 * floor)
        if len(index) > self.block:
            quality = self._solve(*self._cut(index), floor)
            used = -(-len(index) // self.block)
            if quality < _FEWER:
                self.n_blocks = max(2, used // 2)
            elif quality > _MORE:
                self.n_blocks = min(self.max_blocks, 2 * used)
        for _ in range(_WORST_BLOCKS):
            self._solve(*self._cut(self._worst()), floor)
        return bool((self.beta != before).any())

    def _spread_rows(self) -> Tensor:
        """Return rows for the first round: all, or evenly as many as blocks can hold."""
        n = self.task.n
        count = min(n, self.max_blocks * self.block)
        return self.torch.arange(count, device=self.gram.device) * n // count

    def _neighbours(self, up: Tensor, down: Tensor, least: float) -> Tensor:
        """Return the free variables and the violators, the worst of them, in their order."""
        free, intercept = self._free(), self.found.intercept
        excess = self.torch.maximum(up - intercept, intercept - down)
        index = (free | (excess > least)).nonzero()[:, 0]
        most = self.n_blocks * self.block
        if len(index) > most:
            # Free ones first: they make room for the others.
            score = self.torch.where(free, _NEVER, excess)[index]
            index = index[score.topk(most).indices].sort().values
        # Boundaries of blocks change from round to round.
        return index.roll(int(self._random.integers(self.block)))

    def _worst(self) -> Tensor:
        """Return the free variables, where they fit, and the worst violators of both kinds."""
        torch, size = self.torch, min(self.block, self.task.n)
        up, down = self._rates(self.gradient())
        free = self._free()
        chosen = torch.zeros_like(free)
        room, n_free = size, int(free.sum())
        if n_free <= size - size // 5:
            chosen, room = free, size - n_free
        for score in (up, -down):
            score = score.masked_fill(chosen, -_NEVER)
            best, at = score.topk(min(room // 2, self.task.n))
            chosen[at[best > -_NEVER]] = True
        return chosen.nonzero()[:, 0]

    def _cut(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return blocks of nearly equal size, filled up by row 0, and which entries are real."""
        torch = self.torch
        m = max(1, -(-len(index) // self.block))
        place = torch.arange(len(index), device=index.device)
        part = place * m // max(1, len(index))
        first = torch.searchsorted(part, torch.arange(m, device=index.device))
        rows = torch.zeros((m, self.block), dtype=torch.long, device=index.device)
        real = torch.zeros((m, self.block), dtype=torch.bool, device=index.device)
        rows[part, place - first[part]] = index
        real[part, place - first[part]] = True
        return rows, real

    def _solve(
        self, index: Tensor, real: Tensor, floor: float, reduction: float = _REDUCTION
    ) -> float:
        """Solve blocks and combine their steps; return what part of their decrease that keeps."""
        torch, task = self.torch, self.task
        old, low, high = (
            array[index].masked_fill(~real, 0.0) for array in (self.beta, self.lower, self.upper)
        )
        slope = self.gradient()[index]
        new, curvature = solve_blocks(
            self.hessian_blocks(index), self.hessian_diagonal()[index], slope, old, low, high,
            epsilon=task.epsilon, fixed_sum=task.has_intercept,
            reduction=reduction, floor=floor, max_steps=_STEPS * self.block,
        )  # fmt: skip
        self.curvature = min(self.curvature, curvature)
        d = new - old
        products = self.products(index, d)
        V = self.hessian_products(products)
        # Along a step |beta| is at most its linear interpolation.
        rate = slope * d + task.epsilon * (new.abs() - old.abs())
        if task.has_intercept:
            # Steps sum to zero, so a constant in the slope has no effect but rounding.
            level = (rate * d.sign()).sum(dim=1) / d.abs().sum(dim=1).clamp_min(1e-300)
            rate -= level[:, None] * d
        c = rate.sum(dim=1)
        G = torch.einsum("kjb,jb->kj", V[:, index], d.to(V.dtype)).to(d.dtype)
        G = 0.5 * (G + G.T) + (self.hessian_ridge()[index] * d * d).sum(dim=1).diag()
        rates, matrix = c.cpu().numpy(), G.cpu().numpy()
        t = _combine(matrix, rates)
        lengths = torch.as_tensor(t, device=d.device)
        moved = torch.where(lengths[:, None] == 1.0, new, old + lengths[:, None] * d)
        moved = torch.minimum(torch.maximum(moved, low), high)
        kept = self.move(index, real, old, moved, lengths, products)
        expected = rates.sum()
        return kept * float(t @ rates / expected) if expected < 0.0 else 1.0

    def _newton(self) -> None:
        """Take Newton steps on the free variables, where these are few enough."""
        free = self._free().nonzero()[:, 0]
        if len(free) == 0:
            return
        if len(free) <= _FEW_FREE:
            moved = self._few_newton(free)
        elif len(free) <= _MANY_FREE[self.gram.device.type] and self.gram.has_room(len(free)):
            moved = self._many_newton(free)
        else:
            return
        self.move_exactly(free, moved)

    def _few_newton(self, free: Tensor) -> Tensor:
        """Return the free variables after a step on the processor."""
        K = self.exact_hessian(free).cpu().numpy()
        g, beta, lower, upper = (
            array[free].cpu().numpy()
            for array in (self.gradient(), self.beta, self.lower, self.upper)
        )
        problem = (K, g, beta, lower, upper, self.task.epsilon, self.task.has_intercept)
        for ridge, by_trace in _NEWTON_RIDGES:
            try:
                if newton_step(*problem, ridge, by_trace, 0) == BLOCKED:
                    newton_step(*problem, ridge, by_trace, len(free))
                break
            except np.linalg.LinAlgError:
                continue
        return self.torch.as_tensor(beta, device=self.gram.device)

    def _many_newton(self, free: Tensor) -> Tensor:
        """Return the free variables after a step on the device."""
        torch, epsilon = self.torch, self.task.epsilon
        x, low, high = self.beta[free], self.lower[free], self.upper[free]
        if epsilon > 0.0:
            low = torch.where(x > 0.0, 0.0, low)
            high = torch.where(x < 0.0, 0.0, high)
        slope = self.gradient()[free] + epsilon * x.sign()
        K = self.exact_hessian(free)
        move = newton_move(torch, K, slope, low - x, high - x, self.task.has_intercept)
        return x if move is None else torch.minimum(torch.maximum(x + move, low), high)


def _combine(G: FloatArray, c: FloatArray) -> FloatArray:
    """Return the best lengths of the blocks' steps; see the module's head."""
    t = np.zeros(len(c))
    if len(c) == 1:
        t[0] = float(c[0] < 0.0) if not G[0, 0] > 0.0 else min(max(-c[0] / G[0, 0], 0.0), 1.0)
        return t
    stop = 1e-4 * float(np.abs(c).max())
    bounds = np.zeros(len(c)), np.ones(len(c))
    single_steps(np.ascontiguousarray(G), G.diagonal().copy(), c.copy(), t, *bounds, 0.0, stop,
                 50 * len(c))  # fmt: skip
    return t
