"""Whether numbers differ by no more than rounding may make them differ.

A few units in the last place always pass. Beyond that PyTorch itself is the measure: the program runs once more with
everything in float64, and with its data, or all that is computed from them, moved by a unit in the last place. How far
PyTorch's numbers are from those, torchlite's may be too, some times over; a number that jumps then, many times over, if
the line that shows it was not to take only numbers whose every bit is certain.
"""

import math
import re
from dataclasses import replace
from types import ModuleType

from .observe import Json, Tensor
from .program import Program, Run, Step

EPSILON = {
    "torch.float64": 2.0**-52,
    "torch.complex128": 2.0**-52,
    "torch.float32": 2.0**-23,
    "torch.complex64": 2.0**-23,
    "torch.float16": 2.0**-10,
    "torch.bfloat16": 2.0**-7,
}
UNITS = 8  # in the last place of the largest number, which pass without a question
TIMES = 8  # PyTorch's own error
JUMP = 1000  # times what shaking does to a number of which it leaves few digits
CERTAIN = re.compile(r"\{(exact|distinct|small_exact)\d*\}")  # holes for numbers whose every bit is certain
DRAWS = re.compile(r"rand|[Nn]ormal|uniform|bernoulli|multinomial|poisson|exponential|geometric_|cauchy|dropout|nn\.")
NARROW = re.compile(r"torch\.(float32|float16|bfloat16)\b")


def largest(numbers: list[Json]) -> float:
    return max((abs(n) for n in numbers if isinstance(n, float) and math.isfinite(n)), default=0.0)


def off_by(expected: list[Json], actual: list[Json]) -> float:
    """The largest difference between numbers in the same places; infinite where they are not of one kind."""
    if len(expected) != len(actual):
        return math.inf
    return max((apart(e, a) for e, a in zip(expected, actual)), default=0.0)


def apart(one: Json, other: Json) -> float:
    if one == other or (one != one and other != other):
        return 0.0
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) if math.isfinite(one) and math.isfinite(other) else math.inf
    return math.inf


def one_infinity(parts: list[Json]) -> list[Json]:
    """The parts of complex numbers, with one number for all that are not finite.

    PyTorch multiplies by 1 before it adds, so that infinite parts become NaN or not by where vectors end.
    """
    pairs = zip(parts[::2], parts[1::2])
    return [part if math.isfinite(a) and math.isfinite(b) else math.nan for a, b in pairs for part in (a, b)]


def passes(before: dict[str, Json], after: dict[str, Json]) -> bool:
    """Whether values are the same but for a few units in the last place."""
    expected, actual = before.get("values"), after.get("values")
    if expected == actual:
        return True
    if not isinstance(expected, list) or not isinstance(actual, list):
        return False
    if "complex" in before.get("dtype", ""):
        expected, actual = one_infinity(expected), one_infinity(actual)
    slack = UNITS * EPSILON.get(before.get("dtype", ""), 2.0**-52) * (1 + largest(expected))
    return off_by(expected, actual) <= slack


