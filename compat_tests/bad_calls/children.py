"""Calls made in forked children, which have limits of time and memory and may die."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import resource
import select
import signal
import tempfile
import time
import warnings
from collections.abc import Sequence
from types import ModuleType

from .call import Call, namespace

MEMORY = 1 << 30  # bytes of address space that a child may take
PATIENCE = 5.0  # seconds of processor time for one call
WALL = 60.0  # seconds for one call, in all

_ADDRESS = re.compile(r"0x[0-9a-f]+")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of a call: "returned", "raised", "unmade" (its arguments could not be made), "killed" or "hung"."""

    kind: str
    error: str = ""
    text: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.error}: {self.text}" if self.error else self.kind


def outcomes(torch: ModuleType, calls: Sequence[Call]) -> list[Outcome]:
    """What comes of each call, all made in one child, or in as many as it takes."""
    found: list[Outcome] = []
    while len(found) < len(calls):
        found += _from_child(torch, calls[len(found) :])
    return found


def _from_child(torch: ModuleType, calls: Sequence[Call]) -> list[Outcome]:
    """The outcomes of the first calls, up to one that ends the child."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reader)
            _make(torch, calls, writer)
        finally:
            os._exit(0)
    os.close(writer)
    told, silent = b"", False
    while not silent:
        silent = not select.select([reader], [], [], WALL)[0]
        piece = b"" if silent else os.read(reader, 1 << 16)
        if not piece:
            break
        told += piece
    os.close(reader)
    if silent:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    found = [Outcome(*json.loads(line)) for line in told.split(b"\n") if line]
    if len(found) < len(calls):
        hung = silent or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF)
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.waitstatus_to_exitcode(status)}"
        found.append(Outcome("hung") if hung else Outcome("killed", "", how))
    return found


def _make(torch: ModuleType, calls: Sequence[Call], writer: int) -> None:
    """In the child: make the calls and tell of each."""
    with open("/proc/self/statm") as pages:
        size = int(pages.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for call in calls:
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
            outcome = outcome_of(torch, call)
            signal.setitimer(signal.ITIMER_PROF, 0)
            os.write(writer, json.dumps(dataclasses.astuple(outcome)).encode() + b"\n")


def outcome_of(torch: ModuleType, call: Call) -> Outcome:
    """What comes of a call in this process."""
    names = namespace(torch)
    torch.default_generator.manual_seed(0)  # torch.manual_seed writes down the stack
    try:
        function = eval(call.function, names)
        arguments = [eval(a, names) for a in call.arguments]
        keywords = {name: eval(value, names) for name, value in call.keywords}
    except Exception as error:
        return Outcome("unmade", type(error).__name__, first_line(error))
    began = time.process_time()
    try:
        function(*arguments, **keywords)
    except BaseException as error:
        return Outcome("raised", type(error).__name__, first_line(error), time.process_time() - began)
    return Outcome("returned", seconds=time.process_time() - began)


def first_line(error: BaseException) -> str:
    return _ADDRESS.sub("0x", str(error).partition("\n")[0][:400])
