"""Scripts for several processes run unmodified in both libraries, however they are started, and print the same."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
import re
import runpy
import subprocess
import sys

import pytest

from torchlite.distributed import launching

from .nursery import ROOT
from .ranks import LIMIT, mpiexec, run

FOLDER = ROOT / "examples" / "distributed"
SCRIPTS = [path.stem for path in sorted(FOLDER.glob("*.py")) if path.stem != "ranks"]
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


def spawned(script: str, count: int) -> list[str]:
    return [sys.executable, "-m", "torchlite", script]


def by_torchrun(script: str, count: int) -> list[str]:
    options = ["--standalone", "--launcher", "local", "--nproc-per-node", str(count)]
    return [sys.executable, "-m", "torchlite.distributed.run", *options, script]


def by_mpiexec(script: str, count: int) -> list[str]:
    return [*mpiexec(count), sys.executable, "-m", "torchlite", script]


WAYS = [spawned, by_torchrun] + [by_mpiexec] * (launching.mpiexec() is not None)
# Each script by 2 processes, in one of the ways, which differ from script to script, and some by 4, too; where
# TORCHLITE_RANKS names numbers of processes, as in TORCHLITE_RANKS=2,4, all scripts by these in all ways.
CASES = [(script, WAYS[number % len(WAYS)], 2) for number, script in enumerate(SCRIPTS)]
CASES += [(script, way, 4) for script, way, _ in CASES[-len(WAYS) :]]
if named := os.environ.get("TORCHLITE_RANKS"):
    CASES = list(itertools.product(SCRIPTS, WAYS, map(int, named.split(","))))


def printed(command: list[str], count: int) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "PROCESSES": str(count)}
    for word in ("RANK", "MASTER_ADDR"):
        environment.pop(word, None)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def scripted(torch, tell):
    """What a script prints in a rank."""
    path, sys.argv = os.environ["SCRIPT"], [os.environ["SCRIPT"]]
    sys.path.insert(0, os.path.dirname(path))
    with contextlib.redirect_stdout(io.StringIO()) as said:
        runpy.run_path(path, run_name="__main__")
    tell(said.getvalue())


@functools.cache
def in_pytorch(script: str, count: int) -> str:
    dist = pytest.importorskip("torch.distributed", reason="live comparisons need real PyTorch")
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)  # keeps its port to itself
    meet = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    return "".join(itertools.chain(*run("torch", scripted, count, SCRIPT=str(FOLDER / f"{script}.py"), **meet)))


@pytest.mark.parametrize(("script", "way", "count"), CASES, ids=lambda part: getattr(part, "__name__", part))
def test_script(script, way, count):
    ours = printed(way(str(FOLDER / f"{script}.py"), count), count)
    assert ours
    theirs = in_pytorch(script, count)
    assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
    assert numbers(ours) == pytest.approx(numbers(theirs), rel=1e-4, abs=2e-5)


def numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]
