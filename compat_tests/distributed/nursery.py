"""Ranks forked from a process that has imported the library already: to import PyTorch takes longer than most tests."""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


def forked(
    lib: str, limit: float, arguments: list[str], environments: list[dict[str, str]], through: str = ""
) -> list[int]:
    """How so many ranks ended that were forked from `lib`'s process, and told of `arguments` and their environment.

    That process was started `through` a module, if one is named.
    """
    requests, answers = _parent(lib, through)
    print(json.dumps([limit, arguments, environments]), file=requests, flush=True)
    return json.loads(answers.readline())


@functools.cache
def _parent(lib: str, through: str) -> tuple[Any, Any]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *(["-m", through] if through else ()), "-m", __name__, lib]
    process = subprocess.Popen(
        command, env=environment, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.wait)
    atexit.register(process.stdin.close)  # which ends it
    return process.stdin, process.stdout


def _serve(lib: str) -> None:
    requests, answers = (os.fdopen(os.dup(number), mode) for number, mode in ((0, "r"), (1, "w")))
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    for name in ("", ".distributed", ".distributed.fsdp", ".distributed.checkpoint", ".distributed.tensor"):
        importlib.import_module(lib + name)
    gc.freeze()  # a collection in a rank would copy all of it
    while line := requests.readline():
        limit, arguments, environments = json.loads(line)
        ranks = []
        for environment in environments:
            if (rank := os.fork()) == 0:
                requests.close()
                answers.close()
                os.environ.update(environment)
                _live(lib, arguments)
            ranks.append(rank)
        print(json.dumps(_ended(ranks, limit)), file=answers, flush=True)


def _live(lib: str, arguments: list[str]) -> None:
    try:
        main(lib, *arguments)
    except Exception:
        traceback.print_exc()
        code = 1
    else:
        code = 0
    if lib == "torch":  # gloo's threads may abort a process on its way out, or one that others leave too early
        reports = [Path(arguments[-1], str(rank)) for rank in range(int(os.environ["WORLD_SIZE"]))]
        while not all(report.exists() for report in reports):
            time.sleep(0.01)
        os._exit(code)
    sys.exit(code)


def _ended(ranks: list[int], limit: float) -> list[int]:
    """The codes that ranks ended with; none outlives the limit, or the tests."""
    parent, began = os.getppid(), time.monotonic()
    codes: dict[int, int] = {}
    while len(codes) < len(ranks):
        for rank in ranks:
            if rank not in codes:
                ended, status = os.waitpid(rank, os.WNOHANG)
                if ended:
                    codes[rank] = os.waitstatus_to_exitcode(status)
                elif time.monotonic() - began > limit or os.getppid() != parent:
                    os.kill(rank, signal.SIGKILL)
        time.sleep(0.005)
    return [codes[rank] for rank in ranks]


def main(lib: str, module: str, name: str, folder: str) -> None:
    """In a rank: call a function with what tells, and leave what it told in a file."""
    rank = os.environ.get("RANK") or os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"]
    if "PMI_RANK" not in os.environ and "MASTER_ADDR" not in os.environ:
        os.environ["INIT"] = f"file://{folder}/meeting"
    torch = importlib.import_module(lib)
    importlib.import_module(f"{lib}.distributed").set_debug_level_from_env()
    told: list[str] = []
    report: dict[str, Any] = {"told": told}
    try:
        getattr(importlib.import_module(module), name)(torch, lambda *values: told.extend(map(str, values)))
    except BaseException:
        report["error"] = f"rank {rank}: {traceback.format_exc()}"
        raise
    finally:
        Path(folder, rank).write_text(json.dumps(report))


if __name__ == "__main__":
    _serve(*sys.argv[1:])
