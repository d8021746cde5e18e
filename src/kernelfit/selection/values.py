"""The values of a grid: lists that users give, and the unit of those that they leave out."""

import numpy as np

from kernelfit.utils.validation import numbers_in

_LEAST_SPREAD = 1e-152  # of targets: squares of their fractions do not vanish


def positive(values, name):
    """Return values as a list; ValueError unless they are a list of positive numbers."""
    return _numbers(values, name, "positive numbers", lambda array: array > 0)


def not_negative(values, name):
    """Return values as a list; ValueError unless they are a list of numbers >= 0."""
    return _numbers(values, name, "numbers >= 0", lambda array: array >= 0)


def whole_numbers(values, name):
    """Return values as a list of integers; ValueError unless they are a list of such, >= 0."""
    numbers = not_negative(values, name)
    if any(number != int(number) for number in numbers):
        raise ValueError(f"expected {name} to be a list of integers, got {values!r}")
    return [int(number) for number in numbers]


def _numbers(values, name, kind, allowed):
    array = numbers_in(values)
    if array.ndim != 1 or not array.size or not np.all(allowed(array) & np.isfinite(array)):
        raise ValueError(f"expected {name} to be a list of {kind}, got {values!r}")
    return array.tolist()


def spread(y, weight):
    """Return the weighted standard deviation of targets, of each column of them."""
    off = y - np.average(y, axis=0, weights=weight)
    size = np.abs(off).max(axis=0)
    # In units of the largest, squares neither overflow nor vanish.
    unit = np.where(size > 0.0, size, 1.0)
    return size * np.sqrt(np.average((off / unit) ** 2, axis=0, weights=weight))


def check_spread(y, weight):
    """Complain of targets whose squares vanish, and with them errors and scores."""
    found = np.atleast_1d(spread(y, weight))
    if np.any((found > 0.0) & (found < _LEAST_SPREAD)):
        raise ValueError(
            f"expected targets with a spread of at least {_LEAST_SPREAD:g}, or without any, got "
            f"{found[found > 0.0].min():.3g}: scale the targets"
        )
