"""Our figures beside the published ones; what is computed is kept, and a killed run goes on."""

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kernelfit.papers.printed import published
from kernelfit.papers.protocols import PROTOCOLS, n_splits
from kernelfit.utils.version import __version__

Cells = dict[tuple[str, int], dict[str, dict[str, float]]]


def kept_cells(path: Path) -> Cells:
    """Return the cells in a file that this version computed."""
    cells: Cells = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue  # a run was killed while it wrote this line
            if row.get("kernelfit") == __version__:
                cells[row["set"], row["split"]] = row["scores"]
    return cells


def reproduce(
    paper: str, sets: list[str], splits: int, path: Path, report: Callable[[str], None]
) -> Cells:
    """Compute the cells that a file does not hold yet, each written as soon as it is done.

    Parameters
    ----------
    paper : str
    sets : list of str
    splits : int
    path : Path
        A file of JSON lines.
    report : callable
        Told what was done.

    Returns
    -------
    dict
        The scores by set and split.
    """
    kept = kept_cells(path)
    wanted = [(name, split) for name in sets for split in range(n_splits(name, paper, splits))]
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size:
        with path.open("a", encoding="utf-8") as out:
            out.write("\n")  # after a line that is not whole
    for number, (name, split) in enumerate(wanted, start=1):
        place = f"{number} of {len(wanted)}: {name}, split {split + 1}"
        if (name, split) in kept:
            report(f"{place}, kept")
            continue
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = PROTOCOLS[paper](name, split)
        row = {"set": name, "split": split, "scores": scores, "kernelfit": __version__}
        with path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        kept[name, split] = scores
        report(f"{place}, {time.perf_counter() - began:.1f} s")
    return {cell: kept[cell] for cell in wanted}


def summary(paper: str, cells: Cells) -> list[dict[str, Any]]:
    """Return one row a set, method and part: our mean and deviation, and what is printed.

    Parameters
    ----------
    paper : str
    cells : dict
        As `reproduce` returns them.

    Returns
    -------
    list of dict
    """
    rows = []
    known = published(paper)["sets"]
    for name in dict.fromkeys(name for name, _ in cells):
        found = [scores for (one, _), scores in cells.items() if one == name]
        for method, parts in found[0].items():
            for part in parts:
                values = [scores[method][part] for scores in found]
                printed = known[name].get(method, {}).get(part)
                rows.append({
                    "set": name, "method": method, "part": part, "splits": len(values),
                    "ours": float(np.mean(values)), "deviation": float(np.std(values)),
                    "paper": printed and printed[0],
                    "paper deviation": printed[1] if printed and len(printed) > 1 else None,
                })  # fmt: skip
    return rows
