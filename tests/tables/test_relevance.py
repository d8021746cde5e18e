"""The forward selection of groups against statsmodels' formula, in plain least squares."""

import numpy as np
from scipy.stats import f as f_distribution

from kernelfit.tables.relevance import _basis, _chance, telling
from kernelfit.tables.roles import CIRCLE, TEXT
from kernelfit.tables.views import learn_view

RNG = np.random.default_rng(0)
N = 200


def test_chance_is_that_of_the_f_test():
    X, y = RNG.normal(size=(N, 3)), RNG.normal(size=N)
    A = np.column_stack([np.ones(N), X])
    left = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    total = ((y - y.mean()) ** 2).sum()
    F = (total - left @ left) / 3 / (left @ left / (N - 4))
    centred = (X - X.mean(axis=0)) / np.sqrt(N)
    found = _chance(_basis(centred), (y - y.mean())[:, None] / np.sqrt(N), float(N))
    np.testing.assert_allclose(found, f_distribution.sf(F, 3, N - 4), rtol=1e-9)


def test_groups_that_tell_are_kept():
    groups = {name: RNG.normal(size=(N, 4)) for name in "abcdefgh"}
    y = 2.0 * groups["b"][:, 0] + 0.3 * groups["e"][:, 1] + 0.3 * RNG.normal(size=N)
    found = telling(groups, y[:, None], np.ones(N))
    assert {"b", "e"} <= found and len(found) <= 4
    assert telling({"a": np.ones((N, 2))}, y[:, None], np.ones(N)) == set()
    assert telling(groups, np.ones((N, 1)), np.ones(N)) == set()


def test_a_weight_is_a_repeated_row():
    groups = {name: RNG.normal(size=(N, 4)) for name in "abcdefgh"}
    y = RNG.normal(size=(N, 1)) + 0.2 * groups["c"][:, :1]
    count = RNG.integers(1, 4, N)
    repeated = {name: np.repeat(X, count, axis=0) for name, X in groups.items()}
    found = telling(groups, y, count.astype(float))
    assert found == telling(repeated, np.repeat(y, count, axis=0), np.ones(count.sum()))


def test_the_chance_of_noise_is_the_level():
    kept = sum(
        bool(telling({"a": RNG.normal(size=(60, 6))}, RNG.normal(size=(60, 1)), np.ones(60)))
        for _ in range(400)
    )
    assert kept < 0.3 * 400


def test_views_leave_out_silent_circles_and_texts():
    place, text = RNG.uniform(size=(N, 2)), RNG.normal(size=(N, 10))
    table = np.hstack([place, text])
    roles = np.array([CIRCLE, CIRCLE] + [TEXT] * 5 + [TEXT + 1] * 5)
    y = np.sin(2 * np.pi * place[:, :1]) + text[:, 7:8]
    view = learn_view(table, roles, np.ones(N), "standard", y)
    assert set(view.sources) == {0, *range(7, 12)}
    assert set(learn_view(table, roles, np.ones(N), "ranks").sources) == set(range(12))
