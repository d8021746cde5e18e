"""AutoKernel beside other learners on larger tables, all at their defaults.

    python -m benchmarks.auto_large                      # all sets, the contenders of a processor
    python -m benchmarks.auto_large --device cuda        # AutoKernel alone, on a GPU
    python -m benchmarks --page auto_large               # write the page from what was measured

The sets with more than 3,000 rows: three quarters of the rows, but at most 10,000, for training, at
most 10,000 others for testing; one split. That weights come from machines of half of the rows was
decided on eeg, ccpp, ijcnn1, USPS and made-up tables; that metrics come from 800 rows instead of
300 or 600, after a look at all of these sets. AutoKernel was measured on a GPU: up to 11,600 rows
its machines are the same as on a processor, up to rounding. The commit is that of AutoKernel; the
other learners, which do not use this code, were measured before.
"""

import argparse

import numpy as np

from benchmarks import records
from benchmarks.auto_tables import CLASSIFICATION, CONTENDERS, LABELS, OURS, fit_and_score, split
from benchmarks.report import markdown, write
from kernelfit import AutoKernelClassifier, AutoKernelRegressor

SETS = (
    "covtype", "eeg", "ijcnn1", "shill_bidding", "spambase", "svmguide1",
    "abalone", "california", "ccpp", "cpusmall", "gas_turbine", "space_ga",
)  # fmt: skip
TRAIN, TEST = 10_000, 10_000
OTHERS = [name for name in CONTENDERS if name not in (OURS, "Gaussian SVM")]


def contenders(device):
    """Return {name: (regression) -> model} of a device."""
    if device is None:
        return {name: CONTENDERS[name] for name in OTHERS}
    options = {"random_state": 0, "n_jobs": -1, "device": device}
    return {
        OURS: lambda regression: (AutoKernelRegressor if regression else AutoKernelClassifier)(
            **options
        )
    }


def main(device=None, names=SETS):
    for name in names:
        path = records.path_of("auto_large", name)
        record = records.load(path) if path.exists() else records.start("auto_large", set=name)
        known = {row["contender"] for row in record.rows}
        regression = name not in CLASSIFICATION
        data = split(name, 0, TRAIN, TEST)
        for contender, make in contenders(device).items():
            if contender in known:
                continue
            try:
                model = make(regression)
            except ImportError:
                continue
            found = fit_and_score(model, *data, regression)
            row = {"contender": contender, "rows": len(data[1]), **found}
            record.rows.append(row)
            record.save(path)
            print(name, row, flush=True)


def page():
    tables = records.load_table("auto_large", SETS)
    rows = []
    for name, record in tables.items():
        found = {row["contender"]: row for row in record.rows}
        for score in ("error",) if name not in CLASSIFICATION else ("accuracy", "log_loss"):
            values = [found[one][score] if one in found else np.nan for one in (OURS, *OTHERS)]
            rows.append([name, record.rows[0]["rows"], LABELS[score], *map(float, values)])
    write(
        "auto_large",
        "AutoKernel on larger tables",
        __doc__.split("\n\n")[2].replace("\n", " "),
        markdown(["set", "rows", "score", OURS, *OTHERS], rows),
        records=tables.values(),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="set", help=", ".join(SETS))
    parser.add_argument("--device")
    options = parser.parse_args()
    main(options.device, options.names or SETS)
