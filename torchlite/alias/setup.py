"""The alias in processes that one does not start: by the shell's environment, or in Python's start-up."""

from __future__ import annotations

import shlex
import shutil
import sys
import sysconfig
from importlib.machinery import PathFinder
from pathlib import Path

from .naming import SITE


def shell() -> str:
    """What a POSIX shell evaluates, so that programs it starts see torchlite as torch; `torchrun` is torchlite's."""
    path = f'export TORCHLITE_ALIAS=1 PYTHONPATH={shlex.quote(SITE)}"${{PYTHONPATH:+:$PYTHONPATH}}"'
    python = shlex.quote(sys.executable)
    return f'{path}\ntorchrun() {{ {python} -m torchlite.distributed.run "$@"; }}'


def _start_up_file() -> Path:
    return Path(sysconfig.get_path("purelib")) / "torchlite-alias.pth"


def _stubs() -> Path:
    return Path(sysconfig.get_path("purelib")) / "torch-stubs"


def install() -> str:
    """Let this Python environment honour `TORCHLITE_ALIAS`, in every process of it."""
    file = _start_up_file()
    wanted = 'os.environ.get("TORCHLITE_ALIAS", "0") != "0"'
    file.write_text(f"import os, sys; {wanted} and sys.path.insert(0, {SITE!r})\n")
    told = f"wrote {file}: with TORCHLITE_ALIAS=1, `import torch` in this environment means torchlite"
    if PathFinder.find_spec("torch", [sysconfig.get_path("purelib")]) is not None:
        return told  # whose types are its own
    from ..stubs import torch_stubs, write

    write(torch_stubs(), _stubs())
    return f"{told}\nwrote {_stubs()}: so it does for type checkers"


def uninstall() -> str:
    file = _start_up_file()
    there = file.exists()
    file.unlink(missing_ok=True)
    shutil.rmtree(_stubs(), ignore_errors=True)
    return f"removed {file}" if there else f"there is no {file}"
