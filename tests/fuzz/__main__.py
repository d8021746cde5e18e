"""Examine many draws: ``python -m tests.fuzz --seed 0 --count 10000``; ``--draw 17`` shows one."""

import argparse
import os
import sys
from collections import defaultdict

from tests.fuzz.checks import Finding, examine
from tests.fuzz.draws import make
from tests.fuzz.workers import run

_SHOWN = 5  # draws named for each group of findings


def show(findings: list[Finding], name: str | None) -> None:
    """Print the findings by kind, estimator and place."""
    groups = defaultdict(list)
    for finding in findings:
        groups[finding.kind, finding.where, finding.estimator].append(finding)
    for (kind, where, estimator), members in sorted(groups.items()):
        draws = dict.fromkeys(f.seed for f in members)
        print(f"\n{estimator}: {kind}{' at ' + where if where else ''} ({len(draws)} draws)")
        for finding in list({f.seed: f for f in members}.values())[:_SHOWN]:
            print(f"  {finding.detail[:300]}")
            only = f" --estimator {name}" if name else ""
            print(f"    python -m tests.fuzz --draw {finding.seed}{only}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=10_000, help="number of draws")
    parser.add_argument("--estimator", help="only this one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--draw", type=int, help="examine this draw here and show it")
    options = parser.parse_args()
    if options.draw is not None:
        draw = make(options.draw, options.estimator)
        print(draw)
        findings = list(examine(draw))
    else:
        seeds = range(options.seed, options.seed + options.count)
        findings = run([(seed, options.estimator) for seed in seeds], options.jobs)
    show(findings, options.estimator)
    print(f"\n{len({f.seed for f in findings})} draws with findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
