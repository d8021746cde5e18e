"""What the documents say is true: the examples run, the names and the pins agree."""

import doctest
import importlib
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

import kernelfit

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


@pytest.mark.parametrize("name", kernelfit.__all__)
def test_public_classes_have_numpydoc_sections(name):
    cls = getattr(kernelfit, name)
    doc = inspect.getdoc(cls)
    for title in ("Parameters", "Attributes", "Examples"):
        assert has_section(doc, title), title
    for parameter in inspect.signature(cls).parameters:
        assert re.search(rf"^(\w+, )*{parameter}(, \w+)* : ", doc, re.MULTILINE), parameter


@pytest.mark.parametrize("name", kernelfit.__all__)
@pytest.mark.parametrize("document", ["README.md", "CHANGELOG.md"])
def test_public_names_are_mentioned(name, document):
    assert f"`{name}`" in (ROOT / document).read_text()


def test_public_names_resolve():
    assert set(kernelfit.__all__) <= set(dir(kernelfit))
    for name in kernelfit.__all__:
        assert getattr(kernelfit, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = kernelfit.nonsense


def test_readme_example_runs(capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(block, namespace)
    assert capsys.readouterr().out


def test_tool_pins_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {pin for pin in project["optional-dependencies"]["test"] if "==" in pin}
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert set(re.findall(r'"([\w-]+==[^"]+)"', hooks)) == wanted


def test_citation_version_agrees():
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == kernelfit.__version__
