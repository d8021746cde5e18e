"""The command ``kernelfit``."""
