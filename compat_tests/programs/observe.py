"""What is seen of a value, an error or a warning: plain data, which can be compared with recorded data."""

import re
from collections.abc import Callable, Iterable
from typing import Any

Tensor = Any  # of whichever library runs the program
Json = Any
Values = dict[str, dict[str, Json]]  # what is seen of several values, by the text that reaches them

_ADDRESS = re.compile(r"0x[0-9a-f]+")


def said(error: Warning | Exception | str) -> str:
    """The type and the first line of an exception or a warning, less addresses and where C++ raised it."""
    first = str(error).partition("\n")[0].partition(" (Triggered internally")[0].strip()
    return f"{type(error).__name__}: {_ADDRESS.sub('0x', first)}".replace("torchlite.", "torch.")


def flat(value: Any) -> list[Json]:
    """The numbers in nested lists one after another, complex ones as two."""
    if isinstance(value, (tuple, list)):
        return [number for item in value for number in flat(item)]
    if isinstance(value, complex):
        return [value.real, value.imag]
    return [value if isinstance(value, bool | int | float | str | None) else str(value).replace("torchlite.", "torch.")]


def numbers(tensor: Tensor) -> list[Json]:
    """A tensor's values in order. A copy is read, for PyTorch's gradients may be zeros that have no memory."""
    found = tensor.detach().clone().reshape(-1).tolist()
    return flat(found) if tensor.is_complex() else found


FIELDS: dict[str, Callable[[Tensor], Json]] = {
    "dtype": lambda t: str(t.dtype).replace("torchlite.", "torch."),
    "shape": lambda t: list(t.shape),
    "values": numbers,
    "stride()": lambda t: list(t.stride()),
    "storage_offset()": lambda t: t.storage_offset(),
    "untyped_storage().nbytes()": lambda t: t.untyped_storage().nbytes(),
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "_is_view()": lambda t: t._is_view(),
    "is_inference()": lambda t: t.is_inference(),
    "bits": lambda t: [t.is_conj(), t.is_neg()],
    "grad_fn": lambda t: t.grad_fn and t.grad_fn.name(),
    "output_nr": lambda t: t.output_nr,
    "_version": lambda t: t._version,
}
OF_GRADIENTS = ("dtype", "shape", "values", "stride()", "requires_grad")


def observe(tensor: Tensor, tensors: dict[str, Tensor], owners: dict[int, str]) -> dict[str, Json]:
    """Every field of a tensor, and which of the live tensors are the same object, its base, or over the same memory."""
    seen = look_at(tensor, FIELDS)
    seen["is"] = name_of(tensor, tensors)
    seen["_base"] = seen_or_error(lambda: name_of(tensor._base, tensors))
    seen["shares memory with"] = seen_or_error(lambda: owners.get(memory(tensor)))
    return seen


def observe_any(value: Any) -> dict[str, Json]:
    """A value that need not be a tensor."""
    if hasattr(value, "untyped_storage"):
        return look_at(value, OF_GRADIENTS)
    return {"type": type(value).__name__, "values": flat(value)}


def look_at(tensor: Tensor, fields: Iterable[str]) -> dict[str, Json]:
    return {field: seen_or_error(lambda field=field: FIELDS[field](tensor)) for field in fields}


def gradient(tensor: Tensor) -> dict[str, Json]:
    """What is in a tensor's `grad`."""
    grad = tensor.grad
    return {"grad": None} if grad is None else look_at(grad, OF_GRADIENTS)


def keeps_grad(tensor: Tensor) -> bool:
    return tensor.requires_grad and (tensor.is_leaf or tensor.retains_grad)


def name_of(tensor: Tensor | None, tensors: dict[str, Tensor]) -> str | None:
    if tensor is None:
        return None
    return next((name for name, other in tensors.items() if other is tensor), "a tensor with no name")


def memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def owners_of_memory(tensors: dict[str, Tensor]) -> dict[int, str]:
    """The first live tensor over each piece of memory."""
    found = {seen_or_error(lambda t=t: memory(t)): name for name, t in reversed(tensors.items())}
    found.pop(0, None)  # which stands for none
    return found


def seen_or_error(look: Callable[[], Json]) -> Json:
    """What a look gives, or which error it raises: reading a field is part of what is compared."""
    try:
        return look()
    except Exception as error:
        return f"raises {said(error)}"
