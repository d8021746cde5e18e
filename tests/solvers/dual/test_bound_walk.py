"""The walk from bound to bound as machine code; its steps are tested with its callers."""

import re

import numba
import pytest

from kernelfit.solvers.dual.bound_walk import walk_to_bounds


@pytest.mark.skipif(not hasattr(walk_to_bounds, "py_func"), reason="numba is switched off")
def test_calls_no_other_compiled_function():
    # Its sums are taken in any order. A function that is compiled for itself as well has them in
    # two orders, and whether the code was loaded or just compiled decides which is called.
    walk = numba.jit(**walk_to_bounds.targetoptions)(walk_to_bounds.py_func)
    vector = numba.float64[::1]
    walk.compile((numba.float64[:, ::1], *[vector] * 4, numba.boolean, numba.int64))
    (code,) = walk.inspect_llvm().values()
    called = set(re.findall(r"call [^@\n]*@_ZN9kernelfit[^(]*", code))
    assert all("walk_to_bounds" in name for name in called)
    assert called  # by the function that Python calls
