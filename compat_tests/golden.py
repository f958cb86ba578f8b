"""Golden values: what real torch did with small inputs, recorded so that a machine without torch can compare with it.

``python -m compat_tests.golden`` records ``compat_tests/golden/FAMILY.json`` and ``.npz``; :func:`recorded` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .parity import catalog
from .parity.checks import CHECKS, observe
from .parity.compare import Difference, differences
from .parity.library import Library
from .parity.neutral import Input, Name, Raised, Sequence, Unconvertible, inputs_in
from .parity.operation import Case, Operation, Variants
from .parity.process import fix_hashes
from .parity.store import Reader, Writer

_FOLDER = Path(__file__).parent / "golden"
# How many cases of an operator are recorded in each check.
_CHECKS = {
    "forward_float32": 2,
    "grad_float32": 2,
    "forward_int64": 1,
    "forward_bool": 1,
    "forward_bfloat16": 1,
    "forward_complex64": 1,
}
_ASPECTS = ("result", "sharing", "requires_grad", "gradients")
# Inputs with more elements are cropped to this size along each dimension, where the operator allows it.
_ELEMENTS = 60
_SIZE = 3
# A case that stays larger than this is left out.
_MOST_ELEMENTS = 600


@dataclass(frozen=True, eq=False)
class Record:
    """A call and what torch did with it."""

    operator: str
    check: str
    function: Name
    case: Case
    expected: Any

    def differences(self, library: Library) -> list[Difference]:
        """Where another library does something else."""
        operation = Operation(self.operator, Variants(self.operator, self.function))
        seen = _aspects(observe(CHECKS[self.check.partition("_")[0]], library, operation, self.case))
        found = differences(self.expected, seen, catalog.rule_of(self.operator, self.case))
        return [difference for difference in found if not difference.minor]


def _aspects(seen: Any) -> Any:
    return {aspect: seen[aspect] for aspect in _ASPECTS if aspect in seen} if isinstance(seen, dict) else seen


def recorded() -> Iterator[Record]:
    """Every record of every family."""
    for file in sorted(_FOLDER.glob("*.json")):
        reader = Reader(file)
        for line in reader.lines:
            yield Record(
                operator=line["operator"],
                check=line["check"],
                function=Name(line["function"]),
                case=Case(line["sample"], reader.decode(line["arguments"]), reader.decode(line["keywords"])),
                expected=reader.decode(line["expected"]),
            )


def record(families: Iterable[str]) -> None:
    """Asks torch and writes the files of some families."""
    from torchlite.testing.progress import progress

    from . import op_parity
    from .parity.pool import reference_library

    library = reference_library()
    _FOLDER.mkdir(exist_ok=True)
    for family in families:
        writer = Writer()
        lines = []
        for name in progress(op_parity.operators(in_families=[family]), name=str):
            for check in _CHECKS:
                lines += _records(name, check, library, writer)
        if lines:
            writer.save(_FOLDER / f"{family}.json", lines)


def _records(name: str, label: str, library: Library, writer: Writer) -> Iterator[dict[str, Any]]:
    """The lines for one check of an operator that goes by a public name."""
    from . import op_parity
    from .parity import samples
    from .parity.run import applies

    check, dtype = op_parity.parse_check(label)
    operation = samples.operation(name)
    function = next((form for form in (operation.main.function, operation.main.method) if isinstance(form, Name)), None)
    if function is None or not applies(CHECKS[check], operation, dtype) or not catalog.has_values(name):
        return
    plain = Operation(name, Variants(name, function))
    for original in _spread(samples.cases(name, "samples", dtype), _CHECKS[label]):
        case = _cropped(original)
        expected = observe(CHECKS[check], library, plain, case)
        if isinstance(expected, Raised):
            case, expected = original, observe(CHECKS[check], library, plain, original)
        if expected is None or _elements(case) > _MOST_ELEMENTS:
            continue
        try:
            yield {
                "operator": name,
                "check": label,
                "function": function.path,
                "sample": case.index,
                "arguments": writer.encode(case.arguments),
                "keywords": writer.encode(case.keywords),
                "expected": writer.encode(_aspects(expected)),
            }
        except Unconvertible:
            continue


def _spread(cases: Iterable[Case], count: int) -> list[Case]:
    """The first and the last of the cases that have a plain result."""
    plain = [case for case in cases if not case.left_out and case.differentiated is None]
    return [plain[0], plain[-1]][: min(count, len(plain))] if plain else []


def _elements(case: Case) -> int:
    return sum(spec.storage.size for spec in inputs_in(case.arguments, case.keywords))


def _cropped(case: Case) -> Case:
    """The case with smaller inputs, if they are large."""
    if _elements(case) <= _ELEMENTS:
        return case
    made: dict[int, Input] = {}
    return replace(case, arguments=_crop(case.arguments, made), keywords=_crop(case.keywords, made))


def _crop(tree: Any, made: dict[int, Input]) -> Any:
    match tree:
        case Input():
            if id(tree) not in made:
                corner = tree.values[tuple(slice(_SIZE) for _ in tree.shape)]
                made[id(tree)] = Input.of(corner, tree.dtype, tree.requires_grad)
            return made[id(tree)]
        case Sequence(items=items):
            return replace(tree, items=tuple(_crop(item, made) for item in items))
        case dict():
            return {key: _crop(item, made) for key, item in tree.items()}
    return tree


if __name__ == "__main__":
    fix_hashes()
    record(catalog.ci()["families"])
