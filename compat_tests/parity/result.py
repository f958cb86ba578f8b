"""What is asked of a worker and what it answers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from .catalog import family_of
from .checks import CHECKS


@dataclass(frozen=True)
class Task:
    """One check of one operator in one dtype (``none`` where the check has none)."""

    operator: str
    check: str
    dtype: str
    backend: str | None = None

    @property
    def label(self) -> str:
        """The name of the check, as in the list of known gaps."""
        return label(self.check, self.dtype, self.backend)


def label(check: str, dtype: str, backend: str | None = None) -> str:
    fixed = CHECKS[check].dtype is not None
    return "_".join(filter(None, (backend, check, None if fixed else dtype)))


@dataclass(frozen=True)
class Failure:
    """A sample on which the libraries differ."""

    sample: int
    reasons: list[str]


@dataclass
class Result:
    """What came of a task; ``note`` says why nothing ran.

    The status is ``passed``, ``failed``, ``missing`` (no such name), ``crashed`` or ``timeout`` (the process ended, or
    was ended), ``unsupported`` (the library lacks what the check needs) or ``inapplicable`` (the check says nothing
    about this operator or dtype).
    """

    operator: str
    check: str
    status: str
    note: str = ""
    samples: int = 0
    passed: int = 0
    raised: int = 0
    left_out: int = 0
    minor: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def family(self) -> str:
        return family_of(self.operator)

    @property
    def failed(self) -> bool:
        return self.status in ("failed", "missing", "crashed", "timeout")

    def as_json(self) -> dict[str, Any]:
        return {"family": self.family, **asdict(self)}
