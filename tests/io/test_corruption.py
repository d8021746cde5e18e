"""Corrupted files never crash, execute or allocate, and are not taken for what they are not."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import kernelfit
from kernelfit.io.classes import FUNCTIONS, find_class
from tests.io import models
from tests.io.corrupt import archive, entries

ROOT = Path(__file__).resolve().parents[2]
COUNT = 1000
OVERHEAD = 2**24  # bytes that reading takes whatever the size of the file
MODELS = {
    "svc": kernelfit.KernelSVC(),
    "tkl": kernelfit.TKLClassifier(),
    "gpk": kernelfit.GPKRegressor(),
    "forest": kernelfit.ForestKernel(5, random_state=0),
    "ratio": kernelfit.ForestKernel(3, random_state=0, similarity="ratio"),
    "dank": kernelfit.DANKClassifier(out_of_sample="knn"),
    "graph": kernelfit.CDSKClustering(3, affinity="nearest_neighbors", random_state=0),
    "search": kernelfit.KernelSVCCV([0.5], [0.5, 2.0], cv=2),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What came of every file, from a process of its own."""
    folder = tmp_path_factory.mktemp("corrupted")
    for name, estimator in MODELS.items():
        kernelfit.save(models.fit(estimator), folder / f"{name}.kernelfit")
    auto = kernelfit.AutoKernelClassifier(members=["gaussian (standard)", "forest"], cv=2)
    kernelfit.save(models.fit(auto.set_params(random_state=0)), folder / "auto.kernelfit")
    run = subprocess.run(
        [sys.executable, "-m", "tests.io.corrupt", str(folder), str(COUNT), "0"],
        cwd=ROOT, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert run.returncode == 0, (run.returncode, run.stdout.splitlines()[-1:], run.stderr[-2000:])
    lines = [line.replace("} {", ", ", 1) for line in run.stdout.splitlines()]
    return [json.loads(line) for line in lines]


def test_no_file_crashes_the_interpreter(outcomes):
    assert len(outcomes) == COUNT


def test_complaints_are_one_sentence_that_names_the_file(outcomes):
    for one in outcomes:
        if one["said"] == "refused":
            assert one["answer"].startswith("expected a model that kernelfit saved, got '")
            assert "\n" not in one["answer"] and len(one["answer"]) < 1000, one


def test_no_file_takes_much_more_memory_than_its_size(outcomes):
    for one in outcomes:
        assert one["peak"] <= 2 * one["size"] + OVERHEAD, one


def test_damage_is_found(outcomes):
    """Where checksums do not fit, a file is refused, or the damage is in bytes that say nothing."""
    for one in outcomes:
        if one["way"] in ("flip", "truncate", "overwrite"):
            assert one["said"] in ("refused", "equal"), one
        if one["way"] in ("truncate", "oversize", "bomb", "climb"):
            assert one["said"] == "refused", one


def test_edits_are_mostly_found_even_with_checksums_that_fit(outcomes):
    edited = [one["said"] for one in outcomes if one["way"] == "edit_json"]
    assert edited.count("refused") > len(edited) / 3


def edited(path, change):
    """Change the manifest of a file."""
    parts = entries(path.read_bytes())
    manifest = json.loads(parts["manifest.json"])
    change(manifest)
    parts["manifest.json"] = json.dumps(manifest).encode()
    path.write_bytes(archive(parts.items()))
    return path


@pytest.mark.parametrize(
    "name",
    [
        "builtins:eval",
        "os:system",
        "subprocess:Popen",
        "kernelfit:save",
        "kernelfit.io.files:save",
        "kernelfit.io.encoding:Decoder",
        "kernelfit.utils.jit:jit",
        "kernelfit.kernels.radial:np",
        "kernelfit.kernels.radial:dataclass",
        "kernelfit.kernels.radial.os:system",
        "kernelfit.kernels.none:RBF",
        "kernelfit.ensemble.base:BaseEstimator",
        "sklearn.tree:DecisionTreeClassifier",
        "sklearn.preprocessing:FunctionTransformer",
        "sklearn.pipeline:FeatureUnion",
    ],
)
def test_no_other_classes_are_looked_up(name, tmp_path):
    def change(manifest):
        manifest["objects"][0]["class"] = name

    with pytest.raises(ValueError, match="class"):
        kernelfit.load(edited(kernelfit.save(kernelfit.KernelSVC(), tmp_path / "m"), change))


@pytest.mark.parametrize("name", ["predict", "__class__", "__dict__", "fit ", "classes", ""])
def test_methods_cannot_be_replaced(name, tmp_path):
    def change(manifest):
        manifest["objects"][0]["state"][name] = {"function": "rbf_kernel"}

    with pytest.raises(ValueError, match="KernelSVC has no"):
        kernelfit.load(edited(kernelfit.save(kernelfit.KernelSVC(), tmp_path / "m"), change))


def test_parameters_are_checked(tmp_path):
    def change(manifest):
        manifest["objects"][0]["state"]["C"] = -1.0

    with pytest.raises(ValueError, match="'C' parameter"):
        kernelfit.load(edited(kernelfit.save(kernelfit.KernelSVC(), tmp_path / "m"), change))


def test_pipelines_have_no_cache(tmp_path):
    def change(manifest):
        (pipeline,) = (one for one in manifest["objects"] if "Pipeline" in one["class"])
        pipeline["state"]["memory"] = str(tmp_path)

    with pytest.raises(ValueError, match="memory=None"):
        kernelfit.load(edited(kernelfit.save(models.pipelines()[0], tmp_path / "m"), change))


def test_files_of_other_versions(tmp_path):
    def newer(manifest):
        manifest.update(format=2, kernelfit="9.9")

    def older(manifest):
        manifest["kernelfit"] = "0.0.9"
        del manifest["objects"][0]["state"]["loss"]

    def damaged(manifest):
        del manifest["objects"][0]["state"]["loss"]

    path = tmp_path / "m"
    with pytest.raises(ValueError, match=r"a later version, kernelfit 9\.9"):
        kernelfit.load(edited(kernelfit.save(kernelfit.KernelSVC(), path), newer))
    again = kernelfit.load(edited(kernelfit.save(kernelfit.KernelSVC(C=2.0), path), older))
    assert (again.loss, again.C) == ("hinge", 2.0)
    with pytest.raises(ValueError, match="KernelSVC lacks its parameter 'loss'"):
        kernelfit.load(edited(kernelfit.save(kernelfit.KernelSVC(), path), damaged))


def test_public_estimators_are_the_classes_that_files_name():
    for name in models.NAMES:
        cls = getattr(kernelfit, name)
        assert find_class(f"{cls.__module__}:{name}") is cls
    assert all(inspect.isfunction(function) for function in FUNCTIONS.values())
