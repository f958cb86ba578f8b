"""In a browser (Pyodide), there are no processes, threads, sockets or system libraries: torchlite does without."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .test_docs import blocks

pytestmark = pytest.mark.any_build

ROOT = Path(__file__).parent.parent

# What Pyodide lacks (or may lack, as what is compiled against other systems), or has in name only.
BLOCKED = """
import sys

for name in (
    "_multiprocessing", "_posixshmem", "_posixsubprocess", "_ssl", "_curses", "fcntl", "grp", "pwd", "readline",
    "resource", "termios", "tkinter",
):
    sys.modules[name] = None

import _thread, ctypes, mmap, os, socket

def refuse(*args, **kwargs):
    raise OSError("there is none in a browser")

def start(*args, **kwargs):
    raise RuntimeError("can't start new thread")

for name in ("memfd_create", "posix_fallocate", "sched_getaffinity", "sched_setaffinity"):
    delattr(os, name)
_thread.start_new_thread, os.fork = start, refuse
ctypes.CDLL.__init__ = socket.socket.connect = socket.socket.bind = refuse
mmap.mmap = type("mmap", (), {"__init__": refuse})
"""


def test_the_tour_runs_where_pyodide_would_run_it(tmp_path: Path) -> None:
    check(BLOCKED + "".join(blocks("tour")) + "from torchlite import viz\nviz.graph(loss, model).svg()\n", tmp_path)


def test_the_notebook_runs_where_pyodide_would_run_it(tmp_path: Path) -> None:
    cells = json.loads((ROOT / "examples" / "tour.ipynb").read_text(encoding="utf-8"))["cells"]
    check(BLOCKED + "\n".join(["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]), tmp_path)


def check(program: str, folder: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TORCHLITE_NATIVE": "0"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
