"""Write the stubs beside the sources, or those of `torch` into a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from . import ROOT, torch_stubs, write, written


def main(folder: str | None = None) -> None:
    root, files = (ROOT, written()) if folder is None else (Path(folder) / "torch", torch_stubs())
    write(files, root)
    print(f"wrote {len(files)} files into {root}")


main(*sys.argv[1:2])
