"""How operations may run on what each process has: for each, the placements of operands that give one of the results.

A rule speaks of one dimension of the mesh. Whatever has no rule, or fits none, runs on whole tensors in all processes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ...core.declare import Along, Elementwise, Reduction, rules_in
from ...core.machine.registry import registry
from ._dtensor_spec import DTensorSpec
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial

R = Replicate()
MEAN, SUM = 1, 2  # how operations are told of the reduction of a loss


class Strategy(NamedTuple):
    """Where the result lies, if the operands lie so."""

    output: Placement
    inputs: tuple[Placement, ...]


class Call(NamedTuple):
    """A call of an operation: in place of tensors over meshes stand their specs."""

    name: str
    op: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    operands: list[DTensorSpec]
    processes: int

    def value(self, name: str) -> Any:
        """An argument by its name in the signature."""
        params = self.op.signature.params
        at = next(number for number, param in enumerate(params) if param.name == name)
        return self.args[at] if at < len(self.args) else self.kwargs.get(name, params[at].default)


Rule = Callable[[Call], Iterator[Strategy]]
_RULES: dict[str, Rule] = {}
_rule = rules_in(_RULES)


def strategies(call: Call) -> list[Strategy]:
    """How an operation may run; on whole tensors at the worst."""
    bare = call.name.removesuffix("_")
    rule = _RULES.get(call.name) or _RULES.get(bare)
    if rule is None:
        op = call.op or registry.get(bare)
        kinds = ((Elementwise, _loss if is_loss(op) else _pointwise), (Reduction, _reduced), (Along, _along))
        rule = next((found for kind, found in kinds if isinstance(op, kind)), None)
    found = [] if rule is None else list(rule(call))
    return [*found, Strategy(R, (R,) * len(call.operands))]


def _dims(dim: Any, ndim: int) -> list[int]:
    """Dimensions that are named, by their numbers; all, where none is."""
    if dim is None or dim in ((), []):
        return list(range(ndim))
    return [each % ndim if ndim else 0 for each in (dim if isinstance(dim, (list, tuple)) else (dim,))]


# ---- element by element

_LINEAR = ("neg", "add", "sub", "_to_copy", "detach", "alias", "zeros_like", "copy")
_SCALED = ("mul", "div")


@_rule(
    "clone _to_copy detach alias lift_fresh zeros_like ones_like empty_like full_like rand_like randn_like fill zero "
    "copy normal uniform bernoulli random exponential threshold_backward tanh_backward sigmoid_backward gelu_backward "
    "silu_backward native_dropout native_dropout_backward masked_fill where contiguous is_same_size"
)
def _pointwise(call: Call) -> Iterator[Strategy]:
    shapes = [spec.shape for spec in call.operands]
    whole = broadcast(shapes)
    for dim in range(len(whole)):
        inputs = [dim - len(whole) + len(shape) for shape in shapes]
        yield Strategy(
            Shard(dim),
            tuple([Shard(at) if at >= 0 and shape[at] == whole[dim] else R for at, shape in zip(inputs, shapes)]),
        )
    name = call.name.removesuffix("_")
    numbers = any(isinstance(each, (int, float, complex)) for each in call.args)
    made = call.kwargs.get("dtype")
    rounded = made is not None and not (made.is_floating_point or made.is_complex)
    for op in ("sum", "avg"):
        partial = Partial(op)
        if name in _LINEAR and not numbers and not rounded:
            yield Strategy(partial, (partial,) * len(shapes))
        if name in _SCALED and isinstance(call.args[0], DTensorSpec):
            yield Strategy(partial, (partial, *(R,) * (len(shapes) - 1)))
        if name == "mul" and len(shapes) == 2:
            yield Strategy(partial, (R, partial))


def is_loss(op: Any) -> bool:
    """Whether an operation makes one number of many that it computes element by element, if it is told to."""
    return isinstance(op, Elementwise) and "reduction" in op.signature.by_name


def _loss(call: Call) -> Iterator[Strategy]:
    apart = call.value("reduction") == 0 or call.name.endswith("_backward")
    whole = broadcast([spec.shape for spec in call.operands])
    for strategy in _pointwise(call):
        if apart:
            yield strategy
        elif call.value("reduction") == SUM:
            yield strategy._replace(output=Partial())
        elif whole[strategy.output.dim] % call.processes == 0:  # type: ignore[attr-defined]
            yield strategy._replace(output=Partial("avg"))


def broadcast(shapes: Sequence[Any]) -> tuple[int, ...]:
    """The shape of what is made element by element."""
    ndim = max(len(shape) for shape in shapes)
    full = [(1,) * (ndim - len(shape)) + tuple(shape) for shape in shapes]
    return tuple([next((size for size in sizes if size != 1), 1) for sizes in zip(*full)])


# ---- along dimensions

_REDUCED_BY = {
    "sum": "sum", "amax": "max", "max": "max", "amin": "min", "min": "min", "prod": "product", "any": "sum",
    "all": "product",
}  # fmt: skip
_OF_NOTHING = ("sum", "prod", "any", "all")  # which have a value where there are no elements


def _reduced(call: Call) -> Iterator[Strategy]:
    params = [param.name for param in call.op.signature.params] if call.op else []
    spec = call.operands[0]
    dims = _dims(call.value("dim") if "dim" in params else None, spec.ndim)
    keeps = "keepdim" in params and call.value("keepdim")
    for dim in range(spec.ndim):
        if dim not in dims:
            yield Strategy(Shard(dim if keeps else dim - sum(each < dim for each in dims)), (Shard(dim),))
            continue
        partial = _partial(call, spec.shape[dim])
        if partial is not None:
            yield Strategy(partial, (Shard(dim),))
    if call.name == "sum":
        yield Strategy(Partial(), (Partial(),))
        yield Strategy(Partial("avg"), (Partial("avg"),))


def _partial(call: Call, size: int) -> Partial | None:
    """What a reduction along pieces is a part of."""
    if call.name == "mean" and size % call.processes == 0:
        return Partial("avg")
    empty = (call.processes - 1) * -(-size // call.processes) >= size  # somebody has nothing that could be the largest
    if call.name == "linalg_vector_norm":
        order = float(call.value("ord"))
        if math.isinf(order):
            return None if empty else Partial("max" if order > 0 else "min")
        return _NormPartial(norm_type=order) if order else None
    if call.name not in _REDUCED_BY or (call.name in ("max", "min") and len(call.args) > 1):  # with their places
        return None
    return None if empty and call.name not in _OF_NOTHING else Partial(_REDUCED_BY[call.name])


def _along(call: Call) -> Iterator[Strategy]:
    yield from _beside(call, _dims(call.value("dim"), call.operands[0].ndim))


def _beside(call: Call, dims: Sequence[int]) -> Iterator[Strategy]:
    """Pieces of all dimensions but some."""
    for dim in range(call.operands[0].ndim):
        if dim not in dims:
            yield Strategy(Shard(dim), (Shard(dim),) * len(call.operands))


@_rule("_softmax _log_softmax _softmax_backward_data _log_softmax_backward_data")
def _softmax(call: Call) -> Iterator[Strategy]:
    dim = call.args[2 if call.name.endswith("_backward_data") else 1]
    yield from _beside(call, _dims(dim, call.operands[0].ndim))


@_rule("native_layer_norm")
def _layer_norm(call: Call) -> Iterator[Strategy]:
    kept = call.operands[0].ndim - len(call.args[1])
    for dim in range(kept):
        yield Strategy(Shard(dim), (Shard(dim), *(R,) * (len(call.operands) - 1)))


# ---- products


_PRODUCTS = {"mm": "ik,kj->ij", "bmm": "bik,bkj->bij", "mv": "ik,k->i", "dot": "k,k->"}


@_rule(" ".join(_PRODUCTS))
def _product(call: Call) -> Iterator[Strategy]:
    """Along each letter of an equation, as einsum has it; of those that are summed over, everyone has a part."""
    operands, _, made = _PRODUCTS[call.name].partition("->")
    first, second = operands.split(",")
    for letter in dict.fromkeys(made + first):
        inputs = [Shard(each.index(letter)) if letter in each else R for each in (first, second)]
        yield Strategy(Shard(made.index(letter)) if letter in made else Partial(), tuple(inputs))
    yield Strategy(Partial(), (Partial(), R))
    yield Strategy(Partial(), (R, Partial()))


@_rule("addmm")
def _added_product(call: Call) -> Iterator[Strategy]:
    bias = call.operands[0]
    last = Shard(bias.ndim - 1) if bias.ndim and bias.shape[-1] > 1 else R
    yield Strategy(Shard(0), (Shard(0) if bias.ndim == 2 and bias.shape[0] > 1 else R, Shard(0), R))
    yield Strategy(Shard(1), (last, R, Shard(1)))
    yield Strategy(Partial(), (Partial(), Shard(1), Shard(0)))


@_rule("embedding")
def _embedding(call: Call) -> Iterator[Strategy]:
    if len(call.operands) == 2:
        for dim in range(call.operands[1].ndim):
            yield Strategy(Shard(dim), (R, Shard(dim)))
        yield Strategy(Shard(call.operands[1].ndim), (Shard(1), R))


# ---- views


def _moved(call: Call, places: Iterable[tuple[int, int]]) -> Iterator[Strategy]:
    """Dimensions, and where they are in the result."""
    for dim, to in places:
        yield Strategy(Shard(to), (Shard(dim),) * len(call.operands))
    yield from _partials(call)


def _partials(call: Call) -> Iterator[Strategy]:
    for op in ("sum", "avg"):
        yield Strategy(Partial(op), (Partial(op),) * len(call.operands))


@_rule("t transpose permute")
def _permuted(call: Call) -> Iterator[Strategy]:
    ndim = call.operands[0].ndim
    order = list(range(ndim))
    if call.name == "permute":
        order = _dims(call.args[1], ndim)
    elif ndim > 1:
        first, second = (0, 1) if call.name == "t" else _dims(call.args[1:3], ndim)
        order[first], order[second] = second, first
    yield from _moved(call, [(dim, to) for to, dim in enumerate(order)])


@_rule("unsqueeze")
def _unsqueezed(call: Call) -> Iterator[Strategy]:
    ndim = call.operands[0].ndim
    at = call.args[1] % (ndim + 1)
    yield from _moved(call, [(dim, dim + (dim >= at)) for dim in range(ndim)])


@_rule("select slice unbind split split_with_sizes cat stack squeeze")
def _apart_from_a_dimension(call: Call) -> Iterator[Strategy]:
    """One dimension is taken apart or put together, and comes, goes or stays."""
    ndim = call.operands[0].ndim
    place = 2 if call.name.startswith("split") else 1
    given = call.args[place] if len(call.args) > place else call.kwargs.get("dim", 0)
    if call.name == "squeeze" and len(call.args) < 2:
        given = [dim for dim, size in enumerate(call.operands[0].shape) if size == 1] or [ndim]
    if call.name == "stack":
        places = [(dim, dim + (dim >= given % (ndim + 1))) for dim in range(ndim)]
    else:
        apart = _dims(given, ndim + (given == [ndim]))
        gone = apart if call.name in ("select", "unbind", "squeeze") else ()
        places = [(dim, dim - sum(each < dim for each in gone)) for dim in range(ndim) if dim not in apart]
    yield from _moved(call, places)


@_rule("flip roll")
def _turned(call: Call) -> Iterator[Strategy]:
    """Elements change their places along some dimensions."""
    yield from _beside(call, _dims(call.value("dims"), call.operands[0].ndim))
    yield from _partials(call)


@_rule("index_select gather")
def _picked(call: Call) -> Iterator[Strategy]:
    """Elements along one dimension, by their places: the same for all others, or for each its own."""
    shape, index = (spec.shape for spec in call.operands)
    dim = call.args[1] % max(len(shape), 1)
    for each in range(len(shape)):
        if each != dim and call.name == "index_select":
            yield Strategy(Shard(each), (Shard(each), R))
        elif each != dim and shape[each] == index[each]:
            yield Strategy(Shard(each), (Shard(each), Shard(each)))
    yield Strategy(Partial(), (Partial(), R))


@_rule("constant_pad_nd")
def _padded(call: Call) -> Iterator[Strategy]:
    ndim = call.operands[0].ndim
    yield from _beside(call, range(ndim - len(call.args[1]) // 2, ndim))
    if not call.value("value"):
        yield from _partials(call)


@_rule("repeat")
def _repeated(call: Call) -> Iterator[Strategy]:
    counts = call.args[1]
    more = len(counts) - call.operands[0].ndim
    yield from _moved(call, [(dim, dim + more) for dim, count in enumerate(counts[more:]) if count == 1])


@_rule("expand")
def _expanded(call: Call) -> Iterator[Strategy]:
    shape, size = call.operands[0].shape, call.args[1]
    more = len(size) - len(shape)
    yield from _moved(call, [(dim, dim + more) for dim, had in enumerate(shape) if size[dim + more] in (-1, had)])


@_rule("view _unsafe_view reshape")
def _viewed(call: Call) -> Iterator[Strategy]:
    """A dimension stays, or is the first of those that it becomes, or of those that become one."""
    shape, size = list(call.operands[0].shape), whole_size(call)
    places: dict[int, int] = {}
    for (dim, had), (to, wanted) in itertools.product(enumerate(shape), enumerate(size)):
        begins = math.prod(shape[:dim]) == math.prod(size[:to]) and 1 not in (had, wanted)
        if begins and (had == wanted or had % call.processes == wanted % call.processes == 0):
            places.setdefault(dim, to)
    yield from _moved(call, places.items())


def whole_size(call: Call) -> list[int]:
    """The size of the result, with what stands for the rest worked out."""
    shape, size = call.operands[0].shape, list(call.args[1])
    if call.name == "expand":
        more = len(size) - len(shape)
        return [shape[at - more] if each == -1 else each for at, each in enumerate(size)]
    if -1 in size:
        at = size.index(-1)
        size[at] = 1
        size[at] = math.prod(shape) // max(math.prod(size), 1)
    return size


@_rule("new_zeros new_ones new_empty new_full")
def _made_like(call: Call) -> Iterator[Strategy]:
    if list(call.args[1]) == list(call.operands[0].shape):
        yield from _moved(call, [(dim, dim) for dim in range(call.operands[0].ndim)])
