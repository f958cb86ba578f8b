"""What entries of `known.py` look at: of a difference, of a program, of what PyTorch makes of it."""

import importlib
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .compare import Difference
from .observe import Json, numbers
from .program import Program, Run
from .rounding import largest, off_by


def anywhere(program: Program, pattern: str) -> bool:
    return any(re.search(pattern, step.line) for step in program)


def permuted(d: Difference) -> bool:
    """Whether the same elements lie in memory, in another order of dimensions, or one that lies there once is shown."""
    if not listed(d):
        return False
    kept = [i for i, steps in enumerate(zip(d.expected, d.actual)) if any(steps)]  # neither has expanded
    shape, expected, actual = (tuple(of[i] for i in kept) for of in (d.shape, d.expected, d.actual))
    return (0 in expected or dense(shape, expected)) and dense(shape, actual)


def row_by_row(d: Difference) -> bool:
    """Whether torchlite's elements lie so."""
    return d.actual == [math.prod(d.shape[i + 1 :]) for i in range(len(d.shape))]


def dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements fill one stretch of memory, each a place of its own."""
    step = 1
    for s, n in sorted((s, n) for s, n in zip(strides, shape) if n > 1):
        if s != step:
            return 0 in shape
        step *= n
    return True


def says(said: Json, pattern: str) -> bool:
    return isinstance(said, str) and re.search(pattern, said) is not None


def where_it_matters(shape: tuple[int, ...], expected: Json, actual: Json) -> bool:
    """Whether strides agree along all dimensions of more than one element."""
    if not isinstance(expected, list) or not isinstance(actual, list):
        return False
    return all(a == b for n, a, b in zip(shape, expected, actual) if n > 1)


def all_zero(d: Difference) -> bool:
    return d.actual is None and (d.field != "values" or not any(d.expected))


def close(d: Difference, by: float) -> bool:
    """Whether numbers differ by no more than that, measured by the largest."""
    return d.field == "values" and listed(d) and off_by(d.expected, d.actual) <= by * (1 + largest(d.expected))


def all_apart(d: Difference, beginning: str) -> bool:
    """Whether all warnings that are not given by both begin so."""
    apart = [said for said in (*d.expected, *d.actual) if (said in d.expected) != (said in d.actual)]
    return all(said.startswith(f"UserWarning: {beginning}") for said in apart)


def tells_of_detached(d: Difference) -> bool:
    return says(d.expected, "detached in-place") or says(d.actual, "detached in-place")


def listed(d: Difference) -> bool:
    """Whether both libraries give numbers."""
    return isinstance(d.expected, list) and isinstance(d.actual, list)


def half_turns(d: Difference) -> bool:
    """Whether numbers differ only where one is an angle on the other side of the cut, or no angle."""
    turns = (0.0, math.pi)
    return all(
        a == b or all(isinstance(n, float) and any(abs(abs(n) - t) < 1e-2 for t in turns) for n in (a, b))
        for a, b in zip(d.expected, d.actual)
    )


def nothing_instead(d: Difference) -> bool:
    """Whether numbers differ only where torchlite has 0, or 0 / 0."""
    return all(a == b or b in (0.0, None) or b != b for a, b in zip(d.expected, d.actual))


def numbered_otherwise(d: Difference) -> bool:
    """Whether names of nodes differ in their last number alone, by which PyTorch tells overloads apart."""
    if not listed(d) or not all(says(name, "Backward") for name in (*d.expected, *d.actual)):
        return False
    expected, actual = ([name.rstrip("0123456789") for name in names] for names in (d.expected, d.actual))
    return bool(expected) and expected == actual


def resizes(program: Program) -> bool:
    """Whether the last line resizes what is given as `out=`, of which PyTorch warns where there was something."""
    run = Run(importlib.import_module("torch"), program[:-1])
    shapes = {name: t.shape for name, t in run.tensors().items()}
    run.step(program[-1])
    changed = any(t.shape != shapes.get(name, t.shape) for name, t in run.tensors().items())
    return changed or "was resized" in str(run.warned[-1])


def operands_differ(program: Program) -> bool:
    """Whether what the last line takes is not the same to the last bit."""
    runs = [Run(importlib.import_module(name), program[:-1]) for name in ("torch", "torchlite")]
    ours, theirs = ({name: repr(numbers(t)) for name, t in run.tensors().items()} for run in runs)
    return any(ours.get(name) != theirs.get(name) for name in program[-1].fills.values())


def reshapes_unrecorded(program: Program) -> bool:
    """Whether a line gives a tensor with a history, or a leaf that requires grad, another shape unrecorded."""
    run = Run(importlib.import_module("torch"))
    recorded: set[str] = set()
    for step in program:
        recorded |= {name for name, t in run.tensors().items() if t.requires_grad}
        before = {name: t.shape for name, t in run.tensors().items() if name in recorded}
        run.step(step)
        changed = [t for name, t in run.tensors().items() if t.shape != before.get(name, t.shape)]
        unrecorded = "out=" in step.line or re.search("no_grad|inference", step.mode)
        if any(unrecorded or not t.requires_grad for t in changed):
            return True
    return False


def refused(program: Program) -> bool:
    """Whether PyTorch refuses the last line."""
    return Run(importlib.import_module("torch"), program).errors[-1] is not None


def taken(program: Program) -> list[Any]:
    """The tensors that the last line takes, in PyTorch."""
    tensors = Run(importlib.import_module("torch"), program[:-1]).tensors()
    return [tensors[name] for name in program[-1].fills.values() if name in tensors]


def takes_inference(program: Program) -> bool:
    """Whether the last line takes an inference tensor that requires grad."""
    return any(t.is_inference() and t.requires_grad for t in taken(program))


def overlapping(t: Any) -> bool:
    """Whether some elements of a tensor lie in one place."""
    steps = [[s * i for i in range(n)] for n, s in zip(t.shape, t.stride())]
    return len(set(map(sum, itertools.product(*steps)))) < t.numel()


def takes_overlapping(program: Program) -> bool:
    """Whether the last line takes a tensor some of whose elements lie in one place."""
    return any(map(overlapping, taken(program)))


def writes_overlapping(program: Program) -> bool:
    """Whether the last line writes to such a tensor."""
    run = Run(importlib.import_module("torch"), program[:-1])
    versions = [(t, t._version) for t in run.tensors().values() if not t.is_inference() and overlapping(t)]
    run.step(program[-1])
    return any(t._version != version for t, version in versions)


def tied(program: Program, d: Difference) -> bool:
    """Whether the places that differ, along the last dimension of what the last line takes, hold equal elements."""
    t = taken(program)[0]
    wanted, found = (importlib.import_module("torch").tensor(of).reshape(d.shape) for of in (d.expected, d.actual))
    return t.dim() == len(d.shape) and bool((t.gather(-1, wanted) == t.gather(-1, found)).all())


def packed(program: Program) -> bool:
    return any("saved_tensors_hooks" in step.mode for step in program)


def over_an_operand(program: Program) -> bool:
    """Whether `out=` shows the memory of another operand of the last line."""
    if "overlapping" in program[-1].fills:
        return True
    tensors = Run(importlib.import_module("torch"), program[:-1]).tensors()
    places = [tensors[name].untyped_storage().data_ptr() for name in program[-1].fills.values() if name in tensors]
    return len(set(places)) < len(places)


def overwritten(program: Program) -> bool:
    """Whether PyTorch refuses a program's backward where no hooks keep what it has saved."""
    plain = tuple(replace(step, mode="") if "save" in step.mode else step for step in program)
    return "modified by an inplace operation" in str(Run(importlib.import_module("torch"), plain).outcome())


