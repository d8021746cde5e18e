"""Results of protocols, kept set by set: what is measured stays, and a killed run goes on.

A file holds one set of a protocol: JSON lines, one a method, with what each split gave. A line
whose stamp is not that of the protocol's settings today is stale, and measured anew.
"""

import json
import os
import time
import warnings
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any

from kernelfit.papers.protocol import Protocol
from kernelfit.utils.jobs import run_jobs
from kernelfit.utils.version import __version__

Line = dict[str, Any]


def read_lines(path: Path) -> dict[str, Line]:
    """Return the lines of a set's file by method."""
    if not path.exists():
        return {}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {line["method"]: line for line in lines}


def measure_missing(
    protocol: Protocol,
    wanted: Iterable[tuple[str, str]],
    folder: Path,
    report: Callable[[str], None],
    *,
    splits: int | None = None,
    n_jobs: int | None = None,
    code: str = __version__,
) -> dict[tuple[str, str], Line]:
    """Measure what a folder does not hold yet; each split is written as soon as it is done.

    Parameters
    ----------
    protocol : Protocol
    wanted : iterable of (str, str)
        Sets and methods.
    folder : Path
        A folder of results; those of the protocol are in a folder of its name.
    report : callable
        Told what was done, and how long the rest will take.
    splits : int, default=None
        How many splits; by default what the table needs.
    n_jobs : int, default=None
        How many splits are measured at the same time, each in a process.
    code : str
        What the results are stamped with beside the settings: a version or a commit.

    Returns
    -------
    dict
        The lines by set and method.
    """
    names: dict[str, list[str]] = {}
    for name, method in wanted:
        names.setdefault(name, []).append(method)
    paths = {name: folder / protocol.name / f"{name}.jsonl" for name in names}
    kept = {name: _fresh(protocol, name, read_lines(path)) for name, path in paths.items()}
    jobs = []
    for name, methods in names.items():
        most = protocol.n_splits(name)
        for split in range(most if splits is None else min(splits, most)):
            missing = [
                m for m in methods if split not in kept[name].get(m, {"splits": ()})["splits"]
            ]
            if missing:
                jobs.append((name, split, missing))
    forecast = _forecast(protocol.name, jobs, kept, n_jobs)
    report(f"{protocol.name}: {len(jobs)} splits to measure{forecast}")
    run = run_jobs(_measure, jobs, (protocol,), n_jobs=n_jobs, prefer="processes")
    for done, (number, found) in enumerate(run, start=1):
        name, split, _ = jobs[number]
        for method, (measured, seconds) in found.items():
            line = kept[name].setdefault(method, {
                "method": method, "stamp": protocol.stamp(name, method), "code": code,
                "splits": [], "scores": {}, "chosen": {}, "edges": {}, "took": [],
            })  # fmt: skip
            if code not in line["code"].split(", "):
                line["code"] += f", {code}"
            line["splits"].append(split)
            line["took"].append(round(seconds, 3))
            for key in ("scores", "chosen"):
                for what, value in getattr(measured, key).items():
                    line[key].setdefault(what, []).append(value)
            for parameter in measured.edges:
                line["edges"].setdefault(parameter, []).append(split)
        _write(paths[name], kept[name].values())
        took = sum(seconds for _, seconds in found.values())
        report(f"{done} of {len(jobs)}: {name}, split {split + 1}, {took:.1f} s")
    return {(name, method): kept[name][method] for name in names for method in names[name]}


def _measure(
    protocol: Protocol, name: str, split: int, methods: list[str]
) -> dict[str, tuple[Any, float]]:
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in methods:
            began = time.perf_counter()
            measured = protocol.measure(name, split, method)
            found[method] = measured, time.perf_counter() - began
    return found


def _fresh(protocol: Protocol, name: str, lines: dict[str, Line]) -> dict[str, Line]:
    """Return the lines that were measured with the settings of today."""
    return {
        method: line
        for method, line in lines.items()
        if method in protocol.methods and line["stamp"] == protocol.stamp(name, method)
    }


def _write(path: Path, lines: Iterable[Line]) -> None:
    """Write a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path)


def _forecast(
    protocol: str,
    jobs: list[tuple[str, int, list[str]]],
    kept: dict[str, dict[str, Line]],
    n_jobs: int | None,
) -> str:
    """Return how long the jobs will take by what other splits took, here or as measured by us."""
    text = files("kernelfit.papers").joinpath("seconds.json").read_text(encoding="utf-8")
    measured = json.loads(text).get(protocol, {})
    known, unknown = 0.0, 0
    for name, _, methods in jobs:
        for method in methods:
            took = kept[name].get(method, {}).get("took")
            seconds = fmean(took) if took else measured.get(name, {}).get(method)
            known += seconds or 0.0
            unknown += seconds is None
    minutes = known / 60.0 / max(1, n_jobs or 1)
    more = f" and {unknown} fits that were never timed" if unknown else ""
    return f", about {minutes:.1f} min{more}" if jobs else ""
