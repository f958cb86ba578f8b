"""`torch.autograd.functional`: Jacobians, Hessians, and their products with vectors.

A function takes tensors and returns a tensor or a tuple of them. What is returned here has the same structure, and a
history only with `create_graph=True`. With `strict=True`, what does not depend on the inputs is an error; without, its
derivatives are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..absent import lacking
from ..core.machine import Tensor, TensorBase
from ..core.machine.registry import functions as F
from .backward import grad
from .forward_ad import dual_level, make_dual, unpack_dual
from .grad_mode import enable_grad, grad_enabled, is_grad_enabled

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


# ---- arguments and results


def _as_tuple(value: Any, name: str, where: str) -> tuple[bool, tuple[Any, ...]]:
    """Whether `value` is a tuple, and it as one; TypeError for what is neither a tensor nor a tuple of tensors."""
    if isinstance(value, TensorBase):
        return False, (value,)
    said = f"The {name} given to {where} must be either a Tensor or a tuple of Tensors but the "
    if not isinstance(value, tuple):
        raise TypeError(f"{said}given {name} has type {type(value)}.")
    for i, item in enumerate(value):
        if not isinstance(item, TensorBase):
            raise TypeError(f"{said}value at index {i} has type {type(item)}.")
    return True, value


def _inputs(inputs: Any, where: str, create_graph: bool) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether there are several, and they as what is differentiated by."""
    several, given = _as_tuple(inputs, "inputs", where)
    return several, _grad_preprocess(given, create_graph, True)


def _outputs(func: Callable[..., Any], inputs: Sequence[Tensor], where: str) -> tuple[bool, tuple[Any, ...]]:
    return _as_tuple(func(*inputs), "outputs of the user-provided function", where)


def _one_number(func: Callable[..., Any], inputs: Sequence[Tensor], where: str, strict: bool) -> Tensor:
    """The output of a function that must return a single number."""
    several, outputs = _outputs(func, inputs, where)
    _require(outputs, "outputs", strict)
    if several:
        raise RuntimeError(f"The function given to {where} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {where} should contain a single element")
    return outputs[0]


def _vector(v: Any, like: Sequence[Tensor], several: bool, where: str, create_graph: bool, missing: str) -> Any:
    """The vector of a product, shaped as `like`; None if it may be left out, as `like` is a single number."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {missing} a single Tensor with a single element.")
        return None
    entries = _grad_preprocess(_as_tuple(v, "v", where)[1], create_graph, False)
    if len(entries) != len(like):
        if several:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(entries)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (entry, t) in enumerate(zip(entries, like, strict=True)):
        if entry.shape != t.shape:
            which = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{which}v has invalid size: should be {t.shape} but got {entry.shape}.")
    return entries


_OF_INPUT = "the input to the user-provided function is"
_OF_FUNCTION = "the user-provided function returns"


def _grad_preprocess(inputs: Sequence[Tensor], create_graph: bool, need_graph: bool) -> tuple[Tensor, ...]:
    """The inputs as what is differentiated by: views of them where their own history matters, else new leaves."""
    return tuple([
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph) for t in inputs
    ])  # fmt: skip


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Nested results, without history unless it is asked for."""
    if isinstance(inputs, TensorBase):
        return inputs if create_graph else inputs.detach()
    return type(inputs)([_grad_postprocess(item, create_graph) for item in inputs])


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, ...]) -> Any:
    """Nested results, of whose levels those stay that are said to be tuples, and others give the one thing in them."""
    several = to_unpack if isinstance(to_unpack, tuple) else (to_unpack,)
    if not several or isinstance(res, TensorBase):
        return res
    items = type(res)([_tuple_postprocess(item, several[1:]) for item in res])
    return items if several[0] else items[0]


def _finished(value: Any, create_graph: bool, *several: bool) -> Any:
    return _tuple_postprocess(_grad_postprocess(value, create_graph), several)


# ---- what strict mode refuses

_NO_HISTORY = {
    "outputs": (
        "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
        "differentiable manner from the input when running in strict mode."
    ),
    "gradient": (
        "The gradient with respect to input {} is independent of the inputs of the user-provided function. This is not "
        "allowed in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} "
        "is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
        "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear function "
        "for example)."
    ),
}

_MISSING = {
    "vjp": "The output of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "jvp": (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
        "backward trick to compute forward mode gradients. This is not allowed in strict mode."
    ),
    "vhp": "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "hvp": (
        "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not "
        "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD."
    ),
}

