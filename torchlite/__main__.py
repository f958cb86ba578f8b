"""Run a PyTorch script on torchlite: `python -m torchlite script.py args…`, or `… -m module args…`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from . import alias

_USAGE = "usage: python -m torchlite script.py [args…]\n       python -m torchlite -m module [args…]"


def main(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        return
    alias.enable()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            sys.exit(_USAGE)
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
