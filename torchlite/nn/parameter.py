"""Tensors that modules own: `Parameter` and `Buffer`."""

from __future__ import annotations

from typing import Any

from ..core import dtype as dt
from ..core.overrides import _disabled_torch_function_impl, overrides
from ..core.tensor import Tensor, as_class
from ..ops.create import empty


class _ParameterType(type(Tensor)):
    """Instances of other subclasses may be marked as parameters; they count as Parameters too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterType):
    """A tensor that a module registers as its own when it is assigned as an attribute. It requires grad by default."""

    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return _required(as_class(data.detach().alias(), cls), requires_grad)
        t = _required(as_class(data.detach(), type(data)), requires_grad)
        t._is_param = True
        return t

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: int) -> Any:
        return _rebuild_parameter, (self.data, self.requires_grad, dict(self.__dict__))


def _required(t: Any, requires_grad: bool) -> Any:
    if requires_grad and t.dtype.category < dt.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t.requires_grad_(requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, attributes: dict[str, Any]) -> Parameter:
    made = Parameter(data, requires_grad)
    made.__dict__.update(attributes)
    return made


Parameter.__module__ = "torch.nn.parameter"
overrides(Parameter)  # from now on the fast paths know it
