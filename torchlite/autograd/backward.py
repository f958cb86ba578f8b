"""`torch.autograd.backward` and `torch.autograd.grad`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.declare import method
from ..core.machine import TensorBase
from ..core.machine.fast import accelerated
from ..core.machine.node import AccumulateGrad, Node, accumulator_of
from ..core.machine.overrides import dispatch, needs_dispatch
from ..core.machine.registry import functions
from ..core.machine.tensor import Tensor, wrap
from ..core.machine.view import requires_grad, resolve
from ..core.native import native
from ..core.state import local, silent
from ..core.values import Backend, preserve_format, shown_in, warn, warn_once
from ..core.values.dtype import dtype
from ..core.values.size import size
from . import engine


@shown_in("torch.autograd.graph")
class GradientEdge(NamedTuple):
    """A place in the graph where a gradient arrives. It can stand for a tensor in `backward` and `grad`."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge at which the gradient of `tensor` arrives."""
    edge = resolve(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge) if edge.__class__ is tuple else GradientEdge(accumulator_of(edge), 0)


def _listed(value: Any) -> Sequence[Any]:
    return (value,) if isinstance(value, (TensorBase, GradientEdge)) else tuple(value)


def _edge(place: Any) -> Any:
    """The engine's edge for a tensor or a `GradientEdge`; None where there is no history."""
    if place.__class__ is not GradientEdge:
        return resolve(place)
    node = place.node
    return node.variable if isinstance(node, AccumulateGrad) else (node, place.output_nr)


def _roots(places: Sequence[Any], grads: Sequence[Any], create_graph: bool) -> list[tuple[Any, Tensor]]:
    """The edges of the outputs, each with the gradient that enters there."""
    if len(grads) < len(places):
        raise RuntimeError(f"got {len(places)} tensors and {len(grads)} gradients")
    weights, roots = [], []
    for at, place in enumerate(places):
        weights.append(_weight(at, place, grads[at], create_graph))
    for at, place in enumerate(places):
        edge = _edge(place)
        if edge is None:
            raise RuntimeError(f"element {at} of tensors does not require grad and does not have a grad_fn")
        roots.append((edge, weights[at]))
    for at, (edge, g) in enumerate(roots):
        if edge.__class__ is tuple:  # which says what it expects even if the tensor was changed since
            shape, d, _ = edge[0].output_forms[edge[1]]
        else:
            shape, d = edge._array.shape, edge.dtype
        if g.dtype is not d or g._array.shape != shape:
            roots[at] = edge, engine.fitted(g, shape, d, at, None)
    return roots


def _weight(at: int, place: Any, g: Any, create_graph: bool) -> Any:
    """The gradient of an output: a given one that fits, or one; None where the output requires none."""
    if isinstance(place, TensorBase):
        shape, d, backend = place._array.shape, place.dtype, place._backend.home
    elif place.__class__ is GradientEdge:
        shape, d, backend = place.node.output_forms[place.output_nr]
    else:
        raise AssertionError("Expected output to be a torch.Tensor")
    if g is None:
        if isinstance(place, TensorBase) and not requires_grad(place):
            return None
        if shape and any([n != 1 for n in shape]):
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if not d.is_floating_point:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {d!r}")
        if isinstance(place, TensorBase) and (place._backend.handed or local.state.mode.seer is not None):
            alike = functools.partial(functions["ones_like"], memory_format=preserve_format)
            return local.state.within(silent(local.state.mode), alike, place)
        one = backend.asarray(1, d.numpy)
        return wrap(one.reshape(shape) if shape else one, d, backend)
    if not isinstance(g, TensorBase):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    return _given(at, g, shape, d, backend, create_graph)


def _given(at: int, g: Tensor, shape: tuple[int, ...], d: dtype, backend: Backend, create_graph: bool) -> Tensor:
    """A gradient that the user gives for an output, if it fits."""
    engine.check_given(at, g, shape, d)
    if not g._backend.real.level and g._backend.device is not backend.device:
        raise RuntimeError(
            f"invalid gradient at index {at} - expected device {backend.device} but got {g._backend.device}"
        )
    return g if create_graph or not requires_grad(g) else g.detach()


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    grad_variables: Any = None, inputs: Any | None = None,
) -> None:  # fmt: skip
    """Accumulate into the leaves' `.grad` the gradients of `tensors`, weighted by `grad_tensors`."""
    if local.state.levels:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    create_graph, retain_graph = _flag(create_graph), _flag(create_graph if retain_graph is None else retain_graph)
    goals = None
    if inputs is not None:
        sources = _listed(inputs)
        if not sources:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    outputs = _listed(tensors)
    grads = (None,) * len(outputs) if grad_tensors is None else _listed(grad_tensors)
    roots = _roots(outputs, grads, create_graph)
    if inputs is not None:
        goals = []
        for source in sources:
            if isinstance(source, TensorBase):
                source.retain_grad()
            goals.append(_goal(source))
    if create_graph:
        warn_once(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
            "after use to break the cycle and avoid the leak.",
        )
    engine.run(roots, goals, retain_graph, create_graph, accumulate=True)


