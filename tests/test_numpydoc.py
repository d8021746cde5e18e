"""numpydoc finds nothing wrong with the docstring of any public name."""

import importlib
import inspect
from dataclasses import is_dataclass

import pytest

import kernelfit
from kernelfit import datasets, inspection, papers, tables

validate = pytest.importorskip("numpydoc.validate").validate

NAMES = [f"kernelfit.{name}" for name in kernelfit.__all__]
NAMES += [f"kernelfit.inspection.{name}" for name in inspection.__all__]
NAMES += [f"kernelfit.papers.{name}" for name in papers.__all__]
NAMES += [f"kernelfit.tables.{name}" for name in tables.__all__]
NAMES += [f"kernelfit.datasets.{name}" for name in datasets.__all__]
NAMES += ["kernelfit.report.write_report"]
# What this house does otherwise: summaries may go on after a formula, types say it all where a
# description would repeat the name, "See Also" stands where there is something to see.
OTHERWISE = {"GL01", "ES01", "SA01", "EX01", "PR07", "RT03", "GL08", "RT02", "SA04", "YD01"}


def methods(name):
    """Yield the public methods that a class has of its own or from kernelfit."""
    public = load(name)
    if not inspect.isclass(public):
        return
    for method, value in inspect.getmembers(public, inspect.isfunction):
        if not method.startswith("_") and value.__module__.startswith("kernelfit."):
            yield f"{name}.{method}"


def load(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("name", NAMES)
def test_docstrings(name):
    # Of a dataclass that users only read, the fields stand under Attributes.
    ignored = OTHERWISE | ({"PR01"} if is_dataclass(load(name)) else set())
    for one in (name, *methods(name)):
        found = [error for error in validate(one)["errors"] if error[0] not in ignored]
        assert not found, f"{one}: {found}"
