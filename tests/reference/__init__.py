"""Independent references for the tests: naive loops, convex models and input strategies.

Nothing here imports kernelfit. Clarity comes before speed: every function is meant to be checked
against the formula in its docstring by eye.
"""

import pytest

# Shared assertions report their operands like those of a test module.
pytest.register_assert_rewrite("tests.reference.checks")
