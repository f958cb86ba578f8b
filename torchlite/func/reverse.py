"""`grad`, `grad_and_value` and `vjp`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd import engine
from ..core.machine import Tensor, TensorBase, form_of, functions, resolve, wrap
from ..core.state import local
from ..core.values import dt, preserve_format
from ..utils._pytree import tree_flatten, treespec_pprint
from .arguments import Argnums, chosen, inside_of, positions, replaced, results_of, tensors, with_aux
from .nested import NestedLevel
from .settle import settle


class Pullback:
    """A graph recorded at a level that has ended, from outputs back to inputs; both are tensors of the level below."""

    def __init__(self, level: NestedLevel, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """To be made while the level runs; `inputs` are its leaves."""
        self.level = level
        self.outputs = [level.inside(t) for t in outputs]
        self.edges = [None if inside is t else resolve(t) for t, inside in zip(outputs, self.outputs)]
        self.inputs = [level.inside(t) for t in inputs]
        self.leaves = [resolve(t) for t in inputs]

    def __call__(self, gradients: Sequence[Any], retain_graph: bool, create_graph: bool) -> list[Tensor]:
        """The gradients of the inputs, zeros for those that no output depends on."""
        state = local.state
        mode = state.mode.but(inference=False, grad=False) if state.mode.inference else state.mode
        return state.within(mode, self._run, gradients, retain_graph, create_graph)

    def _run(self, gradients: Sequence[Any], retain_graph: bool, create_graph: bool) -> list[Tensor]:
        roots = [
            (edge, _checked(g, out, at))
            for at, (edge, g, out) in enumerate(zip(self.edges, gradients, self.outputs, strict=True))
            if edge is not None
        ]
        found: Sequence[Any] = [None] * len(self.leaves)
        if roots:
            tensors = True
            if not self.level.running:
                bare = local.state.mode.plain and all([g._edge is None and g._backend.bare for _, g in roots])
                tensors = not settle(self.level, [edge for edge, _ in roots], bare)
            create_graph = create_graph and tensors  # a graph of plain tensors without history would be empty
            found = engine.run(roots, self.leaves, retain_graph, create_graph, accumulate=False, tensors=tensors)
        return [_like(t, 0) if g is None else self.level.inside(g) for t, g in zip(self.inputs, found, strict=True)]


def _checked(gradient: Any, output: Tensor, at: int) -> Tensor:
    """A gradient that was given for an output; None stands for that of a number."""
    if gradient is None:
        if output.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if local.state.mode.seer is not None:
            return functions["ones_like"](output, memory_format=preserve_format)
        return _like(output, 1)
    if not isinstance(gradient, TensorBase):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    engine.check_given(at, gradient, output._array.shape, output.dtype)
    return gradient if gradient.dtype is output.dtype else gradient.to(output.dtype)


def _like(t: Tensor, value: int) -> Tensor:
    shape, d, backend = form_of(t)  # type: ignore[misc]
    return wrap(backend.full(shape, value, d.numpy), d, backend)


# ---- grad


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the gradient of `func`, which returns a scalar, by the arguments `argnums`.

    With `has_aux`, `func` returns a pair of which the second part comes along with the gradient.
    """

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, (_, *aux) = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (found, *aux) if has_aux else found

    return gradient


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the gradient of `func`, as `grad` does, and its value.

    With `has_aux`, the value is a pair, as `func` returns it.
    """

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        found, (value, *aux) = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return found, (value, *aux) if has_aux else value

    return gradient_and_value


def _grad_and_value(
    func: Callable[..., Any], argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, list[Any]]:
    where = "grad_and_value(f)(*args)"
    level = NestedLevel()
    with level:
        argnums = positions(argnums, len(args))
        given, spec = tensors(chosen(args, argnums))
        leaves = [level.leaf(t) for t in given]
        output = func(*replaced(args, argnums, spec.unflatten(leaves)), **kwargs)
        aux: list[Any] = []
        if has_aux:
            output, more = with_aux(output, where)
            aux.append(inside_of(level, more))
        if not isinstance(output, TensorBase):
            raise RuntimeError(f"{where}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output.dim():
            raise RuntimeError(
                f"{where}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} dims. Maybe you "
                "wanted to use the vjp or jacrev APIs instead?"
            )
        pullback = Pullback(level, [output], leaves)
    value = pullback.outputs[0]
    if value.dtype.is_complex and pullback.edges[0] is not None:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {value.dtype!r}")
    found = pullback([None], False, local.state.mode.grad)
    return spec.unflatten(found), [value, *aux]


# ---- vjp


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `func(*primals)`, and a function from gradients of it to a tuple of those of `primals`.

    That function may be called several times, also later. With `has_aux`, `func` returns a pair of which the second
    part is handed on as a third result.
    """
    return vjp_by(func, None, primals, has_aux)


def vjp_by(
    func: Callable[..., Any], argnums: Any, primals: tuple[Any, ...], has_aux: bool = False, always: bool = False
) -> tuple[Any, ...]:
    """`vjp` by the arguments `argnums`, with gradients in the form of these; by all of them if None.

    `always` says that `no_grad` inside of `func` does not count.
    """
    level = NestedLevel(always)
    with level:
        if argnums is not None:
            argnums = positions(argnums, len(primals))
        given, spec = tensors(primals if argnums is None else chosen(primals, argnums))
        leaves = [level.leaf(t) for t in given]
        arguments = spec.unflatten(leaves)
        outputs = func(*(arguments if argnums is None else replaced(primals, argnums, arguments)))
        results, form, aux = results_of(outputs, level, has_aux, "vjp(f, *primals)")
        pullback = Pullback(level, results, leaves)
        for r in results:
            if r.dtype.category < dt.FLOAT:
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                    f"{r.dtype}"
                )

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        gradients, have = tree_flatten(cotangents)
        if have != form:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {treespec_pprint(have)}, primal output: {treespec_pprint(form)}"
            )
        create = local.state.mode.grad if create_graph is None else create_graph
        return spec.unflatten(pullback(gradients, retain_graph, create))

    return form.unflatten(pullback.outputs), vjp_fn, *aux
