"""Exceptions at any line and interrupts leave no state behind, and contexts are left in whatever order."""

from __future__ import annotations

import ast
import contextlib
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import torchlite
from compat_tests.conftest import SEED
from compat_tests.faults.inject import Injector
from compat_tests.side_by_side import same_story
from torchlite.core.native import native
from torchlite.core.state.mode import local
from torchlite.func.transform import Level


@pytest.mark.parametrize("module", ["faults --count 400 --interrupts 100 --seed", "soak --steps 60 --seed"])
def test_todays_share(module: str) -> None:
    command = [sys.executable, "-m", *f"compat_tests.{module} {SEED}".split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


class _Late(Exception):
    pass


@contextlib.contextmanager
def raising_as(function: str, event: str = "call") -> Any:
    """An exception as a function of torchlite of this name is called."""

    def trace(frame: Any, kind: str, arg: Any) -> None:
        if frame.f_code.co_name == function and "torchlite" in frame.f_code.co_filename:
            sys.settrace(None)
            raise _Late

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


CONTEXTS = {
    "no_grad": lambda: torchlite.no_grad(),
    "inference_mode": lambda: torchlite.inference_mode(),
    "autocast": lambda: torchlite.autocast("cpu"),
    "device": lambda: torchlite.device("meta"),
    "hooks": lambda: torchlite.autograd.graph.save_on_cpu(),
    "dual_level": lambda: torchlite.autograd.forward_ad.dual_level(),
    "profile": lambda: torchlite.autograd.profiler.profile(),
    "fork_rng": lambda: torchlite.random.fork_rng(),
}


@pytest.mark.parametrize("name", CONTEXTS)
@pytest.mark.parametrize("function", ["__enter__", "__exit__"])
def test_an_exception_as_a_context_is_entered_or_left(name: str, function: str) -> None:
    context, before = CONTEXTS[name](), local.state.entered
    kept: list[BaseException] = []  # as a shell keeps the last error, and with it all frames
    try:
        with raising_as(function), context:
            torchlite.ones(2).sum()
    except _Late as error:
        kept.append(error)
    assert kept or native is not None  # which has no line of Python in some of them
    assert local.state.entered is before
    assert local.state.mode.plain
    assert torchlite.is_grad_enabled()
    assert torchlite.get_default_device() == torchlite.device("cpu")


def test_tensors_are_given_back_wherever_that_is_broken_off() -> None:
    injector, code = Injector("given back"), Level._put.__code__
    lines = {line for _, _, line in code.co_lines()}
    left = [
        injector.at("func_adopts", True, place, visit, KeyboardInterrupt)
        for place, visits in injector.places("func_adopts", True).items()
        if place[0] == code.co_filename and place[1] in lines
        for visit in range(1, min(visits, 4) + 1)
    ]
    assert left and not [found for found in left if found is not None]


def test_contexts_in_any_order() -> None:
    def story(torch: ModuleType) -> list[Any]:
        found: list[Any] = []

        def look() -> None:
            found.append((torch.is_grad_enabled(), torch.is_anomaly_enabled(), torch.get_default_device().type))

        off = torch.no_grad()
        off.__enter__()
        look()
        off.__exit__(None, None, None)
        look()
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            stack.enter_context(torch.device("meta"))
            look()
        look()
        a, b = torch.no_grad(), torch.autocast("cpu")
        a.__enter__()
        b.__enter__()
        a.__exit__(None, None, None)
        found.append(torch.is_autocast_enabled("cpu"))
        look()
        b.__exit__(None, None, None)
        found.append(torch.is_autocast_enabled("cpu"))
        with torch.no_grad():  # what is set inside by a function, and is not the context's, stays
            torch.autograd.set_detect_anomaly(True)
        look()
        torch.autograd.set_detect_anomaly(False)
        with torch.autocast("cpu"):
            torch.set_grad_enabled(False)
        look()
        torch.set_grad_enabled(True)
        here = torch.device("meta")
        with here, torch.device("cpu"), here:
            look()
        look()
        return found

    same_story(story)


def test_a_context_that_threads_share() -> None:
    off, ready = torchlite.no_grad(), threading.Barrier(4)
    found: list[bool] = []

    def work() -> None:
        for _ in range(200):
            with off:
                found.append(torchlite.is_grad_enabled())
            found.append(not torchlite.is_grad_enabled())
        ready.wait()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    with off:
        ready.wait()
    for t in threads:
        t.join()
    assert not any(found)
    assert torchlite.is_grad_enabled()


def test_a_context_entered_by_hand_lasts() -> None:
    before = local.state.entered
    torchlite.no_grad().__enter__()
    try:
        assert not torchlite.is_grad_enabled()
    finally:
        torchlite.set_grad_enabled(True)
        local.state.entered = before


def test_the_profilers_steps_inside_of_switches() -> None:
    schedule = torchlite.profiler.schedule(wait=1, warmup=0, active=1, repeat=1)
    with torchlite.profiler.profile(schedule=schedule) as profiler, torchlite.no_grad():
        for _ in range(2):
            torchlite.ones(2).sin()
            profiler.step()
    assert "aten::sin" in {event.name for event in profiler.events()}
    assert local.state.mode.plain


def _puts_nothing_back_at_its_end(node: ast.Try, path: Path) -> bool:
    in_loop = isinstance(node.body[-1], (ast.For, ast.While))
    return in_loop or (bool(node.handlers) and path.parts[0] in ("core", "autograd", "func", "backends"))


def test_no_try_that_puts_something_back_ends_in_a_loop_or_in_handlers() -> None:
    """Python's step from their end to what follows belongs to no `try`: exceptions there put nothing back."""
    home = Path(torchlite.__file__).parent
    found = [
        f"{path.relative_to(home)}:{node.lineno}"
        for path in home.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Try) and node.finalbody
        and _puts_nothing_back_at_its_end(node, path.relative_to(home))
    ]
    assert not found
