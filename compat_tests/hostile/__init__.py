"""Files made by hand to do harm, and how loading each of them ends.

    python -m compat_tests.hostile [--library torch] [name ...]

tells how each ends, or those that are named; tests compare what torchlite and PyTorch make of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from compat_tests.harmless import outcomes
from compat_tests.hostile import archives, pickles


def files() -> dict[str, bytes]:
    """All such files, by what is wrong with them."""
    return pickles.files() | archives.files()


def ended(library: str, names: Sequence[str] = ()) -> dict[str, str]:
    """How loading them in a library ends."""
    made = files()
    with tempfile.TemporaryDirectory() as folder:
        paths = {kind: Path(folder, f"file.{kind}") for kind in ("safetensors", "tar")}  # others are in memory
        chosen = [(name, made[name], paths.get(name.partition(" ")[0])) for name in names or made]
        return dict(outcomes(library, chosen))
