"""Finished work on disk, from which an interrupted run goes on.

A directory holds the work of one run: a file that says which, ``checkpoint.json``, and one ``.npz``
file of arrays for every finished cell. A file appears under its name once it is complete and on
disk, so that a run may be killed at any moment. Nothing is pickled.
"""

import contextlib
import json
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

_MANIFEST = "checkpoint.json"
_PARTIAL = ".partial"


class Checkpoint:
    """The cells that a run has finished.

    Parameters
    ----------
    directory : str or path
        Made where it does not exist. ValueError unless it is empty or that of the same run;
        OSError where it cannot be written.
    identity : mapping of str to str
        What the cells depend on: names of parts such as "data", and their fingerprints.
    note : mapping, default={}
        What a run that goes on is to know; plain values.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from kernelfit.utils.checkpoint import Checkpoint
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     Checkpoint(directory, {"data": "abc"}).put("one", {"values": np.arange(3)})
    ...     Checkpoint(directory, {"data": "abc"}).get("one")["values"].tolist()
    [0, 1, 2]
    """

    def __init__(
        self, directory: Any, identity: Mapping[str, str], note: Mapping[str, Any] | None = None
    ) -> None:
        self._path = Path(directory)
        whole = {"version": _version(), **identity}
        with _one_sentence(self._path):
            self._path.mkdir(parents=True, exist_ok=True)
            found = _read_manifest(self._path)
            for partial in self._path.glob(f"*{_PARTIAL}"):  # of a run that was killed
                partial.unlink(missing_ok=True)
            if found is None:
                text = json.dumps({"identity": whole, "note": dict(note or {})}, indent=1)
                self._write(_MANIFEST, lambda file: file.write(text.encode()))
                return
        other = [name for name, value in whole.items() if found["identity"].get(name) != value]
        if other or len(found["identity"]) != len(whole):
            what = " and ".join(other) or "kind"
            raise ValueError(
                f"expected the {what} that the checkpoint in '{self._path}' was begun with, got "
                "another: take another directory, or remove this one"
            )

    @staticmethod
    def note(directory: Any) -> dict[str, Any]:
        """Return the note of the run in a directory, empty where there is none."""
        with _one_sentence(Path(directory)):
            found = _read_manifest(Path(directory)) if Path(directory).exists() else None
        return {} if found is None else dict(found["note"])

    def get(self, key: str) -> dict[str, NDArray[Any]] | None:
        """Return the arrays of a cell; None where it is not finished, or its file is damaged."""
        try:
            with (
                (self._path / f"{key}.npz").open("rb") as file,
                np.load(file, allow_pickle=False) as arrays,
            ):
                return dict(arrays)
        except (FileNotFoundError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return None

    def put(self, key: str, arrays: Mapping[str, Any]) -> None:
        """Keep the arrays of a finished cell."""
        with _one_sentence(self._path):
            self._write(f"{key}.npz", lambda file: np.savez(file, **arrays))

    def _write(self, name: str, write: Callable[[IO[bytes]], Any]) -> None:
        """Write a file that is there whole, or not at all."""
        handle, partial = tempfile.mkstemp(_PARTIAL, dir=self._path)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self._path / name)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(partial)
            raise


@contextlib.contextmanager
def _one_sentence(path: Path) -> Any:
    """Say what is wrong with a directory that cannot be used."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(error.errno, f"the checkpoint in '{path}' cannot be used: {reason}") from None


def _read_manifest(path: Path) -> dict[str, Any] | None:
    """Return what the directory says of its run; None where it is empty."""
    try:
        found = json.loads((path / _MANIFEST).read_text())
        if isinstance(found["identity"], dict) and isinstance(found["note"], dict):
            return dict(found)
    except FileNotFoundError:
        if all(name.endswith(_PARTIAL) for name in os.listdir(path)):
            return None
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(
        f"expected an empty directory for a checkpoint, or the one of this run, got '{path}', "
        "which holds something else"
    )


def _version() -> str:
    """Return the version of the package, which lies above this module and is loaded already."""
    return str(sys.modules[__name__.partition(".")[0]].__version__)
