"""What tests of a compiler are written with, as far as it has to do with tests rather than with a compiler."""

from __future__ import annotations

import contextlib
import functools
import unittest
from collections.abc import Callable
from typing import Any

from ..core.state import HoldingItems


class TestCase(unittest.TestCase):
    """A test case; there is no compiler whose state it would reset. What its class enters is left in the end."""

    _exit_stack: contextlib.ExitStack

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls._exit_stack = contextlib.ExitStack()

    @classmethod
    def tearDownClass(cls) -> None:
        cls._exit_stack.close()
        super().tearDownClass()


def run_tests(needs: str | tuple[str, ...] = ()) -> None:
    """Run the tests of the program; those that need what there is not are left out."""
    unittest.main()


class LazyString:
    """A text for a log, which is made when it is read."""

    def __init__(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self) -> str:
        return str(self.func(*self.args, **self.kwargs))


class _Patch(HoldingItems):
    """Inside a `with`, or while a decorated function runs, settings have other values."""

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(f, type):  # a class of tests, of which none reads a setting
            return f

        @functools.wraps(f)
        def run(*args: Any, **kwargs: Any) -> Any:
            with _Patch(self.owner, self.values):
                return f(*args, **kwargs)

        return run


def patching(settings: dict[str, Any]) -> Callable[..., _Patch]:
    """The `patch` of a module of settings. Nobody reads those that it does not have: they may be given a value too."""

    def patch(arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> _Patch:
        values = {**(arg1 if isinstance(arg1, dict) else {} if arg1 is None else {arg1: arg2}), **kwargs}
        for name in values:
            settings.setdefault(name, None)
        return _Patch(settings, values)

    return patch
