"""What was fitted: what was tried, what was chosen, and why."""

from typing import Any

import numpy as np

from kernelfit.report.blocks import Bar, Facts, Section, Table, number, scored, shorten
from kernelfit.report.figures import MUTED, draw, heat_colours
from kernelfit.report.subject import Subject

_MAX_MEMBERS = 15
_MAX_CANDIDATES = 10


def choice_section(subject: Subject) -> Section:
    """Return the chapter on the estimator.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    Section
    """
    if hasattr(subject.machine, "leaderboard_"):
        return _ensemble(subject)
    if subject.search is not None:
        return _search(subject)
    if hasattr(subject.machine, "explanation_"):
        return _clustering(subject)
    text = [f"{type(subject.machine).__name__} with the parameters below. Nothing was searched."]
    return Section("choice", "What was fitted", text, [_parameters(subject)])


def _ensemble(subject: Subject) -> Section:
    model = subject.machine
    board = model.leaderboard_
    loss = "log loss" if subject.task == "classification" else "squared error"
    score = "accuracy" if subject.task == "classification" else "R²"
    score = score if model.scoring is None else "score"
    known = subject.foretold
    used = np.flatnonzero(board["weight"])
    text = [
        f"AutoKernel compared {len(board['member'])} kernel machines on {model.search_rows_:,} "
        f"rows by cross-validation and mixes {len(model.members_)} of them, with the weights of "
        f"least {loss} on rows that a machine has not seen. Training was {model.training_} and "
        f"took {model.fit_time_:.0f} s in all.",
        f"The best machine alone is “{board['member'][0]}” with {scored(score, board['score'][0])} "
        "out of fold."
        + ("" if known is None else f" For the mixture the folds foretell {scored(*known)}."),
    ]
    shown = [k for k in range(len(board["member"])) if k in used or k < 5][:_MAX_MEMBERS]
    top = max(board["weight"].max(), np.finfo(float).tiny)
    rows = [
        (
            board["member"][k],
            number(board["loss"][k]),
            number(board["score"][k]),
            Bar(f"{board['weight'][k]:.2f}", float(board["weight"][k] / top)),
        )
        for k in shown
    ]
    note = f"{len(shown)} of {len(board['member'])}; the others have less weight or none."
    note = note if len(shown) < len(board["member"]) else ""
    if subject.task == "regression":
        note += " The error is in units of half the range of the target, squared."
    table = Table(
        ("machine", f"{loss} alone", f"{score} alone", "weight"), rows,
        "Leaderboard, the best machine alone first", note.strip(),
    )  # fmt: skip
    return Section("choice", "What was chosen, and why", text, [table])


def _clustering(subject: Subject) -> Section:
    """Return why a graph and a number of clusters were chosen."""
    model = subject.machine
    text, found = model.explanation_.split("\n"), model.candidates_
    if not found:
        return Section("choice", "What was chosen, and why", text)
    head = ("graph", "n_clusters", "stability", "agreement", "balance", "gap")
    shown = range(min(_MAX_CANDIDATES, len(found["graph"])))
    table = Table(
        tuple(name.removeprefix("n_") for name in head),
        [tuple(_value(found[name][k]) for name in head) for k in shown],
        "The best graphs",
        "Stability: how well the clusters are found again in subsamples, 1 for exactly. Agreement: "
        "with the clusters of the other graphs. Balance: 1 for clusters of equal size. Gap: from "
        "the eigenvalues of the clusters to the next one.",
    )
    return Section("choice", "What was chosen, and why", text, [table])


def _search(subject: Subject) -> Section:
    search = subject.search
    table = search.cv_results_
    mean, spread = table["mean_test_score"], table["std_test_score"]
    chosen = ", ".join(f"{name} = {_value(v)}" for name, v in search.best_params_.items())
    folds = getattr(search, "n_splits_", None)
    text = [
        f"{subject.name} tried {len(mean)} settings on {folds} folds and took {chosen}, of mean "
        f"score {search.best_score_:.4f}. Default grids grow where the best setting is at an edge."
    ]
    if len(getattr(search, "estimators_", [1])) > 1:
        n = len(search.estimators_)
        text.append(f"Predictions are the mean of {n} machines that the folds cannot tell apart.")
    order = np.argsort(-mean, kind="stable")[:_MAX_CANDIDATES]
    names = list(table["params"][0])
    rows = [
        (
            *(_value(table["params"][k][name]) for name in names),
            f"{mean[k]:.4f}",
            f"{spread[k]:.4f}",
        )
        for k in order
    ]
    blocks: list[Any] = [
        Table((*names, "mean score", "deviation"), rows, "The best settings out of fold")
    ]
    picture = _grid_picture(table, search.best_params_)
    return Section("choice", "What was chosen, and why", text, [*picture, *blocks])


def _grid_picture(table: Any, best: Any) -> list[Any]:
    """Return the scores over two numeric parameters, the best over all others."""
    params = table["params"]
    values = {
        name: sorted({p[name] for p in params if np.isfinite(p[name])})
        for name in params[0]
        if all(isinstance(p[name], float | int | np.number) for p in params)
    }
    axes = [name for name in values if len(values[name]) > 1][:2]
    if len(axes) < 2:
        return []
    rows, columns = (values[name] for name in axes)
    scores = np.full((len(rows), len(columns)), np.nan)
    for p, score in zip(params, table["mean_test_score"], strict=True):
        if np.isfinite([*(p[name] for name in axes), score]).all():
            i, j = rows.index(p[axes[0]]), columns.index(p[axes[1]])
            scores[i, j] = np.nanmax([scores[i, j], score])
    low, high = np.nanmin(scores), np.nanmax(scores)
    shown = np.nan_to_num((scores - low) / max(high - low, 1e-300), nan=0.0)

    def paint(ax: Any) -> None:
        image = ax.imshow(
            shown, interpolation="none", aspect="auto", origin="lower", **heat_colours(shown)
        )
        ax.grid(visible=False)
        for set_ticks, values in ((ax.set_xticks, columns), (ax.set_yticks, rows)):
            places = np.unique(np.linspace(0, len(values) - 1, 6).round().astype(int))
            set_ticks(places, [_value(values[k]) for k in places])
        ax.set(xlabel=axes[1], ylabel=axes[0])
        if best[axes[0]] in rows and best[axes[1]] in columns:
            place = columns.index(best[axes[1]]), rows.index(best[axes[0]])
            ax.plot(*place, marker="o", mfc="none", mec=MUTED, ms=9, mew=1.5)
        bar = ax.figure.colorbar(image, ax=ax, ticks=[0.0, 1.0])
        bar.ax.set_yticklabels([f"{low:.3g}", f"{high:.3g}"])
        bar.outline.set_visible(False)

    alt = f"Mean score over {axes[0]} and {axes[1]}, from {low:.3g} to {high:.3g}"
    return [draw(paint, alt, f"{alt}; the circle is the setting chosen")]


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else shorten(value, 60)


def _parameters(subject: Subject) -> Facts:
    params = subject.machine.get_params(deep=False)
    return Facts([(name, _value(value)) for name, value in params.items()])


def parameters_section(subject: Subject) -> Section:
    """Return the chapter that lists all parameters of the machine.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    Section
    """
    text = [f"Parameters of the {type(subject.machine).__name__}, by which it can be made again."]
    return Section("parameters", "Parameters", text, [_parameters(subject)])
