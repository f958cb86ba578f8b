"""Drawing random programs: real PyTorch runs along, so that each step fits what the ones before it have made."""

import math
from random import Random
from string import Formatter
from types import ModuleType

from .holes import is_inexact
from .program import Program, Run, Step, numbers
from .scene import NoFit, Scene, fill
from .table import FAMILIES, LEAVES, MODES, ROOTS, TRUNKS, Family

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

    def draw(self, family: Family) -> None:
        """Draw a step from a family, and keep it if its holes can be filled and the program's numbers stay tame."""
        rng = self.rng
        row = rng.choice(family.rows)
        mode = rng.choice(MODES) if self.run.errors and rng.random() < 0.07 else ""
        run = self.run
        scene = Scene(rng, run.torch, run.namespace, run.tensors(), self.extents, rng.random() < 0.03, not mode)
        try:
            texts = fill(row, holes_of(row), scene)
        except NoFit:
            return
        step = Step(row, texts, f"v{len(self.steps)}" if family.binds else "", mode)
        error = run.step(step)
        if self.wild() or self.broken(step, error) or (error and self.half_done()):
            self.run = Run(run.torch, tuple(self.steps))
        else:
            self.steps.append(step)

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

    def broken(self, step: Step, error: Exception | None) -> bool:
        """Whether an assertion of PyTorch's own failed in the step just run, or fails when a live tensor is asked.

        To ask is to bring histories up to date, so those are asked whom nobody else will.
        """
        for tensor in Run(self.run.torch, (*self.steps, step)).tensors().values():
            try:
                tensor.grad_fn  # noqa: B018
            except RuntimeError as other:
                error = other if "INTERNAL ASSERT" in str(other) else error
        return "INTERNAL ASSERT" in str(error)

    def half_done(self) -> bool:
        """Whether the step just run, which raised, has written something: how much of it is left to chance."""
        before = Run(self.run.torch, tuple(self.steps)).tensors()
        return any(numbers(tensor) != numbers(before[name]) for name, tensor in self.run.tensors().items())


def draw_program(rng: Random, torch: ModuleType) -> Program:
    """A program of two to four leaves, something computed from them, and 5 to 15 more steps."""
    drawing = Drawing(rng, torch)
    start = [ROOTS, *[LEAVES] * rng.randint(1, 3), TRUNKS]
    length = len(start) + rng.randint(5, 15)
    tries = rng.choices(list(FAMILIES.values()), FAMILY_WEIGHTS, k=4 * length)  # some rows find nothing that fits
    for family in start + tries:
        if len(drawing.steps) < length:
            drawing.draw(family)
    return tuple(drawing.steps)
