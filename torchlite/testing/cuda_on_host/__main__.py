"""Run a script, or a module with `-m`, as Python does, with a CUDA device that is this process."""

from __future__ import annotations

import runpy
import sys

from . import enable

USAGE = "usage: python -m torchlite.testing.cuda_on_host (SCRIPT | -m MODULE) [arguments]"


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or arguments == ["-m"]:
        raise SystemExit(USAGE)
    enable()
    sys.path[0] = ""  # as `python -m` does
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
