"""Where two libraries part over a call, and what such calls have in common."""

from __future__ import annotations

import dataclasses
import re

from .call import Call
from .children import PATIENCE, Outcome

# From what ends a program to what only reads otherwise.
CLASSES = ("crash", "hang", "accepted", "refused", "type", "text")
GRAVE = ("crash", "hang", "accepted")

_NAMES = re.compile(r"^[\w.]+\(\)[:,]? ?|(?<=, not )[\w.]+|'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)|-?\d[\d.e+-]*|0x")


@dataclasses.dataclass(frozen=True)
class Finding:
    """One call of which the libraries do not do the same."""

    name: str
    call: Call
    kind: str
    theirs: Outcome
    mine: Outcome

    @property
    def cause(self) -> str:
        """What it shares with others: the errors without names and numbers."""
        said = [f"{o.error}: {_NAMES.sub('_', o.text)}"[:110] if o.error else str(o) for o in (self.theirs, self.mine)]
        return " | ".join(said)


def kind_of(theirs: Outcome, mine: Outcome) -> str | None:
    """How the outcomes differ; None where they agree, or where PyTorch is no measure."""
    if "unmade" in (theirs.kind, mine.kind):
        return None
    if mine.kind == "killed":
        return None if theirs.kind == "killed" else "crash"
    if mine.kind == "hung":
        return "hang" if theirs.kind in ("raised", "returned") and theirs.seconds < PATIENCE / 5 else None
    if theirs.kind not in ("raised", "returned"):
        return None
    if mine.kind != theirs.kind:
        return "accepted" if mine.kind == "returned" else "refused"
    if mine.error != theirs.error:
        return "type"
    return "text" if mine.text != theirs.text else None
