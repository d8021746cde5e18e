"""Raw tables made up by rules, with all that real tables have: dates, text, money, gaps."""

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

# Texts, and what each adds to the log odds that the ticket is escalated.
_WHAT = {
    "the invoice for {} is wrong": 0.5, "I cannot log in to {}": -1.0,
    "the export of {} stops halfway": 1.0, "all our data in {} are gone": 2.5,
    "how do I change the colours of {}": -2.5, "{} is slow since the update": 0.0,
}  # fmt: skip
_MOOD = {
    "Thanks for looking into it": -1.0, "No hurry, whenever you have time": -2.0,
    "Please fix this as soon as possible": 1.0, "This is the third time I write": 2.0,
    "I am waiting for an answer": 0.5, "": 0.0,
}  # fmt: skip
_WHERE = ("the web shop", "the app", "our account", "the monthly report", "the calendar")
_DETAILS = ("It worked until last week", "My colleague sees the same", "We use it every day", "")
# Texts, and the factor by which each raises the rent of a flat.
_FEATURES = {
    "large balcony": 1.08, "new kitchen": 1.1, "quiet courtyard": 1.04, "view of the river": 1.15,
    "needs renovation": 0.8, "near the railway": 0.93, "bright rooms": 1.0, "lift": 1.03,
}  # fmt: skip


def load_tickets(n_samples: int = 800, *, return_X_y: bool = False) -> Any:
    """Return support tickets, made up, of which some are escalated.

    The log odds are -2.5, plus the sum of two effects of the text, + 2 at weekends, + 1.5 from 4 pm
    on, + 1 on the plan "business" and 2 more there at weekends, and + 0.4 a factor e of the invoice
    above 50 dollars. One plan in ten is missing, and so are the invoices of free ones; they count.

    Parameters
    ----------
    n_samples : int, default=800
        Number of tickets. The first ones are the same for every number.
    return_X_y : bool, default=False
        Whether to return the table and the target alone.

    Returns
    -------
    Bunch or (DataFrame, ndarray)
        `data`, a table of pandas: an id, a local date with the time, a category, money as text,
        and a message, with missing values; `target`, "escalated" or "solved"; `DESCR`.

    Examples
    --------
    >>> from kernelfit.datasets import load_tickets
    >>> X, y = load_tickets(return_X_y=True)
    >>> X.shape, sorted({*y.tolist()})
    ((800, 5), ['escalated', 'solved'])
    """
    U = _uniform(n_samples, 11)
    minutes = (U[:, 0] * 2 * 365).astype(int) * 1440 + 420 + (U[:, 1] * 840).astype(int)
    opened = np.datetime64("2024-01-01T00:00") + minutes
    # 1970 began on a Thursday.
    weekend = (opened.astype("datetime64[D]").astype(int) + 3) % 7 >= 5
    late = minutes % 1440 >= 960
    plan = _pick(["free", "team", "business"], U[:, 2])
    invoice = 50.0 * np.exp(1.2 * np.log(U[:, 3] / (1.0 - U[:, 3])))
    what, where, mood = _pick([*_WHAT], U[:, 4]), _pick(_WHERE, U[:, 5]), _pick([*_MOOD], U[:, 6])
    odds = np.array([_WHAT[a] + _MOOD[b] for a, b in zip(what, mood, strict=True)]) - 2.5
    odds += 2.0 * weekend + 1.5 * late + (plan == "business") * (1.0 + 2.0 * weekend)
    odds += 0.4 * np.log(invoice / 50.0)
    details = _pick(_DETAILS, U[:, 9])
    numbers = [f"Order {number:.0f}" if number > 3e5 else "" for number in 1e6 * U[:, 10]]
    topics = [a.format(b) for a, b in zip(what, where, strict=True)]
    parts = zip(topics, numbers, details, mood, strict=True)
    messages = [". ".join(part for part in row if part) + "." for row in parts]
    columns = {
        "ticket": [f"T-{(7919 * k + 104729) % 999983:06d}" for k in range(n_samples)],
        "opened": [f"{time:%d.%m.%Y %H:%M}" for time in opened.tolist()],
        "plan": np.where(U[:, 7] < 0.1, None, plan),
        "invoice": np.where(plan == "free", "-", [f"${price:,.2f}" for price in invoice]),
        "message": [text[0].upper() + text[1:] for text in messages],
    }
    target = np.where(U[:, 8] < 1.0 / (1.0 + np.exp(-odds)), "escalated", "solved")
    return _bunch(columns, target, load_tickets, return_X_y)


def load_flats(n_samples: int = 600, *, return_X_y: bool = False) -> Any:
    """Return advertisements of flats, made up, with their rents.

    The rent is 14 a square metre to the power of 0.9 of the area, times an effect of each of four
    features in the text, 1.3 in the centre, a wave of the year of 5 % that is highest in
    September, 4 % more every year, and noise of 5 %.

    Parameters
    ----------
    n_samples : int, default=600
        Number of flats. The first ones are the same for every number.
    return_X_y : bool, default=False
        Whether to return the table and the target alone.

    Returns
    -------
    Bunch or (DataFrame, ndarray)
        `data`, a table of pandas: a date, a district, an area with its unit and a description,
        with missing values; `target`, the rent; `DESCR`.

    Examples
    --------
    >>> from kernelfit.datasets import load_flats
    >>> load_flats().data.columns.tolist()
    ['listed', 'district', 'area', 'description']
    """
    U = _uniform(n_samples, 15)
    days = (U[:, 0] * 3 * 365).astype(int)
    listed = np.datetime64("2023-01-01") + days
    district = _pick(["centre", "north", "south", "harbour"], U[:, 1])
    area = np.round(25.0 + 95.0 * U[:, 2] ** 1.5)
    names = np.array([*_FEATURES], dtype=object)
    chosen = names[np.argsort(U[:, 3:11], axis=1)[:, :4]]
    factor = np.prod([[_FEATURES[name] for name in row] for row in chosen], axis=1)
    rent = 14.0 * area**0.9 * factor * np.where(district == "centre", 1.3, 1.0)
    rent *= 1.0 + 0.05 * np.cos(2.0 * np.pi * (days % 365 - 258) / 365)
    rent *= 1.04 ** (days / 365) * (1.0 + 0.1 * (U[:, 11] + U[:, 12] - 1.0) * np.sqrt(1.5))
    columns = {
        "listed": listed.astype(str).astype(object),
        "district": np.where(U[:, 13] < 0.05, None, district),
        "area": [f"{m:.0f} m²" if u > 0.05 else None for m, u in zip(area, U[:, 14], strict=True)],
        "description": [", ".join(row).capitalize() for row in chosen],
    }
    return _bunch(columns, np.round(rent), load_flats, return_X_y)


def _uniform(n: int, d: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).uniform(1e-6, 1.0 - 1e-6, (n, d))


def _pick(values: Any, uniform: NDArray[np.float64]) -> Any:
    return np.array(values, dtype=object)[(uniform * len(values)).astype(int)]


def _bunch(columns: dict[str, Any], target: Any, loader: Any, return_X_y: bool) -> Any:
    try:
        X = nw.from_dict(columns, backend="pandas").to_native()
    except ModuleNotFoundError:
        raise ImportError(
            f"expected pandas, which {loader.__name__} needs: pip install pandas"
        ) from None
    return (X, target) if return_X_y else Bunch(data=X, target=target, DESCR=loader.__doc__)
