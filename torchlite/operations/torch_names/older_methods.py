"""Older and rarer methods of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

from ...core.declare import function, method, publish_python
from ...core.machine import Tensor
from ...core.memory import STORAGES, storage_name
from ...core.values import dt, memory_format, sparse_coo, warn


@method("is_nonzero")
def is_nonzero(self: Tensor) -> bool:
    """Whether the one element is not zero."""
    return bool(self)


def _cast_to(name: str) -> None:
    """The function that converts to the dtype that storages of this name hold."""
    d = getattr(dt, {"Byte": "uint8", "Char": "int8", "Double": "float64", "Float": "float32", "Half": "float16",
                     "Int": "int32", "Long": "int64", "Short": "int16"}[name])  # fmt: skip
    publish_python(f"_cast_{name}(Tensor self, bool non_blocking=False)", lambda self, _: self.to(d), method=False)


for _name in ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
    _cast_to(_name)


@method("dim_order")
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the one with the greatest steps in memory to the one with the smallest."""
    if self.layout is sparse_coo:
        raise AttributeError(
            f"Can't get dim order on sparse type: {self.type()} Use Tensor.to_dense() to convert to a dense tensor "
            "first."
        )
    formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
    if not (isinstance(formats, list) and all(isinstance(each, memory_format) for each in formats)):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = self.stride()
    ambiguous = ambiguity_check is not False and (1 in self.shape or len({*strides}) < self.dim())
    if ambiguous and sum(self.is_contiguous(memory_format=each) for each in formats) != 1:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    if self.is_contiguous():
        return tuple(range(self.dim()))
    return tuple(sorted(range(self.dim()), key=lambda d: -strides[d]))


@method("storage_type")
def storage_type(self: Tensor) -> Any:
    """The class of typed storages of this tensor's dtype."""
    self.untyped_storage()  # which not all tensors have
    return STORAGES.get(storage_name(self.dtype))


@method("module_load")
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What takes this parameter's place when `other` is loaded into it."""
    return other.detach() if assign else self.copy_(other).detach()


@method("record_stream")
def record_stream(self: Tensor, stream: Any) -> None:
    """Say that another stream uses this memory, which CuPy keeps until that is done by itself."""
    if not hasattr(stream, "record_event"):
        raise RuntimeError("unknown parameter type")


@method("resize")
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """`reshape`, by an older name."""
    warn("non-inplace resize is deprecated")
    asked = math.prod(sizes) if all(hasattr(n, "__index__") for n in sizes) else sizes
    if asked != self.numel():
        shown, have = ["x".join(map(str, shape)) for shape in (sizes, self.shape)]
        raise RuntimeError(
            f"requested resize to {shown} ({asked} elements in total), but the given tensor has a size of {have} "
            f"({self.numel()} elements). autograd's resize can only change the shape of a given tensor, while "
            "preserving the number of elements. "
        )
    return self.reshape(*sizes)


@method("resize_as")
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """`reshape_as`, by an older name."""
    warn("non-inplace resize_as is deprecated")
    return self.reshape(tensor.shape)


@method("__nonzero__")
def __nonzero__(self: Tensor) -> bool:
    return bool(self)


@method("__long__")
def __long__(self: Tensor) -> int:
    return int(self)


@method("__delitem__")
def __delitem__(self: Tensor, index: Any) -> NoReturn:
    raise TypeError("Tensor does not support deleting items")


def volatile(self: Tensor) -> bool:
    """False: `torch.no_grad` took its place."""
    warn("volatile was removed (Variable.volatile is always False)")
    return False


Tensor.volatile = property(volatile)  # type: ignore[assignment, method-assign]


@method("__setstate__")
def __setstate__(self: Tensor, state: tuple[Any, ...]) -> None:
    """Take over what a pickle of old tells: a storage, an offset, a size and strides; or what is beside these."""
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if len(state) == 4:
        self.set_(*state)
        return
    if len(state) == 5:
        self.data, requires_grad, hooks = state[0], state[3], state[4]
    else:
        requires_grad, _, hooks = state
    self.requires_grad = requires_grad
    self._backward_hooks = hooks


@method("reinforce")
def reinforce(self: Tensor, reward: Any) -> NoReturn:
    """Raises an error: distributions of `torch.distributions` have a `log_prob` to go backward from."""
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead.\n"
        "See https://pytorch.org/docs/main/distributions.html\n\nInstead of:\n\n"
        "probs = policy_network(state)\naction = probs.multinomial()\nnext_state, reward = env.step(action)\n"
        "action.reinforce(reward)\naction.backward()\n\nUse:\n\n"
        "probs = policy_network(state)\n"
        "# NOTE: categorical is equivalent to what used to be called multinomial\n"
        "m = torch.distributions.Categorical(probs)\naction = m.sample()\n"
        "next_state, reward = env.step(action)\nloss = -m.log_prob(action) * reward\nloss.backward()\n"
    )


def _removed(name: str, instead: str) -> Callable[..., NoReturn]:
    def call(*_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(
            f"This function was deprecated since version 1.9 and is now removed. `torch.{name}` is deprecated in favor "
            f"of `torch.linalg.{instead}`."
        )

    call.__doc__ = f"Raises an error: `torch.linalg.{instead}` does this."
    return call


_INSTEAD = {"eig": "eig", "lstsq": "lstsq", "matrix_rank": "matrix_rank", "symeig": "eigh", "solve": "solve"}

for _name, _instead in _INSTEAD.items():
    function(_name)(_removed(_name, _instead))
    if _name != "matrix_rank":
        method(_name)(_removed(_name, _instead))
