"""What kernelfit runs on, for reports of faults."""

import importlib
import importlib.metadata
import platform
import sys

from kernelfit.utils.version import __version__

NEEDED = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl")
OPTIONAL = ("pandas", "pyarrow", "matplotlib", "jinja2", "typer", "rich", "torch")


def show_versions() -> None:
    """Print the versions of kernelfit and of what it uses, and the threads of its libraries.

    Returns
    -------
    None
        It prints, like the function of this name in scikit-learn.

    Examples
    --------
    >>> import kernelfit
    >>> kernelfit.show_versions()
    kernelfit ...
    """
    lines = {"kernelfit": __version__, "python": sys.version.split()[0]}
    lines["platform"] = f"{platform.system()} {platform.release()}, {platform.machine()}"
    for name in (*NEEDED, *OPTIONAL):
        try:
            lines[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            lines[name] = "not installed"
    importlib.import_module("scipy.linalg")  # so that its BLAS is among the libraries
    for library in importlib.import_module("threadpoolctl").threadpool_info():
        name = f"{library['user_api']} ({library['prefix']})"
        lines[name] = f"{library['version'] or 'unknown version'}, {library['num_threads']} threads"
    width = max(map(len, lines)) + 2
    for name, value in lines.items():
        print(f"{name:<{width}}{value}")
