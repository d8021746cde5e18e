"""Machines with a fixed kernel and the squared loss: one factorisation for all tasks and costs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.learners.learner import Learned, Rows, Tasks
from kernelfit.learners.training import DeviceTraining, TrainingGram
from kernelfit.solvers.dual.blocks import sample_is_psd
from kernelfit.solvers.result import Callback, FloatArray
from kernelfit.solvers.ridge import RidgePath, RidgeSolution, ridge_path, ridge_solve
from kernelfit.solvers.ridge_device import DeviceRidge


@dataclass(frozen=True, eq=False)
class RidgeLearner:
    """The learner of a fixed kernel with the squared loss.

    The tasks of a group differ in their targets alone.

    Parameters
    ----------
    gram : TrainingGram or DeviceTraining
        In memory, or on a device.
    kernel : callable or None
        None where the kernel matrix was given.
    assume_psd : bool
        Whether the kernel is known to be positive semidefinite.
    tol : float
        The relative duality gap up to which rounding is accepted.
    """

    gram: TrainingGram | DeviceTraining
    kernel: Callable[..., FloatArray] | None
    assume_psd: bool
    tol: float

    def learn(
        self,
        rows: Rows,
        tasks: Tasks,
        *,
        start: tuple[FloatArray, Any] | None = None,
        callback: Callback | None = None,
    ) -> Learned:
        """Train the machines of some tasks; see `kernelfit.learners.learner.Learner`."""
        gram = self.gram.part(rows)
        psd = self._is_psd(gram)
        Y, ridge, weight = _system(tasks)
        if isinstance(gram, DeviceGram):
            found = _on_device(gram, tasks).solve(ridge)
            learned = self._certify(found[1].T, psd, tasks, found[0])
        else:
            K = _whole(gram)
            solution = ridge_solve(K, Y, ridge, weight, fit_intercept=tasks[0].has_intercept)
            learned = self._certify(solution.coef.T @ K, psd, tasks, solution)
        if callback is not None:
            callback(1, learned.objective, learned.gap)
        return learned

    def path(
        self, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
    ) -> Iterator[Learned]:
        """Yield the machines for all costs: from one factorisation, on a device one for each."""
        if len(Cs) == 1:
            yield self.learn(rows, tasks_at(Cs[0]))
            return
        gram = self.gram.part(rows)
        psd = self._is_psd(gram)
        if isinstance(gram, DeviceGram):
            machines = _on_device(gram, tasks_at(Cs[0]))
            for C in Cs:
                tasks = tasks_at(C)
                solution, decision = machines.solve(_system(tasks)[1])
                yield self._certify(decision.T, psd, tasks, solution)
            return
        K = _whole(gram)
        path = _path(K, tasks_at(Cs[0]))
        for C in Cs:
            tasks = tasks_at(C)
            solution = path.solve(_system(tasks)[1])
            yield self._certify(solution.coef.T @ K, psd, tasks, solution)

    def left_out(
        self, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
    ) -> FloatArray:
        """Return the decision values at every row of the machines trained on all others.

        Parameters
        ----------
        rows, tasks_at, Cs
            As for `path`.

        Returns
        -------
        ndarray of shape (n_Cs, n_rows, n_tasks)
        """
        gram = self.gram.part(rows)
        path: Any = (
            _on_device(gram, tasks_at(Cs[0]))
            if isinstance(gram, DeviceGram)
            else _path(_whole(gram), tasks_at(Cs[0]))
        )
        systems = (_system(tasks_at(C)) for C in Cs)
        return np.stack([Y - path.leave_one_out(ridge) for Y, ridge, _ in systems])

    def _is_psd(self, gram: Any) -> bool:
        """Return whether the kernel matrix is taken for semidefinite."""
        return self.assume_psd or sample_is_psd(gram)

    def _certify(
        self, decisions: FloatArray, psd: bool, tasks: Tasks, solution: RidgeSolution
    ) -> Learned:
        x = np.ascontiguousarray(solution.coef.T)
        found = [
            task.centred()[0].certificate(beta, decision)
            for task, beta, decision in zip(tasks, x, decisions, strict=True)
        ]
        gap = sum(bounds.gap for bounds in found)
        objective = sum(bounds.objective for bounds in found)
        at_rest = all(f.meets(self.tol, not beta.any()) for f, beta in zip(found, x, strict=True))
        converged = at_rest or bool(gap <= self.tol * abs(objective))
        return Learned(
            x=x,
            objective=objective,
            gap=gap if psd else np.nan,
            n_iter=1,
            converged=converged,
            history=((objective, gap),),
            status="proved" if psd else "stationary",
            ending="tolerance" if converged else "rounding",
            intercept=solution.intercept,
            witness=x,
            kernel=self.kernel,
            theta=None,
        )


def _whole(gram: Any) -> NDArray[Any]:
    """Return the kernel matrix in float64."""
    if gram.whole is None:
        raise ValueError("expected a kernel matrix in memory")
    whole: NDArray[Any] = gram.whole.astype(np.float64, copy=False)
    return whole


def _system(tasks: Tasks) -> tuple[FloatArray, float, FloatArray]:
    """Return the targets, the ridge, and the weights, the largest of which is 1."""
    ridges = tasks[0].ridge
    if ridges is None:
        raise ValueError("expected tasks of the squared loss")
    ridge = float(ridges.min())
    return np.stack([task.p for task in tasks], axis=1), ridge, ridge / ridges


def _path(K: NDArray[Any], tasks: Tasks) -> RidgePath:
    Y, _, weight = _system(tasks)
    return ridge_path(K, Y, weight, fit_intercept=tasks[0].has_intercept)


def _on_device(gram: DeviceGram, tasks: Tasks) -> DeviceRidge:
    Y, _, weight = _system(tasks)
    return DeviceRidge(gram, Y, weight, tasks[0].has_intercept)
