"""Where a program is: the frames of Python's stack, kept to be read later."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any

__all__ = ["CapturedTraceback", "gather_traceback", "symbolize_tracebacks"]


class CapturedTraceback:
    """A stack, the innermost frame first."""

    def __init__(self, frames: list[tuple[CodeType, int]]) -> None:
        self._frames = frames


def gather_traceback(python: bool = True, script: bool = True, cpp: bool = True) -> CapturedTraceback:
    """The stack of who calls, which costs little until it is read."""
    frames = []
    frame: FrameType | None = sys._getframe(1)
    while python and frame is not None:
        frames.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return CapturedTraceback(frames)


def symbolize_tracebacks(arg0: list[CapturedTraceback]) -> list[list[dict[str, Any]]]:
    """Stacks as text: each frame with its function, file and line."""
    return [
        [{"name": code.co_name, "filename": code.co_filename, "line": line} for code, line in each._frames]
        for each in arg0
    ]