_CONSTANT = (
    "The {} of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)


def _require(tensors: Sequence[Tensor | None], what: str, strict: bool) -> None:
    """In strict mode, refuse a tensor that has no history."""
    for i, t in enumerate(tensors if strict else ()):
        if t is None:
            raise RuntimeError(_MISSING["vjp"].format(i))
        if not t.requires_grad:
            raise RuntimeError(_NO_HISTORY[what].format(i))


def _filled(
    found: Sequence[Tensor | None], like: Sequence[Tensor], what: str, strict: bool, create_graph: bool
) -> tuple[Tensor, ...]:
    """Gradients, zero where there is none; what strict mode refuses, it refuses by the words for `what`."""
    for i, g in enumerate(found if strict else ()):
        if g is None:
            raise RuntimeError(_MISSING[what].format(i))
        if create_graph and not g.requires_grad:
            raise RuntimeError(_CONSTANT.format("jacobian" if what in ("vjp", "jvp") else "hessian", i))
    return tuple([F["zeros_like"](t) if g is None else g for g, t in zip(found, like, strict=True)])


def _grad(
    outputs: Sequence[Tensor | None], inputs: Sequence[Tensor], v: Any = None, create_graph: bool = False, **more: Any
) -> tuple[Tensor | None, ...]:
    """`autograd.grad` of those outputs that have a history; None for an input on which none depends."""
    pairs = zip(outputs, [None] * len(outputs) if v is None else v, strict=True)
    chosen = [(y, w) for y, w in pairs if y is not None and y.requires_grad]
    if not chosen:
        return (None,) * len(inputs)
    ys, ws = zip(*chosen, strict=True)
    return grad(ys, inputs, ws, create_graph=create_graph, allow_unused=True, **more)


# ---- products with vectors


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs, and the vector `v` (like the outputs) times the Jacobian."""
    with enable_grad():
        many_in, xs = _inputs(inputs, "vjp", create_graph)
        many_out, ys = _outputs(func, xs, "vjp")
        _require(ys, "outputs", strict)
        v = _vector(v, ys, many_out, "vjp", create_graph, _OF_FUNCTION)
    with grad_enabled(create_graph or is_grad_enabled()):
        found = _filled(_grad(ys, xs, v, create_graph), xs, "vjp", strict, create_graph)
    return _finished(ys, create_graph, many_out), _finished(found, create_graph, many_in)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs, and the Jacobian times the vector `v` (like the inputs), by differentiating backward twice."""
    with enable_grad():
        many_in, xs = _inputs(inputs, "jvp", create_graph)
        v = _vector(v, xs, many_in, "jvp", create_graph, _OF_INPUT)
        many_out, ys = _outputs(func, xs, "jvp")
        _require(ys, "outputs", strict)
        weights = tuple([F["zeros_like"](y, requires_grad=True) for y in ys])
        gradients = _grad(ys, xs, weights, create_graph=True)
        _require(gradients, "gradient", strict)
    with grad_enabled(create_graph or is_grad_enabled()):
        found = _filled(_grad(gradients, weights, v, create_graph), ys, "jvp", strict, create_graph)
    return _finished(ys, create_graph, many_out), _finished(found, create_graph, many_out)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output, which is one number, and the vector `v` (like the inputs) times the Hessian."""
    with enable_grad():
        many_in, xs = _inputs(inputs, "vhp", create_graph)
        v = _vector(v, xs, many_in, "vhp", create_graph, _OF_INPUT)
        y = _one_number(func, xs, "vhp", strict)
        gradients = _grad((y,), xs, create_graph=True)
        _require(gradients, "jacobian", strict)
    with grad_enabled(create_graph or is_grad_enabled()):
        found = _filled(_grad(gradients, xs, v, create_graph), xs, "vhp", strict, create_graph)
    return _finished(y, create_graph), _finished(found, create_graph, many_in)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output, which is one number, and the Hessian times the vector `v` (like the inputs)."""
    with enable_grad():
        many_in, xs = _inputs(inputs, "hvp", create_graph)
        v = _vector(v, xs, many_in, "hvp", create_graph, _OF_INPUT)
        y = _one_number(func, xs, "hvp", strict)
        gradients = _grad((y,), xs, create_graph=True)
        _require(gradients, "jacobian", strict)
        weights = tuple([F["zeros_like"](x, requires_grad=True) for x in xs])
        products = _grad(gradients, xs, weights, create_graph=True)
    with grad_enabled(create_graph or is_grad_enabled()):
        found = _filled(_grad(products, weights, v, create_graph), xs, "hvp", strict, create_graph)
    return _finished(y, create_graph), _finished(found, create_graph, many_in)


# ---- whole matrices


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian: for every output and input a tensor, of the output's shape followed by the input's.

    `strategy` is "reverse-mode" (row by row) or "forward-mode" (column by column); with `vectorize`, all at once.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        _check_forward(create_graph, strict, vectorize)
        return _forward(func, inputs)
    with enable_grad():
        many_in, xs = _inputs(inputs, "jacobian", create_graph)
        many_out, ys = _outputs(func, xs, "jacobian")
        _require(ys, "outputs", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                "Please either set `strict=False` or `vectorize=False`."
            )
        found = _at_once(ys, xs, create_graph) if vectorize else _row_by_row(ys, xs, create_graph, strict)
    return _finished(found, create_graph, many_out, many_in)


def _row_by_row(ys: Sequence[Tensor], xs: Sequence[Tensor], create_graph: bool, strict: bool) -> tuple[Any, ...]:
    blocks = []
    for at, y in enumerate(ys):
        rows = []
        for place in range(y.numel()):
            row = _grad((y.reshape(-1)[place],), xs, create_graph=create_graph, retain_graph=True)
            for i, g in enumerate(row if strict else ()):
                if g is None:
                    raise RuntimeError(
                        f"Output {at} of the user-provided function is independent of input {i}. This is not allowed "
                        "in strict mode."
                    )
                if create_graph and not g.requires_grad:
                    raise RuntimeError(_CONSTANT.format("jacobian", at))  # PyTorch, too, names the output
            rows.append([F["zeros_like"](x) if g is None else g for g, x in zip(row, xs, strict=True)])
        columns = zip(*rows, strict=True) if rows else [[] for _ in xs]
        blocks.append(tuple([F["stack"](c).view(y.shape + x.shape) for c, x in zip(columns, xs, strict=True)]))
    return tuple(blocks)


def _at_once(ys: Sequence[Tensor], xs: Sequence[Tensor], create_graph: bool) -> tuple[Any, ...]:
    flat = [y.reshape(-1) for y in ys]
    numels = [y.numel() for y in ys]
    found = _grad(flat, xs, _basis(flat), create_graph, is_grads_batched=True)
    columns = []
    for x, rows in zip(xs, found, strict=True):
        if rows is None:
            rows = F["zeros_like"](x).expand((sum(numels), *x.shape))
        columns.append([part.view(y.shape + x.shape) for part, y in zip(rows.split(numels, 0), ys, strict=True)])
    return tuple(zip(*columns, strict=True))


def _basis(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return _construct_standard_basis_for(tensors, [t.numel() for t in tensors])


def _construct_standard_basis_for(tensors: Sequence[Tensor], tensor_numels: Sequence[int]) -> tuple[Tensor, ...]:
    """For each tensor, taken as a vector of so many elements, its part of the basis of the space that they all span."""
    total, start, parts = sum(tensor_numels), 0, []
    for t, numel in zip(tensors, tensor_numels, strict=True):
        part = t.new_zeros((total, numel))
        part.diagonal(-start).fill_(1)
        parts.append(part)
        start += numel
    return tuple(parts)


def _check_forward(create_graph: bool, strict: bool, vectorize: bool) -> None:
    where = "torch.autograd.functional.jacobian"
    if create_graph:
        raise NotImplementedError(
            f'{where}: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). Please '
            'either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            f'{where}: `strict=True` and `strategy="forward-mode"` are not supported together (yet). Please either set '
            '`strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )


def _forward(func: Callable[..., Any], inputs: Any) -> Any:
    from ..func.mapping import vmap

    many_in, xs = _as_tuple(inputs, "inputs", "jacobian")
    seen: list[Any] = []

    def columns(*tangents: Tensor) -> tuple[Tensor, ...]:
        with dual_level():
            duals = [make_dual(x, t.view_as(x)) for x, t in zip(xs, tangents, strict=True)]
            many_out, ys = _as_tuple(func(*duals), "outputs", "None")  # the words of PyTorch's error
            results = [unpack_dual(y) for y in ys]
        seen[:] = [many_out, [primal for primal, _ in results]]
        return tuple([F["zeros_like"](primal) if t is None else t for primal, t in results])

    found = vmap(columns)(*_basis([x.reshape(-1) for x in xs]))
    many_out, ys = seen
    numels = [x.numel() for x in xs]
    blocks = [
        [part.reshape(y.shape + x.shape) for part, x in zip(moved.movedim(0, -1).split(numels, -1), xs, strict=True)]
        for moved, y in zip(found, ys, strict=True)
    ]
    rows = blocks if many_in else tuple([row[0] for row in blocks])
    return rows if many_out else rows[0]


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Hessian of a function that returns one number: the Jacobian of its gradient."""
    many_in, given = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def gradient(*xs: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            for x in xs:
                x._require_grad(True)  # also under the vmap that this runs in
        found = jacobian(lambda *xs: _one_number(func, xs, "hessian", strict).squeeze(), xs, create_graph=True)
        _require(found, "jacobian", strict)
        return found

    found = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if many_in else found[0][0]


__getattr__ = lacking(__name__)
