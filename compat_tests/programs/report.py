"""Telling a person about a difference: which op made it, and the shortest script that shows it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType

from .compare import Difference, compare
from .program import Program, Run

COTANGENT = """
def cotangent(t):
    return torch.tensor([0.5 + 0.07 * i for i in range(t.numel())], dtype=t.dtype).reshape(t.shape)
"""


@dataclass(frozen=True)
class Failure:
    """A program cut off after the first op whose outcome differs, and what differs then."""

    program: Program
    differences: list[Difference]

    @property
    def op(self) -> str:
        """The row of the table that differs first."""
        return self.program[-1].op

    @property
    def kind(self) -> str:
        """What failures are grouped by: the op, and in what it differs."""
        first = self.differences[0]
        if first.field == "error":
            how = f"{first.expected or 'no error'} → {first.actual or 'no error'}"
        else:
            how = first.field
        return f"{self.op}   [{how}{' in backward' if first.stage == 'gradients' else ''}]"


def find_failure(program: Program, torch: ModuleType, module: ModuleType) -> Failure | None:
    """The program up to the first op that differs, or None where the libraries agree on the whole of it."""
    if not compare(program, torch, module):
        return None
    for length in range(1, len(program) + 1):
        found = compare(program[:length], torch, module)
        if found:
            return Failure(program[:length], found)
    raise AssertionError("a program's outcome differs from run to run")


def minimise(failure: Failure, torch: ModuleType, module: ModuleType) -> Failure:
    """Leave out every step, and every mode around a step, that the difference does not need."""

    def differs(program: Program) -> bool:
        return "NameError" not in Run(torch, program).errors and bool(compare(program, torch, module))

    program = failure.program
    for i in reversed(range(len(program) - 1)):
        program = shorter(program, program[:i] + program[i + 1 :], differs)
    for i, step in enumerate(program):
        if step.mode:
            program = shorter(program, (*program[:i], replace(step, mode=""), *program[i + 1 :]), differs)
    return Failure(program, compare(program, torch, module))


def shorter(program: Program, candidate: Program, differs: Callable[[Program], bool]) -> Program:
    return candidate if differs(candidate) else program


def script(failure: Failure, torch: ModuleType, module: ModuleType) -> str:
    """The failure as a script for either library, with what differs first as closing comments."""
    run = Run(torch, failure.program)
    lines = ["import torch"]
    for step, error in zip(failure.program, run.errors):
        last = step is failure.program[-1]
        lines += [step.line] if not error or last else [f"try: {step.line}", f"except {error}: pass"]
    stage = failure.differences[0].stage
    if stage == "gradients":
        roots = ", ".join(run.roots(run.tensors()))
        lines += [COTANGENT]
        lines += [f"torch.autograd.backward([{roots}], [cotangent(t) for t in [{roots}]], retain_graph=True)"]
    for difference in [difference for difference in failure.differences if difference.stage == stage][:5]:
        lines += [f"# {difference.where}   {difference.field}"]
        lines += [f"#     {torch.__name__ + ':':<12}{difference.expected}"]
        lines += [f"#     {module.__name__ + ':':<12}{difference.actual}"]
    return "\n".join(lines)


def explain(failure: Failure, torch: ModuleType, module: ModuleType) -> str:
    """The shortest script that shows a failure."""
    return script(minimise(failure, torch, module), torch, module)
