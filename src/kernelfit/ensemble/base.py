"""What both AutoKernel estimators share: reading, search, combination, training, reports."""

import warnings
from numbers import Integral, Real
from os import PathLike
from types import FunctionType
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from kernelfit.ensemble.assemble import assemble, balanced_folds, leave_out
from kernelfit.ensemble.clock import Clock
from kernelfit.ensemble.features import Data
from kernelfit.ensemble.importance import shuffled_losses
from kernelfit.ensemble.leaderboard import FoldScores, tabulate
from kernelfit.ensemble.members import choose_recipes
from kernelfit.ensemble.part import Machines, TrainingPart
from kernelfit.tables.describe import ReadsColumns
from kernelfit.tables.frames import check_table, take_rows
from kernelfit.tables.plan import read_plan
from kernelfit.tables.warnings import warn, warn_of_data, warn_of_dates, warn_of_plan
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.checkpoint import Checkpoint
from kernelfit.utils.digest import digest
from kernelfit.utils.folds import missing_classes, split_folds
from kernelfit.utils.progress import ProgressBar
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.threads import one_blas_thread, threads_for
from kernelfit.utils.torch_device import load_torch
from kernelfit.utils.validation import as_plain, check_weights

_FEW_MEMBERS = 3  # of an ensemble that a limit of time cut short are a weak model
# Attributes that are computed on first use, which `hasattr` is too, and where they are kept.
_ON_FIRST_USE = {"cv_score_": "_cv_score", "feature_importances_": "_importances"}


