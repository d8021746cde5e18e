"""The one door to matplotlib, which is optional."""

from typing import Any


def load_matplotlib() -> Any:
    """Return matplotlib with its modules for figures, colours and the state of pyplot.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        Where it is not installed, in one sentence.
    """
    try:
        import matplotlib
        import matplotlib.colors
        import matplotlib.figure
        import matplotlib.pyplot
        import matplotlib.ticker
    except ImportError as error:
        raise ImportError(
            "pictures need matplotlib, which is not installed: pip install 'kernelfit[plot]'"
        ) from error
    return matplotlib


def axes_or_new(ax: Any) -> Any:
    """Return the given axes, or those of a new figure when None."""
    return load_matplotlib().pyplot.subplots()[1] if ax is None else ax
