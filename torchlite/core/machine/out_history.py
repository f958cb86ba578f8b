"""What `out=` says to tensors with a history: a result that is written somewhere gets none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..state import local
from .operands import tensors_in
from .view import requires_grad

# What PyTorch makes of other ops, which say it in their names.
_MADE_OF = {
    "cat": "column_stack dstack hstack row_stack vstack",
    "gather": "take_along_dim",
    "linalg_cross": "cross",
    "linalg_inv_ex": "inverse linalg_inv",
    "linalg_vector_norm": "norm",
    "mul": "ger kron outer",
    "nansum": "nanmean",
    "pow": "float_power square",
    "sub": "diff",
    "_linalg_det": "det linalg_det",
    "_linalg_solve": "linalg_solve",
}
_UNDIFFERENTIABLE = {"bucketize", "multinomial"}  # of those that are made of other ops
_said = {name: inner for inner, names in _MADE_OF.items() for name in names.split()}


def refuse_history(name: str, out: Any, values: Sequence[Any]) -> None:
    """Refuse `out=` where something requires grad: before anything else is looked at."""
    if not local.state.mode.grad or name in _UNDIFFERENTIABLE:
        return
    outs = out if isinstance(out, (tuple, list)) else (out,)
    if any(requires_grad(t) for v in (*outs, *values) for t in tensors_in(v)):
        raise RuntimeError(
            f"{_said.get(name, name)}(): functions with out=... arguments don't support automatic differentiation, but "
            "one of the arguments requires grad."
        )
