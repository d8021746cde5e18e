"""Results in files of JSON lines: a header, then one compact row a measurement.

The header says what was measured with what: name, version and commit of kernelfit, settings, and
the kind of machine (versions and cores, never its name or paths). Pages are made from these files.
"""

import json
import os
import platform
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import joblib
import numba
import numpy as np
import sklearn

import kernelfit

ROOT = Path(__file__).resolve().parents[1]
CHECKOUT = Path(kernelfit.__file__).resolve().parents[2]  # of the code that is measured
RESULTS = ROOT / "benchmarks" / "results"
CHANGED = "+changes"  # behind a commit: its src had been changed


@dataclass
class Record:
    """What one file holds."""

    header: dict
    rows: list = field(default_factory=list)

    def save(self, path):
        """Write the file, whole or not at all, so that an interruption loses no row."""
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        lines = "".join(_line(value) for value in (self.header, *self.rows))
        unfinished.write_text(lines, encoding="utf-8")
        os.replace(unfinished, path)


def load(path):
    """Return the record of a file."""
    header, *rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return Record(header, rows)


def start(name, **settings):
    """Return a record without rows, measured with the present code on this machine."""
    header = {
        "name": name,
        "version": kernelfit.__version__,
        "commit": commit(),
        "settings": json.loads(_line(settings)),  # as it will be read: lists, no tuples
        "machine": machine(),
    }
    return Record(header)


def resume(path, name, **settings):
    """Return the record of a file to add rows to, or one without rows.

    Rows count as long as version, settings and src are those of now.
    """
    record = start(name, **settings)
    if not path.exists():
        return record
    former = load(path)
    alike = all(former.header[key] == record.header[key] for key in ("version", "settings"))
    if alike and _same_source(former.header["commit"], record.header["commit"]):
        return former
    return record


def path_of(benchmark, name=None):
    """Return the file of a benchmark, or of one set of a table that is made set by set."""
    return RESULTS / (f"{benchmark}.jsonl" if name is None else f"{benchmark}/{name}.jsonl")


def load_table(benchmark, names):
    """Return {name: record} of the sets measured so far, in the order of the names."""
    paths = {name: path_of(benchmark, name) for name in names}
    return {name: load(path) for name, path in paths.items() if path.exists()}


def commit():
    """Return the commit of the checkout, marked where src differs from it, or None without git."""
    head = _git("rev-parse", "--short", "HEAD")
    if head.returncode:
        return None
    changed = _git("status", "--porcelain", "--", "src").stdout.strip()
    return head.stdout.strip() + (CHANGED if changed else "")


def machine():
    """Return the kind of machine."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scikit-learn": sklearn.__version__,
        "processor": platform.machine(),
        "cores": joblib.cpu_count(),
    }


def origin(*records):
    """Return the line of a page that says what made its figures."""
    by_version = {}
    for record in records:
        commits = by_version.setdefault(record.header["version"], [])
        if record.header["commit"] not in commits:
            commits.append(record.header["commit"])
    parts = [
        f"kernelfit {version} at {', '.join(c or 'an unknown commit' for c in commits)}"
        for version, commits in by_version.items()
    ]
    for kind in dict.fromkeys(json.dumps(record.header["machine"]) for record in records):
        found = json.loads(kind)
        parts.append(
            f"Python {found['python']}, numpy {found['numpy']}, numba {found['numba']}, "
            f"scikit-learn {found['scikit-learn']}, {found['processor']}, {found['cores']} cores"
        )
    return "; ".join(parts) + "."


def _same_source(first, second):
    if first is None or second is None or CHANGED in first + second:
        return False
    return _git("diff", "--quiet", first, second, "--", "src").returncode == 0


def _git(*arguments):
    command = ["git", *arguments]
    try:
        return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    except FileNotFoundError:  # no git: as outside of a repository
        return subprocess.CompletedProcess(command, 128, "", "")


def _line(value):
    """Return strict JSON: numbers that are not finite have to be written as text."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, default=_plain) + "\n"


def _plain(value):
    """Return numpy's scalars and arrays as numbers and lists."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"expected a value that JSON can hold, got {type(value).__name__}")
