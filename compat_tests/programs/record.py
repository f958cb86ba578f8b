"""Recorded programs: what PyTorch made of some, for machines that have no PyTorch."""

import json
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from random import Random
from types import ModuleType

from .draw import draw_program
from .program import Json, Program, Run, Step

RECORDED = Path(__file__).with_name("recorded.json")


def record(count: int, seed: int, torch: ModuleType, path: Path = RECORDED) -> None:
    """Draw programs, and write them with their outcomes in PyTorch, one to a line."""
    with path.open("w") as file:
        for number in range(count):
            program = draw_program(Random(f"{seed}:{number}"), torch)
            print(compact([[astuple(step) for step in program], Run(torch, program).outcome()]), file=file)


def compact(data: Json) -> str:
    """JSON without spaces, and with no more digits than are compared."""
    rounded = json.loads(json.dumps(data), parse_float=lambda text: float(f"{float(text):.11g}"))
    return json.dumps(rounded, separators=(",", ":"))


def recorded(path: Path = RECORDED) -> Iterator[tuple[Program, dict[str, Json]]]:
    """Every recorded program with its expected outcome."""
    for line in path.read_text().splitlines():
        steps, outcome = json.loads(line)
        yield tuple(Step(*step) for step in steps), outcome
