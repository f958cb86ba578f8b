"""What `torch._C` says of the libraries PyTorch was built with, and of its compiler's switches, which nothing heeds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from ..absent import placeholders

_BUILT_WITH = ("cuda", "cudnn", "cusparselt", "eigen_sparse", "kleidiai", "magma", "mkldnn", "mkldnn_acl", "mps", "xpu")
_SWITCHES = (
    "can_fuse_on_cpu", "can_fuse_on_gpu", "llga_enabled", "nvfuser_enabled", "nvfuser_guard_mode",
    "profiling_executor", "profiling_mode", "texpr_fuser_enabled",
)  # fmt: skip
_on: dict[str, int] = dict.fromkeys(_SWITCHES, False) | {"graph_executor_optimize": True, "num_profiled_runs": 1}

# What graphs are made of, and the types in them.
_GRAPHS = placeholders(
    "torch._C",
    """
    Block Graph Node ScriptDict ScriptList ScriptMethod Value
    AnyType AwaitType BoolType ClassType ComplexType DeviceObjType DictType EnumType FloatType FutureType InferredType
    IntType InterfaceType ListType NoneType NumberType OptionalType PyObjectType RRefType StreamObjType StringType
    TensorType TupleType Type UnionType
    """,
)
globals().update(_GRAPHS)
globals().update({f"_has_{library}": False for library in _BUILT_WITH})


def _asking(switch: str) -> Callable[[], bool]:
    return lambda: bool(_on[switch])


def _setting(switch: str) -> Callable[[bool], bool]:
    def set_switch(value: bool) -> bool:
        before, _on[switch] = bool(_on[switch]), bool(value)
        return before

    return set_switch


for _switch in _SWITCHES:
    globals()[f"_jit_{_switch}"] = _asking(_switch)
    globals()[f"_jit_set_{_switch}"] = globals()[f"_jit_override_{_switch}"] = _setting(_switch)


def _get_graph_executor_optimize(new_setting: bool | None = None) -> bool:
    """Whether graphs would be optimized, before a new setting."""
    before = bool(_on["graph_executor_optimize"])
    _on["graph_executor_optimize"] = before if new_setting is None else bool(new_setting)
    return before


def _set_graph_executor_optimize(optimize: bool) -> None:
    _get_graph_executor_optimize(optimize)


def _jit_set_num_profiled_runs(num: int) -> int:
    """How often graphs would be watched before they are optimized, before a new setting."""
    before, _on["num_profiled_runs"] = _on["num_profiled_runs"], num
    return before


def _get_tracing_state() -> None:
    """What a trace has written so far, of which there is none."""


def _is_tracing() -> bool:
    return False


def _set_math_sdp_allow_fp16_bf16_reduction(allow: bool) -> None:
    """Attention sums in float32 in any case."""


def _ExcludeDispatchKeyGuard(keys: Any) -> nullcontext[None]:
    """For kernels of autocast, inside which autocast is off already."""
    return nullcontext()


_SHOWN = ("_has_", "_is_", "_jit_", "_get_", "_set_", "_Exclude")
__all__ = [*_GRAPHS, *(name for name in globals() if name.startswith(_SHOWN))]
