"""Tensors that carry a mask, which torchlite has not: masks are given to the functions of `torch.masked`."""

from __future__ import annotations

from typing import Any, NoReturn


class MaskedTensor:
    """What PyTorch calls so; there are none here."""

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> NoReturn:  # type: ignore[misc]
        raise NotImplementedError(
            "torchlite has no MaskedTensor; give the mask to a function of torch.masked, as in torch.masked.sum(data, "
            "mask=mask)"
        )


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A tensor with a mask: an error here."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """The same in a way that gradients reach the data: an error here."""
    return MaskedTensor(data, mask)


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether this is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)
