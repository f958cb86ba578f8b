"""How tensors can be quantized: `torch.per_tensor_affine` and its kin."""

from __future__ import annotations

from typing import Any

from .layout import Named
from .pickling import means_this, shown_in
from .sealed import sealed


@shown_in("torch")
class qscheme(Named):
    """A way of quantizing a tensor."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return self.name if means_this() else (_of_name, (self.name,))


SCHEMES = {
    name: qscheme(name)
    for name in (
        "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric",
        "per_channel_affine_float_qparams",
    )
}  # fmt: skip
sealed(qscheme)


def _of_name(name: str) -> qscheme:
    return SCHEMES[name]
