"""The time that importing takes, in new processes that take turns with importing sklearn.svm."""

import os
import subprocess
import sys

from benchmarks import records
from benchmarks.report import table, write

STATEMENTS = (
    "import sklearn.svm",
    "import kernelfit",
    "from kernelfit import KernelSVC",
    "from kernelfit import *",
)
ROUNDS = 5


def import_seconds(statement):
    """Return the processor time of a statement in a new process."""
    code = f"from time import process_time as t; s = t()\n{statement}\nprint(t() - s)"
    # As for a user, modules are compiled to bytecode once: the first round leaves that behind.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, check=True, capture_output=True, env=env).stdout)


def main():
    record = records.start("imports", rounds=ROUNDS)
    rounds = [[import_seconds(statement) for statement in STATEMENTS] for _ in range(ROUNDS)]
    least = [min(times) for times in zip(*rounds, strict=True)]
    record.rows = [
        {"statement": f"`{statement}`", "s": seconds, "ratio": seconds / least[0]}
        for statement, seconds in zip(STATEMENTS, least, strict=True)
    ]
    record.save(records.path_of("imports"))
    page()


def page():
    record = records.load(records.path_of("imports"))
    write(
        "imports",
        "Importing",
        f"CPU time, the least of {record.header['settings']['rounds']}; modules compiled to "
        "bytecode before.",
        table(record.rows),
        records=[record],
    )


if __name__ == "__main__":
    main()
