"""`torch.backends.cuda`: switches of CUDA's libraries. CuPy decides for itself, so that nothing heeds them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from typing import Any, NamedTuple

from typing_extensions import deprecated

from ..core.state.context import HoldingItems
from ..core.state.mode import State

_PRECISIONS = {"none": "highest", "ieee": "highest", "tf32": "high"}


class _Matmul:
    """How precise products of matrices must be."""

    _allowed = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")

    def __init__(self) -> None:
        self.__dict__.update(dict.fromkeys(self._allowed, True), precision="highest", allow_fp16_accumulation=False)

    @property
    def allow_tf32(self) -> bool:
        return self.precision != "highest"

    @property
    def fp32_precision(self) -> str:
        return "tf32" if self.allow_tf32 else "none"

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            name, value = "precision", "high" if value else "highest"
        elif name == "fp32_precision":
            name, value = "precision", _PRECISIONS[value]
        if name not in self.__dict__:
            raise AttributeError(f"Unknown attribute {name}")
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unknown attribute {name}")


matmul = _Matmul()


def is_built() -> bool:
    """Whether PyTorch was built with CUDA. torchlite uses it, where it is, through CuPy: `torch.cuda.is_available`."""
    return False


# ---- kernels of attention

_kernels = dict.fromkeys(("flash", "math", "mem_efficient", "cudnn"), True)
_reduced_math = False


def flash_sdp_enabled() -> bool:
    return _kernels["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    _kernels["flash"] = enabled


def math_sdp_enabled() -> bool:
    return _kernels["math"]


def enable_math_sdp(enabled: bool) -> None:
    _kernels["math"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    return _kernels["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    _kernels["mem_efficient"] = enabled


def cudnn_sdp_enabled() -> bool:
    return _kernels["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    _kernels["cudnn"] = enabled


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

    def _set(self, state: State, kept: Any) -> dict[Any, Any]:
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


# ---- libraries


class _Choice:
    """Which library to prefer, by its name."""

    def __init__(self, known: tuple[str, ...], default: str) -> None:
        self.known, self.now = known, default

    def __call__(self, backend: str | None = None) -> str:
        if backend is not None:
            if backend not in self.known:
                raise RuntimeError(f"Unknown input value. Choose from: {', '.join(self.known)}.")
            self.now = backend
        return self.now


preferred_linalg_library = _Choice(("default", "cusolver", "magma"), "default")
preferred_blas_library = _Choice(("default", "cublas", "hipblas", "cublaslt", "hipblaslt", "ck"), "cublas")
