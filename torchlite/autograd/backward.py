"""`torch.autograd.backward` and `torch.autograd.grad`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.publish import method
from ..core.tensor import Tensor, TensorBase, wrap
from ..core.view import requires_grad, resolve
from . import engine

if TYPE_CHECKING:
    from collections.abc import Sequence


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _roots(tensors: Sequence[Tensor], grads: Sequence[Tensor | None], create_graph: bool) -> list[tuple[Any, Tensor]]:
    """The edges of the outputs, each with the gradient that enters there."""
    if len(grads) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grads)} gradients")
    roots = []
    for i, (t, g) in enumerate(zip(tensors, grads, strict=True)):
        edge = resolve(t)
        if edge is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if g is None:
            if t.array.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if t.dtype.is_complex:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype!r}")
            backend = t.backend.real
            one = backend.asarray(1, t.dtype.numpy)
            g = wrap(one.reshape(t.array.shape) if t.array.shape else one, t.dtype, backend)
        elif not isinstance(g, TensorBase):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        elif g.array.shape != t.array.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of "
                f"{t.shape}."
            )
        elif g.dtype.is_complex != t.dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                f"dtype: grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {t.dtype}."
            )
        elif create_graph is False and requires_grad(g):
            g = g.detach()
        roots.append((edge, g))
    return roots


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any | None = None,
) -> None:
    """Accumulate into the leaves' `.grad` the gradients of `tensors`, weighted by `grad_tensors`."""
    outputs = _listed(tensors)
    grads = [None] * len(outputs) if grad_tensors is None else _listed(grad_tensors)
    goals = None
    if inputs is not None:
        listed = _listed(inputs)
        if not listed:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        goals = []
        for t in listed:
            if not requires_grad(t):
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            goals.append(resolve(t))
    keep = create_graph if retain_graph is None else retain_graph
    engine.run(_roots(outputs, grads, create_graph), goals, keep, create_graph, accumulate=True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of `outputs`, weighted by `grad_outputs`, with respect to `inputs`."""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: False.")
    if is_grads_batched:
        raise NotImplementedError("torchlite has no autograd.grad(is_grads_batched=True) yet")
    listed = _listed(outputs)
    grads = [None] * len(listed) if grad_outputs is None else _listed(grad_outputs)
    sources = _listed(inputs)
    goals = []
    for t in sources:
        if not requires_grad(t):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        goals.append(resolve(t))
    keep = create_graph if retain_graph is None else retain_graph
    found: list[Any] = engine.run(_roots(listed, grads, create_graph), goals, keep, create_graph, accumulate=False)
    for i, g in enumerate(found):
        if g is not None:
            continue
        if materialize_grads:
            found[i] = sources[i].new_zeros(sources[i].shape)
        elif not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
    return tuple(found)


@method("backward")
def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any | None = None,
) -> None:
    """Accumulate into the leaves' `.grad` the gradient of this tensor, which is a scalar unless `gradient` is given."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)
