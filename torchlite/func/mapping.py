"""`vmap`: a function of elements as a function of batches."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..core.errors import wrap_dim
from ..core.tensor import TensorBase
from .batched import Batched, BatchLevel
from .tree import flatten, rebuild, spec_text, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .tree import Spec

Dims = int | None | tuple[Any, ...] | list[Any] | dict[Any, Any]


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps `func` over a dimension of its arguments.

    `in_dims` says which dimension of each tensor that is (None for a tensor that is the same for all), `out_dims`
    where it goes in the results. Both are one int, or a structure of them like that of the arguments or results.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None:
        raise NotImplementedError("torchlite has no vmap(chunk_size=...) yet")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, form, dims = _arguments(func, args, in_dims)
        named, named_form = flatten(kwargs)
        dims += [0 if isinstance(leaf, TensorBase) else None for leaf in named]
        level = BatchLevel(_size([*leaves, *named], dims), randomness)
        with level:
            given = [
                leaf if dim is None else level.wrap(Batched(leaf, dim % leaf.dim()))
                for leaf, dim in zip([*leaves, *named], dims, strict=True)
            ]
            outputs = func(*rebuild(form, given[: len(leaves)]), **rebuild(named_form, given[len(leaves) :]))
            return _results(func, level, outputs, out_dims)

    return mapped


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", None) or repr(func)


def _arguments(func: Callable[..., Any], args: tuple[Any, ...], in_dims: Any) -> tuple[list[Any], Spec, list[Any]]:
    """The leaves of the arguments, their structure, and the dimension to map over for each."""
    where = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    leaves, form = flatten(args)
    dims = spread(tuple(in_dims) if isinstance(in_dims, list) else in_dims, form)
    if dims is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{spec_text(flatten(in_dims)[1])} but inputs has structure {spec_text(form)}."
        )
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{where}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, TensorBase):
            raise ValueError(
                f"{where}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                f"{where}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} "
                f"so expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
    return leaves, form, dims


def _size(leaves: Sequence[Any], dims: Sequence[Any]) -> int:
    """How many elements there are to map over."""
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: got no tensor to map over: every in_dim is None")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0]


def _results(func: Callable[..., Any], level: BatchLevel, outputs: Any, out_dims: Any) -> Any:
    """The results with the batch where `out_dims` says."""
    leaves, form = flatten(outputs)
    name = _name(func)
    if not isinstance(out_dims, (int, tuple, list, dict)) and out_dims is not None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    dims = spread(out_dims, form)
    if dims is None and isinstance(out_dims, (tuple, list)) and len(out_dims) == len(leaves) == 1:
        dims = list(out_dims)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {spec_text(flatten(out_dims)[1])} but outputs has structure "
            f"{spec_text(form)}."
        )
    return rebuild(form, [_unbatched(name, level, leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)])


def _unbatched(name: str, level: BatchLevel, value: Any, dim: int | None) -> Any:
    array = level.array_of(value)
    if dim is None:
        if array is not None:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return value
    if not isinstance(value, TensorBase):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    if array is None:
        inside, at = value.expand((level.size, *value.shape)), 0
    else:
        inside, at = array.main, array.dim
    to = wrap_dim(dim, inside.dim())
    return inside if to == at else inside.movedim(at, to)
