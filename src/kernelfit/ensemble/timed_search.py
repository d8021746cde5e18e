"""The search for members under a limit of time.

The order of work does not depend on the limit, so a longer limit does the work of a shorter one
and more. First a plain machine is trained on all rows: the answer in hand. Then all recipes are
compared on few rows. Then the recipes that the stack uses are compared on more rows, as many as
measured times allow, again and again while there is time. Recipes that were put off come last.
The larger rows replace the smaller ones once they have compared the recipes of most of the weight.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.ensemble.clock import Clock
from kernelfit.ensemble.features import Features, metric_points
from kernelfit.ensemble.fold_rows import FoldRows, OutOfTime
from kernelfit.ensemble.members import Member
from kernelfit.ensemble.outcome import SMALL_WEIGHT, outcome_of
from kernelfit.ensemble.rehearsal import OF_HALF
from kernelfit.ensemble.search import HOPELESS, MAX_ROWS, RACE_ROWS, Found, Search, around, choose
from kernelfit.ensemble.training import Training
from kernelfit.utils.threads import one_blas_thread

Array = NDArray[Any]

_FIRST_SHARE = 0.5  # largest share of the time left for all recipes on few rows
_FEWEST = 3  # fewest recipes that are compared again on more rows
_CARRIED = 0.9  # share of the weight whose recipes more rows must have compared
_PLANNED = 0.95  # share of the weight whose recipes set the number of rows
_STEP = 1.25  # ratio of successive numbers of rows
_WORTH = 1.3  # least ratio of rows that is worth another comparison
_UNIT = 20  # plain members that take one unit of a recipe's cost
_LEAST_RESERVED, _MOST_RESERVED = 0.05, 0.4  # of the limit, for training
_CAUTION = 1.2  # factor on the forecast of the training


class TimedSearch(Search):
    """The search for members under a limit of time.

    Parameters
    ----------
    *args
        As for `Search`.
    training : Training
        Trains the plain machine first, and measures its time.
    n_rehearsed : int
        Number of members that are trained on half of the rows first.
    **options
        As for `Search`.
    """

    def __init__(
        self,
        *args: Any,
        training: Training,
        n_rehearsed: int,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._training, self._n_rehearsed = training, n_rehearsed
        self._final = 0.0  # seconds of the training of the members that are used
        self._clock = training.clock or Clock()
        self._cost_pace = 0.0  # seconds a unit of cost
        self._first_until = np.inf  # seconds after which recipes on few rows leave time for more
        self._size = min(RACE_ROWS, len(self._order))

    @property
    def n_rows(self) -> int:
        """How many rows members are compared on where there is time."""
        return min(MAX_ROWS, len(self._order))

    def run(self, recipes: Sequence[Any]) -> list[Found]:
        """Return the results of the recipes that there was time for."""
        for recipe in recipes:
            plain = self._try(self._few, recipe, recipe.widths, recipe.ridges)
            self.considered.append(recipe)
            if len(plain.chosen):
                break
        else:
            return [plain]
        self._training.begin(plain.members[0])
        self._reserve([plain])
        found = self._try_all(recipes, [plain])
        while len(self.considered) >= min(_FEWEST, len(recipes)):
            size = self._affordable_rows(found)
            deeper = None if size is None else self._compare_on(size, found)
            if deeper is None:
                break
            found = deeper
            self._reserve(found)
        found = self._try_rest(recipes, found)
        self._reserve(found)
        self._keep(self._final)
        order = {recipe: place for place, recipe in enumerate(recipes)}
        return sorted(found, key=lambda one: order[one.tried[0].recipe])

    def _try_all(self, recipes: Sequence[Any], found: list[Found]) -> list[Found]:
        """Try all recipes on few rows."""
        plain = found[0]
        widths, ridges = len(plain.tried[0].recipe.widths), len(plain.tried[0].recipe.ridges)
        seconds = len(self._few.folds) * plain.fold.of(widths, ridges) * plain.overlap
        self._cost_pace = seconds / self._cost(plain.tried[0].recipe)
        clock = self._clock
        left = (1.0 - _MOST_RESERVED) * clock.limit - clock.spent
        self._first_until = clock.spent + _FIRST_SHARE * left
        for number, recipe in enumerate(recipes, start=1):
            if recipe in self.considered:
                continue
            one = self._try_first(recipe, self._allows_first)
            if one is not None and not self._is_hopeless(one, found):
                found.append(one)
                # The best of every recipe, as long as their weights are not known.
                self._keep_for([other.members[0] for other in found], found, 0.0)
                self._report(number, len(recipes), recipe.name, found)
        self._reserve(found)
        return found

    def _allows_first(self, forecast: float) -> bool:
        """Return whether there is time for work on few rows before that on more rows."""
        if self._size < self.n_rows and self._clock.spent + forecast > self._first_until:
            return False
        return self._clock.allows(forecast)

    def _try_first(self, recipe: Any, allows: Callable[[float], bool]) -> Found | None:
        """Try a recipe on few rows for the first time, if there is time."""
        if not allows(self._cost_pace * self._cost(recipe)):
            return None
        attempt = self._settle if self._many is self._few else self._try
        try:
            one = attempt(self._few, recipe, recipe.widths, recipe.ridges, allows)
        except OutOfTime:
            return None
        self.considered.append(recipe)
        return self._with_standby(self._few, one) if len(one.chosen) else None

    def _is_hopeless(self, one: Found, found: Sequence[Found]) -> bool:
        lead = min(other.losses[0] for other in (*found, one))
        many = len(self._order) > RACE_ROWS
        return bool(many and one.tried[0].recipe.races and one.losses[0] > HOPELESS * lead)

    def _cost(self, recipe: Any) -> float:
        """Guess the time of a recipe on few rows, in units of some plain members."""
        if recipe.races:
            return float(recipe.cost * len(recipe.widths) * len(recipe.ridges) / _UNIT)
        # Features that another recipe has learned are there.
        return 1.0 if self._few.knows(recipe) else float(recipe.cost)

    def _try_rest(self, recipes: Sequence[Any], found: list[Found]) -> list[Found]:
        """Try the recipes that were put off: on few rows, then on as many as the others."""
        for recipe in recipes:
            if recipe in self.considered:
                continue
            one = self._try_first(recipe, self._clock.allows)
            if one is None or self._is_hopeless(one, found):
                continue
            if self._many is not self._few:
                growth = len(self._many.tested) / len(self._few.tested)
                again = self._again(self._many, self._few, one, growth, 1.0)
                if again is None:
                    self.considered.remove(recipe)
                    continue
                one = again
            found.append(one)
            self._report(len(found), len(recipes), recipe.name, found)
        return found

    def _affordable_rows(self, found: Sequence[Found]) -> int | None:
        """Return the number of rows on which the recipes of most weight can be compared in time."""
        now = self._size
        weights = self._weights(found)
        order = np.argsort(-weights, kind="stable")
        carried = np.searchsorted(np.cumsum(weights[order]), _PLANNED) + 1
        planned = {0, *order[:carried].tolist()}  # the plain recipe is always compared
        size = self.n_rows
        while size > now and (size == self.n_rows or size >= _WORTH * now):
            forecasts = (self._forecast(found[k], size / now) for k in planned)
            if self._clock.allows(_CAUTION * sum(forecasts)):
                return size
            size = int(size / _STEP)
        return None

    def _compare_on(self, size: int, found: Sequence[Found]) -> list[Found] | None:
        """Compare recipes on more rows, the largest weights first; None if there were too few."""
        rows, weights = self._rows(size), self._weights(found)
        growth = len(rows.tested) / len(self._many.tested)
        weights[0] += 1.0  # the plain recipe comes first: the answer in hand is one of its members
        deeper: list[Found] = []
        carried = 0.0
        forecast = spent = 0.0
        for k in np.argsort(-weights, kind="stable"):
            pace = max(spent / forecast, 0.5) if forecast else 1.0
            again = self._again(rows, self._many, found[k], growth, pace)
            if again is None:
                if not deeper:
                    return None
                continue
            forecast += self._forecast(found[k], growth)
            spent += again.seconds
            deeper.append(again)
            carried += weights[k]
            self._report(len(deeper), len(found), again.tried[0].recipe.name, deeper)
        if carried - 1.0 < _CARRIED:
            return None
        self._many, self._size = rows, size
        return deeper

    def _again(
        self, rows: FoldRows, fewer: FoldRows, one: Found, growth: float, pace: float
    ) -> Found | None:
        """Compare a recipe on more rows, around what did best on fewer; None without time."""
        recipe = one.tried[0].recipe
        if not self._clock.allows(pace * self._forecast(one, growth)):
            return None
        rows.take_metrics(recipe, fewer)
        try:
            again = self._settle(rows, recipe, *around(recipe, one.members), self._clock.allows)
        except OutOfTime:
            return None
        return self._with_standby(rows, again) if len(again.chosen) else None

    def _forecast(self, one: Found, growth: float) -> float:
        """Forecast the seconds of a recipe on `growth` times as many rows."""
        recipe = one.tried[0].recipe
        widths, ridges = around(recipe, one.members)
        learned = growth**1.3  # trees
        if recipe.learns_metric:  # learned, unless there are more points
            few = 0.8 * len(self._many.tested)
            learned = 0.0 if few >= metric_points(int(growth * few)) else growth**2
        in_jobs = len(self._many.folds) * one.fold.of(len(widths), len(ridges), growth, learned)
        return in_jobs * one.overlap

    def _with_standby(self, rows: FoldRows, one: Found) -> Found:
        """Return the result with the answer in hand among the chosen members."""
        standby = self._training.standby
        if standby not in one.tried or standby in one.members:
            return one
        place = one.tried.index(standby)
        _, loss = choose(one.scores[[place]], self._data, rows.tested)
        if not len(loss):
            return one
        chosen, losses = np.append(one.chosen, place), np.append(one.losses, loss)
        return replace(one, chosen=chosen, losses=losses)

    def _member_weights(self, found: Sequence[Found]) -> Array:
        """Return the weights of the members in a stack."""
        tested = self._many.tested
        scores = np.concatenate([one.scores[one.chosen][:, tested] for one in found])
        outcome = outcome_of(self._data.take(tested))
        with one_blas_thread():
            combination = outcome.combine(scores, np.arange(len(tested)))
        return np.asarray(combination.stack.weights)

    def _weights(self, found: Sequence[Found]) -> Array:
        """Return the weights of the recipes."""
        recipe = np.repeat(np.arange(len(found)), [len(one.members) for one in found])
        return np.bincount(recipe, self._member_weights(found), len(found))

    def _expect(self, found: Sequence[Found]) -> None:
        """Forecast the seconds of members on all rows: of the features, and of the machine.

        The time of a machine is that of the answer in hand, times the ratio of their work.
        """
        training, n_fold = self._training, 0.8 * len(self._many.tested)
        plain = training.standby_seconds / max(training.work(found[0].fold, n_fold), 1e-9)
        for one in found:
            seconds = self._learning_seconds(one), plain * training.work(one.fold, n_fold)
            training.expected |= {member: seconds for member in one.members}

    def _learning_seconds(self, one: Found) -> float:
        """Forecast the seconds to learn the features of a recipe from all rows."""
        recipe, n = one.tried[0].recipe, len(self._training.data.weight)
        if recipe.learns_metric:  # taken from a fold
            return 0.0
        return float(one.fold.learning * (n / (0.8 * len(self._many.tested))) ** 1.3)

    def metrics(self, members: Sequence[Member]) -> list[tuple[Any, Features]]:
        """Return metrics of the folds for machines of all rows.

        These take no time, and the weights of the members belong to them.
        """
        recipes = {one.recipe.features: one.recipe for one in members}
        found = [(recipe, self._many.metric(recipe)) for recipe in recipes.values()]
        return [(recipe, metric) for recipe, metric in found if metric is not None]

    def _reserve(self, found: Sequence[Found]) -> None:
        """Reserve the time of the training."""
        began = self._clock.spent
        weights = self._member_weights(found)
        combining = 2.0 * (self._clock.spent - began)
        members = [member for one in found for member in one.members]
        order = [k for k in np.argsort(-weights, kind="stable") if weights[k] >= SMALL_WEIGHT]
        self._keep_for([members[k] for k in order], found, combining)

    def _keep_for(self, used: Sequence[Member], found: Sequence[Found], combining: float) -> None:
        """Reserve the time of some members, and of their machines of half of the rows."""
        self._expect(found)
        self._final = combining + _CAUTION * self._total(used[: self._training.most])
        self._keep(self._final + self._total(used[: self._n_rehearsed], OF_HALF))

    def _keep(self, seconds: float) -> None:
        limit = self._clock.limit
        least, most = _LEAST_RESERVED * limit, _MOST_RESERVED * limit
        self._clock.reserved = float(np.clip(seconds, least, most))

    def _total(self, members: Sequence[Member], share: float = 1.0) -> float:
        """Return the seconds of some members; features are shared."""
        expected = self._training.expected
        learning = {member.recipe.features: expected[member][0] for member in members}
        return sum(learning.values()) + share * sum(expected[member][1] for member in members)

    def left_out(self, recipes: Sequence[Any]) -> list[str]:
        """Return sentences that name the work left out for time."""
        found = []
        left = len(recipes) - len(self.considered)
        if left:
            found.append(f"{left} of {len(recipes)} kinds of members were not tried")
        if self._size < self.n_rows:
            found.append(f"members were compared on {self._size} of {self.n_rows} rows")
        return found
