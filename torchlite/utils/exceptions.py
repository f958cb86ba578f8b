"""Exceptions that cross threads and processes."""

from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn

from ..core.values import reduce_ex, shown_in


@shown_in("torch._utils")
class ExceptionWrapper:
    """An exception as what it says, to be raised again elsewhere."""

    __reduce_ex__ = reduce_ex

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        exc_info = exc_info or sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise an exception of the same class that says where it came from, traceback and all."""
        said = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            said = _Message(said)  # of which a KeyError shows the repr
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=said)
        try:
            exception = self.exc_type(said)
        except Exception:
            raise RuntimeError(said) from None  # a class that wants other arguments
        raise exception


class _Message(str):
    def __repr__(self) -> str:
        return str(self)
