"""Tables come from files as they are, or with one sentence about what is wrong."""

import bz2
import gzip
import io
import lzma
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernelfit.cli.tables import MAX_COLUMNS, TableError, read_table, write_table
from kernelfit.tables.plan import read_plan


def write(folder, text, name="data.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_numbers_text_and_missing_values(mark, tmp_path):
    rows = ["größe|farbe|n", "1.5|rot|1", "|blau|2", "NA||3", '-2e3|"a, b"|4']
    frame = read_table(write(tmp_path, "\n".join(row.replace("|", mark) for row in rows)))
    assert list(frame.columns) == ["größe", "farbe", "n"]
    np.testing.assert_array_equal(frame["größe"], [1.5, np.nan, np.nan, -2000.0])
    assert frame["farbe"].tolist() == ["rot", "blau", None, "a, b"]
    assert frame["n"].dtype == np.float64


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_encodings(encoding, tmp_path):
    frame = read_table(write(tmp_path, "größe,x\r\nstraße,1\r\n", encoding=encoding))
    assert frame.columns[0] == "größe" and frame["größe"].iloc[0] == "straße"


def test_text_that_writes_numbers_is_left_to_the_reader(tmp_path):
    frame = read_table(write(tmp_path, 'a;b;c\n1,5;-2,25e3;"x,y"\n7;1,0;z\n-2,5;$3;z\n'))
    assert frame["a"].tolist() == ["1,5", "7", "-2,5"]
    np.testing.assert_array_equal(read_plan(frame).read(frame)[:, 0], [1.5, 7.0, -2.5])
    codes = read_table(write(tmp_path, "a,b\n01067,1\n10115,2\n"))
    assert codes["a"].tolist() == ["01067", "10115"]


def test_quoted_lines_and_blank_lines(tmp_path):
    frame = read_table(write(tmp_path, 'a,b\n"two\nlines",1\n\nx,2\n'))
    assert frame["a"].tolist() == ["two\nlines", "x"]


def test_rows_go_by_the_line_at_which_they_begin(tmp_path):
    text = 'a,b\n"two\nlines",1\n\nx,2\n\n"three\r\nmore\nlines",3\ny,4\n'
    frame = read_table(write(tmp_path, text))
    assert frame.index.name == "line of data.csv"
    lines = text.replace("\r\n", "\n").split("\n")
    begins = ['"two', "x,2", '"three', "y,4"]
    assert frame.index.tolist() == [lines.index(begin) + 1 for begin in begins] == [2, 5, 7, 10]
    with pytest.raises(TableError, match=r"got 3 in line 5$"):
        read_table(write(tmp_path, text.replace("x,2", "x,2,3")))


PACKED = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}


def packed(kind, text):
    if kind != "zip":
        return PACKED[kind](text.encode())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("inside.csv", text)
    return out.getvalue()


@pytest.mark.parametrize("kind", [*PACKED, "zip"])
def test_compressed_tables(kind, tmp_path, monkeypatch):
    text = "größe,x\n1.5,u\n2,v\n"
    path = tmp_path / f"data.csv.{kind}"
    path.write_bytes(packed(kind, text))
    frame = read_table(path)
    assert frame["größe"].tolist() == [1.5, 2.0]
    # From standard input, as it is and compressed; and tabs by the name below.
    for raw in (text.encode(), path.read_bytes()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        piped = read_table(Path("-"))
        assert piped.equals(frame) and piped.index.name == "line of standard input"
    tabs = tmp_path / f"data.tsv.{kind}"
    tabs.write_bytes(packed(kind, "a;b\tc\n1;2\t3\n"))
    assert list(read_table(tabs)) == ["a;b", "c"]
    written = tmp_path / f"out.tsv.{kind}"
    write_table(frame, written)
    assert read_table(written)["x"].tolist() == ["u", "v"]
    path.write_bytes(packed(kind, text * 50)[:-25])
    with pytest.raises(TableError, match=r"data\.csv\.\w+, which is damaged"):
        read_table(path)


def test_an_archive_holds_one_table(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("a.csv", "x\n1\n")
        archive.writestr("b.csv", "x\n1\n")
    with pytest.raises(TableError, match=r"expected one table in .*t\.zip, got 2 files"):
        read_table(tmp_path / "t.zip")


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.tsv"])
def test_written_tables_come_back(name, tmp_path):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"zahl": [1.5, np.nan], "wört": ["a", None]})
    write_table(frame, tmp_path / name)
    again = read_table(tmp_path / name)
    np.testing.assert_array_equal(again["zahl"], frame["zahl"])
    assert again["wört"].iloc[0] == "a" and pd.isna(again["wört"].iloc[1])


def test_categories_and_booleans_of_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"c": pd.Categorical(["u", "v"]), "b": [True, False], "i": [1, 2]})
    frame.to_parquet(tmp_path / "t.parquet")
    again = read_table(tmp_path / "t.parquet")
    assert again["c"].tolist() == ["u", "v"]
    assert again["b"].tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("  \n\n", "is empty"),
        ('""\n', "is empty"),
        ("a,b\n", "expected rows"),
        ("1,2\n3,4\n", "expected names of columns"),
        ("a,a\n1,2\n", "'a' twice"),
        ("a,b\n1,2\n1,2,3\n", "got 3 in line 3"),
        ('a,b\n"1,2\n', "unexpected end of data"),
        ("\0\1", "expected text, .* which is binary"),
        (",".join(f"c{k}" for k in range(MAX_COLUMNS + 1)) + "\n" + "1," * MAX_COLUMNS + "1\n",
         f"at most {MAX_COLUMNS} columns"),
    ],
)  # fmt: skip
def test_complaints_name_the_file(text, message, tmp_path):
    path = write(tmp_path, text)
    with pytest.raises(TableError, match=message) as caught:
        read_table(path)
    assert path.name in str(caught.value) and "\n" not in str(caught.value)


def test_columns_are_left_out_or_chosen(tmp_path):
    path = write(tmp_path, "when,n\n2026-01-01,1\n2026-01-02,2\n")
    assert list(read_table(path, drop=["when"]).columns) == ["n"]
    assert list(read_table(path, only=["n"]).columns) == ["n"]


@pytest.mark.parametrize("word", ["inf", "-Infinity"])
def test_infinity_is_refused(word, tmp_path):
    for text in (f"a,b\n{word},1\n{word},2\n", f"a,b\n{word},1\n3,2\n"):
        with pytest.raises(TableError, match=r"finite numbers in column 'a' of .*, got inf"):
            read_table(write(tmp_path, text))
    assert read_table(write(tmp_path, f"a\n{word}\nx\n"))["a"].tolist() == [word, "x"]


def test_broken_parquet_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(TableError, match="expected a Parquet file"):
        read_table(write(tmp_path, "a,b\n1,2\n", "t.pq"))
    with pytest.raises(TableError, match=r"none\.csv', which does not exist"):
        read_table(tmp_path / "none.csv")
