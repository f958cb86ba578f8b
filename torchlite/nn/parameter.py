"""Tensors that modules own: `Parameter` and `Buffer`, and those whose shape is not known yet."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeGuard

from ..core.declare import Signature
from ..core.machine import Tensor, as_class
from ..core.machine.overrides import _disabled_torch_function_impl, overrides
from ..core.values import DeviceLike, bear_name, dt, preserve_format, shown_in, spelled, type_name
from ..operations.making.factories import empty
from ..operations.making.pickles import object_state, set_object_state

__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy",
]  # fmt: skip


_making = Signature("_make_subclass(any data, bool require_grad)")


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]  # a class that checkers cannot know
    """Instances of other subclasses may be marked as parameters; they count as Parameters too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module registers as its own when it is assigned as an attribute. It requires grad by default."""

    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = empty(0)
        if requires_grad.__class__ is not bool:
            _making.bind((data, requires_grad), {})
        if type(data) is Tensor or type(data) is Parameter:
            return _required(as_class(data._alias(), cls), requires_grad)
        t = _required(as_class(data.detach(), type(data)), requires_grad)
        t._is_param = True
        return t

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(memory_format=preserve_format), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        shown = super().__repr__()
        return f"Parameter containing:\n{shown if type(self) is Parameter else f'Parameter({shown})'}"

    def __reduce_ex__(self, protocol: int) -> Any:
        state = object_state(self)
        args: tuple[Any, ...] = (self.data, self.requires_grad, OrderedDict())
        if state:
            return spelled(_rebuild_parameter_with_state), (*args, state)
        return spelled(_rebuild_parameter), args


def _required(t: Any, requires_grad: bool) -> Any:
    if not isinstance(requires_grad, bool):
        raise TypeError(
            f"_make_subclass(): argument 'require_grad' (position 3) must be bool, not {type_name(requires_grad)}"
        )
    if requires_grad and t.dtype.category < dt.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t._require_grad(requires_grad)


@shown_in("torch._utils")
def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    return Parameter(data, requires_grad)


@shown_in("torch._utils")
def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Parameter:
    return set_object_state(Parameter(data, requires_grad), state)


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """Buffers are plain tensors with a mark."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module registers as a buffer when it is assigned as an attribute.

    `persistent` says whether it is part of the module's `state_dict`.
    """

    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty(0)
        t = data.detach()._require_grad(data.requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t


_TOO_EARLY = "Call `forward` to initialize the parameters before "


class UninitializedTensorMixin:
    """A tensor of which dtype and device are known, but not yet the shape: `materialize` gives it one."""

    cls_to_become: ClassVar[type]

    _allowed_methods: ClassVar[list[Any]] = [
        getattr(Tensor, name)
        for name in (
            "__hash__", "size", "copy_", "is_complex", "is_floating_point", "half", "float", "double", "char", "short",
            "int", "long", "cuda", "cpu", "to", "get_device",
        )
    ]  # fmt: skip

    def materialize(self: Any, shape: Any, device: DeviceLike = None, dtype: dt.dtype | None = None) -> None:
        """Become an ordinary parameter or buffer of this shape, with whatever the memory holds."""
        plain = self.data
        made = empty(shape, device=device or plain.device, dtype=dtype or plain.dtype)
        if made.is_meta != plain.is_meta:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
                "type."
            )
        self.__class__ = self.cls_to_become
        self.data = made

    @property
    def shape(self) -> Any:
        """There is none yet: raises an error that says so."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
            f"{_TOO_EARLY}accessing their attributes."
        )

    def share_memory_(self) -> Any:
        """There is no memory to be shared yet: raises an error that says so."""
        raise RuntimeError(
            f"Can't share memory on an uninitialized parameter or buffer. {_TOO_EARLY}calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, protocol: int) -> Any:
        return spelled(type(self)), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in cls._allowed_methods or type(func).__name__ == "method-wrapper":  # the latter reads a property
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc]
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is not known yet."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: DeviceLike = None, dtype: dt.dtype | None = None) -> Any:
        return _required(as_class(empty(0, device=device, dtype=dtype), cls), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer whose shape is not known yet."""

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: DeviceLike = None, dtype: dt.dtype | None = None,
        persistent: bool = True,
    ) -> Any:  # fmt: skip
        made = _required(as_class(empty(0, device=device, dtype=dtype), cls), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


def is_lazy(param: Any) -> TypeGuard[UninitializedTensorMixin]:
    """Whether a parameter or buffer still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


for _cls in (Parameter, Buffer, UninitializedTensorMixin, UninitializedParameter, UninitializedBuffer):
    bear_name(_cls, "torch.nn.parameter")
overrides(Parameter)  # from now on the fast paths know it
