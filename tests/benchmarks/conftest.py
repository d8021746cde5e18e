import os
import shutil
import subprocess

import pytest

from benchmarks import records


class Repository:
    """A folder that takes the place of the checkout; `git("init")` makes it a repository."""

    def git(self, *arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        done = subprocess.run(
            command, cwd=records.ROOT, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout.splitlines()

    def commit(self, name, text):
        path = records.ROOT / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", text)
        return records.commit()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # set where a hook runs the tests
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    root = tmp_path / "checkout"
    root.mkdir()
    monkeypatch.setattr(records, "ROOT", root)
    monkeypatch.setattr(records, "CHECKOUT", root)
    return Repository()
