"""The commands, as typer reads them.

Whatever is wrong with files, columns or values is one sentence on stderr and exit status 2; an
interruption is 130.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kernelfit.cli.arguments import (
    METHODS,
    RIVALS,
    called,
    need_file,
    need_folder,
    need_table,
    read_kinds,
    read_names,
)
from kernelfit.cli.output import Output, in_words, seconds, show_columns, with_error
from kernelfit.utils.version import __version__

_UsageError: Any = typer.BadParameter.__base__  # click's, which typer shows by no other name


class _Group(TyperGroup):
    """The commands; with --json, what is wrong with their options is one JSON object too."""

    def main(self, args: Any = None, *rest: Any, **extra: Any) -> Any:
        """Run a command."""
        given = sys.argv[1:] if args is None else list(args)
        if "--json" not in given or not extra.get("standalone_mode", True):
            return super().main(args, *rest, **extra)
        extra["standalone_mode"] = False
        try:
            status = super().main(given, *rest, **extra)
        except _UsageError as error:
            output = Output(as_json=True)
            output.facts["error"] = " ".join(error.format_message().split())
            output.end()
            sys.exit(2)
        sys.exit(status if isinstance(status, int) else 0)


app = typer.Typer(
    name="kernelfit",
    cls=_Group,
    help="Kernel machines that learn the kernel and certify every fit, on tables in files.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


Method = StrEnum("Method", ["auto", "svm", "ridge", "tkl", "dank", "knpl", "mkl", "union"])
Task = StrEnum("Task", ["auto", "classification", "regression"])
Clustering = StrEnum("Clustering", ["cdsk", "kmeans"])
Paper = StrEnum("Paper", ["dank", "knpl", "tkl", "cds"])

Data = Annotated[
    Path, typer.Argument(help="Table to read: CSV, TSV, Parquet or Excel; - is stdin.")
]
Target = Annotated[str, typer.Option(help="Column to predict.")]
TaskOption = Annotated[Task, typer.Option(help="Kind of target; auto decides by its values.")]
Kind = Annotated[
    list[str] | None,
    typer.Option(help="What a column is, such as zip=category; may be repeated."),
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Model = Annotated[Path, typer.Argument(help="Model file that `kernelfit fit` wrote.")]


@contextmanager
def _answering(as_json: bool) -> Iterator[Output]:
    """Print what a command has to say, or what is wrong, in one sentence."""
    output = Output(as_json)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            yield output
        output.end()
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output, as `head` does, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None
    except (ValueError, TypeError, OSError, ImportError) as error:
        sentence = " ".join(str(error).split())
        if as_json:
            output.facts = {"error": sentence}
            output.end()
        else:
            print(f"kernelfit: {sentence}", file=sys.stderr)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _show_warning(message: Warning | str, *rest: Any) -> None:
    """Print a warning without the place in the code that it comes from."""
    print(f"kernelfit: {message}", file=sys.stderr)


def _teller(output: Output) -> Callable[[str], None]:
    """Return what shows how far a command is."""
    return lambda text: None if output.as_json else print(text, file=sys.stderr, flush=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"kernelfit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Kernel machines that learn the kernel and certify every fit, on tables in files."""


