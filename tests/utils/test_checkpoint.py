"""Checkpoints: cells are there whole or not at all, and belong to one run."""

import errno
import json
import os

import numpy as np
import pytest

from kernelfit.utils import checkpoint as module
from kernelfit.utils.checkpoint import Checkpoint

IDENTITY = {"data": "a", "parameters": "b"}


def test_cells_are_kept_bit_for_bit(tmp_path):
    values = np.random.default_rng(0).standard_normal((3, 4))
    values[0, 0], values[0, 1] = np.nan, -0.0
    Checkpoint(tmp_path / "new" / "one", IDENTITY).put("x", {"values": values, "n": 3})
    again = Checkpoint(tmp_path / "new" / "one", IDENTITY)
    found = again.get("x")
    assert found["values"].tobytes() == values.tobytes() and found["n"].item() == 3
    assert again.get("y") is None


def test_the_note_is_that_of_the_first_run(tmp_path):
    assert Checkpoint.note(tmp_path / "none") == {} == Checkpoint.note(tmp_path)
    Checkpoint(tmp_path, IDENTITY, {"seed": 3})
    Checkpoint(tmp_path, IDENTITY, {"seed": 4})
    assert Checkpoint.note(tmp_path) == {"seed": 3}


def test_another_run_is_one_sentence(tmp_path, monkeypatch):
    Checkpoint(tmp_path, IDENTITY)
    with pytest.raises(ValueError, match=r"^expected the data that .* was begun with, got another"):
        Checkpoint(tmp_path, {**IDENTITY, "data": "z"})
    with pytest.raises(ValueError, match="expected the data and parameters that"):
        Checkpoint(tmp_path, {"data": "y", "parameters": "z"})
    monkeypatch.setattr(module, "_version", lambda: "99")
    with pytest.raises(ValueError, match="expected the version that"):
        Checkpoint(tmp_path, IDENTITY)


@pytest.mark.parametrize(
    "name, text",
    [
        ("file.txt", "x"),
        ("checkpoint.json", "{"),
        ("checkpoint.json", "[]"),
        ("checkpoint.json", "{}"),
    ],
)
def test_a_foreign_directory_is_one_sentence_and_untouched(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"^expected an empty directory .* something else$"):
        Checkpoint(tmp_path, IDENTITY)
    assert os.listdir(tmp_path) == [name] and (tmp_path / name).read_text() == text


def test_a_file_in_the_way_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"the checkpoint in .*file' cannot be used: "):
        Checkpoint(tmp_path / "file", IDENTITY)


def test_a_full_disk_is_one_sentence_and_leaves_nothing_behind(tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path, IDENTITY)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="cannot be used: No space left on device") as caught:
        checkpoint.put("x", {"values": np.zeros(3)})
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == ["checkpoint.json"] and checkpoint.get("x") is None


def test_what_a_killed_run_left_half_written_is_removed(tmp_path):
    (tmp_path / "tmpabc.partial").write_text("half")
    Checkpoint(tmp_path, IDENTITY)  # killed before it had said what it was
    assert os.listdir(tmp_path) == ["checkpoint.json"]
    (tmp_path / "tmpdef.partial").write_text("half")
    Checkpoint(tmp_path, IDENTITY)
    assert os.listdir(tmp_path) == ["checkpoint.json"]


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_damaged_file_counts_as_missing(tmp_path, keep):
    checkpoint = Checkpoint(tmp_path, IDENTITY)
    checkpoint.put("x", {"values": np.arange(100.0)})
    whole = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(whole[:keep])
    assert checkpoint.get("x") is None
    flipped = bytearray(whole)
    flipped[300] ^= 1
    (tmp_path / "x.npz").write_bytes(bytes(flipped))
    assert checkpoint.get("x") is None


def test_nothing_is_unpickled(tmp_path):
    checkpoint = Checkpoint(tmp_path, IDENTITY)
    np.savez(tmp_path / "x.npz", values=np.array([{}], dtype=object))
    assert checkpoint.get("x") is None
    assert json.loads((tmp_path / "checkpoint.json").read_text())["identity"]["data"] == "a"
