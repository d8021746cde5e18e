"""Time two commits in one run: ``python -m benchmarks.compare BASE [HEAD]``.

Without HEAD the working tree is compared with BASE. Each repeat starts one fresh process a source
tree, on one thread and with its own warm numba cache. The two processes take turns, call by call,
so that a slow moment of the machine hits both; the first call of a case is not counted. Of the
ratio new / old of CPU times, one a repeat, the table has the median, the quartiles and an interval
for the true ratio, by which the verdict goes. The exit status is 1 where a case got slower or
failed.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from benchmarks import records
from benchmarks.cases import CASES
from benchmarks.data import data_folder
from benchmarks.report import markdown

SIDES = ("old", "new")
REPEATS = 9
ENOUGH = 1.5  # CPU seconds of calls in a repeat and process, after the first call
MOST = 12  # calls in a repeat and process
MARGIN = 0.05
LEVEL = 0.95
LEAST_LEVEL = 0.9  # below, which is with fewer than five repeats, there is no verdict
SAME = 1e-2  # relative difference of objectives or scores up to which nothing is said
INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM)
ONE_THREAD = ("OPENBLAS", "OMP", "MKL", "BLIS", "NUMBA")


@dataclass
class Timings:
    """CPU and wall seconds of a case: {side: one list of calls a repeat}; and what is odd."""

    cpu: dict = field(default_factory=lambda: {side: [] for side in SIDES})
    wall: dict = field(default_factory=lambda: {side: [] for side in SIDES})
    note: str = ""
    failed: bool = False


def ratios(seconds):
    """Return new / old, one value a repeat: the median over its calls, each beside its rival.

    Neighbouring calls meet a machine in nearly the same state.
    """
    return np.array([
        np.median(np.divide(new, old))
        for old, new in zip(seconds["old"], seconds["new"], strict=False)  # interrupted between
    ])  # fmt: skip


def interval(values):
    """Return low, high and how surely the true ratio lies between.

    The two sides take turns and meet the same disturbances, so the logarithm of a ratio is as
    likely above the true one as below by as much. Then the signed ranks of Wilcoxon have a known
    distribution, and the mean logarithms of all pairs of values, sorted, give the interval; with
    fewer than six values all of them, which is less sure than LEVEL.
    """
    n = len(values)
    logs = np.log(values)
    means = np.sort(((logs[:, None] + logs) / 2)[np.triu_indices(n)])
    counts = np.ones(1)  # of the sets of ranks with a given sum
    for rank in range(1, n + 1):
        counts = np.concatenate([counts, np.zeros(rank)]) + np.concatenate([np.zeros(rank), counts])
    outside = 2 * np.cumsum(counts) / 2.0**n
    cut = max(int(np.searchsorted(outside, 1 - LEVEL, side="right")) - 1, 0)
    return np.exp(means[cut]), np.exp(means[len(means) - 1 - cut]), 1 - outside[cut]


def verdict(low, high, sure):
    """Return what an interval of the ratio says about the margin."""
    if sure < LEAST_LEVEL:
        return "too few repeats"
    if low > 1 + MARGIN:
        return "slower"
    if high < 1 - MARGIN:
        return "faster"
    if high > 1 + MARGIN:
        return "unclear"
    return "within 5 %" if low >= 1 - MARGIN else "not slower"


def rows_of(timings):
    """Return one row a case: seconds, ratio of CPU times, ratio of wall times, verdict, note."""
    rows = []
    for name, found in timings.items():
        if found.failed or not found.cpu["new"]:
            rows.append({"case": name, "verdict": "failed" if found.failed else "", "note":
                         found.note})  # fmt: skip
            continue
        cpu = ratios(found.cpu)
        low, high, sure = interval(cpu)
        rows.append({
            "case": name,
            **{f"{side} s": float(np.median(np.concatenate(found.cpu[side]))) for side in SIDES},
            "ratio": float(np.median(cpu)),
            "quartiles": [float(q) for q in np.quantile(cpu, [0.25, 0.75])],
            "interval": [float(low), float(high)], "sure": float(sure),
            "wall ratio": float(np.median(ratios(found.wall))),
            "verdict": verdict(low, high, sure), "note": found.note,
        })  # fmt: skip
    return rows


def table(rows):
    """Return the rows as a page shows them, and the geometric mean of the ratios by kind of case.

    An interval says how sure it is where that is less than the level.
    """
    cells, kinds = [], defaultdict(list)
    for row in rows:
        if "ratio" not in row:
            cells.append([row["case"], *[""] * 6, row["verdict"], row["note"]])
            continue
        kinds[row["case"].split("/")[0]].append(row["ratio"])
        interval = "{:.3f} .. {:.3f}".format(*row["interval"])
        if row["sure"] < LEVEL:
            interval += f" ({row['sure']:.0%})"
        cells.append([
            row["case"], f"{row['old s']:.4f}", f"{row['new s']:.4f}", f"{row['ratio']:.3f}",
            "{:.3f} .. {:.3f}".format(*row["quartiles"]), interval, f"{row['wall ratio']:.3f}",
            row["verdict"], row["note"],
        ])  # fmt: skip
    means = [
        [kind, len(values), f"{np.exp(np.mean(np.log(values))):.3f}", f"{max(values):.3f}"]
        for kind, values in kinds.items()
    ]
    columns = ["case", "old CPU s", "new CPU s", "new / old", "quartiles",
               f"{LEVEL:.0%} interval", "wall", "verdict", "note"]  # fmt: skip
    summary = markdown(["kind", "cases", "mean ratio", "highest"], means)
    return f"{markdown(columns, cells)}\n\n{summary}"


@contextmanager
def source_trees(base, head):
    """Check out the commits beside each other, the working tree as a copy; clean up at the end."""
    with tempfile.TemporaryDirectory(prefix="kernelfit-compare-") as folder:
        trees = {side: Path(folder) / side for side in SIDES}
        try:
            for tree, reference in zip(trees.values(), (base, head), strict=True):
                if reference is None:
                    ignored = shutil.ignore_patterns("__pycache__")
                    shutil.copytree(records.ROOT / "src", tree / "src", ignore=ignored)
                else:
                    with undisturbed():
                        git("worktree", "add", "--quiet", "--detach", str(tree), reference)
            yield trees
        finally:
            for tree in trees.values():
                if (tree / ".git").exists():
                    with undisturbed():
                        git("worktree", "remove", "--force", str(tree))


@contextmanager
def undisturbed():
    """Hold interruptions back: git, killed half-way, leaves a worktree that it cannot remove."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTIONS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def git(*arguments):
    return subprocess.run(
        ["git", *arguments], cwd=records.ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def commit_of(reference):
    """Return the short hash of a commit; the working tree's where there is no reference."""
    if reference is None:
        return records.commit()
    return git("rev-parse", "--short", "--verify", f"{reference}^{{commit}}")


class Worker:
    """A process that runs cases with one source tree."""

    def __init__(self, tree):
        threads = {f"{name}_NUM_THREADS": "1" for name in ONE_THREAD}
        path = os.pathsep.join([str(tree / "src"), str(records.ROOT)])
        caches = {"NUMBA_CACHE_DIR": str(tree.parent / f"numba-{tree.name}")}
        data = {"KERNELFIT_DATA": str(data_folder() or "")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.cases", str(tree)],
            cwd=records.ROOT,
            env={**os.environ, **threads, **caches, **data, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # an interruption is for this process alone
        )

    def send(self, order):
        """Give an order: the name of a case, or "" to time the case that was named last."""
        with suppress(BrokenPipeError):  # where the process has died, the answer says so
            self.process.stdin.write(order + "\n")
            self.process.stdin.flush()

    def answer(self):
        """Return the answer to the last order."""
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        return {"error": f"the process ended with status {self.process.wait()}"}

    def ask(self, order):
        self.send(order)
        return self.answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def warm_up(trees, names, timings):
    """Run every case once with both trees at a time: compiles, and finds the cases that fail."""
    for group in by_process(names):
        with Worker(trees["old"]) as old, Worker(trees["new"]) as new:
            for name in group:
                for worker in (old, new):
                    worker.send(name)
                answers = {"old": old.answer(), "new": new.answer()}
                if not note_errors(timings[name], answers):
                    break
        say(f"compiled {group[0].split('/')[0]}")


def note_errors(found, answers):
    """Mark a case that failed with some tree; return whether both processes still live."""
    errors = [f"{side}: {answer['error']}" for side, answer in answers.items() if "error" in answer]
    if errors:
        found.failed, found.note = True, "; ".join(errors)
    return not any("ended" in error for error in errors)


def run_repeat(trees, group, timings):
    """Time the cases of one process, which a fresh pair of processes runs in turns."""
    with Worker(trees["old"]) as old, Worker(trees["new"]) as new:
        workers = {"old": old, "new": new}
        for name in group:
            found, calls, rounds = timings[name], [], 1
            answers = first = {side: worker.ask(name) for side, worker in workers.items()}
            while note_errors(found, answers) and not found.failed and len(calls) < rounds:
                order = SIDES if (len(calls) + len(found.cpu["old"])) % 2 else SIDES[::-1]
                answers = {side: workers[side].ask("") for side in order}
                calls.append(answers)
                if len(calls) == 1:
                    slower = max(answer.get("cpu", ENOUGH) for answer in answers.values())
                    rounds = min(max(round(ENOUGH / slower), 1), MOST)
            if found.failed:
                return  # the processes may have died; the next repeat goes without this case
            for side in SIDES:
                found.cpu[side].append([answers[side]["cpu"] for answers in calls])
                found.wall[side].append([answers[side]["wall"] for answers in calls])
            found.note = oddities(first)


def oddities(first):
    """Return how the two trees differ in settings and results, "" where they do not."""
    notes = []
    for side, other in (SIDES, SIDES[::-1]):
        extra = sorted(set(first[side]["lacking"]) - set(first[other]["lacking"]))
        if extra:
            notes.append(f"{side} lacks {', '.join(extra)}")
    a, b = (first[side]["value"] for side in SIDES)
    if abs(a - b) > SAME * max(abs(a), abs(b)):
        notes.append(f"results differ: {a:.6g}, {b:.6g}")
    return "; ".join(notes)


def by_process(names):
    """Return the names in groups, one a kind of case."""
    groups = defaultdict(list)
    for name in names:
        groups[name.split("/")[0]].append(name)
    return list(groups.values())


def chosen(patterns, quick):
    """Return the names of the cases that match one of the patterns."""
    names = [name for name, case in CASES.items() if case.quick or not quick]
    found = [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)]
    if not found:
        raise ValueError(f"expected patterns of cases that --list shows, got {patterns}")
    return found


def say(text):
    print(text, file=sys.stderr, flush=True)


def compare(base, head, names, repeats):
    """Return the timings of the cases, and whether all repeats were made."""
    timings = {name: Timings() for name in names}
    try:
        with source_trees(base, head) as trees:
            warm_up(trees, names, timings)
            for repeat in range(repeats):
                sound = [name for name in names if not timings[name].failed]
                for group in by_process(sound):
                    run_repeat(trees, group, timings)
                say(f"repeat {repeat + 1} of {repeats}")
    except KeyboardInterrupt:
        say("interrupted: the table has what was measured until then")
        return timings, False
    return timings, True


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("base", metavar="BASE", nargs="?", help="a commit")
    parser.add_argument("head", metavar="HEAD", nargs="?", help="a commit; else the working tree")
    parser.add_argument(
        "--cases", nargs="+", default=["*"], metavar="PATTERN", help="such as 'svm-*' 'cdsk/rbf'"
    )
    parser.add_argument("--quick", action="store_true", help="a few cases of each kind")
    parser.add_argument("--repeats", type=int, default=REPEATS, help=f"{REPEATS} by default")
    parser.add_argument("--out", type=Path, help="keep all times in this file of JSON lines")
    parser.add_argument("--list", action="store_true", help="the cases; * marks the quick ones")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{'*' if case.quick else ' '} {name}" for name, case in CASES.items()))
        return 0
    if options.base is None or options.repeats < 1:
        parser.error("expected a commit to compare with, and at least one repeat")
    try:
        names = chosen(options.cases, options.quick)
    except ValueError as error:
        parser.error(str(error))
    commits = [commit_of(reference) for reference in (options.base, options.head)]
    for number in INTERRUPTIONS:  # also where the shell had it ignored
        signal.signal(number, signal.default_int_handler)
    settings = {
        "old": commits[0], "new": commits[1], "repeats": options.repeats, "threads": 1,
        "data": "files" if data_folder() else "synthetic",
    }  # fmt: skip
    record = records.start("compare", **settings)
    timings, complete = compare(options.base, options.head, names, options.repeats)
    rows = rows_of(timings)
    record.rows = [
        {**row, "cpu": timings[row["case"]].cpu, "wall": timings[row["case"]].wall} for row in rows
    ]
    if options.out:
        record.save(options.out)
    print(f"{commits[1]} (new) against {commits[0]} (old), {options.repeats} repeats, data: "
          f"{settings['data']}\n\n{table(rows)}\n\n{records.origin(record)}")  # fmt: skip
    if not complete:
        return 128 + signal.SIGINT
    return int(any(row["verdict"] in ("slower", "failed") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
