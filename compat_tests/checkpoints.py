"""Real checkpoints, and objects saved into memory, for the tests of files."""

from __future__ import annotations

import io
import json
import pathlib
import zipfile
from typing import Any

import torchlite

DATA = pathlib.Path(__file__).parent / "data" / "checkpoints"
FILES = json.loads((DATA / "manifest.json").read_text())["files"]


def saved(library: Any, obj: Any, **kwargs: Any) -> bytes:
    """What a library writes."""
    out = io.BytesIO()
    library.save(obj, out, **kwargs)
    return out.getvalue()


def resaved(obj: Any, **kwargs: Any) -> Any:
    """An object, saved and loaded again."""
    return torchlite.load(io.BytesIO(saved(torchlite, obj)), **kwargs)


def records(data: bytes) -> dict[str, bytes]:
    """What is in a zip file, but for the number that identifies it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("serialization_id")}
