"""Tables from files: CSV, TSV, Parquet, Excel, with complaints that name the file and the column.

Text may be compressed, by gzip, xz, bzip2 or zip, and may come from standard input, "-". The rows
of text go by the line of the file at which they begin, the first line being 1; those of Parquet and
of the first sheet of Excel by the index that pandas reads.

Text is UTF-8 or else Latin-1; fields are parted by commas, semicolons, tabs or bars, whichever
gives equal lines; a column of plain numbers is numbers, and text otherwise. What the text means,
such as dates, money or categories, is for `kernelfit.tables` to find out.
"""

import bz2
import csv
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kernelfit.cli.arguments import STDIN, TableError, called, need_table
from kernelfit.tables.number_text import MISSING_WORDS, is_code, number_in

MAX_COLUMNS = 5000
_PARQUET, _EXCEL, _TABS = (".parquet", ".pq"), (".xlsx",), (".tsv", ".tab")
_COMPRESSED = {b"\x1f\x8b": gzip.decompress, b"\xfd7zXZ": lzma.decompress, b"BZh": bz2.decompress}
_DAMAGES = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    lzma.LZMAError,
    zipfile.BadZipFile,
    zlib.error,
)
_SAMPLE = 50  # lines that say what parts the fields


def read_table(
    path: Path, drop: Sequence[str] = (), only: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return a table: of text columns of float64, and of text with None where it is missing.

    Parameters
    ----------
    path : Path
    drop : sequence of str, default=()
        Columns to leave out, whatever their values.
    only : sequence of str, default=None
        Columns to read, in this order; all when None.

    Returns
    -------
    DataFrame
        Its index says where the rows come from.
    """
    need_table(path)
    is_text = path.suffix.lower() not in _PARQUET + _EXCEL
    frame = _read_text(path) if is_text else _read_binary(path)
    path = called(path)
    if not len(frame):
        raise TableError(f"expected rows in {path}, got none below the names of the columns")
    for name in (*drop, *(only or ())):
        need_column(frame, name, path)
    frame = frame.drop(columns=list(drop)) if only is None else frame[list(only)]
    if not is_text:
        return frame
    columns = {name: _convert(frame[name], path) for name in frame.columns}
    return pd.DataFrame(columns, index=frame.index)


def need_column(frame: pd.DataFrame, name: str, path: Path) -> None:
    """Raise TableError unless a table has a column."""
    if name not in frame.columns:
        known = [repr(str(column)) for column in frame.columns]
        shown = ", ".join(known if len(known) <= 8 else [*known[:8], "..."])
        raise TableError(f"expected a column {name!r} in {path}, which has {shown}")


def write_table(frame: pd.DataFrame, path: Path | None) -> None:
    """Write a table in the format that the name of the file says; to stdout when None.

    Parameters
    ----------
    frame : DataFrame
    path : Path or None
        In text, numbers have ten digits and probabilities six.
    """
    if path is not None and path.suffix.lower() in _PARQUET:
        _with("pyarrow", path, lambda: frame.to_parquet(path, index=False))
    elif path is not None and path.suffix.lower() in _EXCEL:
        _with("openpyxl", path, lambda: frame.to_excel(path, index=False))
    else:
        frame = frame.copy()
        for name in frame.columns[[dtype.kind == "f" for dtype in frame.dtypes]]:
            digits = 6 if name.startswith("probability of ") else 10
            frame[name] = [float(f"{value:.{digits}g}") for value in frame[name]]
        separator = "\t" if path is not None and _has_tabs(path) else ","
        if path is None:
            print(frame.to_csv(index=False), end="")
        else:
            frame.to_csv(path, index=False, sep=separator)


def _with(library: str, path: Path, work: Any) -> Any:
    try:
        return work()
    except ImportError:
        raise TableError(f"expected {library}, which {path} needs: pip install {library}") from None


def _read_binary(path: Path) -> pd.DataFrame:
    kind, library, read = "a Parquet file", "pyarrow", pd.read_parquet
    if path.suffix.lower() in _EXCEL:
        kind, library, read = "an Excel file", "openpyxl", pd.read_excel
    try:
        frame = _with(library, path, lambda: read(path))
    except TableError:
        raise
    except Exception as error:  # the library's own kinds
        raise TableError(f"expected {kind}, got {path}: {str(error)[:200]}") from None
    frame.columns = [str(name) for name in frame.columns]
    _check_width(frame.shape[1], path)
    return frame


def _check_width(width: int, path: Path) -> None:
    if width > MAX_COLUMNS:
        raise TableError(f"expected at most {MAX_COLUMNS} columns in {path}, got {width}")


def _read_text(path: Path) -> pd.DataFrame:
    raw = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    path = called(path)
    raw = _decompressed(raw, path)
    if b"\0" in raw:
        raise TableError(
            f"expected text, or Parquet with a name ending so, got {path}, which is binary"
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    mark = "\t" if _has_tabs(path) else _delimiter(text)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    rows, begin = [], 1
    try:
        for row in lines:
            if len(row) > 1 or "".join(row).strip():  # no blank line
                rows.append((begin, [field.strip() for field in row]))
            begin = lines.line_num + 1  # fields in quotes may hold several lines
    except csv.Error as error:
        raise TableError(f"expected a table, got {path}: line {begin}: {error}") from None
    if not (raw.strip() and rows):
        raise TableError(f"expected a table, got {path}, which is empty")
    head, *records = (row for _, row in rows)
    names = _names(head, path)
    for number, row in rows:
        if len(row) != len(names):
            raise TableError(
                f"expected {len(names)} fields in every line of {path}, got {len(row)} in line "
                f"{number}"
            )
    values = np.array(records, dtype=object).reshape(len(records), len(names))
    index = pd.Index([number for number, _ in rows[1:]], name=f"line of {path.name}")
    return pd.DataFrame(values, columns=names, index=index)


def _has_tabs(path: Path) -> bool:
    """Return whether the name of a file, compressed or not, says that tabs separate its fields."""
    packed = path.suffix.lower() in (".gz", ".xz", ".bz2", ".zip")
    return (path.with_suffix("") if packed else path).suffix.lower() in _TABS


def _decompressed(raw: bytes, path: Path) -> bytes:
    """Return the text in a compressed file, which its first bytes announce, or the file itself."""
    try:
        if raw.startswith(b"PK\3\4"):
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                names = archive.namelist()
                texts = [archive.read(name) for name in names[:1]]
            if len(names) == 1:
                return texts[0]
        else:
            kinds = (work for magic, work in _COMPRESSED.items() if raw.startswith(magic))
            return next(kinds, bytes)(raw)
    except _DAMAGES as error:
        raise TableError(f"expected a table, got {path}, which is damaged: {error}") from None
    raise TableError(f"expected one table in {path}, got {len(names)} files")


def _names(head: list[str], path: Path) -> list[str]:
    """Return what the first line calls the columns."""
    names = [name or f"column {place}" for place, name in enumerate(head, start=1)]
    _check_width(len(names), path)
    numbers: list[Any] = [number_in(name) for name in names]
    if None not in numbers and np.isfinite(numbers).all():
        raise TableError(f"expected names of columns in the first line of {path}, got numbers")
    again = pd.Index(names).duplicated()
    if again.any():
        twice = names[again.argmax()]
        raise TableError(f"expected different names of columns in {path}, got {twice!r} twice")
    return names


def _delimiter(text: str) -> str:
    """Return what parts the fields: what gives the most, and as many in every line."""
    sample = [line for line in text.splitlines()[:_SAMPLE] if line.strip()]

    def quality(mark: str) -> tuple[bool, int]:
        counts = [len(row) for row in csv.reader(sample, delimiter=mark)] or [0]
        return len({*counts}) == 1 and counts[0] > 1, counts[0]

    return max(",;\t|", key=quality)


def _convert(column: pd.Series, path: Path) -> pd.Series:
    """Return a column as plain numbers where all are such and none is a code, or as text."""
    values = column.tolist()
    numbers: list[Any] = [None if is_code(value) else number_in(value) for value in values]
    if None in numbers:
        text = [None if value.lower() in MISSING_WORDS else value for value in values]
        return pd.Series(text, index=column.index, dtype=object)
    if np.isinf(numbers).any():
        raise TableError(f"expected finite numbers in column {column.name!r} of {path}, got inf")
    return pd.Series(numbers, index=column.index, dtype=np.float64)
