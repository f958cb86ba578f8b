"""What `torch.load` says when it refuses a file, in PyTorch's words."""

from __future__ import annotations

import pickle
from typing import Any

from ..core.native import FUNCTIONS

UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source."
)
_DOCS = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)
_FAILED = "Weights only load failed. "


def shown(obj: Any) -> str:
    """What a message says of an object from a file: what it is, or its type if it may hold others.

    To print an object that holds another twice, and that one another twice, and so on, takes for ever.
    """
    if isinstance(obj, (str, int, type, *FUNCTIONS)):
        return str(obj)
    return f"an object of type {type(obj).__name__}"


def refused(detail: str) -> pickle.UnpicklingError:
    """The error for a pickle that is not loaded with `weights_only=True`, for the reason given."""
    if detail.startswith("Unsupported global"):
        text = (
            f"{_FAILED}This file can still be loaded, to do so you have two options, \033[1mdo those steps only if you "
            f"trust the source of the checkpoint\033[0m. \n\t(1) {UNSAFE}\n\t(2) Alternatively, to load with "
            "`weights_only=True` please check the recommended steps in the following error message.\n"
            f"\tWeightsUnpickler error: {detail}"
        )
    elif "is blocked" in detail:
        text = f"{_FAILED}{UNSAFE}\n{detail}"
    else:
        text = (
            f"{_FAILED}{UNSAFE}\nPlease file an issue with the following so that we can make `weights_only=True` "
            f"compatible with your use case: WeightsUnpickler error: \n\n{detail}"
        )
    return pickle.UnpicklingError(text + _DOCS)
