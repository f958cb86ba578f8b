"""Where two runs of a program differ."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

from .program import Json, Program, Run

TOLERANCE = {"torch.float64": 1e-8, "torch.complex128": 1e-8, "torch.float32": 2e-4, "torch.complex64": 2e-4}


@dataclass(frozen=True)
class Difference:
    """One thing that is not as expected: of which step, value or gradient, which field, and what both sides say."""

    stage: str  # "errors", "values" or "gradients"
    where: str
    field: str
    expected: Json
    actual: Json

    def __str__(self) -> str:
        return f"{self.where}   {self.field}: expected {self.expected}, got {self.actual}"


def close(expected: list[Json], actual: list[Json], tolerance: float) -> bool:
    """Whether numbers agree, within a tolerance that counts from the largest of them; not-a-numbers agree."""
    if len(expected) != len(actual):
        return False
    finite = [abs(e) for e in expected if isinstance(e, float) and math.isfinite(e)]
    slack = tolerance * (1 + max(finite, default=0.0))
    return all(e == a or (e != e and a != a) or _near(e, a, slack) for e, a in zip(expected, actual))


def _near(expected: Json, actual: Json, slack: float) -> bool:
    return isinstance(expected, float) and isinstance(actual, float) and abs(expected - actual) <= slack


def agree(field: str, expected: Json, actual: Json, tolerance: float) -> bool:
    if field == "values" and isinstance(expected, list) and isinstance(actual, list):
        return close(expected, actual, tolerance)
    return expected == actual


def uncompared(program: Program, seen: dict[str, Json]) -> set[str]:
    """The fields of a tensor that say nothing about the library."""
    fields = set()
    if any("inference_mode" in step.mode for step in program):
        fields.add("_version")  # results computed from inference tensors count the inner writes of PyTorch's kernels
    if 0 in seen.get("shape", ()):
        fields.add("storage_offset()")  # an empty slice may start beyond the memory: NumPy cannot say so
    return fields


def differences(program: Program, expected: dict[str, Json], actual: dict[str, Json]) -> Iterator[Difference]:
    """Everything that two outcomes of a program differ in: first its errors, then its values, then gradients."""
    for step, before, after in zip(program, expected["errors"], actual["errors"]):
        if before != after:
            yield Difference("errors", step.line, "error", before, after)
    dtypes = [seen.get("dtype") for stage in ("values", "gradients") for seen in expected[stage].values()]
    tolerance = max([TOLERANCE[dtype] for dtype in dtypes if dtype in TOLERANCE], default=0.0)  # rounding spreads
    for stage in ("values", "gradients"):
        for where in expected[stage] | actual[stage]:
            before, after = expected[stage].get(where, {}), actual[stage].get(where, {})
            skipped = uncompared(program, before)
            for field in before | after:
                if field not in skipped and not agree(field, before.get(field), after.get(field), tolerance):
                    yield Difference(stage, where, field, before.get(field), after.get(field))


def compare(program: Program, torch: ModuleType, module: ModuleType) -> list[Difference]:
    """Run a program on both libraries."""
    return list(differences(program, Run(torch, program).outcome(), Run(module, program).outcome()))
