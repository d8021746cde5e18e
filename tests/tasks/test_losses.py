"""The tasks of the losses: what they refuse; their duals are checked in tests/solvers."""

import numpy as np
import pytest

from kernelfit.tasks.losses import hinge, squared_hinge


@pytest.mark.parametrize("loss", [hinge, squared_hinge])
@pytest.mark.parametrize("label", [0.0, 2.0, np.nan])
def test_other_labels_than_two_signs_are_refused(loss, label):
    with pytest.raises(ValueError, match=r"^expected labels -1 and 1, got (0|2|nan)$"):
        loss([1.0, -1.0, label], 1.0)
