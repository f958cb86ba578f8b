"""The table of lines, `table.toml`, read."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from random import Random

_HOLE = re.compile(r"(?<!\{)\{([a-z_]+)\d*\}")


@dataclass(frozen=True)
class Family:
    """Rows of one kind: how often they are drawn, and whether a row's value gets a name or it is a statement."""

    weight: int
    rows: tuple[str, ...]
    binds: bool = True

    @classmethod
    def of(cls, entry: dict) -> "Family":
        return cls(entry["weight"], tuple(entry["rows"].strip().splitlines()), entry.get("binds", True))


_read = tomllib.loads(Path(__file__).with_name("table.toml").read_text())
GRAMMAR = {name: tuple(text.split()) for name, text in _read.pop("words").items()}
GRAMMAR |= {name: tuple(text.strip().splitlines()) for name, text in _read.pop("phrases").items()}
ROOTS, LEAVES, TRUNKS = (Family.of(_read.pop(name)) for name in ("roots", "leaves", "trunks"))
FAMILIES = {name: Family.of(entry) for name, entry in _read.items()}


def expand(row: str, rng: Random) -> str:
    """A row with words and phrases in the holes that are named after them."""
    found = next((hole for hole in _HOLE.finditer(row) if hole[1] in GRAMMAR), None)
    while found:
        row = row[: found.start()] + rng.choice(GRAMMAR[found[1]]) + row[found.end() :]
        found = next((hole for hole in _HOLE.finditer(row) if hole[1] in GRAMMAR), None)
    return row
