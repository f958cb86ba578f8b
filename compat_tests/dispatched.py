"""What a dispatch mode sees of small programs of every family, beside PyTorch: `python -m compat_tests.dispatched`.

The programs stand in dispatched.txt. Given names of families, or parts of expressions, those alone are compared, and
where they differ the calls are shown.
"""

from __future__ import annotations

import ast
import collections
import difflib
import importlib
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
    traced: bool  # and whether `make_fx` writes down the same
    run: Callable[[Any], Callable[[Any], None]]
    shapes: list[tuple[int, ...]]


def _set_item(t: Any, places: Any, value: Any) -> Any:
    t[places] = value
    return t


def _hooked(t: Any, hook: Callable[[Any], Any]) -> Any:
    t.register_hook(hook)
    return t


def _in_halves(lib: Any, f: Callable[[], Any]) -> Any:
    with lib.autocast("cpu", dtype=lib.bfloat16):
        return f().float()


def _names(lib: Any) -> dict[str, Any]:
    names = {"lib": lib, "F": lib.nn.functional, "D": lib.distributions, "np": np}
    return {**names, "setitem": _set_item, "auto": _in_halves, "hooked": _hooked}


def _gradient(code: Any, shapes: list[tuple[int, ...]]) -> Callable[[Any], Callable[[Any], None]]:
    def program(lib: Any) -> Callable[[Any], None]:
        tensors = dict(zip("xyzw", [lib.randn(*shape, requires_grad=True) for shape in shapes], strict=False))
        scope = {**_names(lib), **tensors}

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
            text = line.removeprefix("~ ").removeprefix("% ")
            code = compile(text, text, "eval")
            steps = family == "optimizers"
            run = _steps(code, text.partition("(")[0]) if steps else _gradient(code, shapes)
            yield Program(family, text, line[0] != "~", text == line and not steps, run, shapes)


def traced(program: Program) -> tuple[str, str]:
    """What `make_fx` writes down of a program in torchlite and in PyTorch; of one that fails, the error."""
    found = []
    for lib in (torchlite, torch):
        make_fx = importlib.import_module(f"{lib.__name__}.fx.experimental.proxy_tensor").make_fx
        lib.manual_seed(0)
        scope = _names(lib)
        tensors = [lib.randn(*shape) for shape in program.shapes]

        def run(*given: Any, scope: dict[str, Any] = scope) -> Any:
            return eval(program.text, {**scope, **dict(zip("xyzw", given, strict=False))})

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(make_fx(run)(*tensors).code.replace("torchlite", "torch"))
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    return found[0], found[1]


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
