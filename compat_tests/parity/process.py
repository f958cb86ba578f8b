"""Makes runs repeatable: some of PyTorch's samples come out of sets of strings, in the order of their hashes."""

import os
import sys

HASH_SEED = {"PYTHONHASHSEED": "0"}


def fix_hashes() -> None:
    """Starts this program anew, with fixed hashes, unless it has them."""
    if sys.flags.hash_randomization:
        os.execve(sys.executable, sys.orig_argv, os.environ | HASH_SEED)
