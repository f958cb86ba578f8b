"""Every op by its full name ("sum.dim"), and the public functions and methods by theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..declare.op import Op

registry: dict[str, Op] = {}
functions: dict[str, Callable[..., Any]] = {}
aten: dict[str, Callable[..., Any]] = {}  # what there is under `torch.ops.aten` alone
aliases: dict[str, str] = {}  # functions and methods that are others under another name -> the name of these
