"""Views with the dimensions in another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Composite, ViewOp, describe, publish, publish_python
from ...core.machine import Leading, Tensor, dispatch, needs_dispatch, planned
from ...core.values import Array, Namespace, warn_once, wrap_dim, wrap_dims
from .shape import Ints, alias


def _permute(xp: Namespace, array: Array, dims: Ints) -> Array:
    ndim = array.ndim
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    wrapped = [wrap_dim(d, ndim) for d in dims]
    if len(set(wrapped)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return array.transpose(wrapped)


def inverse(order: Sequence[int]) -> Ints:
    """The order of dimensions that undoes another."""
    return tuple([order.index(d) for d in range(len(order))])


permute: ViewOp = ViewOp(
    "permute(Tensor self, int[] dims)",
    _permute,
    {"self": lambda g, dims: permute.apply(g, inverse(wrap_dims(dims, len(dims))))},
    batch=Leading(call=lambda self, dims: permute.apply(self, (0, *[d + 1 for d in wrap_dims(dims, self.dim() - 1)]))),
)
publish(permute)


def movedim(self: Tensor, source: Ints, destination: Ints) -> Tensor:
    """The dimensions `source` put where `destination` says, the others left in order."""
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number "
            f"of dims as destination ({list(destination)} dims)"
        )
    ndim = len(self._array.shape)
    places: list[Ints] = []
    for name, dims in (("source", source), ("destination", destination)):
        places.append(tuple([wrap_dim(d, ndim) for d in dims]))
        if len(set(places[-1])) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    if not ndim:
        return alias.apply(self)
    goes = dict(zip(places[1], places[0], strict=True))
    rest = iter([d for d in range(ndim) if d not in places[0]])
    return permute.apply(self, tuple([goes[d] if d in goes else next(rest) for d in range(ndim)]))


for _name in ("movedim", "moveaxis"):
    publish(
        Composite(f"{_name}.intlist(Tensor self, int[] source, int[] destination)", movedim),
        Composite(
            f"{_name}.int(Tensor self, int source, int destination)",
            lambda self, source, destination: movedim(self, (source,), (destination,)),
        ),
    )


def _transpose(xp: Namespace, array: Array, dim0: int, dim1: int) -> Any:
    ndim = array.ndim
    a, b = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return array.swapaxes(a, b) if ndim else array


transpose = ViewOp(
    "transpose(Tensor self, int dim0, int dim1)", _transpose, {"self": lambda g, dim0, dim1: g.transpose(dim0, dim1)}
)
publish(transpose)
publish_python("swapdims(Tensor self, int dim0, int dim1)", transpose.apply)
publish_python("swapaxes(Tensor self, int axis0, int axis1)", transpose.apply)


def _t(xp: Namespace, array: Array) -> Array:
    if array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {array.ndim}D")
    return array.transpose()


t = ViewOp(
    "t(Tensor self)",
    _t,
    {"self": lambda g: g.t()},
    node="TBackward0",
    batch=lambda self: transpose.apply(self, 0, 1) if self.dim() == 2 else alias.apply(self),
)
publish(t)


# ---- transposes as attributes: `x.T`, `x.H`, `x.mT`, `x.mH`; and `adjoint`


def _whole_transpose(self: Tensor) -> Tensor:
    """The tensor with its dimensions reversed."""
    ndim = self.dim()
    if ndim != 2:
        if ndim:
            warn_once(
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it "
                "will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
                "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
            )
        else:
            warn_once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
    return permute.apply(self, tuple(range(ndim - 1, -1, -1)))


def _conjugate_transpose(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if self.dim() > 2 else "")
        )
    if not self.dim():
        warn_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
        return self.conj()
    return transpose.apply(self, 0, 1).conj()


def _matrix_transpose(self: Tensor) -> Tensor:
    """Each matrix of a batch transposed."""
    if self.dim() == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    if not self.dim():
        warn_once("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")
        return self
    return transpose.apply(self, -2, -1)


def _adjoint(name: str, of_numbers: str) -> Callable[[Tensor], Tensor]:
    def adjoint(self: Tensor) -> Tensor:
        """Each matrix of a batch transposed and conjugated."""
        if self.dim() == 1:
            raise RuntimeError(f"{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
        if not self.dim():
            warn_once(of_numbers)
            return self.conj()
        return transpose.apply(self, -2, -1).conj()

    return adjoint


def _attribute(name: str, f: Callable[[Tensor], Tensor], comes_to: Callable[[Tensor], Any] | None = None) -> None:
    def get(self: Tensor) -> Tensor:
        return dispatch(made.__get__, (self,), {}) if needs_dispatch((self,), {}) else f(self)

    get.__name__, get.__doc__ = name, f.__doc__
    getter: Any = planned(lambda args, kwargs: comes_to and comes_to(*args), get)
    getattr(getter, "general", getter).__wrapped__ = get  # where its signature is looked for
    made = property(getter, doc=f.__doc__)
    setattr(Tensor, name, made)


_attribute("T", _whole_transpose, lambda self: (permute, (self, (1, 0))) if self.dim() == 2 else None)
_attribute("H", _conjugate_transpose)
_attribute("mT", _matrix_transpose, lambda self: (transpose, (self, -2, -1)) if self.dim() > 1 else None)
_attribute("mH", _adjoint("tensor.mH", "Tensor.mH is deprecated on 0-D tensors. Consider using x.conj()."))
publish_python(
    "adjoint(Tensor self)",
    _adjoint("tensor.adjoint()", "adjoint() is deprecated on 0-D tensors. Consider using x.conj()."),
)


describe(
    moveaxis="A view with dimensions, or one, moved to other places, as `movedim`.",
    movedim="""A view with dimensions, or one, moved to other places; the others keep their order.

    >>> torch.ones(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2])
    """,
    permute="A view with the dimensions in another order.",
    swapaxes="A view with two dimensions exchanged, as `transpose`.",
    swapdims="A view with two dimensions exchanged, as `transpose`.",
    t="The transpose of a matrix, as a view; vectors are left as they are.",
    transpose="A view with two dimensions exchanged.",
)
