"""How close to the optimum the fit is, in words and over the iterations."""

from typing import Any

import numpy as np

from kernelfit.estimators.machine import KernelMachine
from kernelfit.estimators.metric import KernelMetric
from kernelfit.inspection.audit import audit
from kernelfit.inspection.fit_displays import ConvergenceDisplay
from kernelfit.inspection.headline import percent
from kernelfit.inspection.matrices import innermost
from kernelfit.report.blocks import Facts, Section, number
from kernelfit.report.figures import draw
from kernelfit.report.subject import Subject
from kernelfit.report.table import n_rows

_MAX_AUDITED = 1000  # rows, whose kernel matrices are computed anew


def proof_section(subject: Subject) -> Section | None:
    """Return the chapter on the certificate, or on the descent of a learner without one.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    Section or None
    """
    machine, known = subject.machine, subject.facts
    claimed = "certificate" in known
    gap = known["relative gap"] if claimed and known["proved"] == known["problems"] else None
    text: list[str] = []
    blocks: list[Any] = []
    if hasattr(machine, "certificate_"):
        stack = machine.certificate_["stack"]
        text.append(known["certificate"][0].upper() + known["certificate"][1:])
        text.append(
            "The weights of the mixture solve a convex problem: on the rows that they were chosen "
            f"by, their loss is at most {number(stack)} above the least possible."
            if stack > 0.0
            else "The mixture is one machine, so there were no weights to find."
        )
    elif not claimed and not hasattr(machine, "history_"):
        return None
    elif not claimed:
        text.append(
            "This learner alternates between two steps that never raise its objective. Its problem "
            "is not convex, so there is a descent but no proof of optimality."
        )
    elif hasattr(machine, "compression_"):
        left = machine.compression_
        text.append(
            f"This machine was compressed after its training, from {left.n_points_before:,} "
            f"support vectors to {left.n_points:,}, which changes no decision value by more than "
            f"{number(left.bound)} where k(x, x) is at most what it is at a support vector. It is "
            "not the solution of its training problem any more, and has no proof of its own."
        )
    elif gap is None:
        text.append(
            "There is no proof of optimality here: the kernel matrix is not positive semidefinite, "
            "or the method is not convex. The solution is a stationary point."
        )
    else:
        text += _certified(machine, gap)
        blocks.append(_bounds(machine))
        text += _audited(subject)
    title = "The certificate" if claimed else "How it converged"
    return Section("proof", title, text, [*blocks, *_convergence(machine)])


def _certified(machine: Any, gap: float) -> list[str]:
    several = np.size(machine.dual_gap_) > 1
    n = np.size(machine.dual_gap_)
    text = [
        f"The fit is within {percent(gap)} of the optimum"
        + (f", in the worst of its {n} problems. " if several else ". ")
        + "That is a proof, not a stopping rule: the solution itself gives a lower and an upper "
        "bound, and the best possible objective lies between them. It is about the training "
        "objective, and says nothing about accuracy on new rows."
    ]
    if not np.all(machine.converged_):
        text.append("Training stopped before the tolerance asked for was met.")
    return text


def _bounds(machine: Any) -> Facts:
    lower = np.atleast_1d(machine.objective_)
    gap = np.atleast_1d(machine.dual_gap_)
    items = [
        ("lower bound", number(lower.sum())),
        ("upper bound", number((lower + gap).sum())),
        ("gap", number(gap.sum())),
        ("iterations", number(np.sum(machine.n_iter_))),
    ]
    if hasattr(machine, "support_"):
        items.append(("support vectors", f"{len(machine.support_):,} of {machine.shape_fit_[0]:,}"))
    return Facts(items)


def _audited(subject: Subject) -> list[str]:
    """Return what an audit from the public attributes says, where it can be made."""
    machine = subject.machine
    if not isinstance(machine, KernelMachine | KernelMetric) or n_rows(subject.X) > _MAX_AUDITED:
        return []
    X = innermost(subject.estimator, subject.X)[1]
    try:
        found = audit(machine, X, subject.y)
    except (TypeError, ValueError):  # of other data
        return []
    if not all(one.confirmed for one in np.atleast_1d(np.array(found, dtype=object))):
        return [
            "An audit from the coefficients alone does not confirm the bounds for these data: the "
            "fit had sample weights, of which the report does not know, or other rows."
        ]
    return ["An audit recomputed both bounds from the coefficients alone and confirms them."]


def _convergence(machine: Any) -> list[Any]:
    history = getattr(machine, "history_", None)
    if history is None:
        return []
    longest = 0
    if isinstance(history, list):
        longest = int(np.argmax([len(one) for one in history]))
        history = history[longest]
    if len(history) < 3:
        return []
    shown = ConvergenceDisplay.from_estimator
    n = len(history)
    if np.ndim(history) == 1 or np.isnan(np.asarray(history)[:, 1]).all():
        alt = f"The objective over {n - 1} iterations"
        return [draw(lambda ax: shown(machine, ax=ax), alt)]
    which = f" of problem {longest + 1}" if isinstance(machine.history_, list) else ""
    alt = f"Upper and lower bound on the optimum{which} over {n} iterations"
    relative = f"Their distance, relative to the upper bound, over {n} iterations"
    return [
        draw(lambda ax: shown(machine, problem=longest, ax=ax), alt),
        draw(lambda ax: shown(machine, problem=longest, ax=ax, kind="gap"), relative),
    ]
