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


def agree(field: str, before: dict[str, Json], after: dict[str, Json], tolerance: float) -> bool:
    expected, actual = before.get(field), after.get(field)
    if field == "values" and isinstance(expected, list) and isinstance(actual, list):
        if "complex" in before.get("dtype", ""):
            expected, actual = one_infinity(expected), one_infinity(actual)
        return close(expected, actual, tolerance)
    return expected == actual


def one_infinity(parts: list[Json]) -> list[Json]:
    """The parts of complex numbers, with one number for all that are not finite.

    PyTorch multiplies by 1 before it adds, so that infinite parts become NaN or not by where vectors end.
    """
    pairs = zip(parts[::2], parts[1::2])
    return [part if math.isfinite(a) and math.isfinite(b) else math.nan for a, b in pairs for part in (a, b)]


def uncompared(program: Program, seen: dict[str, Json]) -> set[str]:
    """The fields of a tensor that say nothing about the library."""
    fields = set()
    if any("inference_mode" in step.mode for step in program):
        fields.add("_version")  # results computed from inference tensors count the inner writes of PyTorch's kernels
        if seen.get("_base") == "a tensor with no name":
            fields.add("_base")  # and show what these are views of
    if any(step.op == "{leaf}.grad" for step in program):
        fields.add("_version")  # the engine adds in place what C++ counts no other reference to
    if 0 in seen.get("shape", ()):
        fields.add("storage_offset()")  # an empty slice may start beyond the memory: NumPy cannot say so
        if 1 in seen["shape"]:
            fields.add("stride()")  # PyTorch sorts these two sizes one way or the other, and no element is there
    return fields


def lacks_derivative(outcome: dict[str, Json]) -> bool:
    """Whether backward failed for want of a derivative, as PyTorch has no second one of `cdist`."""
    return outcome["gradients"].get("backward", {}).get("error") == "NotImplementedError"


def differences(program: Program, expected: dict[str, Json], actual: dict[str, Json]) -> Iterator[Difference]:
    """Everything that two outcomes of a program differ in: first its errors, then its values, then gradients."""
    for step, before, after in zip(program, expected["errors"], actual["errors"]):
        if before != after:
            yield Difference("errors", step.line, "error", before, after)
    dtypes = [seen.get("dtype") for stage in ("values", "gradients") for seen in expected[stage].values()]
    tolerance = max([TOLERANCE[dtype] for dtype in dtypes if dtype in TOLERANCE], default=0.0)  # rounding spreads
    for stage in ("values", "gradients"):
        if stage == "gradients" and lacks_derivative(expected) and not lacks_derivative(actual):
            continue
        for where in expected[stage] | actual[stage]:
            before, after = expected[stage].get(where, {}), actual[stage].get(where, {})
            skipped = uncompared(program, before)
            for field in before | after:
                if field not in skipped and not agree(field, before, after, tolerance):
                    yield Difference(stage, where, field, before.get(field), after.get(field))


def compare(program: Program, torch: ModuleType, module: ModuleType) -> list[Difference]:
    """Run a program on both libraries."""
    return list(differences(program, Run(torch, program).outcome(), Run(module, program).outcome()))
