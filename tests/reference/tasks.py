"""Tasks of every kind that the dual core solves."""

import numpy as np

from kernelfit.tasks.losses import hinge, one_class, squared_hinge, tube


def tasks_of_all_kinds(target, C):
    """Yield tasks with and without an intercept, a ridge, a tube and a sum that is not zero."""
    n, p = len(target), np.where(target > 0.0, 1.0, -1.0)
    yield hinge(p, C * np.linspace(0.5, 2.0, n))
    yield hinge(p, C, fit_intercept=False)
    yield squared_hinge(p, 1.0)
    yield tube(target, C, 0.2)
    yield one_class(np.ones(n), 0.3)
