"""What a pickle names, found by looking at its opcodes: nothing is made or called."""

from __future__ import annotations

import pickle
import pickletools
from typing import Any

from . import allowed
from .interpreter import OPCODES, present_name

_ARGUMENTS = {ord(op.code): op.arg.n if op.arg else 0 for op in pickletools.opcodes}
_COUNTED = {pickletools.TAKEN_FROM_ARGUMENT1: 1, pickletools.TAKEN_FROM_ARGUMENT4U: 4}


def names_in(file: Any) -> set[tuple[str, str]]:
    """The modules and names of all that the pickle in a file names."""
    found: set[tuple[str, str]] = set()
    while code := file.read(1):
        if code == pickle.STOP:
            return found
        if code[0] not in OPCODES:
            raise pickle.UnpicklingError(f"Unsupported operand {code[0]}")
        if code == pickle.GLOBAL:
            module, name = (file.readline().removesuffix(b"\n").decode("utf-8", "replace") for _ in range(2))
            found.add(present_name(module, name))
            continue
        length = _ARGUMENTS[code[0]]
        if length in _COUNTED:
            length = int.from_bytes(file.read(_COUNTED[length]), "little")
        file.read(length)
    raise EOFError("Ran out of input")


def not_allowed(names: set[tuple[str, str]]) -> list[str]:
    """Those of some names, written in full, that `torch.load` would not take with `weights_only=True`."""
    taken = allowed.names() | allowed.users().keys()
    return sorted(
        {
            f"{module}.{name}"
            for module, name in names
            if module in allowed.BLOCKED_MODULES or f"{module}.{name}" not in taken
        }
    )
