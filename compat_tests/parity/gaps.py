"""The lists of what is known to fail (``known_gaps.toml`` and ``known_module_gaps.toml``): operators by check."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Iterable
from pathlib import Path

from .result import Result

FILE = Path(__file__).parent.parent / "known_gaps.toml"
_HEADING = """\
# The {what} that are known to differ from PyTorch, by check. The suite fails for {one} that fails and is not
# here, and for one that passes and is here; [causes] says why, and where rounding decides, so that one may pass here
# and fail there. Written by `python -m compat_tests.{program} --update-gaps`.
"""


def read(file: Path = FILE) -> dict[str, frozenset[str]]:
    """The failing operators of each check."""
    return {check: frozenset(names) for check, names in tomllib.loads(file.read_text()).items() if check != "causes"}


def causes(file: Path = FILE) -> dict[str, str]:
    """Why operators differ, by operator."""
    return tomllib.loads(file.read_text()).get("causes", {}) if file.exists() else {}


def updated(gaps: dict[str, frozenset[str]], results: Iterable[Result]) -> dict[str, frozenset[str]]:
    """``gaps`` with every operator that was run in or out of its check's list; what was not run stays as it is."""
    new = {check: set(names) for check, names in gaps.items()}
    for result in results:
        names = new.setdefault(result.check, set())
        (names.add if result.failed else names.discard)(result.operator)
    return {check: frozenset(names) for check, names in new.items() if names}


def write(gaps: dict[str, frozenset[str]], file: Path = FILE) -> None:
    what = "operator" if file == FILE else "module"
    one = "an operator" if file == FILE else "a module"
    parts = [_HEADING.format(what=what + "s", one=one, program="op_parity" if file == FILE else "module_parity")]
    for check in sorted(gaps):
        names = " ".join(f'"{name}",' for name in sorted(gaps[check]))
        lines = textwrap.wrap(names, 120, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
        parts.append(f"\n{check} = [\n" + "\n".join(lines) + "\n]\n")
    known = {name: why for name, why in causes(file).items() if any(name in names for names in gaps.values())}
    if known:
        parts.append("\n[causes]\n" + "".join(f'"{name}" = "{why}"\n' for name, why in sorted(known.items())))
    file.write_text("".join(parts))


def surprise(result: Result, gaps: dict[str, frozenset[str]], file: Path = FILE) -> str:
    """Why a result contradicts the list; empty if it does not."""
    listed = result.operator in gaps.get(result.check, ())
    if result.failed and not listed:
        return f"{result.check}: {result.status}" + "".join(f"\n    {line}" for line in explain(result))
    decided = not causes(file).get(result.operator, "").startswith("rounding decides")
    if listed and decided and result.status == "passed":
        return f"{result.check}: passes now; take it out of {file.name}"
    return ""


def explain(result: Result, most: int = 3) -> list[str]:
    """A few short lines on what went wrong."""
    lines = [result.note] if result.note else []
    for failure in result.failures[:most]:
        lines.append(f"sample {failure.sample}: " + "; ".join(failure.reasons[:2]))
    return lines
