"""The private names of scikit-learn that the package uses, in one place to mend them."""

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["HasMethods", "Interval", "StrOptions"]
