"""`torch.nn.attention.bias`: causal masks that need not be made to be used."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from ...core.machine import Tensor, functions
from ...core.values import DeviceLike, dt, shown_in, warn

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


@shown_in("torch.nn.attention.bias")
class CausalVariant(IntEnum):
    """From which corner the diagonal runs down, where there are more keys than queries or fewer."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


@shown_in("torch.nn.attention.bias")
class CausalBias(Tensor):
    """Stands for a causal mask as the `attn_mask` of `scaled_dot_product_attention`."""

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        return functions["empty"]((int(variant), seq_len_q, seq_len_kv)).as_subclass(cls)

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise TypeError(f"variant must be a CausalVariant instance, got {type(variant).__name__}")
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!")

    def _materialize(self, device: DeviceLike = None) -> Tensor:
        """The mask as a tensor."""
        lower = self.variant is CausalVariant.LOWER_RIGHT
        ones = functions["ones"](self.seq_len_q, self.seq_len_kv, device=device, dtype=dt.bool_)
        return ones.tril(self.seq_len_kv - self.seq_len_q if lower else 0)

    def __repr__(self) -> str:
        return repr(self._materialize())

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from ..functional import scaled_dot_product_attention

        if func is not scaled_dot_product_attention:
            return super().__torch_function__(func, types, args, kwargs or {})
        return _attention(*args, **(kwargs or {}))


def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: CausalBias, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    from ..functional import scaled_dot_product_attention

    if is_causal:
        raise ValueError("CausalBias should not be used with causal=True")
    plain = attn_mask.variant is CausalVariant.UPPER_LEFT or attn_mask.seq_len_q == attn_mask.seq_len_kv
    mask = None if plain else attn_mask._materialize(query.device)
    return scaled_dot_product_attention(query, key, value, mask, dropout_p, plain, scale=scale, enable_gqa=enable_gqa)


def _bias(name: str, variant: CausalVariant) -> Callable[..., Any]:
    def causal(*size: int) -> CausalBias:
        if len(size) != 2:
            raise AssertionError(f"{name} only supports 2D tensors")
        return CausalBias(variant, *size)

    causal.__name__ = causal.__qualname__ = name
    causal.__doc__ = f"The causal mask for so many queries and keys, the diagonal from the {variant.name} corner."
    return causal


causal_upper_left = _bias("causal_upper_left", CausalVariant.UPPER_LEFT)
causal_lower_right = _bias("causal_lower_right", CausalVariant.LOWER_RIGHT)
