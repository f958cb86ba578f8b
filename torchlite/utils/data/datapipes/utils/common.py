"""Files by their names, and streams that close themselves."""

from __future__ import annotations

import fnmatch
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .....core.values import warn

__all__ = [
    "StreamWrapper", "get_file_binaries_from_pathnames", "get_file_pathnames_from_root", "match_masks",
    "validate_input_col", "validate_pathname_binary_tuple",
]  # fmt: skip


def validate_input_col(fn: Callable[..., Any], input_col: Any) -> None:
    """Check that a function takes as many arguments as there are columns to give it; none is one sample."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:  # a function of an extension that does not tell
        return
    given = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY)]
    by_keyword = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    required = sum([p.default is p.empty for p in named])
    forced = sum([p.default is p.empty for p in by_keyword])
    said = None
    if forced:
        said = f"{forced} non-default keyword-only parameters, which is not allowed."
    elif not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        if len(named) + len(by_keyword) < given:
            said = f"{len(named) + len(by_keyword)} parameters, but {given} are required."
        elif not required <= given <= len(named):
            said = f"{required if given < required else len(named)} positional parameters, but {given} are required."
    elif required > given:
        said = f"{required} positional parameters, but {given} are required."
    if said is not None:
        inner = getattr(fn, "func", fn)
        raise ValueError(f"The function {getattr(inner, '__name__', inner)} takes {said}")


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name fits one of the patterns; no pattern fits all."""
    return not masks or any(fnmatch.fnmatch(name, mask) for mask in ([masks] if isinstance(masks, str) else masks))


def get_file_pathnames_from_root(
    root: str, masks: str | list[str], recursive: bool = False, abspath: bool = False, non_deterministic: bool = False
) -> Iterator[str]:
    """The paths of the files in a folder, or of the one that is named, in the order of their names."""

    def tell(error: OSError) -> None:
        warn(f"{error.filename} : {error.strerror}")
        raise error

    if os.path.isfile(root):
        path = os.path.abspath(root) if abspath else root
        if match_masks(os.path.basename(path), masks):
            yield path
        return
    for folder, folders, files in os.walk(root, onerror=tell):
        if not non_deterministic:
            files.sort()
            folders.sort()
        here = os.path.abspath(folder) if abspath else folder
        yield from (os.path.join(here, name) for name in files if match_masks(name, masks))
        if not recursive:
            return


def get_file_binaries_from_pathnames(
    pathnames: Iterable[str], mode: str, encoding: str | None = None
) -> Iterator[tuple[str, StreamWrapper]]:
    """Pairs of a path and the file there."""
    mode = f"r{mode}" if mode in ("b", "t") else mode
    for path in pathnames:
        if not isinstance(path, str):
            raise TypeError(f"Expected string type for pathname, but got {type(path)}")
        yield path, StreamWrapper(open(path, mode, encoding=encoding), name=path)  # noqa: SIM115


def validate_pathname_binary_tuple(data: Any) -> None:
    """Check for a pair of a path and a file."""
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(f"pathname within the tuple should have string type pathname, but it is type {type(data[0])}")
    if not hasattr(data[1], "read"):
        raise TypeError(f"binary stream within the tuple should have a read method, but it is type {type(data[1])}")


class StreamWrapper:
    """A file that is closed when nobody holds it any more."""

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        self.file_obj = file_obj
        self.parent_stream = parent_stream
        self.name = name
        self.closed = False

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close all such files in lists and dicts."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        else:
            for part in v.values() if isinstance(v, dict) else v if isinstance(v, (list, tuple)) else ():
                cls.close_streams(part, depth + 1)

    def close(self, *args: Any, **kwargs: Any) -> None:
        if not self.closed:
            self.closed = True
            self.file_obj.close(*args, **kwargs)

    autoclose = close

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.file_obj)})

    def __del__(self) -> None:
        if "closed" in self.__dict__:
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        return f"StreamWrapper<{self.file_obj if self.name is None else self.name}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, file_obj: Any) -> None:
        self.__init__(file_obj)  # type: ignore[misc]
