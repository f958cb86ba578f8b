"""Recorded programs: what PyTorch made of some, for machines that have no PyTorch."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from random import Random
from types import ModuleType

import torchlite

from .compare import compare
from .draw import draw_program
from .observe import Json
from .program import Program, Run, Step, same_every_time

RECORDED = Path(__file__).with_name("recorded.json")


def record(count: int, seed: int, torch: ModuleType, path: Path = RECORDED) -> None:
    """Draw programs that the libraries agree on, and write them with their outcomes in PyTorch, one to a line."""
    same_every_time(torch)
    drawn = (draw_program(Random(f"{seed}:{number}"), torch) for number in itertools.count())
    agreeing = (program for program in drawn if not compare(program, torch, torchlite))
    with path.open("w") as file:
        for program in itertools.islice(agreeing, count):
            line = [[astuple(step) for step in program], Run(torch, program).outcome()]
            print(json.dumps(line, separators=(",", ":")), file=file)


def recorded(path: Path = RECORDED) -> Iterator[tuple[Program, dict[str, Json]]]:
    """Every recorded program with its expected outcome."""
    for line in path.read_text().splitlines():
        steps, outcome = json.loads(line)
        yield tuple(Step(*step) for step in steps), outcome
