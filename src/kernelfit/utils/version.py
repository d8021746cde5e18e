"""The version of kernelfit, for whoever must not import the public names."""

__version__ = "0.1.0"
