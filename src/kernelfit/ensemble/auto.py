"""AutoKernel: hand it a table, get an ensemble of kernel machines."""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from kernelfit.ensemble.base import AutoKernel
from kernelfit.ensemble.conformal import intervals, sets
from kernelfit.utils.validation import check_labels, check_targets


class AutoKernelClassifier(ClassifierMixin, AutoKernel):
    r"""An ensemble of kernel machines that needs no choices.

    Members are kernel ridge and support vector machines, one class against the rest: on
    standardised and rank-Gaussian inputs, with learned widths of the features, with Gaussian,
    exponential, Laplacian, spline, additive and forest kernels, many widths and ridges. All that is
    learned is learned inside the folds. Scores become probabilities by one scale and an offset a
    class; these are mixed with the weights

    .. math::

        \min_w\; -\frac1n \sum_i \log \sum_m w_m p_m(y_i \mid x_i)
        + \frac{\rho}{2} \|w - \tfrac1M \mathbf 1\|^2, \qquad w \ge 0,\; \mathbf 1'w = 1

    on out-of-fold predictions, a convex problem solved to a certified gap.

    Parameters
    ----------
    time_limit : float, default=None
        Seconds that `fit` may take, kept to within a tenth; None for as long as all members take.
        Any limit gives an answer: a plain Gaussian machine, trained on all rows, comes first. A
        longer limit does the work of a shorter one, and more; `cut_short_` lists the work left
        out.
    members : "default" or list, default="default"
        What to try: names of recipes such as "gaussian", "forest" or "laplacian (ranks)", and
        estimators or pipelines, which see the table as numbers, standardised.
    ensemble : bool, default=True
        Whether to mix the members; else the best one is used alone.
    compress : bool, default=False
        Whether to predict faster at some loss: members of small weight are dropped, and from 200
        rows on the others are spanned by a quarter of the rows, chosen by leverage.
    cv : int, cross-validation generator or iterable, default=5
        The folds; a number stands for folds balanced in the target.
    scoring : str or callable, default=None
        What `cv_score_` and the leaderboard show.
    column_kinds : dict, default=None
        What columns are, by name or place, where that is not to be found out: "number",
        "category", "text", "date", "day first", "month first", "unix" (seconds since 1970),
        "duration", "time" or "drop".
    n_jobs : int, default=None
        Folds, members at the end, and trees of a forest on many rows, worked on at a time: in
        threads, unless a backend of joblib is in force. The result does not depend on it.
    checkpoint : str or path, default=None
        Directory in which the scores of a recipe on a fold are kept, so that a search that was
        interrupted goes on from there: with the same result, unless a `time_limit` decides.
    random_state : int, RandomState instance or None, default=None
        Draws the folds, the forests and the rows of the race.
    device : str, default=None
        Where kernels, their machines and predictions are computed: "cuda" for a GPU, by torch
        ("cpu" runs the same code on the processor), the processor when None. Members are the same
        up to rounding; exact training has the room that the GPU has. Views, metrics and forests
        stay on the processor, where `n_jobs` helps.
    verbose : int, default=0
        Whether to show what is being tried, the best so far and the time left.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    columns_ : DataFrame or dict
        What each column became: its name, kind, use, number of features, missing values and a note.
    n_features_in_ : int
        Columns of the training table.
    feature_names_in_ : ndarray of str
        Their names, where it had any.
    leaderboard_ : dict of ndarray
        One entry a member, the best first: its name, out-of-fold loss and score, weight, and the
        seconds that it took to search its recipe and to train, and takes to predict 1,000 rows.
    members_ : list of str
        Names of the members in use.
    weights_ : ndarray of shape (n_members,)
        Their weights.
    cv_score_ : float
        The mean score of the folds, nested: for each, members are searched, mixed and trained anew
        without it. Computed on first use, `hasattr` included, which takes several times as long
        as the fit; `dir` and displays of the estimator show it from then on.
    certificate_ : dict
        "stack", the duality gap of the weights; "pull", the rho of
        their problem; "machines", the relative gaps of the members.
    fold_predictions_ : ndarray of shape (n_members, n_rows, n_classes)
        Probabilities of the members for rows on which they were not trained; the weights come from
        these. Out of fold, for the rows that members were compared on; from 5,000 rows on, unless
        `cv` divides them, by machines of half of the rows for the other half.
    search_indices_ : ndarray of int of shape (n_rows,)
        These rows.
    feature_importances_ : ndarray of shape (n_features,)
        By how much the loss rises when a column is shuffled among the rows that a fold tests, as
        shares; computed on first use.
    search_rows_ : int
        Rows that members were compared on: at most 2,500, fewer where time is short.
    training_ : str
        How they were trained on all rows: exactly, or on landmarks chosen by leverage.
    n_landmarks_ : int or None
        Number of these landmarks; None where all rows span the machines.
    cut_short_ : list of str
        Work left out for time, such as "3 of 6 members were trained"; empty where there was time
        for all.
    fit_time_ : float
        Seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelfit import AutoKernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AutoKernelClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    >>> model.predict_proba(X[:2]).round(1)
    array([[1., 0., 0.],
           [1., 0., 0.]])
    """

    def _encode(self, y):
        check_labels(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        if k < 2:
            raise ValueError(f"expected at least two classes, got one class: {self.classes_[0]}")
        targets = 2.0 * np.eye(k)[labels] - 1.0
        return targets[:, 1:] if k == 2 else targets, labels

    def _decide(self, p):
        return self.classes_[p.argmax(axis=1)]

    def _shown(self, p):
        return p

    def predict(self, X):
        """Return the most probable classes.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decide(self._combined(X))

    def predict_proba(self, X):
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._combined(X)

    def decision_function(self, X):
        """Return the logarithms of the probabilities, or of their ratio for two classes.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        logs = np.log(np.maximum(self._combined(X), 1e-300))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def predict_set(self, X, alpha=0.1):
        """Return sets of classes that hold the true one with a stated probability, by CV+.

        For exchangeable rows the probability is at least 1 - 2 alpha, up to a term that vanishes
        with the number of rows, whatever their distribution and for fixed members and weights; in
        practice it is about 1 - alpha. The first call trains the machines of the folds.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        alpha : float, default=0.1
            Between 0 and 1.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
        """
        p, own, fold, data = self._conformal(X, alpha)
        truth = own[np.arange(len(own)), data.labels]
        return sets(p, fold, truth, data.weight, alpha)


class AutoKernelRegressor(RegressorMixin, AutoKernel):
    r"""An ensemble of kernel machines that needs no choices.

    Members are kernel ridge regressions: on standardised and rank-Gaussian inputs, with learned
    metrics, with Gaussian, exponential, Laplacian, spline, additive and forest kernels, many widths
    and ridges. All that is learned is learned inside the folds. Predictions are mixed with the
    weights

    .. math::

        \min_w\; \frac1{2n} \sum_i \Big(y_i - \sum_m w_m f_m(x_i)\Big)^2
        + \frac{\rho}{2} \|w - \tfrac1M \mathbf 1\|^2, \qquad w \ge 0,\; \mathbf 1'w = 1

    on out-of-fold predictions, each kept within the range of the targets: a convex problem solved
    to a certified gap. No prediction is beyond the range of the training targets.

    Parameters
    ----------
    time_limit : float, default=None
        Seconds that `fit` may take, kept to within a tenth; None for as long as all members take.
        Any limit gives an answer: a plain Gaussian machine, trained on all rows, comes first. A
        longer limit does the work of a shorter one, and more; `cut_short_` lists the work left
        out.
    members : "default" or list, default="default"
        What to try: names of recipes such as "gaussian", "forest" or "laplacian (ranks)", and
        estimators or pipelines, which see the table as numbers, standardised.
    ensemble : bool, default=True
        Whether to mix the members; else the best one is used alone.
    compress : bool, default=False
        Whether to predict faster at some loss: members of small weight are dropped, and from 200
        rows on the others are spanned by a quarter of the rows, chosen by leverage.
    cv : int, cross-validation generator or iterable, default=5
        The folds; a number stands for folds balanced in the target.
    scoring : str or callable, default=None
        What `cv_score_` and the leaderboard show.
    column_kinds : dict, default=None
        What columns are, by name or place, where that is not to be found out: "number",
        "category", "text", "date", "day first", "month first", "unix" (seconds since 1970),
        "duration", "time" or "drop".
    n_jobs : int, default=None
        Folds, members at the end, and trees of a forest on many rows, worked on at a time: in
        threads, unless a backend of joblib is in force. The result does not depend on it.
    checkpoint : str or path, default=None
        Directory in which the scores of a recipe on a fold are kept, so that a search that was
        interrupted goes on from there: with the same result, unless a `time_limit` decides.
    random_state : int, RandomState instance or None, default=None
        Draws the folds, the forests and the rows of the race.
    device : str, default=None
        Where kernels, their machines and predictions are computed: "cuda" for a GPU, by torch
        ("cpu" runs the same code on the processor), the processor when None. Members are the same
        up to rounding; exact training has the room that the GPU has. Views, metrics and forests
        stay on the processor, where `n_jobs` helps.
    verbose : int, default=0
        Whether to show what is being tried, the best so far and the time left.

    Attributes
    ----------
    columns_ : DataFrame or dict
        What each column became: its name, kind, use, number of features, missing values and a note.
    n_features_in_ : int
        Columns of the training table.
    feature_names_in_ : ndarray of str
        Their names, where it had any.
    leaderboard_ : dict of ndarray
        One entry a member, the best first: its name, out-of-fold loss and score, weight, and the
        seconds that it took to search its recipe and to train, and takes to predict 1,000 rows.
    members_ : list of str
        Names of the members in use.
    weights_ : ndarray of shape (n_members,)
        Their weights.
    cv_score_ : float
        The mean score of the folds, nested: for each, members are searched, mixed and trained anew
        without it. Computed on first use, `hasattr` included, which takes several times as long
        as the fit; `dir` and displays of the estimator show it from then on.
    certificate_ : dict
        "stack", the duality gap of the weights, with targets in units of half their range; "pull",
        the rho of their problem; "machines", the relative gaps of the members.
    fold_predictions_ : ndarray of shape (n_members, n_rows)
        Predictions of the members for rows on which they were not trained; the weights come from
        these. Out of fold, for the rows that members were compared on; from 5,000 rows on, unless
        `cv` divides them, by machines of half of the rows for the other half.
    search_indices_ : ndarray of int of shape (n_rows,)
        These rows.
    feature_importances_ : ndarray of shape (n_features,)
        By how much the loss rises when a column is shuffled among the rows that a fold tests, as
        shares; computed on first use.
    search_rows_ : int
        Rows that members were compared on: at most 2,500, fewer where time is short.
    training_ : str
        How they were trained on all rows: exactly, or on landmarks chosen by leverage.
    n_landmarks_ : int or None
        Number of these landmarks; None where all rows span the machines.
    cut_short_ : list of str
        Work left out for time, such as "3 of 6 members were trained"; empty where there was time
        for all.
    fit_time_ : float
        Seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import AutoKernelRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, (100, 2))
    >>> model = AutoKernelRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> low, high = model.predict_interval([[0.5, 0.0]], alpha=0.1)[0]
    >>> bool(low < np.sin(0.5) < high)
    True
    """

    def _encode(self, y):
        y = check_targets(y)
        # The middle and half the length of the range, which do not depend on weights.
        self._centre = 0.5 * float(y.min()) + 0.5 * float(y.max())
        self._unit = 0.5 * float(y.max()) - 0.5 * float(y.min()) or 1.0
        return ((y - self._centre) / self._unit)[:, None], None

    def _decide(self, values):
        return self._centre + self._unit * values

    def _shown(self, values):
        return self._decide(values)

    def predict(self, X):
        """Return predictions.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decide(self._combined(X))

    def predict_interval(self, X, alpha=0.1):
        """Return intervals that hold the target with a stated probability, by CV+.

        For exchangeable rows the probability is at least 1 - 2 alpha, up to a term that vanishes
        with the number of rows, whatever their distribution and for fixed members and weights; in
        practice it is about 1 - alpha. The first call trains the machines of the folds.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        alpha : float, default=0.1
            Between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Infinite where there are too few rows for the level.
        """
        predictions, own, fold, data = self._conformal(X, alpha)
        residuals = np.abs(data.targets[:, 0] - own)
        return self._decide(intervals(predictions, fold, residuals, data.weight, alpha))
