r"""The certified solver of the quartic dual on a device.

The problem and its symbols are those of :mod:`kernelfit.solvers.dual.quartic`, the rounds those of
:mod:`kernelfit.solvers.dual.device`. Blocks are solved with the Hessian where they stand,

.. math:: H = K + 2 \rho\, (c c^\top) \circ K \circ K + \rho \operatorname{diag}(s / w), \qquad
    \rho = \tfrac1{4\eta},\; c = \beta / w,\; s = (K \circ K) q

and their joint displacement d is followed to the exact minimum of the polynomial of degree four
that the objective is along it. For a Gaussian kernel :math:`K \circ K` is another Gaussian, so no
matrix is stored here, either. The factor F is never formed.
"""

import numpy as np

from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.solvers.dual.device_state import DeviceState
from kernelfit.solvers.dual.quartic import QuarticResult
from kernelfit.solvers.dual.quartic_steps import minimise_quartic
from kernelfit.solvers.dual.rounds import run_rounds
from kernelfit.solvers.result import Callback, FloatArray
from kernelfit.tasks.task import Task
from kernelfit.utils.torch_device import Tensor


def solve_quartic_on_device(
    gram: DeviceGram,
    task: Task,
    eta: float,
    *,
    weight: FloatArray | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: FloatArray | None = None,
    assume_psd: bool = False,
    polish: bool = False,
    callback: Callback | None = None,
) -> QuarticResult:
    """Solve the quartic dual to a relative duality gap, on the device of its Gram matrix.

    Parameters
    ----------
    gram : DeviceGram
    task, eta, weight
        As for :func:`kernelfit.solvers.dual.quartic.solve_quartic_dual`.
    tol, max_iter, start, assume_psd, polish, callback
        As for :func:`kernelfit.solvers.dual.device.solve_on_device`.

    Returns
    -------
    QuarticResult
        With arrays in the order of the task.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.kernels.device_gram import matrix_on_device
    >>> from kernelfit.solvers.dual.device_quartic import solve_quartic_on_device
    >>> from kernelfit.tasks.losses import hinge
    >>> gram = matrix_on_device(np.eye(2), "cpu", host_bytes=1e6)  # doctest: +SKIP
    >>> task = hinge([-1.0, 1.0], C=9.0)
    >>> solve_quartic_on_device(gram, task, 0.25, tol=1e-9).x.round(4)  # doctest: +SKIP
    array([-0.6823,  0.6823])
    """
    order = gram.order
    task, shift = task.centred()
    weight = np.ones(task.n) if weight is None else weight
    state = _QuarticState(
        gram, task.take(order), task.start(start)[order], assume_psd, weight[order], eta
    )
    polish = polish and state.alone
    found = run_rounds(state, tol=tol, max_iter=max_iter, polish=polish, callback=callback)
    return QuarticResult.of(
        found,
        intercept=found.intercept + shift,
        decision=found.decision,
        kernel_values=state.on_host(state.f),
    )


