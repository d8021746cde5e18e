"""Widths of kernels that are found from data: numbers, or one sentence on the features."""

import numpy as np


def moderate_gamma(gamma):
    """Return a gamma found from data; ValueError where distances times it would not be numbers.

    Parameters
    ----------
    gamma : float

    Returns
    -------
    float
    """
    if not np.finfo(np.float64).tiny <= gamma < np.inf:
        raise ValueError(
            f"expected features of moderate scale, got gamma={gamma} from their variance"
        )
    return float(gamma)