def _flag(value: Any) -> bool:
    """A flag of the engine, which may be any number of a byte."""
    if value.__class__ is bool:
        return value
    number = operator.index(value)
    if not 0 <= number <= 255:
        raise OverflowError(f"unsigned byte integer is {'less than minimum' if number < 0 else 'greater than maximum'}")
    return bool(number)


def _goal(place: Any) -> Any:
    if not isinstance(place, (TensorBase, GradientEdge)):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(place).__name__}")
    edge = _edge(place)
    if edge is None:
        if isinstance(place, TensorBase) and requires_grad(place):
            return place  # a view made without gradients, which says that it requires some: nothing leads there
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The gradients of `outputs`, weighted by `grad_outputs`, with respect to `inputs`.

    With `is_grads_batched`, each of `grad_outputs` has one dimension more, the first, and so has each result.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            f"Expected allow_unused to be True or not passed when materialize_grads=True, but got: {allow_unused=}."
        )
    places, sources = _listed(outputs), _listed(inputs)
    if needs_dispatch((*places, *sources), {}):
        options = {
            "grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph,
            "only_inputs": only_inputs, "allow_unused": allow_unused, "is_grads_batched": is_grads_batched,
            "materialize_grads": materialize_grads,
        }  # fmt: skip
        return dispatch(grad, (outputs, inputs), options)
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    weights = (None,) * len(places) if grad_outputs is None else _listed(grad_outputs)
    create_graph, keep = _flag(create_graph), _flag(create_graph if retain_graph is None else retain_graph)
    may_be_unused = _flag(materialize_grads if allow_unused is None else allow_unused)

    def run(*weights: Any) -> list[Any]:
        roots = _roots(places, weights, create_graph)
        if not sources:
            raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
        return engine.run(roots, [_goal(source) for source in sources], keep, create_graph, accumulate=False)

    found = _batched(run, places, weights) if is_grads_batched else run(*weights)
    for at, (g, source) in enumerate(zip(found, sources, strict=True)):
        if g is not None:
            continue
        if materialize_grads:
            if source.__class__ is GradientEdge:
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
            found[at] = source.new_zeros(source.shape, requires_grad=create_graph)
        elif not may_be_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {at} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
    return tuple(found)


def _batched(run: Callable[..., list[Any]], places: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    """The gradients that `run` finds, for a batch of weights at once."""
    from ..func.mapping import vmap  # which stands above this: only this corner of `grad` looks up to it

    for at, (place, w) in enumerate(zip(places, weights, strict=False)):
        of_tensor = isinstance(w, TensorBase) and place.__class__ is not GradientEdge
        if of_tensor and w._array.shape[1:] != place._array.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{at}] has a shape of {size(w._array.shape[2:])} and "
                f"output[{at}] has a shape of {place.shape}. If you only want some tensors in `grad_output` to be "
                "considered batched, consider using vmap."
            )
    weights = [_weight(0, place, w, False) if w is None else w for place, w in zip(places, weights, strict=False)]
    used: list[bool] = []

    def vjp(*given: Any) -> tuple[Any, ...]:
        rest = iter(given)
        found = run(*[w if w is None else next(rest) for w in weights])
        used[:] = [g is not None for g in found]
        return tuple([g for g in found if g is not None])

    results = iter(vmap(vjp)(*[w for w in weights if w is not None]))
    return [next(results) if here else None for here in used]


def _backward(
    self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
    inputs: Any | None = None,
) -> None:  # fmt: skip
    """Accumulate into the leaves' `.grad` the gradient of this tensor, which is a scalar unless `gradient` is given."""
    plain = self.__class__ is Tensor and local.state.mode.plain
    edge = self._edge
    if plain and edge.__class__ is tuple and gradient is None is inputs and create_graph is False:
        shape, d, backend = edge[0].output_forms[edge[1]]
        if shape == () == self._array.shape and d is self.dtype and d.is_floating_point:  # a loss, as most are
            one = wrap(backend.asarray(1, d.numpy), d, backend)
            keep = retain_graph is not None and _flag(retain_graph)
            engine.run(((edge, one),), None, keep, False, accumulate=True)
            return
    if not plain and needs_dispatch((self,), {}):
        named = {"gradient": gradient, "retain_graph": retain_graph, "create_graph": create_graph, "inputs": inputs}
        return dispatch(_backward, (self,), named)
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


if native is None:
    method("backward")(_backward)
else:
    method("backward")(accelerated(native.backward, _backward))
