"""Chosen rows and columns of a matrix, read in place."""

from typing import Any

from numpy.typing import NDArray

from kernelfit.utils.jit import jit

Array = NDArray[Any]


@jit()
def add_rows(source: Array, places: Array, coef: Array, out: Array) -> None:
    """Add ``source[places].T @ coef`` to out, four rows for each pass over it."""
    m = len(places)
    for r in range(0, m, 4):
        # Behind the end, the last row is added zero times.
        r1, r2, r3 = min(r + 1, m - 1), min(r + 2, m - 1), min(r + 3, m - 1)
        row0, row1 = source[places[r]], source[places[r1]]
        row2, row3 = source[places[r2]], source[places[r3]]
        c0, c1 = coef[r], coef[r1] * (r1 == r + 1)
        c2, c3 = coef[r2] * (r2 == r + 2), coef[r3] * (r3 == r + 3)
        for j in range(len(out)):
            out[j] += (c0 * row0[j] + c1 * row1[j]) + (c2 * row2[j] + c3 * row3[j])


@jit()
def gather(source: Array, places: Array, columns: Array, out: Array) -> None:
    """Copy ``source[places][:, columns]`` to out."""
    for i in range(len(places)):
        row = source[places[i]]
        for j in range(len(columns)):
            out[i, j] = row[columns[j]]
