"""Fits that leave an estimator as it was where they raise or are interrupted."""

import copy
from typing import Any, TypeVar

T = TypeVar("T")


def blank_copy(estimator: T) -> T:
    """Return a shallow copy of an estimator without its fitted attributes.

    All work of a fit is done on it, and its last step is a single assignment,
    ``self.__dict__ = fitted.__dict__``.

    Parameters
    ----------
    estimator : object

    Returns
    -------
    object
    """
    blank: Any = copy.copy(estimator)
    for name in [name for name in vars(blank) if name.endswith("_") and name[0] != "_"]:
        delattr(blank, name)
    result: T = blank
    return result
