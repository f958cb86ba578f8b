"""`import torch` means torchlite: for a process, inside a `with`, for some packages only, or for a run of pytest.

    from torchlite import alias

    alias.enable()            # from here on, for the process
    with alias.enable(): …    # until the end of the block, which leaves what was there before

`python -m torchlite script.py` does it for a script, `pytest -p torchlite.alias` for tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from .layer import Alias, _active, _lock, disable

__all__ = ["Alias", "disable", "enable", "enabled"]


def enable(
    *, scope: Iterable[str] | None = None, blocked: Iterable[str] = (), coexist: bool = False, lazy: bool = False,
    report: bool = False,
) -> Alias:  # fmt: skip
    """From now on `import torch` gives torchlite, until `disable()` or the end of the `with` this is used in.

    `scope`: only code of these packages (or modules) sees it, and everyone else what was there before.
    `blocked`: code of these packages is told that there is no torch.
    `coexist`: the real torch may have been imported; it stays in `sys.modules`, and its own code goes on using it.
    `lazy`: names that torchlite lacks are given as placeholders, which fail when they are called.
    `report`: at the end, print which names were used, which were missing, and what took how long.
    """
    with _lock:
        alias = Alias(scope, blocked, coexist, lazy, report)
        alias.start()
        _active.append(alias)
        return alias


def enabled() -> bool:
    """Whether the alias is on."""
    return bool(_active)


def from_environment() -> Alias | None:
    """Enable as `TORCHLITE_ALIAS` says: "0" not at all, "lazy" with placeholders, anything else plainly."""
    wish = os.environ.get("TORCHLITE_ALIAS", "1")
    return None if wish == "0" else enable(lazy=wish == "lazy")


def pytest_load_initial_conftests(early_config: Any) -> None:
    """With `-p torchlite.alias`, before any conftest or test is imported."""
    alias = from_environment()
    if alias is not None:
        early_config.add_cleanup(lambda: disable(alias))