class Truth:
    """What a program gives where nothing is rounded to less than float64. Without PyTorch that is not known."""

    def __init__(self, program: Program, torch: ModuleType | None, outcome: dict[str, Json]):
        drawn = any(DRAWS.search(step.line) for step in program)  # draws in float64 are others
        dtypes = {seen.get("dtype") for stage in ("values", "gradients") for seen in outcome[stage].values()}
        text = " ".join(step.line for step in program)
        dtypes |= set(re.findall(r"torch\.\w*float\w*", text)) | ({"torch.bfloat16"} if "autocast" in text else set())
        self.coarsest = max((EPSILON[dtype] for dtype in dtypes if dtype in EPSILON), default=0.0)
        self.outcome = in_float64(program, torch) if torch and not drawn else {}
        shakes = [(by, everything) for everything in (False, True) for by in (1, -1)]
        self.shaken = [Shaken(torch, program, *shake).outcome() for shake in shakes] if torch else []
        self.certain = CERTAIN.search(program[-1].op) is not None

    def allows(self, stage: str, where: str, before: dict[str, Json], after: dict[str, Json]) -> bool:
        """Whether a difference in values is no larger than PyTorch's own from the truth lets expect."""
        expected, actual = before.get("values"), after.get("values")
        if not isinstance(expected, list) or not isinstance(actual, list):
            return False
        scale = 1 + largest(expected)
        slack = UNITS * self.coarsest * scale * (1 if self.outcome else TIMES)
        own_each = [0.0] * len(expected)  # how far each number is from what it is when shaken
        for other, most in ((self.outcome, math.inf), *((run, math.sqrt(self.coarsest)) for run in self.shaken)):
            near = other.get(stage, {}).get(where, {}).get("values")
            if not isinstance(near, list) or len(near) != len(expected):
                continue
            own = off_by(expected, near)
            if math.isfinite(own) and own <= most * scale:
                slack = max(slack, TIMES * own)
            if other is not self.outcome and not self.certain:
                own_each = [max(far, apart(e, n)) for far, e, n in zip(own_each, expected, near)]
        if len(expected) != len(actual):
            return False
        return all(apart(e, a) <= max(slack, self.jump(e, own)) for e, a, own in zip(expected, actual, own_each))

    def jump(self, number: Json, own: float) -> float:
        """How far a number may jump that a unit in the last place of the data moves so far."""
        if not isinstance(number, float) or own <= math.sqrt(self.coarsest) * abs(number):
            return 0.0
        return JUMP * own if own <= abs(number) / 100 else math.inf


def is_fresh(made: Tensor) -> bool:
    """Whether a tensor's numbers were rounded when it was made, and nobody else shows them."""
    return str(made.dtype) in EPSILON and made._base is None and not made.is_inference() and made.is_contiguous()


class Shaken(Run):
    """A run whose data, or `everything` that is computed, are a unit in the last place larger and smaller, in turns."""

    def __init__(self, torch: ModuleType, program: Program, by: int, everything: bool = False):
        self.by, self.everything = by, everything
        super().__init__(torch, program)

    def step(self, step: Step) -> Exception | None:
        before = {id(t): t._version for t in self.fresh()}
        error = super().step(step)
        made = None if error else self.namespace.get(step.name)
        if "{data}" in step.op and made is not None and not step.mode:
            self.shake(made.detach())
        elif self.everything and not error:
            for t in self.fresh():
                if before.get(id(t)) != t._version:  # it was made, or written to
                    self.shake(t.data)
        return error

    def fresh(self) -> list[Tensor]:
        return [t for t in self.tensors().values() if is_fresh(t)] if self.everything else []

    def shake(self, made: Tensor) -> None:
        if made._is_zerotensor():
            return
        data = made.view(-1)
        signs = self.torch.tensor([self.by * (-1) ** i for i in range(data.numel())], dtype=data.dtype)
        data.mul_(1 + signs * EPSILON[str(data.dtype)])


def in_float64(program: Program, torch: ModuleType) -> dict[str, Json]:
    """The outcome in PyTorch of a program whose dtypes are all float64 or complex128."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return Run(torch, tuple(map(widened, program))).outcome()
    finally:
        torch.set_default_dtype(before)


def widened(step: Step) -> Step:
    """A step with float64 in place of every narrower dtype."""

    def wide(text: str) -> str:
        text = NARROW.sub("torch.float64", text).replace("complex64", "complex128")
        return re.sub(r"\.(float|half|bfloat16)\(\)", ".double()", text)

    mode = re.sub(r'torch\.autocast\("cpu"(, dtype=[\w.]+)?\)', "torch.enable_grad()", step.mode)
    return replace(step, op=wide(step.op), fills={k: wide(v) for k, v in step.fills.items()}, mode=wide(mode))
