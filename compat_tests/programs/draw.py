"""Drawing random programs: real PyTorch runs along, so that each step fits what the ones before it have made."""

import math
from random import Random
from string import Formatter
from types import ModuleType

from .holes import NoFit, Scene, fill, is_inexact
from .program import Program, Run, Step
from .table import FAMILIES, LEAVES, MODES, ROOTS, Family

LARGEST, MOST = 1e3, 200  # values beyond the one lose the digits that are compared; tensors beyond the other are slow
FAMILY_WEIGHTS = [family.weight for family in FAMILIES.values()]


def holes_of(row: str) -> list[str]:
    """The names of a row's holes, each once, from left to right."""
    return list(dict.fromkeys(hole for _, hole, _, _ in Formatter().parse(row) if hole))


class Drawing:
    """A program being drawn."""

    def __init__(self, rng: Random, torch: ModuleType):
        self.rng = rng
        self.run = Run(torch)
        self.steps: list[Step] = []
        self.extents = tuple(rng.sample([2, 3, 4], 2))
        self.calm = rng.random() < 0.9  # no infinities, no not-a-numbers

    def draw(self, family: Family) -> bool:
        """Try to draw a step from a family; tell whether it fitted and kept the program's numbers tame."""
        rng = self.rng
        row = rng.choice(family.rows)
        mode = rng.choice(MODES) if self.run.errors and rng.random() < 0.07 else ""
        run = self.run
        scene = Scene(rng, run.torch, run.namespace, run.tensors(), self.extents, rng.random() < 0.03, not mode)
        try:
            texts = fill(row, holes_of(row), scene)
        except NoFit:
            return False
        step = Step(row, texts, f"v{len(self.steps)}" if family.binds else "", mode)
        self.run.step(step)
        if self.wild():
            self.run = Run(self.run.torch, tuple(self.steps))
            return False
        self.steps.append(step)
        return True

    def wild(self) -> bool:
        """Whether some live tensor got too large, in numbers or in size."""
        for tensor in self.run.tensors().values():
            if tensor.numel() > MOST:
                return True
            if not is_inexact(tensor) or tensor.numel() == 0:
                continue
            largest = tensor.detach().abs().max().item()
            if not math.isfinite(largest):
                if self.calm:
                    return True
            elif largest > LARGEST:
                return True
        return False


def draw_program(rng: Random, torch: ModuleType) -> Program:
    """A program of two to four leaves and 5 to 15 steps."""
    drawing = Drawing(rng, torch)
    leaves = rng.randint(2, 4)
    length = leaves + rng.randint(5, 15)
    for _ in range(20 * length):
        if len(drawing.steps) == length:
            break
        if not drawing.steps:
            family = ROOTS
        elif len(drawing.steps) < leaves:
            family = LEAVES
        else:
            family = rng.choices(list(FAMILIES.values()), FAMILY_WEIGHTS)[0]
        drawing.draw(family)
    return tuple(drawing.steps)
