"""`python -m torch.distributed.launch`, from before torchrun: it hands each process its rank as `--local-rank`, too."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..core.values import warn
from . import run

__all__ = ["launch", "main", "parse_args"]


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """What was said on the command line: torchrun's options, and `--use-env`."""
    parser = run.get_args_parser()
    parser.add_argument("--use-env", "--use_env", action="store_true", help="leave --local-rank out")
    return parser.parse_args(args)


def launch(args: argparse.Namespace) -> None:
    """Start what was said on the command line, and wait for it."""
    if not args.use_env:
        args.training_script_args.insert(0, "--local-rank=${local_rank}")
    run.run(args)


def main(args: Sequence[str] | None = None) -> None:
    """Start what is said on the command line, after saying that torchrun is to be used instead."""
    warn(
        "The module torch.distributed.launch is deprecated and will be removed in future. Use torchrun, which sets "
        "os.environ['LOCAL_RANK'] in place of the argument `--local-rank`; --use-env does so here.",
        FutureWarning,
    )
    run.ended(launch, parse_args(args))


if __name__ == "__main__":
    main()
