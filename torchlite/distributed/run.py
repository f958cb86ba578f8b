"""What `torchrun` does: start a program in several processes.

    python -m torchlite.distributed.run --standalone --nproc-per-node 4 train.py --lr 0.1

Each process finds RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and their kin in its environment, and sees
torchlite as `torch`. They are started by mpiexec where that and mpi4py are installed (`--launcher` says otherwise).
"""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Callable, Sequence

from ..alias.naming import SITE
from .launching import ChildFailedError, Plan, launch, mpiexec

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """What may be said on the command line."""
    parser = argparse.ArgumentParser("torchrun", description="Start a program in several processes that work together.")

    def option(name: str, *more: str, **how: object) -> None:
        names = dict.fromkeys([name, *more, name.replace("-", "_").replace("__", "--", 1)])
        default = os.environ.get("PET_" + name.strip("-").replace("-", "_").upper())
        if default is not None:
            how["default"] = default == "1" if how.get("action") == "store_true" else default
        parser.add_argument(*names, **how)  # type: ignore[arg-type]

    option("--nnodes", default="1:1", help="number of hosts, or of how many at least and at most: 2, 1:4")
    option("--nproc-per-node", default="1", help="processes on each host: a number, auto, gpu or cpu")
    option("--rdzv-backend", default="static", help="how hosts find each other: static, c10d")
    option("--rdzv-endpoint", default="", help="host:port of a store")
    option("--rdzv-id", default="none", help="a name for this run")
    option("--rdzv-conf", default="", help="more about the store; not used")
    option("--standalone", action="store_true", help="one host, and any free port")
    option("--max-restarts", type=int, default=0, help="how often all are started again when one fails")
    option("--monitor-interval", type=float, default=0.1, help="seconds between two looks at the processes")
    option("--start-method", default="spawn", choices=["spawn", "fork", "forkserver"], help="not used")
    option("--event-log-handler", default="null", help="not used")
    option("--role", default="default", help="a name for what the processes do")
    option("--module", "-m", action="store_true", help="the program is a module, as with `python -m`")
    option("--no-python", action="store_true", help="the program is run by itself, not by Python")
    option("--run-path", action="store_true", help="as without it")
    option("--log-dir", default=None, help="where logs go")
    option("--redirects", "-r", default="0", help="into log files: 1 stdout, 2 stderr, 3 both; for each: 0:1,1:2")
    option("--tee", "-t", default="0", help="into log files too, as --redirects")
    option("--local-ranks-filter", default="", help="the local ranks whose output is shown: 0,1")
    for stream in ("stdout", "stderr"):
        what = f"of {stream}, as --tee copies it, keep lines with any of these words in a file: a,b; ,, is a comma"
        option(f"--duplicate-{stream}-filters", default="", help=what)
    option("--node-rank", type=int, default=0, help="which of the hosts this is")
    option("--master-addr", default="127.0.0.1", help="the host of rank 0")
    option("--master-port", type=int, default=29500, help="a free port on it")
    option("--local-addr", default=None, help="not used")
    option("--signals-to-handle", default="SIGTERM,SIGINT,SIGHUP,SIGQUIT", help="signals that are handed on")
    option("--shutdown-timeout", type=float, default=30.0, help="seconds between asking processes to end and killing")
    option("--virtual-local-rank", action="store_true", help="each process sees its own device alone, as number 0")
    option("--launcher", default="auto", choices=["auto", "local", "mpi"], help="who starts the processes")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """What was said on the command line."""
    return get_args_parser().parse_args(args)


def _count(said: str) -> int:
    if said.isdigit():
        return int(said)
    from ..cuda import device_count, is_available

    if said == "gpu" and not is_available():
        raise ValueError("Cuda is not available.")
    if said not in ("auto", "gpu", "cpu"):
        raise ValueError(f"Unsupported nproc_per_node value: {said}")
    return device_count() if said == "gpu" or (said == "auto" and is_available()) else os.cpu_count() or 1


def _by_rank(said: str, count: int) -> dict[int, int]:
    """`3`, for all; or `0:1,1:2`."""
    if said.isdigit():
        return dict.fromkeys(range(count), int(said))
    return {int(rank): int(what) for rank, _, what in (part.partition(":") for part in said.split(","))}


def _filters(args: argparse.Namespace) -> dict[str, list[str]]:
    """For each stream of which lines are kept, what is looked for in them."""
    said = {"stdout": args.duplicate_stdout_filters, "stderr": args.duplicate_stderr_filters}
    return {
        name: [word.replace("\0", ",") for word in words.replace(",,", "\0").split(",")]
        for name, words in said.items() if words
    }  # fmt: skip


def _command(args: argparse.Namespace) -> list[str]:
    program = [args.training_script, *args.training_script_args]
    if args.no_python:
        if args.module:
            raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
        return program
    return [sys.executable, "-u", "-m", "torchlite", *(["-m"] if args.module else []), *program]


def _plan(args: argparse.Namespace) -> Plan:
    count = _count(str(args.nproc_per_node))
    nodes = 1 if args.standalone else int(str(args.nnodes).rpartition(":")[2])
    address, port = args.master_addr, args.master_port
    if args.rdzv_endpoint and not args.standalone:
        address, _, given = args.rdzv_endpoint.partition(":")
        port = int(given or port)
    number = 0 if nodes == 1 else args.node_rank if args.rdzv_backend == "static" else None
    if nodes == 1 and (args.standalone or args.rdzv_backend != "static"):
        address, port = "localhost", 0
    by_mpi = args.launcher == "mpi" or (args.launcher == "auto" and nodes == 1 and mpiexec() is not None)
    if by_mpi and mpiexec() is None:
        raise ValueError("--launcher mpi needs mpiexec and mpi4py: install 'torchlite-numpy[mpi]'")
    said = {"TORCHELASTIC_SIGNALS_TO_HANDLE": args.signals_to_handle}
    threads = {} if "OMP_NUM_THREADS" in os.environ or count == 1 else {"OMP_NUM_THREADS": "1"}
    path = os.pathsep.join(filter(None, (SITE, os.environ.get("PYTHONPATH"))))
    alias = {"TORCHLITE_ALIAS": "1", "PYTHONPATH": path} if args.no_python else {}
    return Plan(
        _command(args), count, args.training_script, nodes, number, address, port,
        str(uuid.uuid4()) if args.standalone else args.rdzv_id, args.role, args.max_restarts, args.monitor_interval,
        args.shutdown_timeout, by_mpi, args.log_dir, _by_rank(args.redirects, count), _by_rank(args.tee, count),
        {int(rank) for rank in args.local_ranks_filter.split(",")} if args.local_ranks_filter else None,
        said | threads | alias, args.virtual_local_rank, _filters(args),
    )  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Start what was said on the command line, and wait for it."""
    launch(_plan(args), args.signals_to_handle.split(","))


def main(args: Sequence[str] | None = None) -> None:
    """Start what is said on the command line; the exit status is 1 if a process failed."""
    ended(run, parse_args(args))


def ended(start: Callable[[argparse.Namespace], None], args: argparse.Namespace) -> None:
    """Let this process end as those that are started do."""
    try:
        start(args)
    except ChildFailedError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
