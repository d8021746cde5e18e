"""Kernels by explicit double loops over the rows and a sum over the features."""

import math

import numpy as np


def _gram(k, X, Y):
    return np.array([[k(x, y) for y in Y] for x in X], dtype=np.float64).reshape(len(X), len(Y))


def _dot(x, y):
    return math.fsum(float(a) * float(b) for a, b in zip(x, y, strict=True))


def linear(X, Y):
    """``k(x, y) = x'y``."""
    return _gram(_dot, X, Y)


def polynomial(X, Y, degree=3, gamma=1.0, coef0=1.0):
    """``k(x, y) = (gamma x'y + coef0)^degree``."""
    return _gram(lambda x, y: (gamma * _dot(x, y) + coef0) ** degree, X, Y)


def rbf(X, Y, gamma=1.0):
    """``k(x, y) = exp(-gamma ||x - y||_2^2)``."""
    return _gram(lambda x, y: math.exp(-gamma * _dot(x - y, x - y)), X, Y)


def laplacian(X, Y, gamma=1.0):
    """``k(x, y) = exp(-gamma ||x - y||_1)``."""
    return _gram(lambda x, y: math.exp(-gamma * math.fsum(abs(x - y))), X, Y)