@app.command()
def fit(
    data: Data,
    target: Target,
    out: Annotated[Path, typer.Option(help="File to write the model to.")],
    method: Annotated[
        Method, typer.Option(help="Method to fit; auto is an ensemble.")
    ] = Method.auto,
    task: TaskOption = Task.auto,
    time_limit: Annotated[
        float | None, typer.Option(help="Time limit in seconds, for auto.", min=0.1)
    ] = None,
    report: Annotated[Path | None, typer.Option(help="File to write an HTML report to.")] = None,
    holdout: Annotated[
        float, typer.Option(help="Share of rows held out to test the model.", min=0.0, max=0.5)
    ] = 0.2,
    kind: Kind = None,
    drop: Drop = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a model to a table and write it to a file."""
    with _answering(as_json) as output:
        if time_limit is not None and method != Method.auto:
            raise ValueError("expected --time-limit with --method auto alone")
        need_table(data)
        for path in (out, report):
            if path is not None:
                need_folder(path)
        from kernelfit.cli.fitting import fit_model

        fit_model(
            output, data, target, out, method=method.value, task=task.value, report=report,
            time_limit=time_limit, holdout=holdout, seed=seed, kinds=read_kinds(kind or []),
            drop=drop or [],
        )  # fmt: skip


@app.command()
def predict(
    model: Model,
    data: Data,
    out: Annotated[Path | None, typer.Option(help="File to write to; stdout by default.")] = None,
    level: Annotated[
        float, typer.Option(help="Coverage of the prediction intervals.", min=0.5, max=0.999)
    ] = 0.9,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column of the table to keep beside the predictions; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict the rows of a table: classes and probabilities, or numbers and intervals."""
    with _answering(as_json) as output:
        need_file(model)
        need_table(data)
        if out is not None:
            need_folder(out)
        from kernelfit.cli.fitting import predict_table
        from kernelfit.cli.tables import write_table

        found = predict_table(model, data, level, keep or [])
        if out is not None or not as_json:
            write_table(found, out)
        output.facts |= {"rows": len(found), "columns": list(found.columns)}
        if out is None:
            output.facts["values"] = found.to_dict("list")
        else:
            output.say(f"{len(found)} rows written to {out}", out=str(out))


@app.command()
def cluster(
    data: Data,
    k: Annotated[str, typer.Option("-k", "--clusters", help="Number of clusters, or auto.")],
    out: Annotated[
        Path | None, typer.Option(help="File to write the cluster of every row to.")
    ] = None,
    method: Annotated[
        Clustering | None,
        typer.Option(help="Clustering method; cdsk, the default, learns weights."),
    ] = None,
    kind: Kind = None,
    drop: Drop = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Cluster the rows of a table."""
    with _answering(as_json) as output:
        if k != "auto" and not (k.isdecimal() and int(k) >= 2):
            raise ValueError(f"expected --clusters to be auto or a whole number >= 2, got {k!r}")
        need_table(data)
        if out is not None:
            need_folder(out)
        from kernelfit.cli.fitting import cluster_table

        labels = cluster_table(
            data, None if k == "auto" else int(k), None if method is None else method.value,
            read_kinds(kind or []), drop or [], seed,
        )  # fmt: skip
        sizes = labels["cluster"].value_counts().sort_index()
        output.facts |= {"sizes": sizes.tolist()}
        if out is not None:
            from kernelfit.cli.tables import write_table

            write_table(labels, out)
            output.facts["out"] = str(out)
        else:
            output.facts["clusters"] = labels["cluster"].tolist()
        rows = [[str(name), str(size)] for name, size in sizes.items()]
        output.table(f"{len(labels)} rows of {called(data)}", ["cluster", "rows"], rows)
        if out is not None:
            output.say(f"clusters written to {out}")


@app.command()
def compare(
    data: Data,
    target: Target,
    methods: Annotated[
        str, typer.Option(help=f"Comma-separated methods: {', '.join((*METHODS, *RIVALS))}.")
    ] = "auto,svm,ridge,linear,forest,boosting,baseline",
    folds: Annotated[
        int, typer.Option(help="Number of folds of the outer cross-validation.", min=2)
    ] = 5,
    time_limit: Annotated[
        float, typer.Option(help="Time limit in seconds for one fit of auto.", min=0.1)
    ] = 30.0,
    task: TaskOption = Task.auto,
    kind: Kind = None,
    drop: Drop = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare methods by nested cross-validation, with standard errors and times."""
    with _answering(as_json) as output:
        names = read_names(methods, (*METHODS, *RIVALS), "methods")
        need_table(data)
        from kernelfit.cli.compare import compare as run
        from kernelfit.cli.methods import read_problem

        problem = read_problem(data, target, task.value, read_kinds(kind or []), drop or [])
        found = list(run(names, problem, folds, time_limit, seed, _teller(output)))
        found.sort(key=lambda one: one.rank)
        measures = list(found[0].measures)
        output.facts |= {"target": target, "rows": len(problem.y), "task": problem.what}
        output.facts["methods"] = [
            {"method": one.method, "seconds": one.seconds}
            | {name: mean for name, (mean, _) in one.measures.items()}
            | {f"{name} error": error for name, (_, error) in one.measures.items()}
            for one in found
        ]
        rows = [
            [one.method, *(with_error(*value) for value in one.measures.values()),
             seconds(one.seconds)]
            for one in found
        ]  # fmt: skip
        output.table(
            f"{called(data)}: {target}, {problem.what}, {len(problem.y)} rows",
            ["method", *measures, "fit"],
            rows,
            f"Means over {folds} folds and their standard errors, the best {measures[0]} first; "
            "fit is the time of one fit. linear, forest and boosting are scikit-learn's; baseline "
            "always predicts the class shares or the mean of training.",
        )


@app.command()
def explain(model: Model, as_json: AsJson = False) -> None:
    """Show a model: its measured score, what was chosen, what is proved, which columns matter."""
    with _answering(as_json) as output:
        need_file(model)
        from kernelfit.cli.explain import describe, headline_facts, importances
        from kernelfit.cli.fitting import load_model
        from kernelfit.inspection.headline import headline

        found = load_model(model)
        facts, first = describe(found), headline_facts(found)
        matter = importances(found)
        output.facts |= facts | first | ({"importances": dict(matter)} if matter else {})
        for name, text in headline(first, scored=hasattr(found, "measured_")):
            output.say(f"{name}: {text}")
        for name, value in facts.items():
            if name not in ("members", "kernels", "columns"):
                output.say(f"{name}: {in_words(value)}")
        if "columns" in facts:
            show_columns(output, facts["columns"])
        for name in ("members", "kernels"):
            if name in facts:
                rows = [[one[name[:-1]], f"{one['weight']:.3f}"] for one in facts[name]]
                output.table(name, [name[:-1], "weight"], rows)
        if matter:
            rows = [[name, f"{100 * share:.1f} %"] for name, share in matter]
            note = "Shares of the rise of the loss when a column is shuffled."
            output.table("importance", ["column", "share"], rows, note)


@app.command()
def reproduce(
    paper: Annotated[Paper, typer.Argument(help="Paper whose figures to measure.")],
    tables: Annotated[
        str | None, typer.Option(help='Comma-separated tables, as "table 1"; all by default.')
    ] = None,
    sets: Annotated[
        str | None, typer.Option(help="Comma-separated data sets; all by default.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Comma-separated methods; those printed by default.")
    ] = None,
    splits: Annotated[
        int | None, typer.Option(help="Number of splits. Default: what the table needs.", min=1)
    ] = None,
    jobs: Annotated[int, typer.Option(help="Splits measured at the same time.", min=1)] = 1,
    results: Annotated[Path, typer.Option(help="Folder in which results are kept.")] = Path(
        "kernelfit-results"
    ),
    as_json: AsJson = False,
) -> None:
    """Measure a paper's figures and show them beside the printed ones. A killed run goes on."""
    with _answering(as_json) as output:
        from kernelfit.papers.printed import PAPERS, choose

        chosen = {
            what: None if text is None else [name.strip() for name in text.split(",")]
            for what, text in (("tables", tables), ("sets", sets), ("methods", methods))
        }
        choose(paper.value, **chosen)  # complains before anything is loaded that takes time
        from kernelfit.papers.ledger import STATES
        from kernelfit.papers.reproduction import reproduce as run

        found = run(
            paper.value, **chosen, splits=splits, folder=results, n_jobs=jobs,
            report=_teller(output),
        )  # fmt: skip
        counts = {state: sum(one.state == state for one in found) for state in STATES}
        output.facts |= {"paper": PAPERS[paper.value], "results": str(results), "states": counts}
        output.facts["figures"] = [
            asdict(one.figure) | {
                "state": one.state, "ours": one.ours, "our deviation": one.deviation,
                "splits": one.n_splits, "remark": one.remark,
            }
            for one in found
        ]  # fmt: skip
        output.table(
            PAPERS[paper.value],
            ["set", "method", "measure", "splits", "ours", "paper", "state"],
            [
                [one.figure.set, one.figure.method, one.figure.measure, str(one.n_splits),
                 _figure(one.ours, one.deviation),
                 _figure(one.figure.value, one.figure.deviation), one.state]
                for one in found
            ],
            f"Means and standard deviations; accuracy in percent, errors of regression as in the "
            f"paper. Kept in {results}.",
            texts=3,
        )  # fmt: skip


def _figure(value: float | None, deviation: float | None) -> str:
    if value is None:
        return "-"
    digits = 1 if abs(value) >= 20 else 3
    return f"{value:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Folder to write the files to.")] = Path("."),
    quick: Annotated[bool, typer.Option(help="Use few rows.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what there is on made-up data, beside scikit-learn's own models."""
    with _answering(as_json) as output:
        need_folder(folder / "tickets.csv")
        from kernelfit.cli.demo import run

        run(output, folder, quick)
