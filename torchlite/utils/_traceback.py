"""Tracebacks: kept for later, in one line, and of code that was compiled from a text, which they then show."""

from __future__ import annotations

import ast
import itertools
import linecache
import sys
import traceback
from collections.abc import Iterable
from contextlib import AbstractContextManager
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

__all__ = ["CapturedTraceback", "format_frame", "format_traceback_short", "report_compile_source_on_error"]

_numbers = itertools.count()


class CapturedTraceback:
    """The frames that led to a place. Their lines are read when they are asked for."""

    __slots__ = ("skip", "tb")

    def __init__(self, tb: traceback.StackSummary | None, skip: int = 0) -> None:
        self.tb, self.skip = tb, skip

    @classmethod
    def extract(cls, *, script: bool = False, cpp: bool = False, skip: int = 0) -> Self:
        """Those of the caller, without its innermost `skip`. There are none of TorchScript or C++ here."""
        frames = [(frame, line) for frame, line in traceback.walk_stack(sys._getframe(1))][skip:]
        return cls(traceback.StackSummary.extract(reversed(frames), lookup_lines=False), skip)

    def cleanup(self) -> None:
        """Forget the frames."""
        self.tb = None

    def summary(self) -> traceback.StackSummary:
        """The frames, the innermost last."""
        return traceback.StackSummary() if self.tb is None else self.tb

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {"tb": None, "skip": self.skip}

    def format(self) -> list[str]:
        """The frames as a traceback shows them."""
        return traceback.format_list(self.summary())

    @staticmethod
    def format_all(tbs: Iterable[CapturedTraceback | None]) -> list[list[str] | None]:
        """Several of these, at once."""
        return [None if tb is None else tb.format() for tb in tbs]


def format_frame(frame: traceback.FrameSummary, *, base: str | None = None, line: bool = False) -> str:
    """A frame in one line, with its own line in front if that is wanted."""
    shown = f"{frame.line}  # " if line else ""
    return f"{shown}{(frame.filename or '').removeprefix(base or '')}:{frame.lineno} in {frame.name}"


def format_traceback_short(tb: TracebackType | None) -> str:
    """The innermost frame of a traceback, in one line."""
    return format_frame(traceback.extract_tb(tb)[-1])


# ---- code of a text


class report_compile_source_on_error(AbstractContextManager[None]):
    """Errors that come from code with a `__compile_source__` among its globals show the lines of that text."""

    def __exit__(self, kind: Any, error: BaseException | None, tb: TracebackType | None) -> None:
        if not isinstance(error, Exception):
            return
        frames = []
        while tb is not None:
            frames.append(tb)
            tb = tb.tb_next
        shown = None
        for at in reversed(frames):
            text = at.tb_frame.f_globals.get("__compile_source__")
            frame, last = (at.tb_frame, at.tb_lasti) if text is None else _frame_in(text, at)
            shown = TracebackType(shown, frame, last, at.tb_lineno)
        error.__traceback__ = shown


def _frame_in(text: str, tb: TracebackType) -> tuple[FrameType, int]:
    """A frame that says it is at the place of one, but in a file that has this text; and its last instruction."""
    name = f"<compiled text {next(_numbers)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    taken: list[tuple[FrameType, int]] = []

    def take() -> None:
        frame = sys._getframe(1)
        taken.append((frame, frame.f_lasti))

    exec(_calling_at(tb, name), {"take": take})
    return taken[0]


def _calling_at(tb: TracebackType, filename: str) -> CodeType:
    """Code that calls `take` where a frame has stopped."""
    code = tb.tb_frame.f_code
    line, end, start, stop = next(itertools.islice(code.co_positions(), tb.tb_lasti // 2, None))
    place: dict[str, Any] = {"lineno": line, "end_lineno": end, "col_offset": start, "end_col_offset": stop}
    call = ast.Call(ast.Name("take", ast.Load(), **place), [], [], **place)
    tree = ast.Module([ast.Expr(call, **place)], [])
    return compile(tree, filename, "exec").replace(co_name=code.co_name, co_qualname=code.co_qualname)
