"""Telling a person about a difference: which line made it, why that is known, and the shortest script that shows it."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType

from .compare import Difference, compare
from .evidence import says
from .known import CHANCE, ROUNDED, Known, explanation
from .prelude import pieces_for
from .program import Program, Run, Step
from .rounding import DRAWS

CLASSES = ("error", "values", "dtype", "shape", "stride()", "storage_offset()", "requires_grad", "is_leaf")
ANY_LINE = (Step("", {}),)


@dataclass(frozen=True)
class Failure:
    """A program cut off after the first line whose outcome differs, and what differs then."""

    program: Program
    differences: list[Difference]
    chance: Known | None = None  # why it says nothing, where it differs by chance

    @cached_property
    def known(self) -> list[Known]:
        """Why the libraries differ so, where all is known. From an error that only one raises, all else follows."""
        if self.chance:
            return [self.chance]
        errors = [difference for difference in self.differences if difference.field == "error"]
        causes = [error for error in errors if error.stage == "errors"] or errors or self.differences
        found = [explanation(self.program, difference) for difference in causes]
        return [known for known in found if known] if all(found) else []

    @cached_property
    def first(self) -> Difference:
        """The gravest of what differs and is not known."""
        unknown = [d for d in self.differences if not explanation(self.program, d)] or self.differences
        return min(unknown, key=lambda d: CLASSES.index(d.field) if d.field in CLASSES else len(CLASSES))

    @property
    def kind(self) -> str:
        """What failures are grouped by: the line, and in what it differs."""
        first, step = self.first, self.program[-1]
        how = first.field
        if first.field.startswith("error"):
            how += f": {first.expected or 'none'} → {first.actual or 'none'}"
        within = f"with {step.mode}: " if step.mode else ""
        return f"{within}{step.op}   [{how}{' in backward' if first.stage == 'gradients' else ''}]"


def find_failure(program: Program, torch: ModuleType, module: ModuleType) -> Failure | None:
    """The program up to a line with which it begins to differ, or None where the libraries agree on the whole of it."""
    differs = compare(program, torch, module)
    if not beyond(differs):
        return Failure(program, differs) if differs else None
    agrees, length, guesses = 0, len(program), guessed(program, beyond(differs))
    while length - agrees > 1:
        middle = guesses.pop(0) if guesses else (agrees + length) // 2
        if not agrees < middle < length:
            continue
        found = compare(program[:middle], torch, module)
        if beyond(found):
            length, differs = middle, found
        else:
            agrees = middle
    failure = Failure(program[:length], differs)
    return failure if failure.known else replace(failure, chance=by_chance(failure, torch, module))


def beyond(differs: list[Difference]) -> list[Difference]:
    """What differs, but for what is explained whichever line made it; from an error of one library, much follows."""
    return [d for d in differs if d.field == "error" or not explanation(ANY_LINE, d)]


def guessed(program: Program, differs: list[Difference]) -> list[int]:
    """How long a program may be that just differs, and one that does not: by the first line that tells of it."""
    made = {step.name: i + 1 for i, step in enumerate(program)}
    told = [made.get(re.split(r"\W", d.where)[0], 0) if d.stage == "values" else d.step + 1 for d in differs]
    first = min(filter(None, told), default=0)
    return [first, first - 1]


def by_chance(failure: Failure, torch: ModuleType, module: ModuleType) -> Known | None:
    """Why a failure says nothing: PyTorch differs from itself, or the libraries agree when the program runs again.

    Or they do when nothing is drawn, so that float64 tells how far rounding goes.
    """
    program = failure.program
    differs = failure.differences and compare(program, torch, module)
    if not differs or any(compare(program, torch, torch) for _ in range(2)):
        return CHANCE
    rest = tuple(step for step in program if not DRAWS.search(step.line))
    if len(rest) == len(program) or rest[-1] is not program[-1] or {d.field for d in failure.differences} != {"values"}:
        return None
    works = not says(Run(torch, rest).errors[-1], "NameError")
    return ROUNDED if works and not compare(rest, torch, module) else None


def find_failures(program: Program, torch: ModuleType, module: ModuleType) -> list[Failure]:
    """What is known of how the libraries differ on a program, up to the first failure that is not."""
    found: list[Failure] = []
    while failure := find_failure(program, torch, module):
        found.append(failure)
        if not failure.known or not beyond(failure.differences):
            break
        at = len(failure.program)
        program = program[: at - 1] + program[at:]  # what needs it raises a NameError in both
    return found


def minimise(failure: Failure, torch: ModuleType, module: ModuleType) -> Failure:
    """Leave out every step, and every mode around a step, that the difference does not need."""

    def shorter(failure: Failure, program: Program) -> Failure:
        """The same with a shorter program, if that differs like this."""
        if any(error and error.startswith("NameError") for error in Run(torch, program).errors):
            return failure
        left = Failure(program, compare(program, torch, module))
        same = left.differences and left.first.field == failure.first.field and not left.known
        return left if same else failure

    for i in reversed(range(len(failure.program) - 1)):
        failure = shorter(failure, failure.program[:i] + failure.program[i + 1 :])
    for i, step in enumerate(failure.program):
        if step.mode:
            failure = shorter(failure, (*failure.program[:i], replace(step, mode=""), *failure.program[i + 1 :]))
    return failure


def script(failure: Failure, torch: ModuleType, module: ModuleType) -> str:
    """The failure as a script for either library, with what differs first as closing comments."""
    run = Run(torch, failure.program)
    lines = []
    for step, error in zip(failure.program, run.errors):
        last = step is failure.program[-1]
        lines += [step.line] if not error or last else [f"try: {step.line}", f"except {error.partition(':')[0]}: pass"]
    first = failure.first
    if first.stage == "gradients":
        roots = ", ".join(run.roots(run.tensors()))
        lines += [f"torch.autograd.backward([{roots}], [cotangent(t) for t in [{roots}]], retain_graph=True)"]
    if any(" rand" in line or "torch.rand" in line or "_(" in line for line in lines):
        lines.insert(0, "torch.manual_seed(0)")
    head = ["import torch", pieces_for("\n".join(lines))]
    for difference in [first, *(d for d in failure.differences if d is not first and d.stage == first.stage)][:4]:
        lines += [f"# {difference.where}   {difference.field}"]
        lines += [f"#     {torch.__name__ + ':':<12}{difference.expected}"]
        lines += [f"#     {module.__name__ + ':':<12}{difference.actual}"]
    return "\n".join(line for line in head + lines if line)


def explain(failure: Failure, torch: ModuleType, module: ModuleType) -> str:
    """The shortest script that shows a failure."""
    return script(minimise(failure, torch, module), torch, module)
