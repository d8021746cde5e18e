"""The one line search of the saddle-point solvers."""

from collections.abc import Callable, Generator

_FAR = 1.0


def falling_root(
    at_start: float, *, first: float = _FAR, accuracy: float = 0.1, max_steps: int = 20
) -> Generator[float, float, None]:
    """Look for the place in [0, 1] where a falling function vanishes; 1 if it is still positive.

    Regula falsi with the Illinois rule, until the function is at most `accuracy` times its value at
    0. It yields the places to evaluate, and is sent the values; the last place that it yields is
    the one it found. After `max_steps` that is one where the function was positive, if there was
    any: on the near side of a sudden fall, where the integral is still rising.

    Parameters
    ----------
    at_start : float
        The value at 0, positive.
    first : float, default=1.0
        The first place, doubled until the function is negative.
    accuracy : float, default=0.1
    max_steps : int, default=20
        It yields at most two places more than these: the last one, and that on the near side.

    Yields
    ------
    float

    Examples
    --------
    >>> from kernelfit.solvers.saddle.line_search import falling_root, follow
    >>> round(follow(falling_root(1.0, accuracy=1e-6), lambda t: 1.0 - 4.0 * t**2), 5)
    0.5
    """
    low, high, at_low, at_high = 0.0, _FAR, at_start, None
    t, last_side = first, 0
    for _ in range(max_steps):
        value = yield t
        if abs(value) <= accuracy * at_start or (value >= 0.0 and t == _FAR):
            return
        if value > 0.0:
            low, at_low = t, value
            if at_high is None:
                t = min(2.0 * t, _FAR)
                continue
            at_high *= 0.5 if last_side == 1 else 1.0
            last_side = 1
        else:
            high, at_high = t, value
            at_low *= 0.5 if last_side == -1 else 1.0
            last_side = -1
        t = (low * at_high - high * at_low) / (at_high - at_low)
    value = yield t
    if value < -accuracy * at_start and low > 0.0:
        yield low


def follow(search: Generator[float, float, None], evaluate: Callable[[float], float]) -> float:
    """Evaluate a function wherever a search asks for it; return the place that was found.

    Parameters
    ----------
    search : generator
        As `falling_root`.
    evaluate : callable

    Returns
    -------
    float
    """
    t = next(search)
    while True:
        try:
            t = search.send(evaluate(t))
        except StopIteration:
            return t
