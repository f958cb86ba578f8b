"""Drawing random programs: real PyTorch runs along, so that each step fits what the ones before it have made."""

import math
import re
from random import Random
from string import Formatter
from types import ModuleType

from . import arguments, operands  # noqa: F401  (they enter their rules)
from .observe import numbers, seen_or_error
from .operands import is_inexact
from .program import Program, Run, Step
from .scene import NoFit, Scene, fill
from .table import FAMILIES, LEAVES, ROOTS, TRUNKS, Family, expand

LARGEST, MOST = 1e3, 200  # values beyond the one lose the digits that are compared; tensors beyond the other are slow
FAMILY_WEIGHTS = [family.weight for family in FAMILIES.values()]
# What PyTorch says where it is broken, or has no kernel for a dtype; and of complex32, which torchlite lacks.
LIMITS = re.compile(r"INTERNAL ASSERT|not implemented for '|Batching rule not implemented|ComplexHalf")

WRITES = re.compile(r"out=|inplace|Write|target|backward")


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

    def draw(self, family: Family) -> None:
        """Draw a step from a family, and keep it if its holes can be filled and the program's numbers stay tame."""
        rng, run = self.rng, self.run
        row = expand(rng.choice(family.rows), rng)
        mode = expand("{mode}", rng) if run.errors and rng.random() < 0.1 else ""
        scene = Scene(rng, run.torch, run.namespace, run.tensors(), self.extents, rng.random() < 0.03, not mode)
        try:
            texts = fill(row, holes_of(row), scene)
        except NoFit:
            return
        step = Step(row, texts, f"v{len(self.steps)}" if family.binds else "", mode)
        before = self.seen() if writes(step) else {}
        error = run.step(step)
        if self.wild() or (error and (LIMITS.search(str(error)) or (writes(step) and self.seen() != before))):
            self.run = Run(run.torch, tuple(self.steps))
        else:
            self.steps.append(step)

    def wild(self) -> bool:
        """Whether some live tensor got too large, in numbers or in size, or of a dtype that torchlite lacks."""
        for tensor in self.run.tensors().values():
            if tensor.numel() > MOST or tensor.dtype is self.run.torch.complex32:
                return True
            if not is_inexact(tensor) or tensor.numel() == 0:
                continue
            largest = tensor.detach().abs().amax().item()
            if not math.isfinite(largest):
                if self.calm:
                    return True
            elif largest > LARGEST:
                return True
        return False

    def seen(self) -> dict[str, str]:
        """All numbers there are. A step that raises, and has written some, leaves to chance how many."""
        return {name: repr(seen_or_error(lambda t=t: numbers(t))) for name, t in self.run.tensors().items()}


def writes(step: Step) -> bool:
    """Whether a step may write to what others made."""
    return not step.name or WRITES.search(step.op) is not None


def broken(run: Run) -> bool:
    """Whether PyTorch comes to its limits when live tensors are asked, which brings their histories up to date."""
    asked = (seen_or_error(lambda t=t: t.grad_fn) for t in run.tensors().values())
    return any(isinstance(answer, str) and LIMITS.search(answer) for answer in asked)


def draw_program(rng: Random, torch: ModuleType) -> Program:
    """A program of 5 to 40 steps: leaves, something computed from them, and what comes to mind."""
    drawing = Drawing(rng, torch)
    start = [ROOTS, *[LEAVES] * rng.randint(1, 3), TRUNKS]
    length = rng.randint(5, 40)
    tries = rng.choices(list(FAMILIES.values()), FAMILY_WEIGHTS, k=4 * length)  # some rows find nothing that fits
    for family in start + tries:
        if len(drawing.steps) < length:
            drawing.draw(family)
    program = tuple(drawing.steps)
    while broken(Run(torch, program)):
        program = program[:-1]
    return program
