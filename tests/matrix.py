"""Run the tests in other settings than this one: ``python -m tests.matrix [setting ...]``.

==============  ================================================================================
prescott,       The BLAS of older processors, and numba's code for any processor: other roundings.
sandybridge
haswell         The BLAS of a common processor, numba's code for this one.
threads         Two BLAS and OpenMP threads.
oldest          The oldest dependencies that pyproject.toml allows, as tests/oldest.txt pins them.
python3.11 ...  Other Pythons, each with the newest dependencies.
no-jit          The numerical core without numba, whose coverage is printed.
==============  ================================================================================

Prints pytest's closing line for each; the whole output is in ``.cache/matrix/<setting>.log``.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / ".cache" / "matrix"
OLDEST = ROOT / "tests" / "oldest.txt"
OLDEST_PYTHON = "3.11"
PYTHONS = ("3.11", "3.12", "3.13")
CORE = ("linalg", "kernels", "tasks", "families", "solvers")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
PROCESSORS = {
    "prescott": {"OPENBLAS_CORETYPE": "Prescott", "NUMBA_CPU_NAME": "generic"},
    "sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge", "NUMBA_CPU_NAME": "generic"},
    "haswell": {"OPENBLAS_CORETYPE": "Haswell"},
}
SETTINGS = (*PROCESSORS, "threads", "oldest", *(f"python{v}" for v in PYTHONS), "no-jit")
_CLOSING = re.compile(r"^=* ?(\d+ (?:passed|failed|errors?|skipped).*?) ?=*$", re.M)


class Missing(Exception):
    """What a setting needs is not there."""


def run(setting: str) -> bool | None:
    """Run one setting and print a line; return whether it passed, or None where it cannot run."""
    try:
        command, environment = prepare(setting)
    except Missing as reason:
        print(f"{setting}: skipped, {reason}", flush=True)
        return None
    log = WORK / f"{setting}.log"
    # Machine code of one setting is not for another.
    environment |= {"NUMBA_CACHE_DIR": str(WORK / setting / "numba")}
    with log.open("w") as out:
        status = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **environment}, stdout=out, stderr=out
        ).returncode
    text = log.read_text()
    lines = _CLOSING.findall(text) or [f"no closing line, see {log.relative_to(ROOT)}"]
    print(f"{setting}: {lines[-1]}", flush=True)
    for line in re.findall(r"^(?:FAILED|ERROR) .*$", text, re.M)[:20]:
        print(f"  {line}", flush=True)
    if setting == "no-jit" and status == 0:
        status = show_coverage(environment)
    return status == 0


def prepare(setting: str) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of a setting; make what it needs."""
    (WORK / setting).mkdir(parents=True, exist_ok=True)
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    parallel = [*pytest, "-n", "2", "--dist", "worksteal"]
    if setting in PROCESSORS:
        if platform.machine() not in ("x86_64", "AMD64"):
            raise Missing(f"the processor is {platform.machine()}")
        return [sys.executable, *parallel], ONE_THREAD | PROCESSORS[setting]
    if setting == "threads":
        # Not in parallel: threads that wait actively for cores in use take many times as long.
        return [sys.executable, *pytest], dict.fromkeys(ONE_THREAD, "2")
    if setting == "no-jit":
        tests = [f"tests/{part}" for part in CORE]
        options = ["--hypothesis-profile=brief", *tests]
        data = str(WORK / setting / "coverage")
        return (
            [sys.executable, "-m", "coverage", "run", *_sources(), *pytest, *options],
            ONE_THREAD | {"NUMBA_DISABLE_JIT": "1", "COVERAGE_FILE": data},
        )
    version = OLDEST_PYTHON if setting == "oldest" else setting.removeprefix("python")
    constraints = ["--constraint", str(OLDEST)] if setting == "oldest" else []
    python = environment(setting, find_python(version), constraints)
    return [str(python), *parallel], dict(ONE_THREAD)


def _sources() -> list[str]:
    return ["--source", ",".join(f"src/kernelfit/{part}" for part in CORE)]


def show_coverage(environment: dict[str, str]) -> int:
    """Print the coverage of the core by its parts."""
    base = [sys.executable, "-m", "coverage", "report", "--format=total"]
    for part in CORE:
        total = subprocess.run(
            [*base, f"--include=src/kernelfit/{part}/*"],
            cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True,
        )  # fmt: skip
        print(f"  {part}: {total.stdout.strip()} % of the lines covered", flush=True)
    return 0


def find_python(version: str) -> Path:
    """Return an interpreter of this version, on the path or among those of pyenv."""
    names = [shutil.which(f"python{version}"), sys.executable]
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    kept = (str(path) for root in roots for path in root.glob(f"{version}.*/bin/python"))
    for name in [*names, *sorted(kept)]:
        if name is not None:  # a shim of pyenv may stand for nothing
            asked = subprocess.run([name, "-V"], capture_output=True, text=True)
            if asked.returncode == 0 and asked.stdout.startswith(f"Python {version}."):
                return Path(name)
    raise Missing(f"no python{version} found")


def environment(name: str, interpreter: Path, constraints: Iterable[str]) -> Path:
    """Return the Python of the virtual environment of a setting, made where it is not there."""
    folder = WORK / name / "venv"
    python, stamp = folder / "bin" / "python", folder / ".installed"
    newest = max(path.stat().st_mtime for path in (ROOT / "pyproject.toml", OLDEST))
    if stamp.exists() and stamp.stat().st_mtime >= newest:
        return python
    install = [str(python), "-m", "pip", "install", "--quiet", "--editable", ".[test]"]
    steps = [[str(interpreter), "-m", "venv", "--clear", str(folder)], [*install, *constraints]]
    for step in steps:
        made = subprocess.run(step, cwd=ROOT, capture_output=True, text=True)
        if made.returncode:
            raise RuntimeError(f"{' '.join(step)} failed:\n{made.stderr}")
    stamp.touch()
    return python


def main(names: list[str]) -> int:
    wrong = sorted(set(names) - set(SETTINGS))
    if wrong:
        print(f"expected settings among {', '.join(SETTINGS)}, got {', '.join(wrong)}")
        return 2
    outcomes = [run(setting) for setting in names or SETTINGS]
    return 1 if False in outcomes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
