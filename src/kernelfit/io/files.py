"""Models in files: a zip of JSON and npy arrays, checked before anything is made of it.

A file holds ``manifest.json`` and, for each type of numbers, one npy array in which all arrays of
that type stand one after the other; strings are kept as the numbers of their characters. Nothing
is compressed, so that a file cannot hold more than its size, and the manifest has the SHA-256 of
every array. A file is data: `load` imports no module that it names but kernelfit's own, and calls
nothing that it holds.
"""

import hashlib
import json
import math
import os
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import IO, Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from kernelfit.io.encoding import Decoder, Encoder, is_shape
from kernelfit.utils.version import __version__

Array = NDArray[Any]

FORMAT = 1
_MANIFEST = "manifest.json"
_STORED = {np.dtype(code).name: np.dtype(code) for code in ("b1", "i1", "i2", "<i4", "<i8", "u1")}
_STORED |= {np.dtype(code).name: np.dtype(code) for code in ("<u2", "<u4", "<u8", "<f2", "<f4")}
_STORED |= {"float64": np.dtype("<f8")}
_CHUNK = 2**20
_MAX_DIRECTORY = 4096  # bytes of the list of entries; one takes about 60
_VALUE_BYTES = 120  # of memory that a value of the manifest takes
_ALLOWANCE = 2**24  # bytes that a manifest may take beyond twice the size of the file
_LAST_CHARACTER = 0x10FFFF


