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
    ("cli",),
    ("report",),
    ("inspection", "io"),
    ("ensemble", "papers"),
    ("selection",),
    ("estimators", "clustering"),
    ("learners",),
    ("families", "solvers"),
    ("tasks", "kernels"),
    ("linalg", "tables", "datasets"),
    ("utils",),
)
HEIGHT = {package: -line for line, packages in enumerate(LAYERS) for package in packages}
MAY_USE_SKLEARN = {
    "cli",
    "datasets",
    "ensemble",
    "estimators",
    "inspection",
    "io",
    "report",
    "selection",
    "tables",
    "utils",
    # The shells of the clusterings; the numerics beside them are free of it.
    "clustering/affinities.py",
    "clustering/auto.py",
    "clustering/base.py",
    "clustering/cds.py",
    "clustering/kernel_kmeans.py",
    "clustering/published_affinities.py",
    "clustering/spectral.py",
    # The shells and protocols of the papers.
    "papers/block_classifier.py",
    "papers/bmmc.py",
    "papers/cds_tables.py",
    "papers/dank_functions.py",
    "papers/dank_large.py",
    "papers/dank_tables.py",
    "papers/knpl_search.py",
    "papers/mmc.py",
    "papers/nadaraya_watson.py",
    "papers/random_features.py",
    "papers/rim.py",
    "papers/splits.py",
    "papers/tkl_programme.py",
    "papers/tkl_tables.py",
    "papers/tree_search.py",
}
# Packages that only these may import.
IMPORTERS = {"papers": {"cli", "kernelfit"}}
MAY_USE_PRIVATE_SKLEARN = Path("utils", "sklearn_private.py")
# Imported inside functions, by one module each.
OPTIONAL = {"cvxpy", "jinja2", "matplotlib", "torch", "triton", "dask", "ray", "xgboost"}
OF_THE_COMMAND = {"typer", "rich", "pandas"}
# A leading underscore means "used in its own package", also behind a dot. What others may reach:
PROTOCOLS = {
    "_parameter_constraints",  # scikit-learn's
    "_replace",  # of named tuples
    "_validate_params",  # scikit-learn's
}
# The hooks of a machine (`kernelfit.estimators.machine`), without which a search could not train
# many machines on one plan; users see them as private.
HOOKS = {
    "selection": {
        "_check_test_data",
        "_check_training_data",
        "_choose",
        "_class_scores",
        "_cost_range",
        "_encode",
        "_evaluate",
        "_fit",
        "_keep",
        "_learner",
        "_make_plan",
        "_path_etas",
        "_plan",
        "_polish",
        "_prepare",
        "_shape",
        "_take_rows",
        "_warn_if_unproven",
        "_weigh",
    },
    "inspection": {
        "_check_table",
        "_check_test_data",
        "_factor_matrix",
        "_group_rows",
        "_initial_kernel",
        "_machines",
        "_plan",
        "_row_blocks",
        "_support_gram",
        "_support_kernel",
        "_thetas",
    },
    "utils": {"_cache"},  # of numba's functions, in jit.py
}


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
                if is_private(alias.name):
                    yield node.lineno, alias.name


def private_sklearn(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) for every import of something private of scikit-learn."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            top, *rest = name.split(".")
            if top == "sklearn" and any(is_private(part) for part in rest):
                yield node.lineno, name


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def own_private_names(tree: ast.Module) -> Iterator[str]:
    """Yield the underscore names that the classes of a module give to their objects."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for statement in node.body:
                targets = []
                if isinstance(statement, ast.FunctionDef):
                    yield statement.name
                elif isinstance(statement, ast.Assign):
                    targets = statement.targets
                elif isinstance(statement, ast.AnnAssign):
                    targets = [statement.target]
                yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                yield node.attr


def private_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, name) for every underscore name behind another dot than that of self."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield node.lineno, node.attr


def package_of(module: Path) -> str:
    return module.parts[0] if len(module.parts) > 1 else "kernelfit"


def foreign_uses(package: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield (module, line, name) for every private name of an object of another package."""
    trees = {
        path.relative_to(package): ast.parse(path.read_text())
        for path in sorted(package.rglob("*.py"))
    }
    own = defaultdict(set)
    for module, tree in trees.items():
        own[package_of(module)].update(own_private_names(tree))
    for module, tree in trees.items():
        for line, name in private_uses(tree):
            if name not in own[package_of(module)] | PROTOCOLS:
                yield module, line, name


