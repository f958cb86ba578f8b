"""Nested tensors in the strided layout: a batch of tensors, each of which has its own sizes.

What a function does, it does on each component, along dimensions that are one less; gradients go through those.
"""

from __future__ import annotations

import functools
import itertools
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.function import Function
from ..core.declare import Elementwise, rules_in
from ..core.machine import Tensor
from ..core.machine.format import said_of_history
from ..core.machine.registry import registry
from ..core.state import local
from ..core.values import dt, missing_kernel_of, shown_in, spelled, warn_once, wrap_dim
from ..operations.formulas import tensors
from ._internal.by_name import call_by_rule, name_of, without_elements


class StridedNested(Tensor):
    """A nested tensor in the strided layout."""

    _components: tuple[Tensor, ...]

    @staticmethod
    def __new__(cls: Any, components: Sequence[Tensor], requires_grad: bool = False) -> Any:
        warn_once(
            "The PyTorch API of nested tensors is in prototype stage and will change in the near future. We recommend "
            "specifying layout=torch.jagged when constructing a nested tensor, as this layout receives active "
            "development, has better operator coverage, and works with torch.compile."
        )
        first = components[0] if components else tensors.empty(0)
        shape = (len(components), *[max(sizes) for sizes in zip(*[t.shape for t in components])])
        made = without_elements(cls, shape, first)
        made._components = tuple([t.detach() for t in components])
        return made._require_grad(True) if requires_grad else made

    def __init__(self, components: Sequence[Tensor], requires_grad: bool = False) -> None:
        pass

    is_nested = True

    @property
    def shape(self) -> Any:
        """Refused: sizes may differ from component to component."""
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")

    def size(self, dim: int | None = None) -> Any:
        """The size of a dimension in which all components are alike."""
        if dim is None:
            return self.shape
        d = wrap_dim(dim, self.dim())
        if d == 0:
            return len(self._components)
        sizes = {t.shape[d - 1] for t in self._components}
        if len(sizes) > 1:
            raise RuntimeError(f"Given dimension {d} is irregular and does not have a size.")
        return sizes.pop()

    def numel(self) -> int:
        """The number of elements of all components."""
        return sum([t.numel() for t in self._components])

    def _nested_tensor_size(self) -> Tensor:
        return tensors.tensor([list(t.shape) for t in self._components])

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        """Whether all components are contiguous."""
        return all([t.is_contiguous() for t in self._components])

    def to_padded_tensor(self, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
        """The components one beneath the other in a dense tensor, with `padding` where they have nothing."""
        return _padded(self, padding, output_size)

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts = [t.contiguous() for t in self._components]
        starts = [0, *itertools.accumulate([t.numel() for t in parts])][: len(parts)]
        geometry = [[list(t.shape) for t in parts], [list(t.stride()) for t in parts], starts]
        flat = tensors.cat([t.reshape(-1) for t in parts]) if parts else tensors.empty(0)
        return spelled(_rebuild_nested_tensor), (flat, *[tensors.tensor(each, dtype=dt.int64) for each in geometry])

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        parts = [t.detach().requires_grad_(self.requires_grad) for t in self._components]
        shown = [textwrap.indent(repr(t), "  ", lambda line: True) for t in parts]
        return "nested_tensor([\n" + ",\n".join(shown) + "\n" + ", ".join(["]", *said_of_history(self)]) + ")"

    def __len__(self) -> int:
        return len(self._components)

    def __iter__(self) -> Any:
        return iter(components_of(self))

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return call_by_rule(_RULES, func, args, kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        rule = _RULES.get(name)
        if rule is None:
            one = args[0] if isinstance(args[0], Tensor) else args[0][0]
            raise missing_kernel_of(name, _Named(one._backend.device))
        return rule(func, *args, **(kwargs or {}))


@shown_in("torch._utils")
def _rebuild_nested_tensor(buffer: Tensor, sizes: Tensor, strides: Tensor, storage_offsets: Tensor) -> StridedNested:
    places = zip(sizes.tolist(), strides.tolist(), storage_offsets.tolist(), strict=True)
    parts = [buffer.as_strided(size, stride, start) for size, stride, start in places]
    filled = [t for t in parts if t.numel()]
    if bool(filled) != bool(buffer.numel()) or len({t.storage_offset() for t in filled}) < len(filled):
        raise RuntimeError("the parts of a nested tensor do not fit together, or are not read yet in a legacy file")
    return StridedNested(parts)


class _Named:
    """The name that errors give such tensors."""

    kind = "NestedTensor"

    def __init__(self, device: Any) -> None:
        self.device = device


class ComponentsOf(Function):
    """The components of a nested tensor."""

    @staticmethod
    def forward(ctx: Any, input: StridedNested) -> tuple[Tensor, ...]:
        return tuple([t.view_as(t) for t in input._components])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> StridedNested:
        return strided_from_list(grads)


class NestedTensorFromComponents(Function):
    """Tensors as a nested one."""

    @staticmethod
    def forward(ctx: Any, *components: Tensor) -> StridedNested:
        return StridedNested(components)

    @staticmethod
    def backward(ctx: Any, g: StridedNested) -> Any:
        return components_of(g)


def components_of(t: StridedNested) -> tuple[Tensor, ...]:
    """The components, with the history of the nested tensor."""
    if not (local.state.mode.grad and t.requires_grad):
        return t._components
    made: tuple[Tensor, ...] = ComponentsOf.apply(t)
    return made


def strided_from_list(components: Sequence[Tensor], requires_grad: bool = False) -> StridedNested:
    """A nested tensor of these components, with their history."""
    for at, t in enumerate(components):
        if t.dim() != components[0].dim():
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{t.dim()} for Tensor at index {at} and dimension {components[0].dim()} for Tensor at index 0."
            )
    if requires_grad or not (local.state.mode.grad and any([t.requires_grad for t in components])):
        return StridedNested(components, requires_grad)
    made: StridedNested = NestedTensorFromComponents.apply(*components)
    return made


# ---- what functions do

Rule = Callable[..., Any]
_RULES: dict[str, Rule] = {}
_rule = rules_in(_RULES)


def _of_each(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The function of each component, together with the others' of the same place."""
    several = [components_of(v) if isinstance(v, StridedNested) else None for v in args]
    count = next(len(c) for c in several if c is not None)
    if any(c is not None and len(c) != count for c in several):
        raise RuntimeError("Expected all nested tensors to have the same number of components")
    made = [func(*[v if c is None else c[at] for v, c in zip(args, several)], **kwargs) for at in range(count)]
    if isinstance(args[0], StridedNested) and all(m is c for m, c in zip(made, args[0]._components)):
        return args[0]
    return strided_from_list(made)


_OPERATORS = "abs add iadd imul invert isub itruediv mul neg pos pow radd rmul rsub rtruediv sub truediv ge gt"
_OF_EACH = """
    _to_copy absolute alias bfloat16 bool clone contiguous copy_ detach double dropout embedding fill_ float gelu half
    int linear _linear long masked_fill mish native_dropout ones_like silu softplus square threshold_backward to type
    where zero_ zeros_like empty_like full_like rand_like randn_like
"""
_ELEMENTWISE = [name.split(".")[0] for name, op in registry.items() if isinstance(op, Elementwise) and name != "eq"]
_rule(" ".join([*_ELEMENTWISE, *[f"{name}_" for name in _ELEMENTWISE]]))(_of_each)
_rule(_OF_EACH)(_of_each)
_rule(" ".join([f"__{name}__" for name in _OPERATORS.split()]))(_of_each)


@_rule("eq __eq__")
def _eq(func: Callable[..., Any], self: Any, other: Any) -> Any:
    if isinstance(self, StridedNested) and isinstance(other, StridedNested):
        raise RuntimeError("eq does not support nested tensor as other value.")
    return _of_each(func, self, other)


@_rule("matmul __matmul__ bmm")
def _matmul(func: Callable[..., Any], self: Any, other: Any) -> Any:
    kinds = ["nested" if isinstance(t, StridedNested) else "non-nested" for t in (self, other)]
    if kinds[0] != kinds[1] and (kinds[0] == "non-nested" or other.dim() > 2):
        raise RuntimeError(f"Expected both to be nested, but got a {kinds[0]} self and {kinds[1]} other")
    return strided_from_list([
        a.matmul(b)
        for a, b in zip(components_of(self), components_of(other) if kinds[1] == "nested" else [other] * len(self))
    ])  # fmt: skip


@_rule("unbind")
def _unbind(func: Callable[..., Any], self: StridedNested, dim: int = 0) -> Any:
    return components_of(self)


@_rule("__getitem__ select")
def _item(func: Callable[..., Any], self: StridedNested, index: Any, *more: Any) -> Any:
    if name_of(func) == "select":
        (index,) = more
    first, *rest = index if isinstance(index, tuple) else (index,)
    if not isinstance(first, int):
        return strided_from_list([t[tuple(rest)] for t in components_of(self)[first]])
    if not -len(self) <= first < len(self):
        raise IndexError(f"index {first} is out of bounds for dimension 0 with size {len(self)}")
    one = components_of(self)[first]
    return one[tuple(rest)] if rest else one


def _padded(self: StridedNested, padding: float, output_size: Any) -> Tensor:
    parts = components_of(self)
    least = [len(parts), *[max(n) for n in zip(*[t.shape for t in parts])]]
    count, *sizes = least if output_size is None else output_size
    if 1 + len(sizes) != len(least):
        raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not supported.")
    if any(n < needed for n, needed in zip([count, *sizes], least)):
        raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
    pad = [[m for n, have in zip(reversed(sizes), reversed(t.shape)) for m in (0, n - have)] for t in parts]
    whole = tensors.stack([tensors.constant_pad_nd(t, p, padding) for t, p in zip(parts, pad)])
    more = count - len(parts)
    return tensors.constant_pad_nd(whole, [0, 0] * len(sizes) + [0, more], padding) if more else whole


def _along(name: str, how_many: int, func: Callable[..., Any], self: StridedNested, *args: Any, **kwargs: Any) -> Any:
    """A function of dimensions, the first arguments, of which each component has one less."""
    dims = [wrap_dim(d, self.dim()) - 1 for d in args[:how_many]]
    made = [getattr(t, name)(*dims, *args[how_many:], **kwargs) for t in components_of(self)]
    return strided_from_list(made)


_rule("transpose")(functools.partial(_along, "transpose", 2))
_rule("unsqueeze")(functools.partial(_along, "unsqueeze", 1))
_rule("squeeze")(functools.partial(_along, "squeeze", 1))


@_rule("softmax log_softmax _softmax")
def _softmax(func: Callable[..., Any], self: StridedNested, dim: int, *args: Any, **kwargs: Any) -> Any:
    d = wrap_dim(dim, self.dim())
    if d == 0:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    return strided_from_list([func(t, d - 1, *args, **kwargs) for t in components_of(self)])


@_rule("sum")
def _sum(func: Callable[..., Any], self: StridedNested, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    if dim is None:
        raise missing_kernel_of("sum", _Named(self._backend.device))
    d = wrap_dim(dim if isinstance(dim, int) else dim[0], self.dim())
    if d != self.dim() - 1:
        raise RuntimeError(
            f"NestedTensor can only be reduced across the last dimension for now got dimension {d} instead."
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return strided_from_list([func(t, d - 1, keepdim, **kwargs) for t in components_of(self)])


@_rule("layer_norm")
def _layer_norm(
    func: Any, self: StridedNested, shape: Any, weight: Any = None, bias: Any = None, *more: Any, **named: Any
) -> Any:
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    return strided_from_list([func(t, shape, weight, bias, *more, **named) for t in components_of(self)])


@_rule("view reshape")
def _view(func: Callable[..., Any], self: StridedNested, *shape: Any) -> Any:
    sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    parts = components_of(self)

    def own(t: Tensor) -> list[int]:
        return [t.shape[d] if n == -1 and d < t.dim() else n for d, n in enumerate(sizes[1:])]

    return strided_from_list([getattr(t, name_of(func))(own(t)) for t in parts])


@_rule("cat")
def _cat(func: Callable[..., Any], several: Sequence[Any], dim: int = 0) -> Any:
    if not all(isinstance(t, StridedNested) for t in several):
        raise RuntimeError("Expected each tensor in given list to be nested.")
    d = wrap_dim(dim, several[0].dim())
    if d:
        return strided_from_list([func(parts, d - 1) for parts in zip(*map(components_of, several))])
    common = functools.reduce(dt.promote_types, [t.dtype for t in several])
    return strided_from_list([part.to(common) for t in several for part in components_of(t)])


@_rule("chunk split")
def _parts(func: Callable[..., Any], self: StridedNested, how: Any, dim: int = 0) -> tuple[Any, ...]:
    d = wrap_dim(dim, self.dim()) - 1
    return tuple([strided_from_list(some) for some in zip(*[func(t, how, d) for t in components_of(self)])])


@_rule("scaled_dot_product_attention")
def _attention(func: Callable[..., Any], query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
    if not all(t.is_contiguous() for t in (query, key, value)):
        raise RuntimeError("scaled_dot_product_attention: If inputs are nested tensors they must be contiguous")
    parts = zip(*map(components_of, (query, key, value)))
    return strided_from_list([func(q, k, v, *args, **kwargs) for q, k, v in parts])
