"""Raise an exception where a program has come to, and see what it leaves."""

from __future__ import annotations

import functools
import signal
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torchlite as torch

from . import state
from .catalogue import PROGRAMS, Scene

_HOME = str(Path(torch.__file__).parent)
# The modules that change state, of which single instructions are tried beside lines.
_CLOSELY = tuple([
    f"{_HOME}/{path}" for path in ("core/state/", "core/machine/overrides.py", "autograd/", "func/", "amp/")
])
_KINDS = (KeyboardInterrupt, MemoryError, RuntimeError)

Program = Callable[[Scene], Any]
Place = tuple[str, int, int]  # a file, a line and, where instructions are told apart, which one; else -1


@dataclass(frozen=True)
class Left:
    """What an exception has left behind."""

    program: str
    where: str
    what: tuple[str, ...]


class _Tracer:
    """Counts the places of torchlite that a program comes to, and raises at one of them."""

    def __init__(self, closely: bool, place: Place | None = None, visit: int = 0, kind: type = RuntimeError) -> None:
        self.closely = closely
        self.place = place
        self.visit = visit
        self.kind = kind
        self.visits: dict[Place, int] = defaultdict(int)
        self.raised = False

    def enter(self, frame: Any, event: str, arg: Any) -> Any:
        file = frame.f_code.co_filename
        if not file.startswith(_HOME):
            return None
        if self.closely:
            if not file.startswith(_CLOSELY):
                return None
            frame.f_trace_opcodes = True
        return self.step

    def step(self, frame: Any, event: str, arg: Any) -> Any:
        if event == ("opcode" if self.closely else "line"):
            place = (frame.f_code.co_filename, frame.f_lineno, frame.f_lasti if self.closely else -1)
            self.visits[place] += 1
            if place == self.place and self.visits[place] == self.visit:
                self.raised = True
                raise self.kind(f"at {place}")
        return self.step


def run(program: Program, scene: Scene, tracer: _Tracer) -> None:
    """Run a program to its end, or to the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.settrace(tracer.enter)
        try:
            program(scene)
        except BaseException as error:  # a program may make another of ours, as one that loads a file does
            if not tracer.raised:
                raise error
        finally:
            sys.settrace(None)


@functools.cache
def draws(name: str) -> bool:
    """Whether a program draws random numbers. Afterwards what its first run imports, plans and caches is there."""
    before = torch.get_rng_state()
    for _ in range(2):
        run(PROGRAMS[name], Scene(), _Tracer(closely=False))
    return not torch.equal(before, torch.get_rng_state())


def left_behind(name: str, where: str, scene: Scene, before: dict[str, Any]) -> Left | None:
    what = state.differences(before, state.snapshot(scene))
    if draws(name) and state.STREAM in what:
        what.remove(state.STREAM)
    found = None
    if what or (what := state.works()):
        found = Left(name, where, tuple(what))
        state.reset()
    return found


class Injector:
    """Raises exceptions in the programs of the catalogue, at places of which each is as likely as any other."""

    def __init__(self, seed: Any) -> None:
        self.random = Random(seed)
        self.visits: dict[tuple[str, bool], dict[Place, int]] = {}
        self.raised = 0

    def places(self, name: str, closely: bool) -> dict[Place, int]:
        found = self.visits.get((name, closely))
        if found is None:
            draws(name)
            tracer = _Tracer(closely)
            run(PROGRAMS[name], Scene(), tracer)
            found = self.visits[name, closely] = dict(tracer.visits)
        return found

    def one(self) -> Left | None:
        random = self.random
        name, closely = random.choice(list(PROGRAMS)), random.random() < 0.3
        closely = closely and bool(self.places(name, True))
        places = self.places(name, closely)
        place = random.choice(list(places))
        return self.at(name, closely, place, random.randint(1, places[place]), random.choice(_KINDS))

    def at(self, name: str, closely: bool, place: Place, visit: int, kind: type) -> Left | None:
        torch.manual_seed(7)
        scene = Scene()
        before = state.snapshot(scene)
        tracer = _Tracer(closely, place, visit, kind)
        run(PROGRAMS[name], scene, tracer)
        self.raised += tracer.raised
        file, line, _ = place
        where = f"{Path(file).relative_to(_HOME)}:{line}{' (an instruction)' if closely else ''}, visit {visit}"
        return left_behind(name, where, scene, before)


class Interrupter:
    """Interrupts the programs of the catalogue by a timer, whose signal's handler raises KeyboardInterrupt."""

    def __init__(self, seed: Any) -> None:
        self.random = Random(seed)
        self.durations: dict[str, float] = {}
        self.raised = 0

    def duration(self, name: str) -> float:
        found = self.durations.get(name)
        if found is None:
            draws(name)
            scene = Scene()
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                PROGRAMS[name](scene)
            found = self.durations[name] = time.perf_counter() - start
        return found

    def one(self) -> Left | None:
        name = self.random.choice(list(PROGRAMS))
        delay = max(1e-6, self.random.random() * self.duration(name))
        torch.manual_seed(7)
        scene = Scene()
        before = state.snapshot(scene)
        where, armed = "", True

        def interrupt(number: int, frame: Any) -> None:
            nonlocal where
            if not armed:
                return
            where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            raise KeyboardInterrupt

        previous = signal.signal(signal.SIGALRM, interrupt)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                signal.setitimer(signal.ITIMER_REAL, delay)
                PROGRAMS[name](scene)
                armed = False
        except KeyboardInterrupt:
            self.raised += 1
        finally:
            armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
        return left_behind(name, where, scene, before)
