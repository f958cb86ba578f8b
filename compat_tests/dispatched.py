"""What a dispatch mode sees of small programs of every family, beside PyTorch: `python -m compat_tests.dispatched`.

The programs stand in dispatched.txt. Given names of families, or parts of expressions, those alone are compared, and
where they differ the calls are shown.
"""

from __future__ import annotations

import ast
import collections
import difflib
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import torchlite

from .test_dispatch_modes import seen


class Program(NamedTuple):
    family: str
    text: str
    same: bool  # whether both libraries are known to agree
    run: Callable[[Any], Callable[[Any], None]]


def _set_item(t: Any, places: Any, value: Any) -> Any:
    t[places] = value
    return t


def _hooked(t: Any, hook: Callable[[Any], Any]) -> Any:
    t.register_hook(hook)
    return t


def _in_halves(lib: Any, f: Callable[[], Any]) -> Any:
    with lib.autocast("cpu", dtype=lib.bfloat16):
        return f().float()


def _gradient(code: Any, shapes: list[tuple[int, ...]]) -> Callable[[Any], Callable[[Any], None]]:
    def program(lib: Any) -> Callable[[Any], None]:
        tensors = dict(zip("xyzw", [lib.randn(*shape, requires_grad=True) for shape in shapes], strict=False))
        names = {"lib": lib, "F": lib.nn.functional, "D": lib.distributions, "np": np}
        scope = {**names, "setitem": _set_item, "auto": _in_halves, "hooked": _hooked, **tensors}

        def run(lib: Any) -> None:
            result = eval(code, scope)
            (result.sum() if result.dim() else result).backward()

        return run

    return program


def _steps(code: Any, name: str) -> Callable[[Any], Callable[[Any], None]]:
    """Two steps of an optimizer."""

    def program(lib: Any) -> Callable[[Any], None]:
        bias = name != "Muon"
        model = lib.nn.Sequential(lib.nn.Linear(3, 4, bias), lib.nn.Tanh(), lib.nn.Linear(4, 1, bias))
        x = lib.randn(2, 3)
        make = getattr(lib.optim, name)
        optimizer = eval(code, {name: lambda **options: make(model.parameters(), **options)})

        def loss() -> Any:
            optimizer.zero_grad()
            made = model(x).pow(2).mean()
            made.backward()
            return made

        def run(lib: Any) -> None:
            for _ in range(2):
                if name == "LBFGS":
                    optimizer.step(loss)
                else:
                    loss()
                    optimizer.step()

        return run

    return program


def programs() -> Iterator[Program]:
    family, shapes = "", []
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith("["):
            family, _, listed = line[1:].partition("]")
            shapes = ast.literal_eval(f"[{listed}]")
        elif line and not line.startswith("#"):
            text = line.removeprefix("~ ")
            code = compile(text, text, "eval")
            run = _steps(code, text.partition("(")[0]) if family == "optimizers" else _gradient(code, shapes)
            yield Program(family, text, text == line, run)


def listed(program: Program) -> tuple[list[Any], list[Any]]:
    """What is seen of a program in torchlite and in PyTorch; of one that fails, the error."""
    found: list[list[Any]] = []
    for lib in (torchlite, torch):
        lib.manual_seed(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(seen(lib, program.run(lib)))
        except Exception as error:
            found.append([(type(error).__name__, str(error), {})])
    return found[0], found[1]


def _shown(calls: list[Any]) -> list[str]:
    return [f"{name} {args} {kwargs}"[:160] for name, args, kwargs in calls]


def main(wanted: list[str]) -> None:
    """Compare, and say how many agree."""
    every: collections.Counter[str] = collections.Counter()
    same: collections.Counter[str] = collections.Counter()
    for program in programs():
        if wanted and not any(w == program.family or w in program.text for w in wanted):
            continue
        mine, real = listed(program)
        every[program.family] += 1
        same[program.family] += mine == real
        if mine != real:
            print(f"{program.family}: {program.text}{'  (agreed)' if program.same else ''}")
        elif not program.same:
            print(f"{program.family}: {program.text}  (agrees now)")
        if wanted and mine != real:
            print(*list(difflib.unified_diff(_shown(mine), _shown(real), lineterm="", n=1))[2:], sep="\n")
    print(*[f"{family}: {same[family]} of {n}" for family, n in every.items()], sep="\n")
    print(f"{sum(same.values())} of {sum(every.values())} programs are seen as in PyTorch")


if __name__ == "__main__":
    main(sys.argv[1:])
