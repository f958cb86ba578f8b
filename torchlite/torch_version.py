"""`torch.torch_version`: a version that compares with other versions."""

from __future__ import annotations

import re
from typing import Any

from .version import __version__ as _version

__all__ = ["TorchVersion"]


def _key(version: Any) -> tuple[Any, ...]:
    """What decides which of two versions is the later: numbers, then whether it is no release but before one."""
    if isinstance(version, str):
        match = re.fullmatch(r"v?(\d+(?:\.\d+)*)(.*?)(\+.*)?", version.strip())
        if match is None:
            raise ValueError(f"Invalid version: '{version}'")
        numbers = [int(n) for n in match[1].split(".")]
        before = bool(re.match(r"[-_.]?(a|b|rc|alpha|beta|c|pre|preview|dev)", match[2]))
        local = match[3] or ""
    else:
        numbers, before, local = [int(n) for n in version], False, ""
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), not before, local


class TorchVersion(str):
    """A version as text, which compares as a version with text, tuples and other versions."""

    def __lt__(self, other: Any) -> bool:
        return _key(str(self)) < _key(other)

    def __le__(self, other: Any) -> bool:
        return _key(str(self)) <= _key(other)

    def __gt__(self, other: Any) -> bool:
        return _key(str(self)) > _key(other)

    def __ge__(self, other: Any) -> bool:
        return _key(str(self)) >= _key(other)

    def __eq__(self, other: object) -> bool:
        try:
            return _key(str(self)) == _key(other)
        except (TypeError, ValueError):
            return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(_version)
