"""The Tensor: a thin handle on a backend's array.

`TensorBase` (tensor_base.py) holds the slots; `Tensor` adds what makes it a citizen of Python. Operations are attached
to it where they are declared, so what stands here is only what a tensor *is*: its form, its place in the graph, its
Python protocols.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..native import quicken
from ..state import mode as _mode
from ..structs import know, whole
from ..values import FLOAT, Array, Backend, Size, bool_, contiguous_strides, type_name, warn, warn_once, wrap_dim
from ..values.dtype import dtype as _dtype_class
from ..values.layout import sparse_coo, sparse_csr
from ..values.pickling import shown_in
from ..values.size import SIZES, size
from .batching import refuse_batch
from .format import tensor_str
from .node import LEAF, UNVERSIONED, DatedCounter, DetachedCounter, Node, shared_counter, version_of
from .overrides import dispatch, needs_dispatch, overrides
from .read_only import read_only
from .subclasses import UNCONVERTED, adapt, converted
from .tensor_base import Extra, TensorBase, check_data, check_grad
from .view import View, base_of, current_edge, last_edge, requires_grad

if TYPE_CHECKING:
    from ..values.device import device
    from ..values.dtype import dtype

_new = object.__new__
_LEAVES_ALONE = "you can only change requires_grad flags of leaf variables."


def _along(name: str, numbers: Sequence[int], dim: Any) -> int:
    if isinstance(dim, bool) or getattr(dim, "dtype", None) is bool_ or not hasattr(dim, "__index__"):
        raise TypeError(f"{name}(): argument 'dim' (position 1) must be int, not {type(dim).__name__}")
    if not numbers:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return numbers[wrap_dim(dim.__index__(), len(numbers))]


def wrap(array: Array, dtype_: dtype, backend: Backend) -> Tensor:
    """A plain tensor over an array."""
    t = _new(Tensor)
    t._array = array
    t._dtype = dtype_
    t._backend = backend
    t._edge = t._counter = t._grad = t._extra = None
    state = _mode.local.state
    if state.mode.marks:
        if state.mode.inference:
            t._counter = UNVERSIONED
        elif not state.levels or backend.level != state.levels[-1].serial:
            t._counter = DatedCounter()
    return t


def wrap_shown(array: Array, dtype_: dtype, backend: Backend) -> Tensor:
    """A plain tensor over an array that shows another's memory.

    Where it has dimensions of size one or none, equal steps or steps of zero that NumPy would lay otherwise, it holds
    its backend's twin, which keeps it off the fast paths: those leave the strides of results to NumPy.
    """
    t = wrap(array, dtype_, backend)
    shape = array.shape
    if len(shape) > 1:
        strides = array.strides
        odd = 1 in shape or 0 in shape or 0 in strides or len(set(strides)) < len(strides)
        if odd and backend.strides(array) != contiguous_strides(shape):
            t._backend = backend.guarded
    return t


def _no(t: Tensor) -> bool:
    """Whether the tensor is of a kind that there is not here."""
    return False


@shown_in("torch")
class Tensor(TensorBase):
    """A multi-dimensional array that can be differentiated."""

    _plain: bool = True  # no __torch_function__ of its own

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_plain" not in cls.__dict__:
            cls._plain = False
        adapt(Tensor, cls)

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run `func` as on plain tensors and give its results this class."""
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        state = _mode.local.state
        result = state.within(state.mode.but(subclasses=False), functools.partial(func, *args, **(kwargs or {})))
        return result if func in UNCONVERTED else converted(result, cls)

    # ---- form

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return SIZES[self._array.shape]

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one of its dimensions."""
        shape = self._array.shape
        if dim is None:
            return size(shape)
        if dim.__class__ is int and -len(shape) <= dim < len(shape):
            return shape[dim]
        return _along("size", shape, dim)

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self._array.shape)

    ndimension = dim

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._array.shape)

    def numel(self) -> int:
        """The number of elements."""
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        if self.layout is sparse_coo:
            raise RuntimeError(
                "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the "
                "nbytes of the indices and values.  If you want the size of the  equivalent dense tensor, multiply "
                "numel() by element_size()"
            )
        return self.numel() * self.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """Strides in elements, or that of one dimension."""
        strides = self._backend.strides(self._array)
        if dim is None:
            return strides
        return _along("stride", strides, dim)

    def storage_offset(self) -> int:
        """The first element's place in the storage, in elements."""
        return self._backend.offset(self._array)

    def data_ptr(self) -> int:
        """The address of the first element (0 when there is none)."""
        return self._backend.pointer(self._array) if self._array.size else 0

    @property
    def device(self) -> device:
        """The device on which the tensor's memory lies."""
        return self._backend.device

    @property
    def layout(self) -> Any:
        """How the elements lie in memory: `torch.strided`, or a sparse layout."""
        return self._backend.layout

    def get_device(self) -> int:
        """The number of the device that the tensor is on; -1 for the CPU."""
        index = self._backend.device.index
        return -1 if index is None else index

    @property
    def is_cuda(self) -> bool:
        """Whether the tensor is on a CUDA device."""
        return self._backend.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether the tensor is on the CPU."""
        return self._backend.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        """Whether the tensor has a shape and a dtype, but no memory."""
        return self._backend.device.type == "meta"

    @property
    def is_sparse(self) -> bool:
        """Whether the layout is `torch.sparse_coo`."""
        return self._backend.layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        """Whether the layout is `torch.sparse_csr`."""
        return self._backend.layout is sparse_csr

    is_mkldnn, is_nested, is_mps, is_xpu, is_xla, is_vulkan, is_ipu, is_mtia, is_maia = map(property, [_no] * 9)

    def is_floating_point(self) -> bool:
        """Whether the elements are floating-point numbers (real ones)."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the elements are complex."""
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return self.dtype.is_signed

    # ---- place in the graph

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are wanted for the tensor."""
        return requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value.__class__ is not bool:
            raise RuntimeError("requires_grad must be a bool")
        if value and not self.is_leaf:
            raise RuntimeError(_LEAVES_ALONE)
        self._require_grad(value, "only Tensors of floating point and complex dtype")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for this leaf's gradient, or stop asking."""
        if _mode.local.state.levels and not _mode.local.state.leaves_allowed:
            raise RuntimeError(
                "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* "
                "APIs) inside of a function being transformed by a functorch transform. This is unsupported, please "
                "attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
                "requires_grad_() outside of a function being transformed instead."
            )
        if requires_grad.__class__ is not bool:
            got = type_name(requires_grad)
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {got}")
        return self._require_grad(requires_grad, "only Tensors of floating point dtype")

    def _require_grad(self, value: bool, which: str = "Only Tensors of floating point and complex dtype") -> Tensor:
        edge = self._edge
        if (edge.edge if edge.__class__ is View else edge).__class__ is tuple:
            if not value:
                raise RuntimeError(
                    f"{_LEAVES_ALONE} If you want to use a computed variable in a subgraph that doesn't require "
                    "differentiation use var_no_grad = var.detach()."
                )
            return self
        if value and self.dtype.category < FLOAT:
            raise RuntimeError(f"{which} can require gradients")
        if value and self._counter is UNVERSIONED and not _mode.local.state.mode.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        levels = [level for level in _mode.local.state.levels if level.elements is None]
        inside = levels and self._backend.real.level < levels[-1].serial
        if value and inside and self._counter and self._counter.born > levels[-1].serial:
            levels[-1].over(self._backend.real).adopt(self)  # which it was made inside of: it is a leaf there
            edge = self._edge
        leaf = LEAF if value else None
        if edge.__class__ is View:
            edge.edge = leaf
        else:
            self._edge = leaf
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made the tensor: `backward` fills the `grad` of leaves that require one."""
        edge = self._edge
        return (current_edge(self, edge) if edge.__class__ is View else edge).__class__ is not tuple

    @property
    def grad_fn(self) -> Node | None:
        """The node of the autograd graph that made the tensor; None for leaves."""
        edge = self._edge
        if edge.__class__ is View:
            edge = current_edge(self, edge)
        return edge[0] if edge.__class__ is tuple else None

    name: None = None  # what legacy code asks of every variable

    @property
    def output_nr(self) -> int:
        """The number of this tensor among its node's results."""
        edge = last_edge(self)  # to ask for a number brings no history up to date
        return edge[1] if edge.__class__ is tuple else 0

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` added up; None before, and for what is no leaf and does not retain it."""
        retains = self._extra is not None and self._extra.retains_grad
        if self._grad is None and not retains and last_edge(self).__class__ is tuple:
            warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor "
                "by mistake, make sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 "
                "for more information.",
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            check_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> dtype | None:
        """The dtype of this leaf's gradient; None where it may have any."""
        if last_edge(self).__class__ is tuple:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.dtype if self._extra is None else self._extra.dtype_of_grad(self.dtype)

    @grad_dtype.setter
    def grad_dtype(self, wanted: dtype | None) -> None:
        if last_edge(self).__class__ is tuple:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if wanted is not None and not isinstance(wanted, _dtype_class):
            raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(wanted).__name__}")
        if wanted is not None and self._grad is not None and self._grad.dtype is not wanted:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{wanted.legacy}' because there is already a gradient with dtype "
                f"'{self._grad.dtype.cname}'. Please clear the gradient (.grad = None) before changing grad_dtype, or "
                "ensure the new grad_dtype matches the existing gradient's dtype."
            )
        self._more().grad_dtype = wanted

    @property
    def _version(self) -> int:
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        counter = self._counter
        return counter.writes.n if counter.__class__ is DetachedCounter else version_of(self)

    def is_inference(self) -> bool:
        """Whether this tensor was made in inference mode."""
        return self._counter is UNVERSIONED

    @property
    def _base(self) -> Tensor | None:
        return base_of(self)

    def _is_view(self) -> bool:
        return self._edge.__class__ is View

    def _more(self) -> Extra:
        """The holder of this tensor's rarities."""
        if self._extra is None:
            self._extra = Extra()
        return self._extra

    def _alias(self) -> Tensor:
        """Another handle on the same memory, sharing its version, without history."""
        t = wrap(self._array, self.dtype, self._backend.real)
        t._counter = shared_counter(self)
        return t

    @property
    def data(self) -> Tensor:
        """The same memory as a tensor without history; writes to it go unnoticed. `detach()` is safer."""
        refuse_batch((self,), "accessing `data` under vmap transform is not allowed")
        if self._backend.handed or _mode.is_watched():
            return self.detach()
        t = wrap(self._array, self.dtype, self._backend.real)
        t._counter = UNVERSIONED if self.is_inference() else None
        return t

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        refuse_batch((self,), "mutating directly with `.data` under vmap transform is not allowed.")
        if self._backend.home.level:
            raise RuntimeError("mutating directly with `.data` inside functorch transform is not allowed.")
        check_data(self, value)
        self._array, self._dtype = value._array, value.dtype
        self._backend = value._backend.real.guarded if overrides(type(self)) else value._backend.real

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    # ---- Python

    def _host_array(self) -> Any:
        """The values as a NumPy array, sharing memory where possible."""
        return self._backend.real.to_host(self._array)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        if needs_dispatch((self,), {}):
            return dispatch(Tensor.__repr__, (self,), {"tensor_contents": tensor_contents})
        return tensor_str(self, tensor_contents=tensor_contents)

    def __format__(self, spec: str) -> str:
        if not self._array.shape and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        if not self._array.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._array.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self) -> bool:
        if self._array.size != 1:
            if self._backend.home.level:
                return self._backend.truth(self._array)
            if not self._array.size:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        if self._backend.level:
            return self._backend.truth(self._array)
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._real_number("int64_t"))

    def __float__(self) -> float:
        self._warn_of_lost_history()
        return float(self._real_number("double"))

    def __complex__(self) -> complex:
        self._warn_of_lost_history()
        return complex(self._number())

    def _warn_of_lost_history(self) -> None:
        if self._edge is not None and _mode.local.state.mode.grad and requires_grad(self):
            warn_once(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider "
                "using tensor.detach() first."
            )

    def __index__(self) -> int:
        if self._array.size != 1 or self.dtype.category >= FLOAT:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def _real_number(self, type_: str) -> Any:
        number = self._number()
        if number.__class__ is complex and number.imag:
            raise RuntimeError(f"value cannot be converted to type {type_} without overflow")
        return number.real

    def _number(self) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (TensorBase, numbers.Number)):
            return bool((element == self).any())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __reversed__(self) -> Tensor:
        return self.flip(0) if self._array.shape else self

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *self.__dict__})

    __array_priority__ = 1000  # NumPy leaves `array + tensor` to the tensor


know(Tensor=whole(read_only(Tensor)))
quicken(
    Tensor, "shape", "size", "ndim", "dim", "ndimension", "numel", "nelement", "stride", "data_ptr", "is_cpu",
    "is_cuda", "requires_grad", "is_leaf", "grad_fn", "grad", "_version", "data", "__len__", "__bool__", "__int__",
    "__float__", "__index__",
)  # fmt: skip

overrides(Tensor)  # from now on the fast paths know it
UNCONVERTED.update((Tensor.__repr__, Tensor._base.__get__, Tensor.grad.__get__))
