"""Gap after so many iterations: the methods of the TKL paper, and the default of TKL.

Figure 1 of the paper has Frank-Wolfe, APD and the two after one another ("boosted") on cancer and
pima. An iteration of Frank-Wolfe is one line search, as in Algorithm 2.
"""

import time

import numpy as np

from benchmarks import records
from benchmarks.data import load
from benchmarks.report import table, write
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.learners.positive_matrix import fit_family
from kernelfit.solvers.saddle.frank_wolfe import FRANK_WOLFE
from kernelfit.solvers.saddle.fully_corrective import FULLY_CORRECTIVE
from kernelfit.solvers.saddle.primal_dual import apd, hybrid
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle
from kernelfit.tasks.losses import hinge, tube

SETS, ITERATIONS = ("breast_cancer", "pima", "housing"), (3, 10, 30, 100, 300, 1000)
SETTINGS = {"C": 10.0, "delta": 0.1, "epsilon": 0.1, "tol": 1e-10}


def problem(name):
    """Return the saddle problem of degree 1 without z; targets have unit variance."""
    X, y = load(name)
    family = fit_family(
        X,
        np.ones(len(X)),
        lambda n: TessellatedBasis(n, 1, SETTINGS["delta"], "x"),
        normalize=True,
        cache_bytes=2**30,
    )
    if len(np.unique(y)) == 2:
        return SaddleProblem(family, (hinge(np.where(y == y.max(), 1.0, -1.0), SETTINGS["C"]),))
    y = (y - y.mean()) / y.std()
    return SaddleProblem(family, (tube(y, SETTINGS["C"], SETTINGS["epsilon"]),))


def methods(size):
    """Yield names, solvers and starts."""
    yield "Frank-Wolfe", FRANK_WOLFE, None
    yield "Frank-Wolfe from P = I", FRANK_WOLFE, (None, np.eye(size))
    for mu in (0.0, 0.1, 1.0):
        yield f"APD, mu = {mu:g}", apd(mu), None
    yield "APD from P = I, mu = 0", apd(), (None, np.eye(size))
    for handover in (1e-2, 1e-4):
        yield f"hybrid, handover {handover:g}", hybrid(handover), None
    yield "fully corrective (default)", FULLY_CORRECTIVE, None


def main():
    record = records.start("tkl_rates", **SETTINGS)
    for name in SETS:
        saddle = problem(name)
        for method, solver, start in methods(saddle.family.size):
            began = time.process_time()
            result = solve_saddle(
                saddle, solver, tol=SETTINGS["tol"], max_iter=ITERATIONS[-1], start=start
            )
            gaps = [gap / abs(lower) for lower, gap in result.history]
            row = {"part": name, "method": method}
            row |= {str(k): float(gaps[min(k, len(gaps)) - 1]) for k in ITERATIONS}
            row |= {"iterations": len(gaps), "CPU s": time.process_time() - began}
            record.rows.append(row)
            print(row, flush=True)
    record.save(records.path_of("tkl_rates"))
    page()


def page():
    record = records.load(records.path_of("tkl_rates"))
    parts = [text for name in SETS for text in (f"{name}:", table(record.rows, name))]
    write(
        "tkl_rates",
        "Tessellated kernel learning: gap after so many iterations",
        "Difference of the bounds relative to the objective; degree 1, basis x, C = 10, "
        "delta = 0.1. Runs end at 1e-10, by rounding, or after 1,000 iterations.",
        *parts,
        records=[record],
    )


if __name__ == "__main__":
    main()
