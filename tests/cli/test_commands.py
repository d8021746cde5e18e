"""The commands do what they say, and say what is wrong in one sentence."""

import gzip
import json
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor
from typer.testing import CliRunner

import kernelfit
from kernelfit.cli import demo
from kernelfit.cli.app import Method, app
from kernelfit.cli.arguments import METHODS, RIVALS
from kernelfit.cli.methods import Problem, make_estimator
from kernelfit.cli.output import Output, with_error
from kernelfit.cli.tables import read_table
from kernelfit.datasets import load_tickets


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_json(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table with text, missing values, decimal commas and a header beyond ASCII."""
    rng = np.random.default_rng(0)
    size, colour = rng.normal(size=80), rng.choice(["rot", "grün", "blau"], 80)
    price = 3.0 * size + (colour == "rot") + 0.1 * rng.normal(size=80)
    lines = ["größe;farbe;alter;klasse;preis"]
    for k in range(80):
        age = "" if k % 9 == 0 else f"{20 + k % 30},5"
        shade = "?" if k % 11 == 0 else colour[k]
        number = f"{size[k]:.3f}".replace(".", ",")
        kind = "teuer" if price[k] > 0.5 else "günstig"
        lines.append(f"{number};{shade};{age};{kind};" + f"{price[k]:.3f}".replace(".", ","))
    path = tmp_path_factory.mktemp("cli") / "tabelle.csv"
    path.write_text("\n".join(lines), encoding="latin-1")
    return path


@pytest.mark.filterwarnings("ignore")
def test_fit_predict_explain_classification(table, tmp_path):
    model, out = tmp_path / "m.kernelfit", tmp_path / "p.csv"
    said = run("fit", table, "--target", "klasse", "--drop", "preis", "--out", model,
               "--time-limit", "1")  # fmt: skip
    assert said.exit_code == 0, said.output
    assert "80 rows, 3 columns; klasse: classification, 2 classes" in said.stdout
    lines = said.stdout.splitlines()
    assert lines[1] == "fitted AutoKernelClassifier"
    assert re.search(
        r"^accuracy: [\d.]+ % on 16 held-out rows \(95 % interval .*, Wilson", lines[2]
    )
    assert re.search(
        r"^baseline: [\d.]+ % by always predicting '\w+', on the same rows; ", lines[3]
    )
    assert re.search(r"^log loss: [\d.]+; [\d.]+ by class shares$", lines[4])
    assert re.search(r"^trained on: 64 rows, \d+ members?", lines[6])
    assert "says nothing about accuracy on new rows" in said.stdout
    assert re.search(r"größe +number +number +0", said.stdout)
    assert "optimum" not in said.stdout and "millionth" not in said.stdout
    facts = run_json("predict", model, table, "--out", out)
    assert facts["rows"] == 80
    found = pd.read_csv(out)
    assert list(found) == ["prediction", "probability of günstig", "probability of teuer"]
    truth = read_table(table)["klasse"].to_numpy()
    assert (found["prediction"].to_numpy() == truth).mean() > 0.8
    np.testing.assert_allclose(found.iloc[:, 1:].sum(axis=1), 1.0, atol=2e-6)
    for line in out.read_text().splitlines()[1:]:
        digits = [re.sub(r"^[0.]*|e.*|\.", "", field) for field in line.split(",")[1:]]
        assert all(len(one) <= 6 for one in digits), line
    exact = np.transpose(list(run_json("predict", model, table)["values"].values())[1:])
    np.testing.assert_allclose(found.iloc[:, 1:], exact, rtol=6e-6)
    explained = run("explain", model)
    assert explained.exit_code == 0
    assert explained.stdout.splitlines()[:5] == lines[2:7]  # what was measured is saved
    for words in ("target: klasse", "classes: günstig, teuer", "certificate: ", "weight", "größe"):
        assert words in explained.stdout


@pytest.mark.filterwarnings("ignore")
def test_few_rows_are_fitted_once_and_not_tested(tmp_path, monkeypatch):
    """The score that repeats the whole fit is left to those who ask for it."""
    monkeypatch.setattr(kernelfit.AutoKernelClassifier, "cv_score_", property(lambda self: 1 / 0))
    path, model = tmp_path / "few.csv", tmp_path / "m.kernelfit"
    path.write_text("x,y\n" + "".join(f"{k},{'ab'[k > 9]}\n" for k in range(20)))
    said = run("fit", path, "--target", "y", "--out", model, "--time-limit", "1")
    assert said.exit_code == 0, said.output
    assert (
        "20 rows, 1 column; y" in said.stdout and "score: not measured: too few rows" in said.stdout
    )
    assert run("explain", model).exit_code == 0


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [(0.17742, 0.1004, "0.18 ± 0.10"), (0.154, 0.0451, "0.154 ± 0.045"), (0.5, 0.0, "0.5"),
     (1234.5, 12.3, "1234 ± 12"), (np.nan, np.nan, "-"), (2.0, np.nan, "2")],
)  # fmt: skip
def test_errors_have_two_digits(value, error, text):
    assert with_error(value, error) == text


@pytest.mark.filterwarnings("ignore")
def test_intervals_of_regression(table, tmp_path):
    model = tmp_path / "m.kernelfit"
    facts = run_json("fit", table, "--target", "preis", "--drop", "klasse", "--out", model,
                     "--time-limit", "1")  # fmt: skip
    assert facts["task"] == "regression" and facts["test R2"] > 0.5
    assert facts["test R2 low"] < facts["test R2"] < facts["test R2 high"]
    assert facts["gain"] == pytest.approx(facts["test R2"] - facts["baseline R2"])
    assert facts["test RMSE"] < facts["baseline RMSE"]
    again = run_json("explain", model)
    for name in ("test R2", "test R2 low", "baseline R2", "test RMSE", "training rows", "seconds"):
        assert again[name] == facts[name]
    found = run_json("predict", model, table, "--level", "0.8")["values"]
    low, high = np.array(found["lower"]), np.array(found["upper"])
    assert (low <= found["prediction"]).all() and (found["prediction"] <= high).all()
    printed = run("predict", model, table)
    assert printed.stdout.splitlines()[0] == "prediction,lower,upper"
    assert len(printed.stdout.splitlines()) == 81


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["svm", "ridge", "union"])
def test_other_methods_read_tables_too(method, table, tmp_path):
    model = tmp_path / "m.kernelfit"
    for target, other in (("klasse", "preis"), ("preis", "klasse")):
        facts = run_json("fit", table, "--target", target, "--drop", other, "--out", model,
                         "--method", method, "--holdout", "0")  # fmt: skip
        assert facts["relative gap"] < 0.01 and "test accuracy" not in facts
        assert len(run_json("predict", model, table)["values"]["prediction"]) == 80
        assert run_json("explain", model)["target"] == target


@pytest.mark.parametrize("classify", [True, False])
def test_every_method_has_an_estimator(classify):
    problem = Problem(pd.DataFrame(), None, "y", classify, 0, {})
    for method in (*METHODS, *RIVALS):
        inner = make_estimator(method, problem, 1.0, 0, verbose=False).estimator
        assert is_classifier(inner) == classify and is_regressor(inner) != classify
    assert [method.value for method in Method] == list(METHODS)


@pytest.mark.filterwarnings("ignore")
def test_saved_models_are_those_of_the_library(table, tmp_path):
    run_json("fit", table, "--target", "klasse", "--out", tmp_path / "m", "--method", "svm")
    model = kernelfit.load(tmp_path / "m")
    frame = read_table(table)
    assert (model.predict(frame) == frame["klasse"]).mean() > 0.8
    assert model.estimator_.best_params_.keys() >= {"C", "gamma"}


@pytest.mark.filterwarnings("ignore")
def test_compare(table):
    facts = run_json("compare", table, "--target", "klasse", "--drop", "preis", "--folds", "2",
                     "--methods", "baseline,union,svm,linear,forest")  # fmt: skip
    methods = {one["method"]: one for one in facts["methods"]}
    # The best log loss first; those without probabilities come last.
    assert list(methods)[-2:] == ["baseline", "union"] and methods["union"]["log loss"] is None
    losses = [one["log loss"] for one in facts["methods"]][:-1]
    assert losses == sorted(losses) and losses[-1] > 0.6
    assert methods["baseline"]["AUC"] == 0.5 < methods["svm"]["AUC"] <= 1.0
    assert all(one["accuracy error"] >= 0 and one["seconds"] > 0 for one in facts["methods"])
    said = run("compare", table, "--target", "preis", "--folds", "2", "--methods", "baseline,ridge")
    assert said.exit_code == 0 and "R2" in said.stdout and "the best RMSE first" in said.stdout
    assert said.stdout.index("\n ridge ") < said.stdout.index("\n baseline ")


def test_cluster(table, tmp_path):
    out = tmp_path / "clusters.tsv"
    facts = run_json("cluster", table, "-k", 3, "--out", out)
    assert sum(facts["sizes"]) == 80 and len(facts["sizes"]) == 3
    assert set(pd.read_csv(out, sep="\t")["cluster"]) == {0, 1, 2}
    said = run("cluster", table, "-k", 2, "--method", "kmeans", "--drop", "farbe")
    assert said.exit_code == 0 and "80 rows" in said.stdout


def test_the_number_of_clusters_can_be_chosen(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "data.csv"
    X = rng.normal(size=(60, 2)) + 10.0 * (np.arange(60) % 3)[:, None]
    pd.DataFrame(X, columns=["x", "y"]).to_csv(path, index=False)
    assert run_json("cluster", path, "-k", "auto")["sizes"] == [20, 20, 20]
    for arguments, message in (
        (["-k", "auto", "--method", "kmeans"], "expected a number of clusters"),
        (["-k", "1"], "expected --clusters to be auto or a whole number >= 2, got '1'"),
        (["-k", "two"], "got 'two'"),
    ):
        result = run("cluster", path, *arguments)
        assert result.exit_code == 2 and message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["--time-limit", "-1", "--target", "klasse", "--out", "m"], "--time-limit"),
     (["--out", "m"], "--target"), (["--nothing"], "--nothing")],
)  # fmt: skip
def test_wrong_options_are_json_too(arguments, word, table):
    result = run("fit", table, *arguments, "--json")
    (line,) = result.stdout.splitlines()
    assert result.exit_code == 2 and word in json.loads(line)["error"]
    assert result.stderr == ""


def test_dates_are_read_and_columns_left_out(table, tmp_path):
    lines = table.read_text(encoding="latin-1").splitlines()
    days = [f"2026-{1 + k // 28:02}-{1 + k % 28:02}" for k in range(len(lines) - 1)]
    lines = [f"{a};{b}" for a, b in zip(lines, ["tag", *days], strict=True)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines), encoding="latin-1")
    model = tmp_path / "m"
    options = ["--target", "klasse", "--method", "ridge", "--out", model]
    kinds = {one["name"]: one["kind"] for one in run_json("fit", path, *options)["columns"]}
    assert kinds["tag"] == "date"
    shown = run("fit", path, *options, "--kind", "tag=category").stdout
    assert re.search(r"tag +category +\d+ categories", shown)
    found = run_json("fit", path, *options, "--drop", "tag")["columns"]
    assert "tag" not in {one["name"] for one in found}
    assert run_json("predict", model, path)["rows"] == 80


TEXTS = {
    "empty": ("", "is empty"),
    "one row": ("x,y\n1,2\n", "at least 10 rows .* got 1"),
    "constant": ("x,y\n" + "1,a\n2,a\n" * 10, "column 'y' of .* got only 'a'"),
    "unknown column": ("x,z\n" + "1,2\n" * 20, "expected a column 'y' in .* which has 'x', 'z'"),
    "wide": (",".join([*(f"c{k}" for k in range(10_000)), "y"]) + "\n", "at most 5000 columns"),
    "alone": ("y\n" + "1\n2\n" * 10, "columns beside 'y'"),
    "no values": ("x,y\n" + ",a\n?,b\n" * 10, "values beside column 'y' of .* got none"),
    "rare": ("x,y\n" + "1,a\n2,b\n" * 10 + "3,c\n", "at least twice, got 'c' once"),
    "infinite": ("x,y\n" + "inf,a\n2,b\n" * 10, "column 'x'"),
}


@pytest.mark.parametrize("command", ["fit", "compare"])
@pytest.mark.parametrize("case", TEXTS)
def test_bad_files_are_one_sentence(command, case, tmp_path):
    text, message = TEXTS[case]
    path = tmp_path / "data.csv"
    path.write_text(text + ("1," * 10_000 + "1\n" if case == "wide" else ""))
    more = ["--out", tmp_path / "m"] if command == "fit" else []
    result = run(command, path, "--target", "y", *more)
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("kernelfit: ")
    assert re.search(message, line), line
    assert not (tmp_path / "m").exists()
    answer = run(command, path, "--target", "y", *more, "--json")
    assert answer.exit_code == 2 and list(json.loads(answer.stdout)) == ["error"]


@pytest.mark.filterwarnings("ignore")
def test_tables_to_predict_are_checked(table, tmp_path):
    model, other = tmp_path / "m", tmp_path / "other.csv"
    run_json("fit", table, "--target", "klasse", "--drop", "preis", "--out", model,
             "--method", "svm")  # fmt: skip
    for text, message in (
        ("größe;farbe\n1,5;rot\n", "expected a column 'alter'"),
        ("größe;farbe;alter\nviel;rot;3\n", "expected numbers in column 'größe', as in training"),
    ):
        other.write_text(text, encoding="utf-8")
        result = run("predict", model, other)
        assert result.exit_code == 2 and message in result.stderr and "other.csv" in result.stderr
    other.write_text("größe;farbe;alter\n1,5;7;3\n;violett;\n", encoding="utf-8")
    assert run_json("predict", model, other)["rows"] == 2
    for bad, message in ((table, "a model that kernelfit saved"), (tmp_path / "none", "a file")):
        for command in (["predict", bad, table], ["explain", bad]):
            result = run(*command)
            (line,) = result.stderr.splitlines()
            assert result.exit_code == 2 and line.startswith(f"kernelfit: expected {message}")
    kernelfit.save(kernelfit.KernelSVC(), model)
    assert "kernelfit fit" in run("predict", model, table).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "svm", "--time-limit", "3"], "--time-limit"),
        (["--task", "regression"], "got text"),
        (["--drop", "nichts"], "expected a column 'nichts'"),
        (["--kind", "nichts=category"], "expected a column 'nichts'"),
        (["--kind", "preis"], "expected --kind to be such as zip=category"),
        (["--kind", "preis=colour"], "expected column_kinds among"),
    ],
)
def test_options_that_do_not_fit(arguments, message, table, tmp_path):
    result = run("fit", table, "--target", "klasse", "--out", tmp_path / "m", *arguments)
    assert result.exit_code == 2 and message in result.stderr


def test_tables_come_from_standard_input(table, tmp_path):
    model = tmp_path / "m"
    options = ["--target", "klasse", "--method", "ridge", "--drop", "preis", "--out", str(model)]
    raw = gzip.compress(table.read_bytes())
    fitted = CliRunner().invoke(app, ["fit", "-", *options], input=raw)
    assert fitted.exit_code == 0, fitted.output
    piped = CliRunner().invoke(app, ["predict", str(model), "-"], input=raw)
    assert piped.exit_code == 0 and piped.stdout == run("predict", model, table).stdout


def test_a_reader_that_leaves_is_no_error(table, tmp_path):
    model, long = tmp_path / "m", tmp_path / "long.csv"
    run_json("fit", table, "--target", "klasse", "--method", "ridge", "--out", model)
    head, *lines = table.read_text(encoding="latin-1").splitlines()
    long.write_text("\n".join([head, *(lines * 50)]), encoding="latin-1")  # more than a pipe holds
    command = [sys.executable, "-m", "kernelfit", "predict", str(model), str(long)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # Where output is not buffered, Python drops what nobody reads without an error.
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(command, env=buffered, **pipes) as process:
        line = process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert line.startswith(b"prediction") and process.returncode == 141


@pytest.mark.parametrize(
    "arguments",
    [["explain", "none"], ["reproduce", "tkl", "--sets", "none"], ["predict", "none", "none"],
     ["fit", "none", "--target", "y", "--out", "m"], ["cluster", "none", "-k", "3"],
     ["compare", "none", "--target", "y", "--methods", "none"], ["demo", "--folder", "none/x"]],
    ids=lambda one: one[0],
)  # fmt: skip
def test_wrong_arguments_are_told_before_anything_is_loaded(arguments, tmp_path):
    code = (
        "import sys\nfrom kernelfit.cli.app import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit as end:\n    status = end.code\n"
        "heavy = {'sklearn', 'scipy', 'pandas', 'numba'} & sys.modules.keys()\n"
        "sys.exit(f'loaded {heavy}' if heavy else status)\n"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert found.returncode == 2, found.stderr
    (line,) = found.stderr.splitlines()
    assert line.startswith("kernelfit: expected ") and "none" in line


def test_unknown_methods_are_named(table):
    result = run("compare", table, "--target", "klasse", "--methods", "svm,cart")
    assert result.exit_code == 2 and "got cart" in result.stderr


@pytest.mark.filterwarnings("ignore")
def test_demo(tmp_path, monkeypatch):
    """It fits a terminal, and what it prints is what it measured."""
    monkeypatch.setitem(sys.modules, "kernelfit.report", None)  # tested below, and slow
    said, tables = [], []
    monkeypatch.setattr(Output, "say", lambda self, text, **facts: said.append((text, facts)))
    monkeypatch.setattr(Output, "table", lambda self, *arguments, **_: tables.append(arguments))
    output = Output(as_json=False)
    demo.run(output, tmp_path, quick=True)
    lines = "\n".join(text.replace(str(tmp_path), "demo_output") for text, _ in said).splitlines()
    lines += [
        line for title, _, _, *note in tables for line in "\n".join([title, *note]).split("\n")
    ]
    assert max(map(len, lines)) <= 80
    assert {"same": True} in [facts for _, facts in said]
    columns, methods, metric, clusters = (rows for _, _, rows, *_ in tables)
    assert [row[1] for row in columns] == ["id", "date", "category", "number", "text"]
    for row, one in zip(methods, output.facts["methods"], strict=True):
        assert one["test rows"] == 80
        assert row[:2] == [one["method"], f"{100 * one['test accuracy']:.1f} %"]
    for rows, measure, least in ((metric, "R²", 0.5), (clusters, "agreement", 0.9)):
        found = output.facts[measure]
        assert [row[1] for row in rows] == [f"{one[measure]:.3f}" for one in found]
        assert found[0][measure] > max(least, found[-1][measure])
    share = next(facts["share"] for _, facts in said if "share" in facts)
    assert share > 0.9
    assert (tmp_path / "tickets.kernelfit").stat().st_size > 10_000


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """A raw table with an id, a date, money and text."""
    path = tmp_path_factory.mktemp("tickets") / "tickets.csv"
    made = load_tickets(120)
    made.data.assign(state=made.target).to_csv(path, index=False)
    return path


@pytest.mark.filterwarnings("ignore")
def test_columns_are_kept_beside_predictions(tickets, tmp_path):
    model, out = tmp_path / "m.kernelfit", tmp_path / "p.csv"
    run_json("fit", tickets, "--target", "state", "--method", "ridge", "--out", model)
    said = run("predict", model, tickets, "--keep", "ticket", "--keep", "state", "--out", out)
    assert said.exit_code == 0, said.output
    found, given = pd.read_csv(out), pd.read_csv(tickets)
    assert list(found)[:3] == ["ticket", "state", "prediction"]
    assert found["ticket"].tolist() == given["ticket"].tolist()
    assert found["state"].tolist() == given["state"].tolist()
    alone = run_json("predict", model, tickets)["values"]["prediction"]
    assert found["prediction"].tolist() == alone
    wrong = run("predict", model, tickets, "--keep", "nothing")
    assert wrong.exit_code == 2 and "expected a column 'nothing'" in wrong.stderr
    renamed = tmp_path / "renamed.csv"
    given.rename(columns={"state": "prediction"}).to_csv(renamed, index=False)
    wrong = run("predict", model, renamed, "--keep", "prediction")
    assert wrong.exit_code == 2 and "no column of the predictions" in wrong.stderr


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "options", [["-k", "auto"], ["-k", "2"], ["-k", "2", "--method", "kmeans"]]
)
def test_raw_tables_are_clustered(options, tickets):
    facts = run_json("cluster", tickets, *options)
    assert sum(facts["sizes"]) == 120 and min(facts["sizes"]) > 0


@pytest.mark.filterwarnings("ignore")
def test_text_makes_clusters(tmp_path):
    path = tmp_path / "data.csv"
    topics = ["the invoice is wrong and too high", "cannot open the app on my phone"]
    rows = [(f"{1 + k % 28:02}.03.2025", f"{topics[k % 2]} {k}") for k in range(80)]
    pd.DataFrame(rows, columns=["day", "message"]).to_csv(path, index=False)
    found = np.array(run_json("cluster", path, "-k", "2", "--drop", "day")["clusters"])
    assert len({*found[::2]}) == len({*found[1::2]}) == 1 and found[0] != found[1]


@pytest.mark.filterwarnings("ignore")
def test_excel_files_are_read_and_written(tickets, tmp_path):
    pytest.importorskip("openpyxl")
    frame, path, out = pd.read_csv(tickets), tmp_path / "t.xlsx", tmp_path / "p.xlsx"
    frame["opened"] = pd.to_datetime(frame["opened"], format="%d.%m.%Y %H:%M")
    frame.to_excel(path, index=False)
    model = tmp_path / "m.kernelfit"
    facts = run_json("fit", path, "--target", "state", "--method", "ridge", "--out", model)
    kinds = {one["name"]: one["kind"] for one in facts["columns"]}
    assert kinds == {"ticket": "id", "opened": "date", "plan": "category", "invoice": "number",
                     "message": "text"}  # fmt: skip
    assert run("predict", model, path, "--out", out, "--keep", "ticket").exit_code == 0
    assert pd.read_excel(out)["ticket"].tolist() == frame["ticket"].tolist()
    path.write_bytes(b"no sheet")
    wrong = run("predict", model, path)
    assert wrong.exit_code == 2 and "expected an Excel file" in wrong.stderr


def test_a_missing_library_of_excel_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "")
    wrong = run("cluster", path, "-k", "2")
    assert wrong.exit_code == 2 and "pip install openpyxl" in wrong.stderr


def test_version():
    command = [sys.executable, "-m", "kernelfit", "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == f"kernelfit {kernelfit.__version__}\n"
    assert run("--version").stdout == said


@pytest.mark.parametrize("method", ["auto", "ridge"])
def test_reports(method, table, tmp_path):
    pytest.importorskip("jinja2")
    report = tmp_path / "report.html"
    more = ["--time-limit", 1] if method == "auto" else []
    facts = run_json("fit", table, "--target", "klasse", "--drop", "preis", "--method", method,
                     "--out", tmp_path / "m", "--report", report, *more)  # fmt: skip
    assert facts["report"] == str(report)
    page = report.read_text(encoding="utf-8")
    assert "klasse in tabelle.csv" in page and "größe" in page


def test_folders_that_are_missing_are_told_before_the_fit(table, tmp_path):
    pytest.importorskip("jinja2")
    for out, report in ((tmp_path / "no" / "m", "r"), (tmp_path / "m", tmp_path / "no" / "r")):
        said = run("fit", table, "--target", "klasse", "--out", out, "--report", report)
        assert said.exit_code == 2 and "expected a folder for" in said.stderr
        assert not said.stdout and not out.exists()


def test_a_report_that_cannot_be_written_is_told_before_the_fit(table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "kernelfit.report", None)
    result = run("fit", table, "--target", "klasse", "--out", tmp_path / "m", "--report", "r.html")
    assert result.exit_code == 2 and "pip install 'kernelfit[report]'" in result.stderr
    assert not (tmp_path / "m").exists()


def test_a_folder_as_output_is_refused_before_the_fit(table, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelfit.cli.fitting.make_estimator", None)  # nothing is fitted
    for options in (("--out", tmp_path), ("--out", tmp_path / "m", "--report", tmp_path)):
        found = run("fit", table, "--target", "preis", *options)
        assert found.exit_code == 2
        assert "expected a file to write" in found.output


def test_standard_input_has_a_name_in_titles(table):
    text = table.read_bytes()
    said = CliRunner().invoke(app, ["cluster", "-", "--clusters", "2"], input=text)
    assert "80 rows of standard input" in said.output
