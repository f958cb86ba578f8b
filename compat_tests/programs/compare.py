"""Where two runs of a program differ."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

from .observe import Json
from .program import Program, Run
from .rounding import Truth, passes


@dataclass(frozen=True)
class Difference:
    """One thing that is not as expected: of which step, value or gradient, which field, and what both sides say."""

    stage: str  # "errors", "warned", "values", "gradients" or "told"
    where: str
    field: str
    expected: Json
    actual: Json
    shape: tuple[int, ...] = ()  # of a tensor
    step: int = -1  # the number of the line that raised or warned

    def __str__(self) -> str:
        return f"{self.where}   {self.field}: expected {self.expected}, got {self.actual}"


def raised(said: str | None) -> str | None:
    """The type of an error."""
    return said and said.partition(":")[0]


def in_steps(program: Program, expected: dict[str, Json], actual: dict[str, Json]) -> Iterator[Difference]:
    """Where steps raise something else, say it with other words, or warn of something else."""
    for i, (step, before, after) in enumerate(zip(program, expected["errors"], actual["errors"])):
        if raised(before) != raised(after):
            yield Difference("errors", step.line, "error", before, after, step=i)
        elif before != after:
            yield Difference("errors", step.line, "error's text", before, after, step=i)
    for i, (step, before, after) in enumerate(zip(program, expected["warned"], actual["warned"])):
        if before != after:
            yield Difference("warned", step.line, "warnings", before, after, step=i)


def in_values(expected: dict[str, Json], actual: dict[str, Json]) -> Iterator[Difference]:
    """Where values, gradients or what hooks told differ, rounding or not."""
    for stage in ("values", "gradients", "told"):
        for where in expected[stage] | actual[stage]:
            before, after = expected[stage].get(where, {}), actual[stage].get(where, {})
            shape = tuple(before.get("shape", ()))
            for field in before | after:
                if before.get(field) == after.get(field) or (field == "values" and passes(before, after)):
                    continue
                if field == "error" and raised(before.get(field)) == raised(after.get(field)):
                    yield Difference(stage, where, "error's text", before.get(field), after.get(field))
                else:
                    yield Difference(stage, where, field, before.get(field), after.get(field), shape)


def differences(
    program: Program, expected: dict[str, Json], actual: dict[str, Json], torch: ModuleType | None = None
) -> list[Difference]:
    """Everything that two outcomes of a program differ in by more than rounding. How much that is, PyTorch tells."""
    found = [*in_steps(program, expected, actual), *in_values(expected, actual)]
    if not any(difference.field == "values" for difference in found):
        return found
    truth = Truth(program, torch, expected)

    def rounded(of: Difference) -> bool:
        if of.field != "values":
            return False
        before, after = (outcome[of.stage].get(of.where, {}) for outcome in (expected, actual))
        return truth.allows(of.stage, of.where, before, after)

    return [difference for difference in found if not rounded(difference)]


def compare(program: Program, torch: ModuleType, module: ModuleType) -> list[Difference]:
    """Run a program on both libraries."""
    return differences(program, Run(torch, program).outcome(), Run(module, program).outcome(), torch)
