r"""The exponential function of whole arrays, in vector registers.

With :math:`x = k \ln 2 + r`, k whole and :math:`|r| \le \ln(2) / 2`, :math:`e^x = 2^k e^r`. The sum
of the first terms of the series of :math:`e^r` is exact to rounding, and :math:`2^k` is made from
its bits. There is no branch in it, so a compiler makes vectors of it: numpy's own function for
float64 takes three times as long on processors without AVX-512.
"""

from math import factorial
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from kernelfit.utils.jit import jit

Array = NDArray[Any]

_COMPILED = not getattr(config, "DISABLE_JIT", 0)


def _reinterpreted(source: Any, target: Any, to: Any) -> Any:
    """Return the compiled function from a number to the number of another type of equal bits."""

    def function(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], to)

        return target(source), codegen

    return intrinsic(function)


_bits = _reinterpreted(types.float64, types.uint64, ir.IntType(64))
_from_bits = _reinterpreted(types.uint64, types.float64, ir.DoubleType())
_bits_single = _reinterpreted(types.float32, types.uint32, ir.IntType(32))
_from_bits_single = _reinterpreted(types.uint32, types.float32, ir.FloatType())

# Added to a small number, it leaves the nearest whole number in the last bits.
_ROUNDER = 1.5 * 2.0**52
_LOG2_E = 1.0 / np.log(2.0)
# ln 2 in two parts, the first with so few digits that its product with k is exact.
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12 = (
    1.0 / factorial(k) for k in range(2, 13)
)
_BIAS, _SHIFT = np.uint64(1023), np.uint64(52)
# Beyond, e^x is taken for 0 and infinity: there are no bits of 2^k.
_LEAST, _MOST = -708.0, 709.4

_single = np.float32
_ROUNDER_S, _LOG2_E_S = _single(1.5 * 2.0**23), _single(_LOG2_E)
_LN2_HIGH_S, _LN2_LOW_S = _single(0.693359375), _single(-2.12194440e-4)
_ZERO_S, _ONE_S, _INFINITY_S = _single(0.0), _single(1.0), _single(np.inf)
_D2, _D3, _D4, _D5, _D6, _D7 = (_single(1.0 / factorial(k)) for k in range(2, 8))
_BIAS_S, _SHIFT_S = np.uint32(127), np.uint32(23)
_LEAST_S, _MOST_S = _single(-87.0), _single(88.0)


# In place: where arrays may overlap, loops are not made of vectors.
@jit()
def _scaled_exp(values: Array, factor: float) -> None:
    for place in range(values.size):
        i = np.uint64(place)  # with a sign, the index would be tested for it
        x = factor * values[i]
        t = x * _LOG2_E + _ROUNDER
        k = t - _ROUNDER
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        s = r * r
        q = s * s
        high = (_C10 + _C11 * r) + s * _C12
        middle = ((_C6 + _C7 * r) + s * (_C8 + _C9 * r)) + q * high
        series = ((_C2 + _C3 * r) + s * (_C4 + _C5 * r)) + q * middle
        value = (1.0 + (r + s * series)) * _from_bits((_bits(t) + _BIAS) << _SHIFT)
        value = 0.0 if x < _LEAST else value
        values[i] = np.inf if x > _MOST else value


@jit()
def _scaled_exp_single(values: Array, factor: Any) -> None:
    for place in range(values.size):
        i = np.uint64(place)
        x = factor * values[i]
        t = x * _LOG2_E_S + _ROUNDER_S
        k = t - _ROUNDER_S
        r = (x - k * _LN2_HIGH_S) - k * _LN2_LOW_S
        s = r * r
        series = ((_D2 + _D3 * r) + s * (_D4 + _D5 * r)) + (s * s) * (_D6 + _D7 * r)
        power = _from_bits_single((_bits_single(t) + _BIAS_S) << _SHIFT_S)
        value = (_ONE_S + (r + s * series)) * power
        value = _ZERO_S if x < _LEAST_S else value
        values[i] = _INFINITY_S if x > _MOST_S else value


def scaled_exp(x: Array, factor: float, out: Array | None = None) -> Array:
    """Return ``exp(factor * x)``, within two units of the last place.

    Numbers near the ends of the range are 0 or infinite.

    Parameters
    ----------
    x : ndarray of float64 or float32
    factor : float
    out : ndarray, default=None
        Of the shape and type of x, which it may be.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.kernels.exponential import scaled_exp
    >>> scaled_exp(np.array([0.0, np.log(2.0), np.inf]), -1.0)
    array([1. , 0.5, 0. ])
    """
    if out is None:
        out = np.array(x, order="C")
    elif out is not x:
        out[...] = x
    if _COMPILED and out.flags.c_contiguous:
        if out.dtype == np.float32:
            _scaled_exp_single(out.reshape(-1), _single(factor))
        else:
            _scaled_exp(out.reshape(-1), factor)
        return out
    with np.errstate(over="ignore"):  # exp(-inf) is 0
        np.multiply(out, factor, out=out)
        return np.exp(out, out=out)
