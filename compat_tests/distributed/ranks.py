"""Functions run by several processes at once, with torchlite and with PyTorch; what each process told is compared."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .nursery import ROOT, forked, main

LIMIT = 280


def run(
    lib: str, function: Any, ranks: int = 2, launcher: tuple[str, ...] = (), through: str = "", **environment: str
) -> list[Any]:
    """What `function(torch, tell)` told in each of so many processes."""
    codes, told = ended(lib, function, ranks, launcher, through, **environment)
    failed = [each["error"] for each in told.values() if "error" in each]
    assert not failed, "\n".join(failed)
    assert not any(codes) and len(told) == ranks, codes
    return [each["told"] for each in told.values()]


def ended(
    lib: str, function: Any, ranks: int, launcher: tuple[str, ...] = (), through: str = "", **environment: str
) -> tuple[list[int], dict[int, Any]]:
    """How processes ended, and the reports of those that left one."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [function.__module__, function.__qualname__, folder]
        if launcher:
            plain = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
            modules = (through, __name__) if through else (__name__,)
            command = [*launcher, sys.executable, *(word for each in modules for word in ("-m", each)), lib, *arguments]
            codes = [subprocess.run(command, env=plain, cwd=ROOT, timeout=LIMIT).returncode]
        else:
            numbered = [{"RANK": str(rank), "WORLD_SIZE": str(ranks), **environment} for rank in range(ranks)]
            codes = forked(lib, LIMIT, arguments, numbered, through)
        paths = {rank: Path(folder, str(rank)) for rank in range(ranks)}
        return codes, {rank: json.loads(path.read_text()) for rank, path in paths.items() if path.exists()}


in_pytorch = functools.cache(functools.partial(run, "torch"))


def same(function: Any, ranks: int = 2, **how: Any) -> None:
    """Assert that torchlite's processes tell what PyTorch's do."""
    pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    ours = run("torchlite", function, ranks, **how)
    theirs = in_pytorch(function, ranks)
    for rank, (mine, model) in enumerate(zip(ours, theirs, strict=True)):
        for number, (here, there) in enumerate(zip(mine, model)):
            assert here == there, f"rank {rank}, told as number {number}, after {mine[max(number - 2, 0) : number]}"
        assert len(mine) == len(model)


def mpiexec(ranks: int) -> tuple[str, ...]:
    """The command that starts so many processes with MPI; where there is none, the test is skipped."""
    pytest.importorskip("mpi4py", reason="MPI comes with mpi4py")
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    command = shutil.which("mpiexec", path=beside)
    if command is None:
        pytest.skip("there is no mpiexec")
    return command, "-n", str(ranks)


@contextlib.contextmanager
def port_kept() -> Iterator[int]:
    """A port that nobody else is given meanwhile: it stays bound here, and a rank may yet listen on it."""
    with socket.socket(socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET) as keeper:
        keeper.bind(("", 0))
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port = keeper.getsockname()[1]
        if sys.platform != "linux":  # where nobody may listen on a port that is bound
            keeper.close()
        yield port


def start(torch: Any, **how: Any) -> Any:
    """`torch.distributed`, with its group of all processes made."""
    if torch.distributed.is_initialized():
        return torch.distributed
    if "INIT" in os.environ:
        how |= {"init_method": os.environ["INIT"], "rank": int(os.environ["RANK"])}
        how |= {"world_size": int(os.environ["WORLD_SIZE"])}
    torch.distributed.init_process_group(how.pop("backend", "gloo"), **how)
    return torch.distributed


if __name__ == "__main__":
    main(*sys.argv[1:])
