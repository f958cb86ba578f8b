"""Parameters that are computed from others, as by a module that keeps a matrix symmetric."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from contextlib import ContextDecorator
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.machine import Tensor
from ...core.state import Context, State
from ...core.values import shown_in
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "cached", "ParametrizationList", "register_parametrization", "is_parametrized", "remove_parametrizations",
    "type_before_parametrizations", "transfer_parametrizations_and_params",
]  # fmt: skip


class _Kept(threading.local):
    """The values computed since `cached` was entered, by module and name; `depth` is how often it was."""

    depth = 0

    def __init__(self) -> None:
        self.values: dict[tuple[Module, str], Tensor] = {}


_kept = _Kept()


class cached(Context, ContextDecorator):
    """Inside, a parametrized tensor is computed once and kept."""

    def _take(self, state: State) -> int:
        return _kept.depth

    def _set(self, state: State, kept: int) -> None:
        _kept.depth = kept + 1

    def _put(self, state: State, kept: int) -> None:
        _kept.depth = kept
        if not kept:
            _kept.values.clear()


@shown_in("torch.nn.utils.parametrize")
class ParametrizationList(ModuleList):
    """What computes a tensor: modules to apply one after the other, and the original, or several, to begin from."""

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new = _begin(self, original)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if new.dtype != dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            _set(original, new)
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(part).__name__}."
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                _register(self, f"original{i}", part.requires_grad_(original.requires_grad))
        if not self.unsafe:
            found = self()
            if not isinstance(found, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
            for aspect, before in (("dtype", dtype), ("shape", shape)):
                if getattr(found, aspect) != before:
                    raise ValueError(
                        f"Registering a parametrization may not change the {aspect} of the tensor, unless `unsafe` "
                        f"flag is enabled.\nunparametrized {aspect}: {before}\n"
                        f"parametrized {aspect}: {getattr(found, aspect)}"
                    )

    def _originals(self) -> list[Tensor]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    @no_grad()
    def right_inverse(self, value: Tensor) -> None:
        """Make the originals such that the tensor becomes `value`, as the modules' own `right_inverse` say."""
        for module in reversed(self):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
            value = module.right_inverse(value)
        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            if value.dtype != self.original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                    f"{self.original.dtype}"
                )
            _set(self.original, value)
            return
        if not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
        if len(value) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                f"length {len(value)}."
            )
        for i, (part, original) in enumerate(zip(value, self._originals())):
            if not isinstance(part, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {i} of type {type(part).__name__}."
                )
            if part.dtype != original.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {part.dtype} while `original{i}` has dtype "
                    f"{original.dtype}"
                )
            _set(original, part)

    def forward(self) -> Tensor:
        first, *others = self
        x = first(*self._originals())
        for module in others:
            x = module(x)
        return x


@no_grad()
def _begin(modules: ParametrizationList, original: Tensor) -> Any:
    """What the originals must be for a tensor to have the value that it has, as far as the modules can tell."""
    new: Any = original
    for module in reversed(modules):
        if hasattr(module, "right_inverse"):
            try:
                new = module.right_inverse(new)
            except NotImplementedError:
                pass
    if not isinstance(new, (Tensor, Sequence)):
        raise ValueError(
            f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}"
        )
    return new


def _set(t: Tensor, to: Tensor) -> None:
    """Give a tensor, which stays the same object, the memory of another."""
    with no_grad():
        t.set_(to)


def _register(module: Module, name: str, t: Tensor) -> None:
    if isinstance(t, Parameter):
        module.register_parameter(name, t)
    else:
        module.register_buffer(name, t)


# ---- classes of parametrized modules


def _no_pickle(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    twin = memo[id(self)] = self.__new__(type(self))
    twin.__dict__ = copy.deepcopy(self.__dict__, memo)
    return twin


def _change_class(module: Module) -> None:
    """Give a module a class of its own, for properties to stand on."""
    kind = type(module)
    names: dict[str, Any] = {"__getstate__": _no_pickle, "__module__": "torch.nn.utils.parametrize"}
    if not hasattr(kind, "__deepcopy__"):
        names["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), names)


def _computed(name: str) -> property:
    def get(self: Any) -> Tensor:
        compute = self.parametrizations[name]
        if not _kept.depth:
            return compute()
        if (self, name) not in _kept.values:
            _kept.values[self, name] = compute()
        return _kept.values[self, name]

    def set(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, set)


# ---- what users call


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:  # fmt: skip
    """Make a parameter or buffer of a module the result of a parametrization, after those that it has.

    The values that a parametrization begins from are kept as `module.parametrizations[name].original` (or
    `original0`, `original1`, … where its `right_inverse` gives several). `unsafe` spares the checks that it keeps shape
    and dtype.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        computed = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _change_class(module)
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _computed(tensor_name))
        module.parametrizations[tensor_name] = computed
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check(module: Module, name: str, parametrization: Any) -> None:
    """That a parametrization, and its inverse, keep dtype and shape."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for aspect in ("dtype", "shape"):
        if getattr(after, aspect) != getattr(before, aspect):
            raise ValueError(
                f"Registering a parametrization may not change the {aspect} of the tensor, unless the `unsafe` flag is "
                f"enabled.\nmodule.{name}.{aspect}: {getattr(before, aspect)}\n"
                f"parametrization(module.{name}).{aspect}: {getattr(after, aspect)}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for aspect in ("dtype", "shape"):
        if getattr(back, aspect) != getattr(before, aspect):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {aspect} as module.{name}, "
                f"unless the `unsafe` flag is enabled.\nmodule.{name}.{aspect}: {getattr(before, aspect)}\n"
                f"returned {aspect}: {getattr(back, aspect)}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of a module, or any, is parametrized."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a tensor a plain parameter or buffer again: with the value it has, or with that of its original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    computed = module.parametrizations[tensor_name]
    if computed.is_tensor:
        plain = computed.original
        if leave_parametrized:
            with no_grad():
                _set(plain, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        plain = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, plain)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before any of its tensors was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:  # fmt: skip
    """Parametrize a module's tensors, or one, as those of another, and share their originals."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for original in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
            setattr(target, original, getattr(source, original))
    return to_module
