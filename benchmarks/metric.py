"""The time of one fit of each metric, of Nadaraya-Watson and of aligned random features.

Synthetic data of 600 points and 30 features, four of which matter, and labels that say whether the
target is above its median; processor time on one core, the best of three fits.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

import kernelfit
from benchmarks import records
from benchmarks.report import table, write

ROWS, FEATURES, ROUNDS = 600, 30, 3
FITS = {
    "KernelMetric()": (kernelfit.KernelMetric(), False),
    "KernelMetric(), labels": (kernelfit.KernelMetric(), True),
    'KernelMetric(kernel="exponential")': (kernelfit.KernelMetric(kernel="exponential"), False),
    'KernelMetric("agop")': (kernelfit.KernelMetric("agop"), False),
    'KernelMetric("agop", diagonal=False)': (
        kernelfit.KernelMetric("agop", diagonal=False),
        False,
    ),
    'KernelMetric("nw")': (kernelfit.KernelMetric("nw"), False),
    'KernelMetric("logdet"), labels': (kernelfit.KernelMetric("logdet", random_state=0), True),
    'NadarayaWatson("local")': (kernelfit.NadarayaWatson("local"), False),
    "RandomFeatureAlignment()": (kernelfit.RandomFeatureAlignment(random_state=0), False),
}


def main():
    record = records.start("metric", rows=ROWS, features=FEATURES, rounds=ROUNDS)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3])
    y += 0.1 * rng.standard_normal(ROWS)
    labels = y > np.median(y)
    with threadpool_limits(1):
        for name, (model, classify) in FITS.items():
            seconds = []
            for _ in range(ROUNDS):
                start = time.process_time()
                model.fit(X, labels if classify else y)
                seconds.append(time.process_time() - start)
            record.rows.append({"fit": f"`{name}`", "s": min(seconds)})
    record.save(records.path_of("metric"))
    page()


def page():
    record = records.load(records.path_of("metric"))
    write("metric", "Metrics", __doc__.strip(), table(record.rows), records=[record])


if __name__ == "__main__":
    main()
