"""Many programs in several processes; one that brings its process down counts as a failure, and the rest go on."""

import faulthandler
import gc
import importlib
import multiprocessing
import os
import re
import signal
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from random import Random

from torchlite.testing.progress import progress

from .draw import draw_program
from .known import CRASH
from .program import same_every_time
from .report import CLASSES, explain, find_failures

SECONDS = 300  # that a program may take
SHOWN = 1  # failures of a kind that are cut down to scripts


@dataclass(frozen=True)
class Found:
    """A failure of one program, as a process reports it: plain text."""

    number: int
    kind: str
    field: str = "crash"
    script: str = ""
    known: tuple[str, ...] = ()

    @property
    def grave(self) -> bool:
        """Whether the program computes something else: not only a name, a count or a text is another."""
        return not self.known and self.field in (*CLASSES, "crash")


class Worker:
    """A process that runs some of the programs, and says which one it is at and what it finds."""

    def __init__(self, seed: str, numbers: Sequence[int], module: str, shown: int):
        self.seed, self.numbers, self.module, self.shown = seed, numbers, module, shown
        self.at, self.drawing = next(iter(numbers), None), True
        context = multiprocessing.get_context("forkserver")
        # so that one goes on at once after a crash
        context.set_forkserver_preload(["torch", module, "torch._dynamo", f"{module}.nn", __name__])
        self.connection, theirs = context.Pipe()
        descriptor, self.report = tempfile.mkstemp()  # of where a crash found it
        os.close(descriptor)
        arguments = (theirs, self.report, seed, numbers, module, shown)
        self.process = context.Process(target=work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()

    def crash(self) -> Found:
        """The program that brought the process down: in PyTorch, if being drawn, or in one of PyTorch's files."""
        self.process.join()
        ending = f"a process ends with {self.process.exitcode}"
        with open(self.report) as file:
            place = re.search(r'File "(.*?)"', file.read())
        known = (CRASH.name,) if self.drawing or (place and f"{os.sep}torch{os.sep}" in place[1]) else ()
        return Found(self.at, ending, script=f"# --seed {self.seed}, program {self.at}", known=known)

    def next(self) -> "Worker":
        """One that goes on after a crash."""
        return Worker(self.seed, self.numbers[self.numbers.index(self.at) + 1 :], self.module, self.shown)


def hunt(seed: str, numbers: Sequence[int], module: str, jobs: int, shown: int = SHOWN) -> Iterator[Found]:
    """All failures of some programs, of which so many of a kind are cut down to scripts."""
    started = [Worker(seed, numbers[job::jobs], module, shown) for job in range(min(jobs, len(numbers)))]
    workers = {worker.connection: worker for worker in started}
    bar = progress(numbers)
    while workers:
        for connection in wait(list(workers)):
            worker = workers[connection]
            try:
                said = connection.recv()
            except EOFError:  # the process is gone
                gone = workers.pop(connection)
                if worker.at is not None:
                    yield worker.crash()
                    worker = worker.next()
                    workers[worker.connection] = worker
                os.remove(gone.report)
                continue
            if isinstance(said, Found):
                yield said
            else:
                worker.at, worker.drawing = said
                if worker.drawing:
                    next(bar, None)
    bar.close()


def work(connection: Connection, report: str, seed: str, numbers: Sequence[int], module: str, most: int) -> None:
    """What a process does."""
    faulthandler.enable(open(report, "w"))  # noqa: SIM115  (for as long as the process is there)
    torch, torchlite = importlib.import_module("torch"), importlib.import_module(module)
    same_every_time(torch)
    same_every_time(torchlite)
    warnings.simplefilter("ignore")  # outside of programs
    gc.freeze()  # the libraries: there is no use in going through them again and again
    shown: Counter[str] = Counter()
    for number in numbers:
        connection.send((number, True))
        signal.alarm(SECONDS)
        program = draw_program(Random(f"{seed}:{number}"), torch)
        connection.send((number, False))
        for failure in find_failures(program, torch, torchlite):
            if known := failure.known:
                connection.send(Found(number, "", known=tuple({entry.name for entry in known})))
            else:
                shown[failure.kind] += 1
                text = explain(failure, torch, torchlite) if shown[failure.kind] <= most else ""
                connection.send(Found(number, failure.kind, failure.first.field, text))
        signal.alarm(0)
    connection.send((None, False))
