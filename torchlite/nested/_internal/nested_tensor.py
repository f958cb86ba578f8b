"""NestedTensor: a batch of tensors whose sizes differ in one dimension, as one tensor of values.

The values have all components' elements, one after the other along the ragged dimension, and no batch dimension: what
is dimension d of the nested tensor is d - 1 of theirs. What functions do is said in ops.py and by_dimension.py, on the
values; gradients go through those, so that whatever differentiates plain tensors differentiates these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...autograd.function import Function
from ...core.machine import Tensor
from ...core.state import local
from ...core.values import Size, contiguous_strides, jagged
from ...operations.formulas import tensors
from .by_name import RULES, call_by_rule, without_elements
from .nested_int import NestedInt, size_of


class Ragged(NamedTuple):
    """How values are divided into components."""

    offsets: Tensor  # where each begins, and where the last one ends
    lengths: Tensor | None = None  # how much of it counts, where there are holes
    dim: int = 1  # the ragged dimension
    bounds: tuple[int, int] | None = None  # the least and the largest length, if told

    @property
    def batch(self) -> int:
        return self.offsets.shape[0] - 1

    @property
    def size(self) -> NestedInt:
        return size_of(self.offsets if self.lengths is None else self.lengths)

    def counts(self) -> Tensor:
        return self.offsets.diff() if self.lengths is None else self.lengths

    def least(self) -> int:
        return self.bounds[0] if self.bounds else int(self.counts().min().item())

    def most(self) -> int:
        return self.bounds[1] if self.bounds else int(self.counts().max().item())


class NestedTensor(Tensor):
    """A nested tensor in the jagged layout."""

    _values: Tensor  # type: ignore[assignment]
    _ragged: Ragged

    @staticmethod
    def __new__(cls: Any, values: Tensor, ragged: Ragged, requires_grad: bool = False) -> Any:
        sizes: list[int] = list(values.shape)
        sizes[ragged.dim - 1] = ragged.size
        made = without_elements(cls, (ragged.batch, *sizes), values)
        made._values, made._ragged = values.detach(), ragged
        return made._require_grad(True) if requires_grad else made

    def __init__(self, values: Tensor, ragged: Ragged, requires_grad: bool = False) -> None:
        pass

    is_nested = True

    @property
    def layout(self) -> Any:
        """`torch.jagged`."""
        return jagged

    _ragged_idx = property(lambda self: self._ragged.dim)
    _offsets = property(lambda self: self._ragged.offsets)
    _lengths = property(lambda self: self._ragged.lengths)
    _max_seqlen = property(lambda self: self._ragged.most())
    _min_seqlen = property(lambda self: self._ragged.least())

    @property
    def _metadata_cache(self) -> dict[str, Tensor]:
        """What lengths are told of, each as the size of a tensor without elements."""
        told = zip(("min_seqlen", "max_seqlen"), self._ragged.bounds or ())
        return {name: tensors.zeros((n, 0)) for name, n in told}

    _max_seqlen_tensor = property(lambda self: self._metadata_cache.get("max_seqlen"))
    _min_seqlen_tensor = property(lambda self: self._metadata_cache.get("min_seqlen"))

    def _get_max_seqlen(self) -> int:
        return self._ragged.most()

    def _get_min_seqlen(self) -> int:
        return self._ragged.least()

    def values(self) -> Tensor:
        """The values of all components, through which gradients come back."""
        return values_of(self)

    def offsets(self) -> Tensor:
        """Where each component begins among the values, and where the last one ends."""
        return self._ragged.offsets

    def lengths(self) -> Tensor | None:
        """How long each component is, where that does not follow from the offsets."""
        return self._ragged.lengths

    def numel(self) -> int:
        """The number of elements of the values."""
        return self._values.numel()

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Strides in elements, as if the ragged dimension were one of its size."""
        strides = contiguous_strides(tuple(self.shape))
        return strides if dim is None else strides[dim]

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        """Whether the values lie row by row, without holes."""
        return self._ragged.lengths is None and self._values.is_contiguous()

    def to_padded_tensor(self, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
        """The components one beneath the other in a dense tensor, with `padding` where they have nothing."""
        made: Tensor = RULES["to_padded_tensor"](None, self, padding, output_size)
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        grad = f", grad_fn={self.grad_fn}" if self.grad_fn is not None else ", requires_grad=True" * self.requires_grad
        shape = Size(self.shape)
        size = f"({', '.join(map(repr, shape))})"
        return f"NestedTensor(size={size}, offsets={self._ragged.offsets}{grad}, contiguous={self.is_contiguous()})"

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __deepcopy__(self, memo: Any) -> NestedTensor:
        parts = [None if t is None else t.clone() for t in self._ragged[:2]]
        ragged = Ragged(parts[0], parts[1], *self._ragged[2:])  # type: ignore[arg-type]
        made = memo[id(self)] = NestedTensor(self._values.clone(), ragged, self.requires_grad)
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        offsets, lengths, dim, _ = self._ragged
        return _rebuild_njt, ({
            "values": self._values, "offsets": offsets, "lengths": lengths, "_ragged_idx": dim,
            "_metadata_cache": self._metadata_cache, "requires_grad": self.requires_grad,
        },)  # fmt: skip

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return call_by_rule(RULES, func, args, kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rule = RULES.get(func.overloadpacket.__name__)
        if rule is None:
            raise NotImplementedError(str(func).removeprefix("torch.ops.").removeprefix("torch._ops."))
        return rule(func, *args, **(kwargs or {}))


def _rebuild_njt(parts: dict[str, Any]) -> NestedTensor:
    """A nested tensor as files have it."""
    told = {name: t.shape[0] for name, t in parts["_metadata_cache"].items()}
    ragged = Ragged(parts["offsets"], parts["lengths"], parts["_ragged_idx"])
    if "max_seqlen" in told:
        least = told["min_seqlen"] if "min_seqlen" in told else ragged.least()
        ragged = ragged._replace(bounds=(least, told["max_seqlen"]))
    return NestedTensor(parts["values"], ragged, parts["requires_grad"])


class ValuesOf(Function):
    """The values of a nested tensor; their gradient is divided as they are."""

    @staticmethod
    def forward(ctx: Any, input: NestedTensor) -> Tensor:
        ctx.ragged = input._ragged
        return input._values.view_as(input._values)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return nested(g.contiguous(), ctx.ragged)


class NestedViewFromJagged(Function):
    """Values as a nested tensor."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, ragged: Ragged) -> NestedTensor:
        return NestedTensor(values, ragged)

    @staticmethod
    def backward(ctx: Any, g: NestedTensor) -> tuple[Any, ...]:
        return values_of(g), None


def values_of(t: NestedTensor) -> Tensor:
    """The values, with the history of the nested tensor."""
    if not (local.state.mode.grad and t.requires_grad):
        return t._values
    made: Tensor = ValuesOf.apply(t)
    return made


def nested(values: Tensor, ragged: Ragged) -> NestedTensor:
    """A nested tensor of values, with their history."""
    if not (local.state.mode.grad and values.requires_grad):
        return NestedTensor(values, ragged)
    made: NestedTensor = NestedViewFromJagged.apply(values, ragged)
    return made


def from_list(components: Any) -> NestedTensor:
    """A nested tensor of tensors that differ in one dimension at most."""
    first = components[0]
    odd = [d for d in range(first.dim()) if any(t.shape[d] != first.shape[d] for t in components)]
    if len(odd) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout "
            "only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
    dim = odd[0] if odd else 0
    sizes = [t.shape[dim] for t in components]
    starts = [0]
    for n in sizes:
        starts.append(starts[-1] + n)
    offsets = tensors.tensor(starts, device=first.device)
    return nested(tensors.cat(list(components), dim), Ragged(offsets, None, dim + 1, (min(sizes), max(sizes))))
