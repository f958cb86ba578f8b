"""`torch.nn.attention`: which kernels may compute scaled dot-product attention, biases for it, and attention by rule.

There is one kernel here, which takes everything, so that a choice makes no difference but that of PyTorch's which would
not take what is given are refused.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...absent import lacking
from ...core.values import shown_in
from ...operations.products import attention_kernels as kernels
from ...operations.products.attention_kernels import SDPAParams, can_use_efficient_attention, can_use_flash_attention

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = [
    "WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "activate_flash_attention_impl", "current_flash_attention_impl",
    "list_flash_attention_impls", "register_flash_attention_impl", "restore_flash_attention_impl", "sdpa_kernel",
]  # fmt: skip

WARN_FOR_UNFUSED_KERNELS = False


@shown_in("torch.nn.attention")
class SDPBackend(enum.Enum):
    """PyTorch's kernels for attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return self.value

    __index__ = __int__


# The switches of the kernels, in the order in which `sdp_kernels` takes them.
_SWITCHES = {
    SDPBackend.FLASH_ATTENTION: kernels.flash_sdp_enabled, SDPBackend.MATH: kernels.math_sdp_enabled,
    SDPBackend.EFFICIENT_ATTENTION: kernels.mem_efficient_sdp_enabled,
    SDPBackend.CUDNN_ATTENTION: kernels.cudnn_sdp_enabled,
}  # fmt: skip


def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> AbstractContextManager[dict[Any, Any]]:
    """Choose one or several kernels, for the time of a `with`."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    chosen = backends if isinstance(backends, list) else [backends]
    return kernels.sdp_kernels(*[kind in chosen for kind in _SWITCHES])


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The kernels that are allowed now."""
    order = (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH)
    return [kind for kind in order if _SWITCHES[kind]()]


# ---- libraries of CUDA kernels

_flash: dict[str, Callable[..., Any] | None] = {"FA3": None, "FA4": None}
_active: list[tuple[str, Any]] = []


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Name an implementation; `register_fn` is called when it is chosen, and may return a handle with `remove`."""
    _flash[impl] = register_fn


def list_flash_attention_impls() -> list[str]:
    """The names there are to choose from."""
    return sorted(_flash)


def current_flash_attention_impl() -> str | None:
    """The name chosen, if any."""
    return _active[-1][0] if _active else None


def activate_flash_attention_impl(impl: str) -> None:
    """Choose an implementation by its name. PyTorch's own are for its CUDA kernels, and not here."""
    if impl not in _flash:
        known = list_flash_attention_impls()
        raise ValueError(f"Unknown flash attention impl '{impl}'. Available implementations: {known}")
    register = _flash[impl]
    if register is None:
        raise NotImplementedError(f"torchlite has no flash attention implementation '{impl}'")
    if current_flash_attention_impl() != impl:
        restore_flash_attention_impl(_raise_warn=False)
        _active.append((impl, register()))


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Go back to none."""
    if not _active and _raise_warn:
        logging.getLogger(__name__).warning("Trying to restore default FA2 impl when no custom impl was activated")
    while _active:
        handle = _active.pop()[1]
        if handle is not None:
            handle.remove()


__getattr__ = lacking(__name__, modules=("bias", "flex_attention"))
