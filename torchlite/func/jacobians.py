"""`jacrev`, `jacfwd`, `hessian` and `linearize`: all derivatives of a function at once."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..autograd.forward import zeros_beside
from ..core.machine import Tensor, TensorBase, wrap
from ..core.state import is_watched, local
from ..operations.shapes.joining import cat
from ..utils._pytree import tree_flatten
from .arguments import Argnums, chosen, function_of, positions, tensors
from .dual import jvp
from .mapping import mapped, vmap
from .reverse import vjp, vjp_by


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that computes the Jacobian of `func` by the arguments `argnums`, in reverse: one backward pass for
    every number in the outputs.

    `chunk_size` says how many passes run as one batch (all, if None), which bounds the memory they take.
    """
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        inputs, spec = tensors(chosen(args, positions(argnums, len(args))))
        _check_real("jacrev", "inputs", inputs)
        output, vjp_fn, *aux = vjp_by(func, argnums, args, has_aux)
        outputs, form = tree_flatten(output)
        _check_real("jacrev", "outputs", outputs)
        total = sum([t.numel() for t in outputs])
        rows = map(form.unflatten, _unit_rows(outputs, chunk_size or total))
        chunks = (tree_flatten(mapped(vjp_fn, (row,)))[0] for row in rows)
        joined = _copied if _preallocate_and_copy else _joined
        columns = joined(chunks, total, inputs)
        sizes = [t.numel() for t in outputs]
        by_input = [
            [part.reshape((*out.shape, *t.shape)) for part, out in zip(_cut(column, sizes, 0), outputs, strict=True)]
            for column, t in zip(columns, inputs, strict=True)
        ]
        found = form.unflatten([spec.unflatten(list(parts)) for parts in zip(*by_input, strict=True)])
        return (found, *aux) if has_aux else found

    return jacobian


def _unit_rows(like: Sequence[Tensor], size: int) -> Iterator[list[Tensor]]:
    """The unit vectors of the space of these tensors, `size` of them at a time, cut up into tensors of these shapes."""
    sizes = [t.numel() for t in like]
    total = sum(sizes)
    for start in range(0, total, size) if total else (0,):
        rows = min(size, total - start)
        found, before = [], 0
        for t, n in zip(like, sizes, strict=True):
            found.append(_ones_along_diagonal(t, rows, n, start - before).reshape((rows, *t.shape)))
            before += n
        yield found


def _ones_along_diagonal(like: Tensor, rows: int, columns: int, at: int) -> Tensor:
    backend = like._backend.home
    if backend.level or not (backend.strided and backend.values):
        made = zeros_beside(like, (rows, columns))
    elif is_watched():
        made = like.new_zeros((rows, columns))
    else:
        return wrap(backend.xp.eye(rows, columns, at, like.dtype.numpy), like.dtype, backend)
    if -rows < at < columns:
        made.diagonal(at).fill_(1)
    return made


def _joined(chunks: Iterator[list[Tensor]], total: int, inputs: Sequence[Tensor]) -> list[Tensor]:
    parts = list(chunks)
    return parts[0] if len(parts) == 1 else [cat.apply(column, 0) for column in zip(*parts, strict=True)]


def _copied(chunks: Iterator[list[Tensor]], total: int, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The same, each chunk being put into its place at once."""
    first = next(chunks)
    made = [part.new_zeros((total, *t.shape)) for part, t in zip(first, inputs, strict=True)]
    at = 0
    for parts in itertools.chain([first], chunks):
        for whole, part in zip(made, parts, strict=True):
            whole[at : at + len(part)].copy_(part)
        at += len(parts[0]) if parts else 0
    return made


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func` by the arguments `argnums`, forwards: one pass for every number
    in these arguments, all in one batch. `randomness` is that of `vmap`."""

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        at = positions(argnums, len(args))
        primals = chosen(args, at) if isinstance(at, tuple) else (chosen(args, at),)
        inputs, spec = tree_flatten(primals)
        _check_real("jacfwd", "inputs", [t for t in inputs if isinstance(t, TensorBase)])
        (rows,) = _unit_rows(inputs, max(1, sum([t.numel() for t in inputs])))

        def pushed(*basis: Tensor) -> tuple[Any, ...]:
            by_chosen = function_of(func, args, at, {})
            _, *rest = jvp(by_chosen, primals, spec.unflatten(basis), has_aux=has_aux)
            return tuple(rest)

        moved, *aux = vmap(pushed, randomness=randomness)(*rows)
        outputs, form = tree_flatten(moved)
        _check_real("jacfwd", "outputs", outputs)
        sizes = [t.numel() for t in inputs]
        found = []
        for out in outputs:
            parts = _cut(out.movedim(0, -1), sizes, -1)
            shaped = [p.reshape((*out.shape[1:], *t.shape)) for p, t in zip(parts, inputs, strict=True)]
            by_argument = spec.unflatten(shaped)
            found.append(by_argument if isinstance(at, tuple) else by_argument[0])
        jac = form.unflatten(found)
        return (jac, *[_first(a) for a in aux]) if has_aux else jac

    return jacobian


def _cut(t: Tensor, sizes: list[int], dim: int) -> Sequence[Tensor]:
    return (t,) if len(sizes) == 1 and not is_watched() else t.split(sizes, dim)


def _first(batches: Any) -> Any:
    leaves, spec = tree_flatten(batches)
    return spec.unflatten([t[0] for t in leaves])


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that computes the second derivatives of `func`: forwards, of the first derivatives in reverse."""
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of `func(*primals)`, and its derivative there: a linear function of tangents.

    `func` is run once. What happens to tangents is recorded as a graph, whose transpose is recorded again.
    """
    mode = local.state.mode  # what is kept here is kept for this alone: no hooks see it
    return local.state.within(mode.but(saved_hooks=()), _linearized, func, primals)


def _linearized(func: Callable[..., Any], primals: tuple[Any, ...]) -> tuple[Any, Callable[..., Any]]:
    points, spec = tree_flatten(primals)

    def moved(*directions: Tensor) -> tuple[Any, ...]:
        output, moves = jvp(func, primals, spec.unflatten(directions))
        return moves, output

    moves, pull, output = vjp_by(moved, None, tuple([t.new_zeros(t.shape) for t in points]), True, True)
    leaves, form = tree_flatten(moves)
    _, push = vjp(pull, form.unflatten([t.new_zeros(t.shape) for t in leaves]))

    def jvp_fn(*tangents: Any) -> Any:
        directions, have = tree_flatten(tangents)
        if have != spec:
            raise RuntimeError(f"Expected the tangents {have} to have the same argspec as the primals {spec}")
        for at, (p, t) in enumerate(zip(points, directions, strict=True)):
            for name in ("shape", "device", "dtype"):
                wanted, found = getattr(p, name), getattr(t, name)
                if wanted != found:
                    raise RuntimeError(
                        f"tangent:{at} with {name} {found} in flattened pytree doesn't match the {name} {wanted} of "
                        "the corresponding primal."
                    )
        return push(tuple(directions))[0]

    return output, jvp_fn


def _check_real(name: str, what: str, found: Sequence[Tensor]) -> None:
    for at, t in enumerate(found):
        if t.dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {at}"
            )
