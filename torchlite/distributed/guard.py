"""What mpiexec starts in place of a process: it starts that, says how it ended, and lets the others notice.

    python -I -S guard.py command…

For mpiexec ends all processes as soon as one has failed. This file is run by itself, so that it takes little.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

MARK = "TORCHLITE_GUARD"  # the guard's process, as those that it started are told
PATIENCE = 5.0  # seconds in which the others may say what they saw
_DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG
_HANDED_ON = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_RANKS = ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")


def guarded(command: list[str]) -> list[str]:
    """The command that runs another under a guard."""
    return [sys.executable, "-I", "-S", __file__, *command]


def on_guard() -> bool:
    """Whether a guard started this process."""
    return os.environ.get(MARK) == str(os.getppid())


def file_of(error_file: str) -> Path:
    """Where it is written for the launcher how a process ended."""
    return Path(f"{error_file}.end")


def die_with_parent(how: int = signal.SIGTERM) -> None:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, how)


def main(command: list[str]) -> None:
    # What mpiexec left open for the process stays open in both, so that nobody takes its end for that of a connection.
    process = subprocess.Popen(
        command, env={**os.environ, MARK: str(os.getpid())}, close_fds=False,
        preexec_fn=functools.partial(die_with_parent, signal.SIGKILL) if sys.platform == "linux" else None,
    )  # fmt: skip
    for name in _HANDED_ON:
        signal.signal(getattr(signal, name), lambda number, _: process.send_signal(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a keyboard's goes to both
    code = process.wait()
    if code:
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        print(f"rank {_rank()} (process {process.pid}) {how}", file=sys.stderr, flush=True)
        note(process.pid, code)
        time.sleep(PATIENCE)
    if code < 0:
        _end_by(-code)
    sys.exit(code)


def _end_by(number: int) -> None:
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _rank() -> str:
    return next((os.environ[word] for word in _RANKS if word in os.environ), "?")


def note(process: int, code: int) -> None:
    """Write for the launcher, if there is one, how a process ended, unless that was written before."""
    if error_file := os.environ.get("TORCHELASTIC_ERROR_FILE"):
        with contextlib.suppress(FileExistsError), open(file_of(error_file), "x") as file:
            json.dump({"pid": process, "exitcode": code}, file)


if __name__ == "__main__":
    main(sys.argv[1:])
