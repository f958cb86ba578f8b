"""Selective checkpointing: a policy says which operations' results are kept rather than computed again.

The policy is asked about every operation with a kernel of its own (views have none worth keeping). It gets the public
function, `torch.mm` say, where PyTorch gives an overload of the `aten` namespace.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.machine import functions
from ..core.state import Mode, Switch

if TYPE_CHECKING:
    from ..core.declare.op import Op


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


SAC_IGNORED_OPS = {functions["detach"]}

_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


def _public(op: Op) -> Any:
    """The function that users know the operation by."""
    return functions.get(op.signature.name, op)


class _Kept:
    """The results of one operation, and the versions they had."""

    def __init__(self, results: Any, offload: bool) -> None:
        self.several = isinstance(results, tuple)
        listed = results if self.several else (results,)
        self.devices = [t.device for t in listed]
        self.tensors = [t.cpu() if offload else t.alias() for t in listed]
        self.versions = [t._version for t in self.tensors]

    def results(self, may_be_written: bool) -> Any:
        if not may_be_written and self.versions != [t._version for t in self.tensors]:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        made = tuple([t.to(d).alias() for t, d in zip(self.tensors, self.devices, strict=True)])
        return made if self.several else made[0]


class _Asked(Switch):
    """A context in which `run` is asked to run the kernels of operations."""

    everything = False  # views have nothing worth keeping

    def run(self, op: Op, values: Any, compute: Callable[[], Any]) -> Any:
        raise NotImplementedError

    def __call__(self, op: Op, values: Any, compute: Callable[[], Any]) -> Any:
        return compute() if _public(op) in SAC_IGNORED_OPS else self.run(op, values, compute)

    switches = ("kernels",)

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(kernels=self)


class _First(_Asked):
    """The first run: keep the results that the policy wants kept."""

    def __init__(self, policy: Callable[..., Any]) -> None:
        self.policy = policy
        self.kept: dict[str, list[_Kept | None]] = {}  # by op, one for each call

    def run(self, op: Op, values: Any, compute: Callable[[], Any]) -> Any:
        results = compute()
        context = SelectiveCheckpointContext(is_recompute=False, op_output=results)
        asked = self.policy(context, _public(op), *values)
        if isinstance(asked, bool):
            asked = CheckpointPolicy.MUST_SAVE if asked else CheckpointPolicy.PREFER_RECOMPUTE
        keeps = asked in _SAVE or asked in _OFFLOAD
        self.kept.setdefault(op.name, []).append(_Kept(results, asked in _OFFLOAD) if keeps else None)
        return results


class _Second(_Asked):
    """The run for backward: results that were kept take the place of computing them."""

    def __init__(self, first: _First, may_be_written: bool) -> None:
        self.first = first
        self.may_be_written = may_be_written
        self.given: set[_Kept] = set()

    def __enter__(self) -> None:
        self.calls: dict[str, int] = {}
        super().__enter__()

    def run(self, op: Op, values: Any, compute: Callable[[], Any]) -> Any:
        at = self.calls[op.name] = self.calls.get(op.name, -1) + 1
        known = self.first.kept.get(op.name)
        if known is None:
            raise RuntimeError(f"{_public(op)} encountered during backward but not found in storage. {_MISMATCH}")
        if at >= len(known):
            raise RuntimeError(
                f"{_public(op)} invocation index {at} encountered during backward but not found in storage. {_MISMATCH}"
            )
        kept = known[at]
        if kept is None:
            return compute()
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
    """The two contexts that `checkpoint(..., context_fn=...)` wants, by a policy or a list of functions to save.

    `policy_fn(ctx, op, *args)` returns a `CheckpointPolicy` (or whether to save); `op` is a function, say `torch.mm`.
    Unless `allow_cache_entry_mutation`, writing in place to a result that was kept is an error.
    """
    if isinstance(policy_fn_or_list, list):
        known = set(functions.values())
        for op in policy_fn_or_list:
            if op not in known:
                raise ValueError(
                    f"Expected op in `op_list` to be a function of torch, such as torch.mm, but got: {op} of type "
                    f"{type(op)}. "
                )

        def policy(ctx: SelectiveCheckpointContext, op: Any, *args: Any) -> bool:
            return op in policy_fn_or_list

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    first = _First(policy)
    return first, _Second(first, allow_cache_entry_mutation)
