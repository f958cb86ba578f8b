"""`torch._utils_internal`: what surroundings decide, and `deprecated`."""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEST_MASTER_ADDR = "127.0.0.1"
TEST_MASTER_PORT = 29500
USE_GLOBAL_DEPS = True

_HERE = os.path.dirname(__file__)


def get_file_path(*path_components: str) -> str:
    """A path beside the package."""
    return os.path.join(os.path.dirname(_HERE), *path_components)


def get_file_path_2(*path_components: str) -> str:
    return os.path.join(*path_components)


def get_writable_path(path: str) -> str:
    """`path`, or where it cannot be written to, a new folder that can."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=Path(path).name)


def prepare_multiprocessing_environment(path: str) -> None:
    """Nothing needs to be prepared."""


def resolve_library_path(path: str) -> str:
    return os.path.realpath(path)


def deprecated() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """For a function named `_name`: its module gets a `name` that does the same and warns."""

    def decorator(func: Callable[..., Any]) -> Callable[..., Any]:
        name = func.__name__
        if not name.startswith("_"):
            raise AssertionError("the name of a deprecated function must begin with an underscore")
        public = name[1:]
        module = sys.modules[func.__module__]
        if hasattr(module, public):
            raise AssertionError(f"Name {public} already exists in module {func.__module__}")

        @functools.wraps(func)
        def warned(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(f"{public} is DEPRECATED, please consider using an alternative API(s). ", UserWarning, 2)
            return func(*args, **kwargs)

        warned.__name__ = warned.__qualname__ = public
        setattr(module, public, warned)
        return func

    return decorator
