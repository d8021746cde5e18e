"""Processes that examine draws, and end where one of these takes too long."""

import multiprocessing
import signal
import sys
from multiprocessing.connection import Connection, wait

from tests.fuzz.checks import SLOW_SECONDS, Finding, examine
from tests.fuzz.draws import make

Task = tuple[int, str | None]

LIMIT = 3 * SLOW_SECONDS  # processor time for all checks of one draw


def work(pipe: Connection) -> None:
    """Examine the draws that come through the pipe."""
    while (task := pipe.recv()) is not None:
        # Where the time runs out the signal ends the process, in compiled code as well.
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        findings = list(examine(make(*task)))
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.send(findings)


class Worker:
    """A process that examines one draw at a time."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def give(self, task: Task) -> None:
        self.task = task
        self.pipe.send(task)

    def take(self) -> list[Finding] | None:
        """Return the findings; None where the process ended."""
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            return None

    def end(self) -> None:
        self.pipe.send(None)
        self.process.join()


def run(tasks: list[Task], n_workers: int) -> list[Finding]:
    """Return the findings of all draws; say when one is the first of its kind."""
    findings: list[Finding] = []
    seen: set[tuple[str, ...]] = set()
    todo = list(reversed(tasks))
    workers = [Worker() for _ in range(min(n_workers, len(todo)))]
    for worker in workers:
        worker.give(todo.pop())
    n_done = 0
    while workers:
        ready = wait([worker.pipe for worker in workers])
        for worker in [worker for worker in workers if worker.pipe in ready]:
            workers.remove(worker)
            found = worker.take()
            if found is None:
                late = worker.process.exitcode == -signal.SIGPROF
                kind, word = "died", f"the process ended with {worker.process.exitcode}"
                if late:
                    kind, word = "slow", f"more than {LIMIT:.0f} s of processor time"
                found = [Finding(worker.task[0], make(*worker.task).name, kind, "", word)]
                worker = Worker()
            for finding in found:
                if (finding.estimator, finding.kind, finding.where) not in seen:
                    seen.add((finding.estimator, finding.kind, finding.where))
                    place = f" at {finding.where}" if finding.where else ""
                    print(
                        f"draw {finding.seed}, {finding.estimator}: {finding.kind}{place}",
                        file=sys.stderr,
                        flush=True,
                    )
            findings += found
            n_done += 1
            if n_done % 500 == 0:
                print(f"{n_done} draws, {len(findings)} findings", file=sys.stderr, flush=True)
            if todo:
                worker.give(todo.pop())
                workers.append(worker)
            else:
                worker.end()
    return findings
