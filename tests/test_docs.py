"""What the documents say is true: the examples run, the names and the pins agree."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import kernelfit
from kernelfit import datasets, inspection, papers, tables

ROOT = Path(__file__).resolve().parents[1]
MODULES = [
    info.name
    for info in pkgutil.walk_packages(kernelfit.__path__, "kernelfit.")
    if not info.name.endswith("__main__")
]


def has_section(doc: str, title: str) -> bool:
    return f"{title}\n{'-' * len(title)}\n" in doc


@pytest.mark.parametrize("name", ["kernelfit", *MODULES])
def test_docstring_examples_run(name):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_functions_have_numpydoc_sections(name):
    module = importlib.import_module(name)
    for function_name, function in inspect.getmembers(module, inspect.isfunction):
        if function_name.startswith("_") or function.__module__ != name:
            continue
        doc = inspect.getdoc(function)
        if "\n" not in doc:  # one line is enough where it and the type hints say it all
            continue
        signature = inspect.signature(function)
        if signature.parameters:
            assert has_section(doc, "Parameters"), function_name
        if signature.return_annotation not in (None, "None", signature.empty):
            assert has_section(doc, "Returns") or has_section(doc, "Yields"), function_name


def documents(doc: str, name: str) -> bool:
    return re.search(rf"^(\w+, )*{name}(, \w+)* : ", doc, re.MULTILINE) is not None


@pytest.mark.parametrize("name", kernelfit.__all__)
def test_public_names_have_numpydoc_sections(name):
    public = getattr(kernelfit, name)
    doc = inspect.getdoc(public)
    result = "Attributes" if inspect.isclass(public) else "Returns"
    parameters = inspect.signature(public).parameters
    for title in (*(["Parameters"] if parameters else []), result, "Examples"):
        assert has_section(doc, title), title
    for parameter in parameters:
        assert documents(doc, parameter), parameter


@pytest.mark.parametrize("name", kernelfit.__all__)
def test_stated_defaults_are_the_defaults(name):
    public = getattr(kernelfit, name)
    doc = inspect.getdoc(public)
    for parameter, value in inspect.signature(public).parameters.items():
        line = rf"^{parameter} : .*(?:\\\n.*)?default=(.+)$"  # it may go on in the next one
        stated = re.search(line, doc, re.MULTILINE)
        assert (stated is None) == (value.default is inspect.Parameter.empty), parameter
        if stated is not None:
            assert ast.literal_eval(stated[1]) == value.default, parameter


GRIDS = {"Cs": [1.0], "gammas": [1.0], "etas": [0.1], "epsilons": [0.1], "deltas": [0.5]}
GRIDS |= {"degrees": [1], "cv": 2}
LINEAR = {"kernel": "linear"}
MORE = {  # options under which a fit leaves more behind
    "KernelSVC": [LINEAR],
    "KernelSVR": [LINEAR],
    "KernelOneClass": [LINEAR],
    "KernelQuantileRegressor": [LINEAR],
    "KernelRidgeClassifier": [LINEAR],
    "KernelRidgeRegressor": [LINEAR],
    "DANKClassifier": [LINEAR, {"partition": 2}, {"out_of_sample": "knn"}],
    "DANKRegressor": [LINEAR, {"partition": 2}],
    "KernelMetric": [{"method": "logdet"}],
    "KNPLClassifier": [LINEAR, {"out_of_sample": "knn"}],
    "KNPLRegressor": [LINEAR],
    "KernelUnionClassifier": [{"kernel_sharing": "separate"}],
    "MKLClassifier": [{"kernel_sharing": "separate"}],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in kernelfit.__all__ if name[0].isupper()])
def test_fitted_attributes_are_documented(name):
    """What a fit leaves behind stands under Attributes, and what stands there is left by a fit."""
    X, y = load_iris(return_X_y=True)
    cls = getattr(kernelfit, name)
    grids = {key: v for key, v in GRIDS.items() if key in inspect.signature(cls).parameters}
    if name.startswith("AutoKernel"):  # whose honest score repeats the fit
        grids["members"] = ["gaussian (standard)"]
    doc = inspect.getdoc(cls).partition("\nAttributes\n")[2].partition("\n\n")[0]
    stated = re.findall(r"^((?:\w+, )*\w+) : ", doc, re.MULTILINE)
    stated = {attribute for names in stated for attribute in names.split(", ")}
    found = set()
    for n_classes in (2, 3):
        rows = np.flatnonzero(y < n_classes)[::3]
        frame = pd.DataFrame(X[rows][:, :2], columns=["a", "b"])
        for options in ({}, *MORE.get(name, [])):
            model = cls(**grids, **options).fit(frame, y[rows])
            left = {a for a in vars(model) if a.endswith("_") and not a.startswith("_")}
            assert left <= stated, left - stated
            found |= left | {attribute for attribute in stated if hasattr(model, attribute)}
    assert found == stated, stated - found


@pytest.mark.parametrize("name", kernelfit.__all__)
@pytest.mark.parametrize("document", ["docs/estimators.md", "CHANGELOG.md"])
def test_public_names_are_mentioned(name, document):
    assert f"`{name}`" in (ROOT / document).read_text()


@pytest.mark.parametrize("name", papers.__all__)
def test_names_of_the_papers_are_mentioned(name):
    assert f"`{name}`" in (ROOT / "docs" / "estimators.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("package", [kernelfit, papers])
def test_public_names_resolve(package):
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = package.nonsense


def test_public_names_of_the_papers_are_the_same_objects():
    shared = set(kernelfit.__all__) & set(papers.__all__)
    assert len(shared) == 5
    for name in shared:
        assert getattr(kernelfit, name) is getattr(papers, name)


@pytest.mark.filterwarnings("ignore:KF00")  # an id is dropped, and a text is read as text
def test_readme_example_runs(capsys, tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    assert blocks
    monkeypatch.chdir(tmp_path)  # one writes a file
    namespace = {}
    for block in blocks:
        exec(block, namespace)
    assert (tmp_path / "tickets.html").exists()
    assert capsys.readouterr().out


PAGES = sorted((ROOT / "docs").rglob("*.md"))
# Run elsewhere, or copied into the documentation by its build.
NOT_RUN = {"add_a_family.md", "estimators.md"}


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "repository" not in page.parts and page.name not in NOT_RUN],
    ids=lambda page: page.stem,
)
@pytest.mark.filterwarnings("ignore:KF00", "ignore:This figure includes Axes")
def test_code_of_the_pages_runs(page, tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    if page.parent.name == "guide" and page.stem != "index":
        assert blocks
    monkeypatch.chdir(tmp_path)  # some write files
    namespace = {}
    for block in blocks:
        exec(block, namespace)


def table_of_problems(page):
    """Return {row: {column: cell}} of a page's table of problems, without marks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    table = text.partition("| problem ")[2].partition("\n\n")[0]
    lines = re.sub(r"\*\*|\\\*", "", table).splitlines()
    header, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {name: dict(zip(header, cells, strict=True)) for name, *cells in rows}


def test_figures_of_which_method_are_the_recorded_ones():
    shown = table_of_problems("docs/which_method.md")
    recorded = table_of_problems("benchmarks/results/which_method.md")
    assert shown.keys() == recorded.keys() - {"CPU s of a fit"}
    for name, cells in shown.items():
        assert cells.items() <= recorded[name].items(), name


def test_the_reference_lists_every_public_name():
    text = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   ([\w.]+)$", text, re.M)
    public = {*kernelfit.__all__, *inspection.__all__, *papers.__all__, "report.write_report"}
    public |= {*datasets.__all__, *tables.__all__}
    assert public <= set(listed)
    assert len(listed) == len(set(listed))


def test_the_gallery_lists_every_example():
    examples = {path.name for path in (ROOT / "examples").rglob("plot_*.py")}
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert set(re.findall(r'"(plot_\w+\.py)"', conf)) == examples


def test_tool_pins_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {pin for pin in project["optional-dependencies"]["test"] if "==" in pin}
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert set(re.findall(r'"([\w-]+==[^"]+)"', hooks)) == wanted


def test_citation_version_agrees():
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == kernelfit.__version__