def _pairs_apart(d: Difference) -> list[tuple[float, float]]:
    """The elements that differ, PyTorch's and torchlite's; none where these are no lists of as many numbers."""
    if not listed(d) or len(d.expected) != len(d.actual):
        return []
    return [(a, b) for a, b in zip(d.expected, d.actual) if a != b and (a == a or b == b)]


def nan_for_zero(d: Difference) -> bool:
    """Whether nothing differs but NaN in place of zeros."""
    apart = _pairs_apart(d)
    return bool(apart) and all(a == 0 and b != b for a, b in apart)


def nan_for_infinity(d: Difference) -> bool:
    """Whether nothing differs but NaN in place of what is infinite, or the other way about."""
    apart = _pairs_apart(d)
    return bool(apart) and all({math.isinf(a), math.isinf(b)} == {True, False} and (a != a or b != b) for a, b in apart)


def finite(d: Difference) -> Difference:
    """The difference without what is infinite or no number in both libraries."""
    pairs = [(a, b) for a, b in zip(d.expected, d.actual) if math.isfinite(a) or math.isfinite(b)]
    return replace(d, expected=[a for a, _ in pairs], actual=[b for _, b in pairs])


def same_but_for_signs(d: Difference) -> bool:
    sizes = [[abs(n) if isinstance(n, float) else n for n in numbers] for numbers in (d.expected, d.actual)]
    return off_by(*sizes) <= 1e-6 * (1 + largest(d.expected))