def violations(package: Path) -> list[str]:
    """Return one sentence for every import in the source tree that breaks the rule."""
    found = []
    users = defaultdict(set)
    for module, line, name in foreign_uses(package):
        if name not in HOOKS.get(package_of(module), ()):
            found.append(f"{module}:{line}: reaches for the private {name}")
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package)
        own = package_of(module)
        if own not in HEIGHT:
            found.append(f"{module}: {own} is in no layer")
            continue
        tree = ast.parse(path.read_text())
        for line, name in private_imports(tree):
            found.append(f"{module}:{line}: imports the private {name}")
        if module != MAY_USE_PRIVATE_SKLEARN:
            for line, name in private_sklearn(tree):
                found.append(f"{module}:{line}: imports the private {name}")
        for line, name, lazy in imports(tree, package):
            place = f"{module}:{line}"
            top, _, rest = name.partition(".")
            if name.startswith("."):
                found.append(f"{place}: relative import")
            elif top == "kernelfit":
                target = rest.partition(".")[0] or "kernelfit"
                allowed = own in IMPORTERS.get(target, {own})
                if target != own and (HEIGHT.get(target, 0) >= HEIGHT[own] or not allowed):
                    found.append(f"{place}: {own} imports {target}")
            elif top == "sklearn" and not {own, module.as_posix()} & MAY_USE_SKLEARN:
                found.append(f"{place}: {own} imports sklearn")
            elif top in OF_THE_COMMAND and own != "cli":
                found.append(f"{place}: {own} imports {top}")
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


def test_every_hook_is_used():
    used = defaultdict(set)
    for module, _, name in foreign_uses(Path(kernelfit.__file__).parent):
        used[package_of(module)].add(name)
    assert used == HOOKS


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("solvers/a.py", "from kernelfit.estimators.svm import KernelSVC", "imports estimators"),
        ("solvers/a.py", "import kernelfit.families.dank", "solvers imports families"),
        ("families/a.py", "from kernelfit import solvers", "families imports solvers"),
        ("linalg/a.py", "from kernelfit.kernels.gram import Gram", "linalg imports kernels"),
        ("tasks/a.py", "import kernelfit.kernels.gram", "tasks imports kernels"),
        ("kernels/a.py", "import kernelfit.tasks.task", "kernels imports tasks"),
        ("linalg/a.py", "import kernelfit.tasks.task", "linalg imports tasks"),
        ("clustering/a.py", "import kernelfit.estimators.svm", "clustering imports estimators"),
        ("estimators/a.py", "from kernelfit import clustering", "estimators imports clustering"),
        ("utils/a.py", "def f():\n    import kernelfit.kernels", "utils imports kernels"),
        ("estimators/a.py", "import kernelfit.selection.cv", "estimators imports selection"),
        ("selection/a.py", "from kernelfit import KernelSVC", "selection imports kernelfit"),
        ("selection/a.py", "import kernelfit.ensemble.auto", "selection imports ensemble"),
        ("papers/a.py", "import kernelfit.ensemble.auto", "papers imports ensemble"),
        ("inspection/a.py", "import kernelfit.papers.rim", "inspection imports papers"),
        ("io/a.py", "import kernelfit.papers.rim", "io imports papers"),
        ("report/a.py", "from kernelfit.papers.rim import A", "report imports papers"),
        ("papers/a.py", "import sklearn.base", "papers imports sklearn"),
        ("learners/a.py", "import sklearn.base", "learners imports sklearn"),
        ("clustering/a.py", "import sklearn.base", "clustering imports sklearn"),
        ("clustering/base.py", "import kernelfit.estimators.svm", "clustering imports estimators"),
        ("solvers/a.py", "from . import b", "relative import"),
        ("utils/a.py", "import torch", "torch imported outside a function"),
        ("io/a.py", "def f():\n    import pandas", "io imports pandas"),
        ("io/a.py", "import kernelfit.cli.app", "io imports cli"),
        ("misc/a.py", "", "misc is in no layer"),
        ("solvers/a.py", "from kernelfit.solvers.b import _f", "imports the private _f"),
        ("estimators/a.py", "import sklearn.svm._base", "imports the private sklearn.svm._base"),
        ("utils/a.py", "from sklearn.utils._b import c", "private sklearn.utils._b.c"),
        ("selection/a.py", "from sklearn.svm import _base", "private sklearn.svm._base"),
        ("learners/a.py", "def f(b):\n    return b._c", "reaches for the private _c"),
        ("learners/a.py", "def f(b):\n    b._c = 1", "reaches for the private _c"),
        ("selection/a.py", "def f(b):\n    return b.c._thetas", "reaches for the private _thetas"),
    ],
)
def test_checker_finds_a_violation(tmp_path, module, source, complaint):
    for name in ("solvers", "clustering"):
        (tmp_path / name).mkdir()
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
        "cli/a.py": "import kernelfit.papers.rim",
        "papers/rim.py": "import sklearn.base\nimport kernelfit.clustering.base",
        "selection/a.py": "import sklearn.base\nfrom kernelfit.estimators.svm import KernelSVC",
        "solvers/a.py": "import numba\nfrom kernelfit.solvers.b import f\nimport kernelfit.utils.c",
        "selection/b.py": "def f(machine, b):\n    return machine._plan(b._validate_params())",
        "learners/a.py": "class A:\n    def _c(self, other):\n        return self._d + other._c",
        "learners/b.py": "def f(a):\n    return a._c",
        "utils/a.py": "def f():\n    import torch.linalg",
        "kernels/a.py": "from kernelfit.linalg.eig import top",
        "utils/sklearn_private.py": "from sklearn.utils._b import C",
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
    # Versions differ in what they load of the standard library.
    assert loaded_by("from kernelfit import *") <= expected | sys.stdlib_module_names


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