class _QuarticState(DeviceState):
    """A point of the quartic dual with ``f = K beta`` and ``s = (K o K) q``."""

    def __init__(
        self,
        gram: DeviceGram,
        task: Task,
        beta: FloatArray,
        psd: bool,
        weight: FloatArray,
        eta: float,
    ) -> None:
        self.weight = gram.torch.as_tensor(weight, dtype=gram.torch.float64, device=gram.device)
        self.rate = 0.25 / eta
        gram.prepare()
        self.squares = gram.squares()
        self.squares.prepare()
        super().__init__(gram, task, beta, psd)
        # A block takes a second matrix here, and products come in pairs.
        self.max_blocks = self.n_blocks = max(1, self.max_blocks // 2)

    @property
    def coef(self) -> Tensor:
        """The coefficient of a single copy of every point."""
        return self.beta / self.weight

    def recompute(self) -> None:
        """Compute both vectors from exact kernel values."""
        super().recompute()
        self.s = self.squares.decision(self.beta * self.coef)

    def sharpen(self) -> bool:
        """Take steps in float64 from now on; return whether that is a change."""
        if not super().sharpen():
            return False
        self.squares.widen()
        self.max_blocks = max(1, self.max_blocks // 2)
        self.n_blocks = min(self.n_blocks, self.max_blocks)
        return True

    def decision(self) -> Tensor:
        """Return ``(F o K) beta``."""
        return self.f + self.rate * self.coef * self.s

    def surplus(self) -> float:
        """Return the part of the quartic term that decision values count twice."""
        return 0.25 * self.rate * float((self.beta * self.coef) @ self.s)

    def hessian_ridge(self) -> Tensor:
        """Return what the Hessian has on its diagonal alone."""
        return self.rate * self.s / self.weight

    def hessian_diagonal(self) -> Tensor:
        """Return the diagonal of the Hessian."""
        own = (self.coef * self.diagonal).square_().mul_(2.0 * self.rate)
        return self.diagonal + own + self.hessian_ridge()

    def _add_squares(self, K: Tensor, coef: Tensor) -> Tensor:
        """Add ``2 rate (c c') o K o K`` to K, in place; stacks of matrices too."""
        squares = K.square()
        squares *= (2.0 * self.rate * coef).to(K.dtype)[..., :, None]
        squares *= coef.to(K.dtype)[..., None, :]
        K += squares
        return K

    def hessian_blocks(self, index: Tensor) -> Tensor:
        """Return the Hessian without its ridge on each block, for steps."""
        return self._add_squares(self.gram.blocks(index), self.coef[index])

    def exact_hessian(self, index: Tensor) -> Tensor:
        """Return the Hessian on some rows in float64."""
        K = self._add_squares(self.gram.exact_block(index), self.coef[index])
        K.diagonal().add_(self.hessian_ridge()[index])
        return K

    def products(self, index: Tensor, d: Tensor) -> tuple[Tensor, ...]:
        """Return ``K d`` and ``(K o K)(c o d)`` for the displacement of every block."""
        return self.gram.products(index, d), self.squares.products(index, self.coef[index] * d)

    def hessian_products(self, products: tuple[Tensor, ...]) -> Tensor:
        """Return from these the products with the Hessian without its ridge."""
        V, U = products
        return V + (2.0 * self.rate * self.coef).to(V.dtype) * U

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
        V, U = ((lengths.to(part.dtype) @ part).to(self.f.dtype) for part in products)
        weight = self.weight[index]
        W = self.squares.products(index, (moved - old).square_() / weight).sum(dim=0)
        return self._go(index[real], moved[real], V, U, W.to(self.f.dtype))

    def move_exactly(self, index: Tensor, moved: Tensor) -> None:
        """Move some variables, with products of exact values."""
        change = self.torch.zeros_like(self.beta)
        change[index] = moved - self.beta[index]
        V = self.gram.decision(change)
        U = self.squares.decision(self.coef * change)
        self._go(index, moved, V, U, self.squares.decision(change.square() / self.weight))

    def _go(self, index: Tensor, moved: Tensor, V: Tensor, U: Tensor, W: Tensor) -> float:
        """Go to the minimum between a point and a displaced one; return how far that is.

        With a displacement d, V, U and W are ``K d``, ``(K o K)(c o d)`` and ``(K o K)(d^2 / w)``.
        """
        x, epsilon = self.beta[index], self.task.epsilon
        d = moved - x
        # q + 2 t u + t^2 z at x + t d
        u, z = self.coef[index] * d, d * d / self.weight[index]
        # Along a step |beta| is at most its linear interpolation.
        slope = self.gradient()[index] * d + epsilon * (moved.abs() - x.abs())
        if self.task.has_intercept:
            # Steps sum to zero, so a constant in the slope has no effect but rounding.
            slope -= (slope * d.sign()).sum() / d.abs().sum().clamp_min(1e-300) * d
        rate, s = self.rate, self.s[index]
        a = [
            slope.sum(),
            0.5 * (d @ V[index] + rate * (2.0 * (u @ U[index]) + z @ s)),
            rate * (u @ W[index]),
            0.25 * rate * (z @ W[index]),
        ]
        t = minimise_quartic(*self.torch.stack(a).tolist(), 1.0)
        between = self.torch.minimum(x + t * d, self.upper[index]).maximum(self.lower[index])
        self.beta[index] = moved if t == 1.0 else between
        self.f += t * V
        self.s += 2.0 * t * U + t * t * W
        self.exact = False
        return float(t)
