"""Which kernels of attention may be used: switches for CUDA's, of which the CPU heeds those of "flash" and "math"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from typing import Any, NamedTuple

from typing_extensions import deprecated

from ...core.state import HoldingItems, State

__all__ = [
    "SDPAParams", "allow_fp16_bf16_reduction_math_sdp", "can_use_cudnn_attention", "can_use_efficient_attention",
    "can_use_flash_attention", "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp",
    "enable_mem_efficient_sdp", "flash_sdp_enabled", "fp16_bf16_reduction_math_sdp_allowed",
    "is_flash_attention_available", "math_sdp_enabled", "mem_efficient_sdp_enabled", "sdp_kernel", "sdp_kernels",
]  # fmt: skip

_kernels = dict.fromkeys(("flash", "math", "mem_efficient", "cudnn"), True)
_reduced_math = False


def _switch(name: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """What tells whether kernels of a kind may be used, and what says so."""

    def is_on() -> bool:
        return _kernels[name]

    def set_on(enabled: bool) -> None:
        _kernels[name] = enabled

    is_on.__name__, set_on.__name__ = f"{name}_sdp_enabled", f"enable_{name}_sdp"
    return is_on, set_on


flash_sdp_enabled, enable_flash_sdp = _switch("flash")
math_sdp_enabled, enable_math_sdp = _switch("math")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn")


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    global _reduced_math
    _reduced_math = enabled


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    return _reduced_math


def is_flash_attention_available() -> bool:
    """Whether PyTorch's CUDA kernel is there."""
    return False


class SDPAParams(NamedTuple):
    """What a choice among the kernels of attention looks at."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any
    dropout: float
    is_causal: bool
    enable_gqa: bool


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether PyTorch's CUDA kernel is there, and takes these."""
    if not isinstance(params, SDPAParams) or not isinstance(debug, bool):
        raise TypeError(
            "_can_use_flash_attention(): incompatible function arguments. The following argument types are supported:\n"
            "    1. (arg0: torch._C._SDPAParams, arg1: bool) -> bool"
        )
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


class _Kernels(HoldingItems, ContextDecorator):
    """A choice of kernels of attention."""

    def _set(self, state: State, kept: Any) -> Any:
        super()._set(state, kept)
        return {}


def sdp_kernels(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> _Kernels:
    """Choose kernels of attention, for the time of a `with`."""
    return _Kernels(_kernels, dict(zip(_kernels, (enable_flash, enable_math, enable_mem_efficient, enable_cudnn))))


@contextmanager
@deprecated(
    "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
    "`torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
    category=FutureWarning,
)
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[dict[Any, Any]]:
    """`sdp_kernels`, which warns."""
    with sdp_kernels(enable_flash, enable_math, enable_mem_efficient, enable_cudnn) as nothing:
        yield nothing
