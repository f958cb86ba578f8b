"""Functions run by several processes at once, with torchlite and with PyTorch; what each process told is compared."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
_LIMIT = 200


def run(lib: str, function: Any, ranks: int = 2, launcher: tuple[str, ...] = (), **environment: str) -> list[Any]:
    """What `function(torch, tell)` told in each of so many processes."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [lib, function.__module__, function.__qualname__, folder]
        plain = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
        if launcher:
            started = [([*launcher, sys.executable, "-m", __name__, *arguments], plain)]
        else:
            numbered = [{"RANK": str(rank), "WORLD_SIZE": str(ranks)} for rank in range(ranks)]
            started = [([sys.executable, "-m", __name__, *arguments], plain | more) for more in numbered]
        processes = [subprocess.Popen(command, env=env, cwd=ROOT) for command, env in started]
        try:
            codes = [process.wait(_LIMIT) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
        told = [json.loads(path.read_text()) for rank in range(ranks) if (path := Path(folder, str(rank))).exists()]
        failed = [each["error"] for each in told if "error" in each]
        assert not failed, "\n".join(failed)
        assert not any(codes) and len(told) == ranks, codes
        return [each["told"] for each in told]


def same(function: Any, ranks: int = 2, **how: Any) -> None:
    """Assert that torchlite's processes tell what PyTorch's do."""
    pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    ours = run("torchlite", function, ranks, **how)
    theirs = run("torch", function, ranks)
    for rank, (mine, model) in enumerate(zip(ours, theirs, strict=True)):
        for number, (here, there) in enumerate(zip(mine, model)):
            assert here == there, f"rank {rank}, told as number {number}, after {mine[max(number - 2, 0) : number]}"
        assert len(mine) == len(model)


def _main(lib: str, module: str, name: str, folder: str) -> None:
    torch: Any = importlib.import_module(lib)
    importlib.import_module(f"{lib}.distributed")
    rank = os.environ.get("RANK") or os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"]
    if "PMI_RANK" not in os.environ and "MASTER_ADDR" not in os.environ:
        os.environ["INIT"] = f"file://{folder}/meeting"
    told: list[str] = []
    report: dict[str, Any] = {"told": told}
    try:
        getattr(importlib.import_module(module), name)(torch, lambda *values: told.extend(map(str, values)))
    except BaseException:
        report["error"] = f"rank {rank}: {traceback.format_exc()}"
        raise
    finally:
        Path(folder, rank).write_text(json.dumps(report))


def mpiexec(ranks: int) -> tuple[str, ...]:
    """The command that starts so many processes with MPI; where there is none, the test is skipped."""
    pytest.importorskip("mpi4py", reason="MPI comes with mpi4py")
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    command = shutil.which("mpiexec", path=beside)
    if command is None:
        pytest.skip("there is no mpiexec")
    return command, "-n", str(ranks)


def start(torch: Any, **how: Any) -> Any:
    """`torch.distributed`, with its group of all processes made."""
    if torch.distributed.is_initialized():
        return torch.distributed
    if "INIT" in os.environ:
        how |= {"init_method": os.environ["INIT"], "rank": int(os.environ["RANK"])}
        how |= {"world_size": int(os.environ["WORLD_SIZE"])}
    torch.distributed.init_process_group("gloo", **how)
    return torch.distributed


if __name__ == "__main__":
    _main(*sys.argv[1:])
