"""Text: weights of pieces and main directions against loops and numpy."""

from collections import Counter

import numpy as np
import pytest

from kernelfit.tables.frames import Column
from kernelfit.tables.text import read_text, shares_pieces

TEXTS = [
    "red oak chair", "red steel lamp lamp", "blue glass lamp", "oak table", "blue oak table",
    "unheard", "red red glass", "steel table lamp", "green glass", "green oak lamp",
]  # fmt: skip


def column(texts):
    return Column("note", np.array(texts, dtype=object))


def test_places_are_those_of_a_loop():
    reader = read_text(column(TEXTS))
    n = len(TEXTS)

    def words(text):
        return text.split()

    def characters(text):
        padded = [f" {word} " for word in text.split()]
        return [w[i : i + k] for k in (3, 4) for w in padded for i in range(len(w) - k + 1)]

    blocks = []
    for split in (words, characters):
        counts = [Counter(split(text)) for text in TEXTS]
        shared = sorted(p for p in set().union(*counts) if sum(p in one for one in counts) > 1)
        rows = np.zeros((n, len(shared)))
        for i, one in enumerate(counts):
            for j, piece in enumerate(shared):
                if one[piece]:
                    texts = sum(piece in other for other in counts)
                    rows[i, j] = (1 + np.log(one[piece])) * (1 + np.log((1 + n) / (1 + texts)))
            rows[i] /= np.linalg.norm(rows[i]) or 1.0
        blocks.append(rows / np.sqrt(2))
    A = np.hstack(blocks)
    k = len(reader.roles)
    assert k == n - 1
    V = np.linalg.svd(A)[2][:k].T
    places = reader.read(column(TEXTS))
    np.testing.assert_allclose(places @ places.T, A @ V @ V.T @ A.T, atol=1e-8)


def test_missing_and_unheard_texts_are_at_the_origin():
    reader = read_text(column(TEXTS))
    np.testing.assert_array_equal(reader.read(column([None, "", "xyzzy", np.nan])), 0.0)


def test_order_of_rows_and_repetition_do_not_matter():
    reader = read_text(column(TEXTS))
    other = read_text(column([*reversed(TEXTS), *TEXTS[:3], None]))
    np.testing.assert_array_equal(reader.directions, other.directions)
    assert reader.pieces[0].names == other.pieces[0].names


def test_long_texts_are_taken_by_words_and_pairs():
    rng = np.random.default_rng(0)
    vocabulary = [f"word{chr(97 + k)}" for k in range(20)]
    reader = read_text(column([" ".join(rng.choice(vocabulary, 90)) for _ in range(12)]))
    assert [one.analyzer for one in reader.pieces] == ["word"]
    assert any(" " in name for name in reader.pieces[0].names)


def test_nothing_shared_gives_no_directions():
    reader = read_text(column(["abc", "xyz", "123"]))
    assert reader.roles == () and reader.read(column(["abc"])).shape == (1, 0)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (TEXTS, True),
        (["one red two blue", "red blue one two"] * 9, True),
        ([f"ORD-{k:05}" for k in range(50)], False),
        ([f"user {k}" for k in range(50)], False),
        ([f"{'abcdefghij'[k % 10]}{k}" for k in range(50)], False),
        ([f"{hash((k, 3)) % 10**9:09}" for k in range(400)], False),
        ([f"{hash((k, 4)) % 2**32:08x}" for k in range(400)], False),
        ([f"N{100 + 7 * k}{('UA', 'JB', 'DL', 'SW')[k % 4]}" for k in range(90)], True),
        ([f"{k} {('main', 'high', 'mill')[k % 3]} street" for k in range(50)], True),
    ],
)
def test_shared_pieces(texts, expected):
    assert shares_pieces(texts) is expected
