"""Imports go strictly down the layers, and importing kernelfit loads and compiles little."""

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernelfit

# Top to bottom. A package imports from lower lines only, never from its own line.
LAYERS = (
    ("kernelfit",),  # the public names
    ("cli", "report", "inspection"),
    ("selection",),
    ("estimators", "datasets", "clustering"),
    ("learners",),
    ("families", "solvers"),
    ("kernels", "linalg"),
    ("utils",),
)
HEIGHT = {package: -line for line, packages in enumerate(LAYERS) for package in packages}
MAY_USE_SKLEARN = {
    "cli",
    "datasets",
    "estimators",
    "inspection",
    "report",
    "selection",
    "utils",
    # The shells of the clusterings; the numerics beside them are free of it.
    "clustering/affinities.py",
    "clustering/base.py",
    "clustering/cds.py",
    "clustering/kernel_kmeans.py",
    "clustering/spectral.py",
}
OPTIONAL = {"matplotlib", "torch", "dask"}  # imported inside functions, by one module each


def imports(tree: ast.Module, package: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield (line, absolute dotted name, inside a function) for every import in a module.

    ``from kernelfit import x`` names ``kernelfit.x`` when x is a package of kernelfit, else
    ``kernelfit``; a relative import keeps its dots.
    """
    lazy = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
            if names == ["kernelfit"]:
                names = [
                    f"kernelfit.{alias.name}" if (package / alias.name).is_dir() else "kernelfit"
                    for alias in node.names
                ]
        else:
            continue
        for name in names:
            yield node.lineno, name, id(node) in lazy


def private_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, name) for every import of another module's underscore name within kernelfit."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kernelfit"):
            for alias in node.names:
                if alias.name.startswith("_") and not alias.name.endswith("__"):
                    yield node.lineno, alias.name


def violations(package: Path) -> list[str]:
    """Return one sentence for every import in the source tree that breaks the rule."""
    found = []
    users = defaultdict(set)
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package)
        own = module.parts[0] if len(module.parts) > 1 else "kernelfit"
        if own not in HEIGHT:
            found.append(f"{module}: {own} is in no layer")
            continue
        tree = ast.parse(path.read_text())
        for line, name in private_imports(tree):
            found.append(f"{module}:{line}: imports the private {name}")
        for line, name, lazy in imports(tree, package):
            place = f"{module}:{line}"
            top, _, rest = name.partition(".")
            if name.startswith("."):
                found.append(f"{place}: relative import")
            elif top == "kernelfit":
                target = rest.partition(".")[0] or "kernelfit"
                if target != own and HEIGHT.get(target, 0) >= HEIGHT[own]:
                    found.append(f"{place}: {own} imports {target}")
            elif top == "sklearn" and not {own, module.as_posix()} & MAY_USE_SKLEARN:
                found.append(f"{place}: {own} imports sklearn")
            elif top in OPTIONAL:
                users[top].add(str(module))
                if not lazy:
                    found.append(f"{place}: {top} imported outside a function")
    for library, modules in sorted(users.items()):
        if len(modules) > 1:
            found.append(f"{library} imported in {len(modules)} modules")
    return found


def test_package_keeps_the_rule():
    assert violations(Path(kernelfit.__file__).parent) == []


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("solvers/a.py", "from kernelfit.estimators.svm import KernelSVC", "imports estimators"),
        ("solvers/a.py", "import kernelfit.families.dank", "solvers imports families"),
        ("families/a.py", "from kernelfit import solvers", "families imports solvers"),
        ("kernels/a.py", "from kernelfit.linalg.eig import top", "kernels imports linalg"),
        ("utils/a.py", "def f():\n    import kernelfit.kernels", "utils imports kernels"),
        ("estimators/a.py", "import kernelfit.selection.cv", "estimators imports selection"),
        ("selection/a.py", "from kernelfit import KernelSVC", "selection imports kernelfit"),
        ("learners/a.py", "import sklearn.base", "learners imports sklearn"),
        ("clustering/a.py", "import sklearn.base", "clustering imports sklearn"),
        ("clustering/base.py", "import kernelfit.estimators.svm", "clustering imports estimators"),
        ("solvers/a.py", "from . import b", "relative import"),
        ("utils/a.py", "import torch", "torch imported outside a function"),
        ("misc/a.py", "", "misc is in no layer"),
        ("solvers/a.py", "from kernelfit.solvers.b import _f", "imports the private _f"),
    ],
)
def test_checker_finds_a_violation(tmp_path, module, source, complaint):
    (tmp_path / "solvers").mkdir()
    path = tmp_path / module
    path.parent.mkdir(exist_ok=True)
    path.write_text(source)
    found = violations(tmp_path)
    assert len(found) == 1
    assert complaint in found[0]


def test_checker_accepts_what_is_allowed(tmp_path):
    sources = {
        "__init__.py": "from kernelfit.estimators.svm import KernelSVC",
        "clustering/base.py": "import sklearn.base\nimport kernelfit.linalg.eigen",
        "selection/a.py": "import sklearn.base\nfrom kernelfit.estimators.svm import KernelSVC",
        "solvers/a.py": "import numba\nfrom kernelfit.solvers.b import f\nimport kernelfit.utils.c",
        "utils/a.py": "def f():\n    import torch.linalg",
    }
    for name, source in sources.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    assert violations(tmp_path) == []


def test_checker_finds_a_second_user_of_an_optional_library(tmp_path):
    (tmp_path / "utils").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "utils" / name).write_text("def f():\n    import dask.array")
    assert violations(tmp_path) == ["dask imported in 2 modules"]


def run_python(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def loaded_by(statement: str) -> set[str]:
    """Return the packages that a statement loads in a new process."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    return {module.partition(".")[0] for module in run_python(code).split()}


def test_public_names_load_what_they_build_on_and_no_more():
    """What that takes beside ``import sklearn.svm`` is measured in benchmarks/imports.py."""
    expected = loaded_by("import sklearn.svm, numba") | {"kernelfit"}
    assert loaded_by("from kernelfit import *") <= expected


def test_import_loads_no_heavy_library():
    assert not {"numba", "numpy", "scipy", "sklearn"} & loaded_by("import kernelfit")


def test_import_of_every_module_compiles_nothing():
    code = """
import importlib, pkgutil, kernelfit
from numba.core.dispatcher import Dispatcher
for info in pkgutil.walk_packages(kernelfit.__path__, "kernelfit."):
    if not info.name.endswith("__main__"):
        for name, value in vars(importlib.import_module(info.name)).items():
            if isinstance(value, Dispatcher) and value.signatures:
                print(info.name, name)
"""
    assert run_python(code) == ""
