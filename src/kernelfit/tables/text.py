"""Columns of text: pieces of words weighed by how rare they are, and their main directions."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from sklearn.feature_extraction.text import CountVectorizer

from kernelfit.tables.block import direction_names, main_directions
from kernelfit.tables.frames import Column
from kernelfit.tables.roles import TEXT
from kernelfit.utils.values import is_missing

Array = NDArray[Any]

_DIRECTIONS = 60
_MOST_PIECES = 20_000
_SAMPLE = 5_000  # texts that the pieces and directions are learned from, at most
_LONG = 300  # characters of a text, on average, from which on words alone count
_ENDS = 3  # characters at the ends of codes
_BEYOND_CHANCE = 2.0  # how many times as many equal ends are no chance
_FEWEST_PAIRS = 20
_SENTENCE = 4  # words of a text, on average, from which on it is no id
_TOKEN = {"word": r"(?u)\b\w+\b", "char_wb": None}
# A word; or a character of Chinese or Japanese, which put no spaces between words.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|(?<![\w])[^\W\d_]{2,}(?![\w])")


@dataclass(frozen=True)
class Pieces:
    """Pieces of text of one sort.

    Attributes
    ----------
    analyzer : {"word", "char_wb"}
    lengths : tuple of (int, int)
        The shortest and the longest sequence of words, or characters.
    names : tuple of str
        The pieces.
    rarity : ndarray of shape (n_pieces,)
        Their weights, 1 + log((1 + n) / (1 + n_texts)).
    """

    analyzer: str
    lengths: tuple[int, int]
    names: tuple[str, ...]
    rarity: Array

    def count(self, texts: Iterable[str]) -> Any:
        """Return rows of weighted pieces of norm one, or zero."""
        counter = CountVectorizer(
            analyzer=self.analyzer, ngram_range=self.lengths, vocabulary=self.names,
            token_pattern=_TOKEN[self.analyzer],
        )  # fmt: skip
        counts = csr_array(counter.transform(texts), dtype=np.float64)
        counts.data = (1.0 + np.log(counts.data)) * self.rarity[counts.indices]
        norms = np.sqrt(np.bincount(_rows(counts), counts.data**2, minlength=counts.shape[0]))
        counts.data /= norms[_rows(counts)]
        return counts


def _rows(matrix: Any) -> Array:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


@dataclass(frozen=True)
class TextReader:
    """Reads one column of text.

    Attributes
    ----------
    pieces : tuple of Pieces
    directions : ndarray of shape (n_pieces, k)
        Singular vectors of the texts in training.
    note : str
    """

    pieces: tuple[Pieces, ...]
    directions: Array
    note: str = ""

    kind: ClassVar[str] = "text"

    @property
    def roles(self) -> tuple[int, ...]:
        """Roles of the parsed features."""
        return (TEXT,) * int(self.directions.shape[1])

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Names of the parsed features, behind that of the column."""
        return direction_names(self.directions)

    def read(self, column: Column) -> Array:
        """Return the places of the texts along the directions, of shape (n, k)."""
        if not self.pieces:
            return np.zeros((len(column.values), 0))
        texts, inverse = np.unique(np.array(texts_of(column), dtype=object), return_inverse=True)
        return np.asarray(_weigh(self.pieces, texts) @ self.directions)[inverse]


def _weigh(pieces: Sequence[Pieces], texts: Iterable[str]) -> Any:
    return hstack([one.count(texts) for one in pieces], format="csr") / np.sqrt(len(pieces))


def texts_of(column: Column) -> list[str]:
    """Return the values of a column as text, empty where they are missing."""
    return [
        "" if is_missing(v) else v if isinstance(v, str) else str(v) for v in column.values.tolist()
    ]


def read_text(column: Column, note: str = "") -> TextReader:
    """Learn the pieces and directions of a column, from its different texts."""
    texts = sorted({*texts_of(column)} - {""})
    if len(texts) > _SAMPLE:
        chosen = np.random.default_rng(0).choice(len(texts), _SAMPLE, replace=False)
        texts = [texts[k] for k in np.sort(chosen)]
    long = np.mean([len(text) for text in texts]) >= _LONG
    kinds: list[tuple[str, tuple[int, int]]] = [("word", (1, 2 if long else 1))]
    if not long:
        kinds.append(("char_wb", (3, 4)))
    pieces = tuple(p for p in (_learn_pieces(texts, *kind) for kind in kinds) if p.names)
    if not pieces:
        return TextReader((), np.zeros((0, 0)), note)
    return TextReader(pieces, main_directions(_weigh(pieces, texts), _DIRECTIONS), note)


def _learn_pieces(texts: list[str], analyzer: str, lengths: tuple[int, int]) -> Pieces:
    """Return the pieces that at least two texts share, the most frequent ones."""
    counter = CountVectorizer(
        analyzer=analyzer, ngram_range=lengths, min_df=2, max_features=_MOST_PIECES,
        token_pattern=_TOKEN[analyzer], binary=True,
    )  # fmt: skip
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # no piece is shared
        return Pieces(analyzer, lengths, (), np.zeros(0))
    n = np.asarray(counts.sum(axis=0)).ravel()
    names = tuple(counter.get_feature_names_out().tolist())
    return Pieces(analyzer, lengths, names, 1.0 + np.log((1.0 + len(texts)) / (1.0 + n)))


def shares_pieces(texts: Sequence[str]) -> bool:
    """Return whether different texts have pieces in common, as those of an id have not."""
    found = [_WORD.findall(text.lower()) for text in texts]
    if sum(map(len, found)) >= _SENTENCE * len(found):
        return True
    n = Counter(word for one in found for word in {*one})
    # A word that nearly all have, as in ORD-000017, tells nothing.
    least, most = max(2.0, 0.005 * len(found)), 0.9 * len(found)
    shared = sum(any(least <= n[word] <= most for word in one) for one in found)
    if 2 * shared >= len(found):
        return True
    return _agree([text[:_ENDS] for text in texts]) or _agree([text[-_ENDS:] for text in texts])


def _agree(ends: Sequence[str]) -> bool:
    """Return whether ends of texts are equal more often than independent characters would be."""
    characters = np.array([list(f"{end:<{_ENDS}}") for end in ends])
    alone = [_equal_pairs(column) for column in characters.T]
    together, n = _equal_pairs(np.array(ends)), len(ends)
    many = together * n * (n - 1) >= 2 * _FEWEST_PAIRS
    return bool(many and together >= _BEYOND_CHANCE * np.prod(alone))


def _equal_pairs(values: Array) -> float:
    """Return the share of pairs that are equal."""
    counts, n = np.unique(values, return_counts=True)[1], len(values)
    return float((counts * (counts - 1)).sum() / max(n * (n - 1), 1))
