"""KNPL by the protocol of its paper [1]_, in one call.

Features are scaled to [0, 1] beforehand. The weight of the penalty, gamma there and eta here, is
tuned by 5-fold cross-validation, and a new point gets the row of the factor of its nearest training
point, Eq. (23). The paper prints neither the values of gamma nor the choice of C and of the width.
Ours: C and the sigma of the Gaussian kernel are those of the plain machine with the best 5-fold
accuracy among powers of two from 2^-5 to 2^5; eta is a multiple of the squared norm of the plain
machine's coefficients, from 4^4 down to 4^-4, of equal scores the largest.

References
----------
.. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Nonlinear Pairwise Layer and Its Training for
   Kernel Learning". AAAI Conference on Artificial Intelligence, 2018.
"""

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from kernelfit.estimators.knpl import KNPLClassifier
from kernelfit.selection.svm_cv import KernelSVCCV

POWERS = 2.0 ** np.arange(-5, 6)
ETAS = tuple(f"{4.0**k:g}*auto" for k in range(4, -5, -1))


def knpl_protocol(X, y, random_state=0):
    """Return KNPL after the paper's protocol.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training points, each feature scaled to [0, 1].
    y : array-like of shape (n_samples,)
        Class labels.
    random_state : int, default=0
        Random seed of the folds.

    Returns
    -------
    GridSearchCV
        Fitted; its ``best_estimator_`` is the `KNPLClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import minmax_scale
    >>> from kernelfit.papers import knpl_protocol
    >>> X, y = load_iris(return_X_y=True)
    >>> model = knpl_protocol(minmax_scale(X[50::2]), y[50::2])
    >>> model.best_estimator_.out_of_sample, model.best_params_["eta"]
    ('nearest', '256*auto')
    """
    folds = StratifiedKFold(5, shuffle=True, random_state=random_state)
    plain = KernelSVCCV(0.5 / POWERS[::-1] ** 2, POWERS, cv=folds, tol=1e-4).fit(X, y)
    return eta_search(plain.best_params_, cv=folds).fit(X, y)


def eta_search(chosen, cv):
    """Return the search for eta, given the plain machine's parameters and the folds."""
    machine = KNPLClassifier(**chosen, out_of_sample="nearest")
    return GridSearchCV(machine, {"eta": ETAS}, cv=cv)
