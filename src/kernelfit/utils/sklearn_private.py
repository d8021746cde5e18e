"""What kernelfit uses of scikit-learn's private modules, in one place."""

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["HasMethods", "Interval", "StrOptions"]
