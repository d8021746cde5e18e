"""Fingerprints: equal for equal values in any process, different for others."""

import functools
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from kernelfit import KernelSVC
from kernelfit.kernels.standard import RBF
from kernelfit.utils.digest import digest

VALUES = [
    None,
    True,
    1,
    1.0,
    "1",
    b"1",
    np.inf,
    [],
    (1, 2),
    (12,),
    ("a", "bc"),
    ("ab", "c"),
    {"a": 1},
    {"a": 2},
    {1, 2},
    np.zeros(3),
    np.zeros(3, dtype=np.float32),
    np.zeros((3, 1)),
    np.array(["a", "b"]),
    np.array(["a", "b"], dtype=object),
    sparse.csr_array(np.eye(3)),
    sparse.csr_array(2.0 * np.eye(3)),
    len,
    np.exp,
    lambda x: x,
    lambda x: x + 1,
    functools.partial(pow, 2),
    functools.partial(pow, 3),
    KernelSVC(),
    KernelSVC(C=2.0),
    KernelSVC,
    RBF(1.0),
    RBF(2.0),
    np.random.RandomState(0),
    np.random.RandomState(1),
    np.random.default_rng(0),
]


def test_different_values_differ():
    assert len({digest(value) for value in VALUES}) == len(VALUES)


def test_equal_values_agree():
    assert digest(np.arange(6.0).reshape(2, 3).T) == digest(np.arange(6.0).reshape(2, 3).T.copy())
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    assert digest(np.float64(0.1)) == digest(0.1) == digest(np.array(0.1).item())
    assert digest([1, 2]) == digest((1, 2))
    assert digest(sparse.coo_array(np.eye(2)).tocsr()) == digest(sparse.csr_array(np.eye(2)))


def closure(step):
    return lambda x: x + step


def test_functions_differ_by_what_they_close_over():
    assert digest(closure(1)) == digest(closure(1)) != digest(closure(2))


def test_another_process_finds_the_same():
    code = (
        "import numpy as np\n"
        "from kernelfit import KernelSVC\n"
        "from kernelfit.utils.digest import digest\n"
        "def kernel(x, scale=2.0):\n    return [x * y for y in (1, 2)]\n"
        "rng = np.random.default_rng(1)\n"
        "print(digest(KernelSVC(), {'a', 'b', 'c'}, kernel, np.arange(5), rng))"
    )
    run = [sys.executable, "-c", code]
    found = {subprocess.run(run, check=True, capture_output=True).stdout for _ in range(2)}
    assert len(found) == 1


def test_what_has_no_values_is_refused():
    with pytest.raises(ValueError, match="expected values that can be told from others"):
        digest(iter([1]))