class AutoKernel(ReadsColumns, BaseEstimator):
    """Base of both estimators.

    A subclass says what is predicted: ``_encode(y)`` gives the targets of the machines and the
    class numbers, ``_decide`` what a combination means.
    """

    _parameter_constraints: ClassVar[dict] = {
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "members": [StrOptions({"default"}), list, tuple],
        "ensemble": ["boolean"],
        "compress": ["boolean"],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "column_kinds": [dict, None],
        "n_jobs": [Integral, None],
        "checkpoint": [str, PathLike, None],
        "random_state": ["random_state"],
        "device": [str, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        time_limit=None,
        *,
        members="default",
        ensemble=True,
        compress=False,
        cv=5,
        scoring=None,
        column_kinds=None,
        n_jobs=None,
        checkpoint=None,
        random_state=None,
        device=None,
        verbose=0,
    ):
        self.time_limit = time_limit
        self.members = members
        self.ensemble = ensemble
        self.compress = compress
        self.cv = cv
        self.scoring = scoring
        self.column_kinds = column_kinds
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def __init_subclass__(cls, **options):
        """Give a subclass a constructor of its own, so that errors name the subclass."""
        super().__init_subclass__(**options)
        if "__init__" not in vars(cls):
            shared = cls.__init__
            own = FunctionType(
                shared.__code__, shared.__globals__, argdefs=shared.__defaults__,
                closure=shared.__closure__,
            )  # fmt: skip
            own.__kwdefaults__ = shared.__kwdefaults__
            own.__qualname__ = f"{cls.__qualname__}.__init__"
            cls.__init__ = own  # type: ignore[method-assign]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def __dir__(self):
        """Return what there is, as scikit-learn does, but for what takes long to compute.

        Completion of names asks for all of these, and a notebook that shows the estimator.
        """
        later = {name for name, kept in _ON_FIRST_USE.items() if kept not in self.__dict__}
        names = set(object.__dir__(self)) - later
        return [name for name in names if hasattr(self, name)]

    def fit(self, X, y, sample_weight=None):
        """Find members, mix them and train them on all rows.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            A numpy array, or a frame of any library that narwhals reads, with numbers,
            categories, booleans, dates, text and missing values.
        y : array-like of shape (n_samples,)
            Class labels, or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, >= 0; ones when None. With given folds, up to the rows of the
            race (400), a weight of 2 equals a repeated row and a weight of 0 a missing one.
            Weights that are all below one are divided by the largest.

        Returns
        -------
        self : object
            The fitted estimator. Where fit raises or is interrupted, it is left as it was.
        """
        self._validate_params()
        if self.device is not None:
            load_torch(self.device)  # or says at once what is missing
        clock = Clock(np.inf if self.time_limit is None else float(self.time_limit))
        fitted = blank_copy(self)
        X, y = fitted._check_training_data(X, y)
        weight = check_weights(sample_weight, len(y))
        if weight.max() < 1.0:  # shares, not numbers of rows: their unit must not matter
            weight = weight / weight.max()
        rows = np.flatnonzero(weight)
        targets, labels = fitted._encode(y[rows])
        table = fitted._read_training_table(take_rows(X, rows))
        warn_of_data(fitted._plan, table, targets, labels, stacklevel=2)
        data = Data(table, fitted._plan.roles, targets, labels, weight[rows])
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        if self.checkpoint is not None and self.random_state is None:
            seed = Checkpoint.note(self.checkpoint).get("seed", seed)
        folds = self._folds(X, y, rows, data, seed)
        fitted._learn(data, rows, folds, seed, clock, sample_weight is not None)
        self.__dict__ = fitted.__dict__
        return self

    def _check_training_data(self, X, y):
        """Return the table and the targets, checked; store the names of the features."""
        if y is None:  # in the words of scikit-learn
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        X, y = check_table(self, X, reset=True, min_rows=2), as_plain(y)
        check_consistent_length(X, y)
        y = column_or_1d(y, warn=True)
        check_array(y, ensure_2d=False, dtype=None, ensure_min_samples=2, input_name="y")
        return X, y

    def _read_training_table(self, X):
        with one_blas_thread():
            self._plan = read_plan(X, self.column_kinds)
            table = self._plan.read(X)
        warn_of_plan(self._plan, stacklevel=3)
        return table

    def _check_table(self, X):
        """Return a table to predict as numbers."""
        check_is_fitted(self)
        X = check_table(self, X, reset=False)
        warn_of_dates(self._plan, X, stacklevel=4)
        return self._plan.read(X)

    def _folds(self, X, y, rows, data, seed):
        """Return the training and test rows of every fold, as places among rows of weight."""
        n = len(rows)
        if n < 2:
            raise ValueError(f"expected two rows of positive weight, got n_samples = {n}")
        if self.cv is None or isinstance(self.cv, Integral):
            n_folds = min(n, 5 if self.cv is None else int(self.cv))
            return balanced_folds(data, n_folds, seed)
        place = np.full(len(y), -1)
        place[rows] = np.arange(n)
        folds = []
        for fold in split_folds(self.cv, X, y, classifier=is_classifier(self)):
            train, test = (place[part][place[part] >= 0] for part in fold)
            if not len(train):
                raise ValueError("expected rows of positive weight in every training part")
            if len(test):
                folds.append((train, test))
        if not folds:
            raise ValueError("expected cv to give at least one fold with test rows, got none")
        if is_classifier(self):
            message = missing_classes(y[rows], folds)
            if message:
                warnings.warn(message, UserWarning, stacklevel=3)
        return folds

    def _learn(self, data, rows, folds, seed, clock, weighted):
        """Search, combine, train and set the fitted attributes."""
        recipes = choose_recipes(self.members, data.table.shape[1], is_classifier(self))
        FoldScores(self, data, folds, weighted).try_out()  # complain now, not after the search
        with ProgressBar(bool(self.verbose), clock.limit) as bar:
            found = assemble(
                data, folds, recipes, seed=seed, single=not self.ensemble, compress=self.compress,
                exchangeable=self.cv is None or isinstance(self.cv, Integral),
                n_jobs=self.n_jobs, clock=clock if clock.is_limited else None, report=bar.show,
                checkpoint=self._open_checkpoint(data, folds, seed), device=self.device,
            )  # fmt: skip
        self._data, self._cv_folds, self._seed = found.sample, found.folds, seed
        self._weighed_scores, self.search_indices_ = found.weighed_scores, rows[found.weighed]
        self._weighted, self._recipes, self._members = weighted, found.recipes, found.members
        self._combination, self._calibrated = found.combination, found.calibrated
        self._machines = found.trained.machines
        self._fold_combination, self._fold_machines = found.fold_combination, None
        self._scores = found.scores[found.keep]
        with one_blas_thread():
            self.leaderboard_ = tabulate(found, self._fold_scores())
        self.members_ = [member.name for member in self._members]
        self.weights_ = self._combination.stack.weights
        self.certificate_ = {
            "stack": self._combination.stack.gap,
            "pull": self._combination.stack.pull,
            "machines": np.array([machine.gap for machine in self._machines.machines]),
        }
        self.search_rows_ = len(found.tested)
        self.training_, self.n_landmarks_ = found.how, found.trained.n_landmarks
        self.cut_short_ = found.cut_short
        self.fit_time_ = clock.spent
        weak = len(self.members_) < _FEW_MEMBERS if self.ensemble else found.stands_in
        if found.cut_short and weak:
            missing = "; ".join(found.cut_short)
            text = f"time_limit={self.time_limit:g} leaves a weak model: {missing}"
            warn("KF006", text, stacklevel=3)

    def _open_checkpoint(self, data, folds, seed):
        """Return where scores are kept, or None."""
        if self.checkpoint is None:
            return None
        identity = {
            "estimator": type(self).__name__,
            "data": digest(vars(data)),
            "folds": digest(folds),
            "parameters": digest(self.members, seed, self.device),
        }
        return Checkpoint(self.checkpoint, identity, {"seed": seed})

    @property
    def fold_predictions_(self):
        """What the members say of rows that they were not trained on, for the weights."""
        check_is_fitted(self)
        alone = self._combination.alone
        scores = enumerate(self._weighed_scores)
        return np.stack([self._shown(alone(k, one)) for k, one in scores])

    def _fold_scores(self):
        return FoldScores(self, self._data, self._cv_folds, self._weighted)

    @property
    def cv_score_(self):
        """The mean score of ensembles made without the fold that they predict.

        Search, combination and training are repeated without each fold: what was chosen with it
        has seen its labels. Computed on first use.
        """
        check_is_fitted(self)
        if "_cv_score" not in self.__dict__:
            data, folds, score = self._data, self._cv_folds, self._fold_scores().score
            results = []
            for k, (_, test) in enumerate(folds):
                rows, inner = leave_out(folds, k)
                if len(rows) < 2:
                    raise ValueError(
                        "expected folds with training rows that they do not test, for cv_score_, "
                        f"got {len(rows)} in fold {k + 1}"
                    )
                part = data.take(rows)
                ensemble = assemble(
                    part, inner or balanced_folds(part, min(5, len(rows)), self._seed),
                    self._recipes, seed=self._seed, single=not self.ensemble,
                    compress=self.compress, n_jobs=self.n_jobs, device=self.device,
                )  # fmt: skip
                results.append(score(ensemble(data.table[test]), test))
            self._cv_score = float(np.mean(results))
        return self._cv_score

    def _combined(self, X):
        """Return what the combination says of a table."""
        table = self._check_table(X)
        with threads_for(len(self._data.weight)):
            return self._calibrated(self._machines(table, self.device))

    def _trained_folds(self):
        """Return the machines of every fold; the first call trains them."""
        check_is_fitted(self)
        if self._fold_machines is None:
            with threads_for(len(self._data.weight)):
                parts = [
                    TrainingPart(self._data.take(rows), self._seed, self.device)
                    for rows, _ in self._cv_folds
                ]
                self._fold_machines = [
                    Machines([part.fit(member) for member in self._members]) for part in parts
                ]
        return self._fold_machines

    def _conformal(self, X, alpha):
        """Return what CV+ needs of the folds at a table, and of the training rows."""
        if not (isinstance(alpha, Real) and 0.0 < float(alpha) < 1.0):
            raise ValueError(f"expected alpha between 0 and 1, got {alpha!r}")
        table = self._check_table(X)
        tests = [test for _, test in self._cv_folds]
        rows = np.concatenate(tests)
        fold = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
        ahead = np.stack(
            [self._fold_combination(one(table, self.device)) for one in self._trained_folds()]
        )
        return ahead, self._fold_combination(self._scores)[rows], fold, self._data.take(rows)

    @property
    def feature_importances_(self):
        """The rise of the loss when a column is shuffled, as shares; computed on first use."""
        check_is_fitted(self)
        if len(self._plan.names) != self.n_features_in_:
            raise AttributeError("the columns of a sparse matrix have no importances one by one")
        if "_importances" not in self.__dict__:
            rise = shuffled_losses(
                self._trained_folds(), self._cv_folds, self._data,
                self._fold_combination, np.random.default_rng(self._seed),
                self._plan.columns, self.device,
            )  # fmt: skip
            rise = np.maximum(rise, 0.0)
            self._importances = rise / rise.sum() if rise.any() else rise
        return self._importances
