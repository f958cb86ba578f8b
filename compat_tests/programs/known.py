"""Differences that are known, each with its cause, as which they are counted: apart from those nobody has explained.

An entry tells what it explains by looking at the program, whose last line made the difference, and at what differs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from .compare import Difference
from .program import Program


@dataclass(frozen=True)
class Known:
    """One cause for which the libraries differ."""

    name: str
    cause: str
    explains: Callable[[Program, Difference], bool]


def anywhere(program: Program, pattern: str) -> bool:
    return any(re.search(pattern, step.line) for step in program)


CHANCE = Known("chance", "PyTorch gives something else every time: memory that nobody has written", lambda *_: False)
CRASH = Known("crash", "PyTorch itself crashes on the program, or takes longer than a minute", lambda *_: False)
KNOWN = (
    Known(
        "versions in inference mode",
        "results computed from inference tensors count the inner writes of PyTorch's kernels, and show them as bases",
        lambda program, d: d.field in ("_version", "_base", "_is_view()") and anywhere(program, "inference_mode"),
    ),
    Known(
        "versions of gradients",
        "the engine adds in place to what C++ counts no other reference to",
        lambda program, d: d.field == "_version" and anywhere(program, r"\.grad\b"),
    ),
    Known(
        "empty views",
        "an empty slice may start beyond the memory, which NumPy cannot say, and no element is there",
        lambda program, d: d.field in ("storage_offset()", "shares memory with") and 0 in d.shape,
    ),
    Known(
        "second derivatives",
        "PyTorch has no derivative there, and torchlite has",
        lambda program, d: (
            d.stage == "gradients" and bool(re.search("NotImplementedError|derivative for|not impl", str(d.expected)))
        ),
    ),
)


def explanation(program: Program, difference: Difference) -> Known | None:
    """The first entry that explains a difference."""
    return next((known for known in KNOWN if known.explains(program, difference)), None)


CAUSES = {known.name: known.cause for known in (CHANCE, CRASH, *KNOWN)}
