"""Selective checkpointing: a policy says which operations' results are kept rather than computed again.

The policy is asked about every operation that a dispatch mode sees, as an overload of `torch.ops`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from .. import ops
from .._ops import OpOverload
from ..core.machine import Tensor
from ._python_dispatch import TorchDispatchMode


class CheckpointPolicy(enum.Enum):
    """What becomes of an operation's results: saved, computed again, or saved in the memory of the CPU.

    `MUST_` and `PREFER_` are for compilers that choose for themselves; here they mean the same.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVE = frozenset((CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE))
_OFFLOAD = frozenset((CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD))


class SelectiveCheckpointContext:
    """What a policy is told beside the operation and its arguments: `op_output`, its result."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


_aten: Any = ops.aten
SAC_IGNORED_OPS = {_aten.detach.default}  # the steps by which results are kept

_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


class _Kept:
    """The results of one operation, and the versions they had."""

    def __init__(self, results: Any, offload: bool) -> None:
        self.several = isinstance(results, (tuple, list))
        listed = results if self.several else (results,)
        self.devices = [t.device for t in listed]
        self.tensors = [t.cpu() if offload else t._alias() for t in listed]
        self.versions = [t._version for t in self.tensors]

    def results(self, may_be_written: bool) -> Any:
        if not may_be_written and self.versions != [t._version for t in self.tensors]:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        made = tuple([t.to(d)._alias() for t, d in zip(self.tensors, self.devices, strict=True)])
        return made if self.several else made[0]


class _First(TorchDispatchMode):
    """The first run: keep the results that the policy wants kept."""

    def __init__(self, policy: Callable[..., Any]) -> None:
        super().__init__()
        self.policy = policy
        self.kept: dict[Any, list[_Kept | None]] = {}  # by operation, one for each call

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        results = func(*args, **(kwargs or {}))
        if func in SAC_IGNORED_OPS:
            return results
        context = SelectiveCheckpointContext(is_recompute=False, op_output=results)
        asked = self.policy(context, func, *args, **(kwargs or {}))
        if isinstance(asked, bool):
            asked = CheckpointPolicy.MUST_SAVE if asked else CheckpointPolicy.PREFER_RECOMPUTE
        listed = results if isinstance(results, (tuple, list)) else (results,)
        keeps = (asked in _SAVE or asked in _OFFLOAD) and all(isinstance(t, Tensor) for t in listed)
        self.kept.setdefault(func, []).append(_Kept(results, asked in _OFFLOAD) if keeps else None)
        return results


class _Second(TorchDispatchMode):
    """The run for backward: results that were kept take the place of computing them."""

    def __init__(self, first: _First, may_be_written: bool) -> None:
        super().__init__()
        self.first = first
        self.may_be_written = may_be_written
        self.given: set[_Kept] = set()

    def __enter__(self) -> Any:
        self.calls: dict[Any, int] = {}
        return super().__enter__()

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in SAC_IGNORED_OPS:
            return func(*args, **(kwargs or {}))
        at = self.calls[func] = self.calls.get(func, -1) + 1
        known = self.first.kept.get(func)
        if known is None:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        if at >= len(known):
            raise RuntimeError(
                f"{func} invocation index {at} encountered during backward but not found in storage. {_MISMATCH}"
            )
        kept = known[at]
        if kept is None:
            return func(*args, **(kwargs or {}))
        if kept in self.given:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        self.given.add(kept)
        results = kept.results(self.may_be_written)
        kept.tensors = []
        return results


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """The two contexts that `checkpoint(..., context_fn=...)` wants, by a policy or a list of operators to save.

    `policy_fn(ctx, op, *args)` returns a `CheckpointPolicy` (or whether to save); `op` is, say,
    `torch.ops.aten.mm.default`.
    Unless `allow_cache_entry_mutation`, writing in place to a result that was kept is an error.
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. ")

        def policy(ctx: SelectiveCheckpointContext, op: Any, *args: Any, **_: Any) -> bool:
            return op in policy_fn_or_list

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    first = _First(policy)
    return first, _Second(first, allow_cache_entry_mutation)