def save(estimator: Any, path: str | os.PathLike[str], classes: Sequence[type] = ()) -> Path:
    """Write an estimator, fitted or not, to a file that `load` reads again.

    The file holds arrays and JSON, and no code: reading one from a stranger executes nothing.

    Parameters
    ----------
    estimator : object
        An estimator or a kernel of kernelfit, or a scikit-learn pipeline of its scalers and one of
        them. Functions of your own, and random generators, cannot be saved. pickle keeps
        generators, and functions that have a name in a module that can be imported on loading.
    path : str or path-like
        Where to write. A file that is there is replaced in one step.
    classes : sequence of type, default=()
        Classes of your own whose objects the model holds, such as feature maps. Their attributes
        are kept, and not their code: `load` needs the classes again.

    Returns
    -------
    Path
        The path of the file.

    Examples
    --------
    >>> import tempfile, kernelfit
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = kernelfit.KernelSVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = kernelfit.save(model, f"{folder}/iris.kernelfit")
    ...     again = kernelfit.load(file)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    encoder = Encoder(classes)
    root = encoder.encode(estimator, type(estimator).__name__)
    if not (isinstance(root, dict) and "object" in root):
        raise ValueError(f"expected an estimator or a kernel, got {type(estimator)!r}")
    path = Path(path)
    with _replacing(path) as file, ZipFile(file, "w", ZIP_STORED) as archive:
        checksums = _write_arrays(archive, encoder.arrays)
        manifest = {
            "format": FORMAT,
            "kernelfit": __version__,
            "checksums": checksums,
            "arrays": [_description(array) for array in encoder.arrays],
            "objects": encoder.objects,
            "root": root,
        }
        text = json.dumps(manifest, allow_nan=False, separators=(",", ":")).encode()
        size = len(text) + sum(array.nbytes for array in encoder.arrays)
        if _too_many_values(text, size):
            raise ValueError("expected a model of fewer parts, got one that no file may hold")
        archive.writestr(_entry(_MANIFEST), text)
    return path


def load(path: str | os.PathLike[str], classes: Sequence[type] = ()) -> Any:
    """Read what `save` wrote.

    Parameters
    ----------
    path : str or path-like
        A file of this or an earlier version.
    classes : sequence of type, default=()
        The classes of your own that `save` was given. Objects are made of them without a call.

    Returns
    -------
    object
        The estimator. Its predictions are those of the one that was saved, to the last bit.

    Raises
    ------
    ValueError
        Where the file is damaged, was changed into something that is no model, or is of a later
        version. Nothing in a file is ever executed.

    Examples
    --------
    >>> import tempfile, kernelfit
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kernelfit.load(kernelfit.save(kernelfit.KernelSVR(C=3.0), f"{folder}/model"))
    KernelSVR(C=3.0)
    """
    with Path(path).open("rb") as file:
        try:
            return _read(file, classes)
        except MemoryError:
            raise
        # Whatever fails on bytes that anybody may have written, fails because of them.
        except Exception as error:
            named = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            reason = shorten(f"{named}{error}", 200)
            raise ValueError(
                f"expected a model that kernelfit saved, got {str(path)!r}: {reason}"
            ) from None


def _read(file: IO[bytes], classes: Sequence[type]) -> Any:
    size = os.fstat(file.fileno()).st_size
    _check_directory(file, size)
    with ZipFile(file) as archive:
        entries = _check_entries(archive, size)
        text = archive.read(_MANIFEST)
        if _too_many_values(text, size):
            raise ValueError("its manifest has more values than a file of its size may have")
        manifest = json.loads(text, parse_constant=_refuse)
        written = manifest["format"]
        if type(written) is not int or written < 1:
            raise ValueError(f"its format is {written!r}")
        if written > FORMAT:
            version = manifest.get("kernelfit")
            raise ValueError(f"it was written by a later version, kernelfit {version}")
        stored = {
            kind: _read_array(archive, entries[f"{kind}.npy"], kind, checksum)
            for kind, checksum in manifest["checksums"].items()
        }
    if len(entries) != 1 + len(stored):
        raise ValueError("it holds entries that its manifest does not name")
    arrays = _share_out(stored, manifest["arrays"])
    decoder = Decoder(arrays, manifest["kernelfit"] == __version__, classes)
    decoder.decode_objects(manifest["objects"])
    return decoder.decode(manifest["root"])


def _refuse(constant: str) -> None:
    raise ValueError(f"its manifest has the number {constant}")


def _too_many_values(text: bytes, size: int) -> bool:
    """Return whether a manifest takes much more memory than the file that it stands in."""
    values = text.count(b",") + text.count(b"[") + text.count(b"{")
    return _VALUE_BYTES * values > 2 * size + _ALLOWANCE


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Have errors name a file instead of one that only we know."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of another one when it is complete."""
    with _naming(path):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # as any new file, not for the owner alone
        with _naming(path):
            os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _entry(name: str) -> ZipInfo:
    """Return an entry with a fixed date: equal models give equal files."""
    return ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def _stored_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of numbers that arrays of a type are kept as."""
    if dtype.kind == "U":
        return _STORED["uint32"]
    if dtype.kind == "S":
        return _STORED["uint8"]
    name = f"float{dtype.itemsize * 4}" if dtype.kind == "c" else dtype.name
    if name not in _STORED or dtype.byteorder == ">":
        raise ValueError(f"no array has type {dtype}")
    return _STORED[name]


def _is_fortran(array: Array) -> bool:
    return bool(array.flags.f_contiguous and not array.flags.c_contiguous)


def _description(array: Array) -> list[Any]:
    order = "F" if _is_fortran(array) else "C"
    return [array.dtype.newbyteorder("<").str, list(array.shape), order]


def _raw(array: Array) -> NDArray[np.uint8]:
    """Return the bytes of an array in its own order, little-endian."""
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return array.ravel(order="F" if _is_fortran(array) else "C").view(np.uint8)


def _write_arrays(archive: ZipFile, arrays: list[Array]) -> dict[str, str]:
    """Write the arrays, those of one type into one entry, and return their checksums."""
    groups: dict[str, list[Array]] = {}
    for array in arrays:
        groups.setdefault(_stored_type(array.dtype.newbyteorder("<")).name, []).append(array)
    checksums = {}
    for kind, members in groups.items():
        stored, total = _STORED[kind], sum(array.nbytes for array in members)
        shape = (total // stored.itemsize,)
        digest = hashlib.sha256()
        large = total > 2**31 - 2**16
        with archive.open(_entry(f"{kind}.npy"), "w", force_zip64=large) as out:
            npy.write_array_header_1_0(
                out, {"descr": stored.str, "fortran_order": False, "shape": shape}
            )
            for array in members:
                raw = _raw(array)
                digest.update(raw.data)
                out.write(raw.data)
        checksums[kind] = digest.hexdigest()
    return checksums


def _check_directory(file: IO[bytes], size: int) -> None:
    """Check the end of a file, before a list of entries of any length is read into memory."""
    if size < 42:
        raise ValueError("it is too short")
    file.seek(-42, os.SEEK_END)
    before, magic, *_, length, start, comment = struct.unpack("<20s4s4H2LH", file.read(42))
    if magic != b"PK\5\6" or comment:
        raise ValueError("it is no such file, or its end is missing")
    # Only the list of a large file may have a second end, with numbers of 64 bits.
    second = before.startswith(b"PK\6\7")
    good = size >= 2**31 if second else size - 22 - start == length
    if length > _MAX_DIRECTORY or not good:
        raise ValueError("its list of entries is damaged")


def _check_entries(archive: ZipFile, size: int) -> dict[str, ZipInfo]:
    """Return the entries by name; ValueError unless all are of the kind that `save` writes."""
    entries: dict[str, ZipInfo] = {}
    for entry in archive.infolist():
        name = entry.filename
        if name in entries or name.removesuffix(".npy") not in {*_STORED, _MANIFEST}:
            raise ValueError(f"it holds an entry {name!r}")
        if entry.compress_type != ZIP_STORED or entry.compress_size != entry.file_size:
            raise ValueError(f"its entry {name!r} is compressed")
        entries[name] = entry
    if sum(entry.file_size for entry in entries.values()) > size:
        raise ValueError("its entries are larger than the file")
    return entries


def _read_array(archive: ZipFile, entry: ZipInfo, kind: str, checksum: str) -> Array:
    """Return the array of an entry, read piece by piece into its place."""
    stored = _STORED[kind]
    with archive.open(entry) as source:
        if npy.read_magic(source) != (1, 0):
            raise ValueError(f"{entry.filename!r} is no array")
        shape, fortran, dtype = npy.read_array_header_1_0(source)
        size = entry.file_size - source.tell()
        length, rest = divmod(size, stored.itemsize)
        if dtype != stored or fortran or shape != (length,) or rest:
            raise ValueError(f"{entry.filename!r} is no array of {stored} of its size")
        out = np.empty(shape, dtype=stored)
        raw, digest, at = out.view(np.uint8), hashlib.sha256(), 0
        while piece := source.read(min(_CHUNK, size - at)):
            raw[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            digest.update(piece)
            at += len(piece)
    if at != size or digest.hexdigest() != checksum:
        raise ValueError(f"the checksum of {entry.filename!r} does not fit")
    if kind == "bool" and out.view(np.uint8).max(initial=0) > 1:
        raise ValueError("a truth value is neither 0 nor 1")
    return out


def _share_out(stored: dict[str, Array], descriptions: list[Any]) -> list[Array]:
    """Return the arrays, as parts of those that are stored."""
    at = dict.fromkeys(stored, 0)
    arrays = []
    for code, shape, order in descriptions:
        dtype = np.dtype(str(code))
        kind = _stored_type(dtype).name
        if not is_shape(shape) or order not in ("C", "F"):
            raise ValueError(f"no array has shape {shape}")
        if dtype.kind not in "biufcUS" or kind not in stored:
            raise ValueError(f"it holds no arrays of type {code!r}")
        source, length = stored[kind], math.prod(shape) * dtype.itemsize
        if length > source.nbytes - at[kind]:
            raise ValueError(f"an array of shape {shape} is larger than what is stored")
        array = np.ndarray(shape, dtype, source, at[kind], order=order)
        if dtype.kind == "U" and array.size:
            words = source[at[kind] // 4 : (at[kind] + length) // 4]
            if words.max() > _LAST_CHARACTER:
                raise ValueError("a string holds no characters")
        arrays.append(array)
        at[kind] += length
    if any(at[kind] != source.nbytes for kind, source in stored.items()):
        raise ValueError("numbers are left over")
    return arrays
