"""A library under comparison, real torch or another: values go in and out through its public surface only."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from types import MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from . import neutral
from .neutral import Array, Device, Input, Raised, Sequence, SparseInput, is_inexact, numpy_dtype

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, np.generic, np.ndarray)
# A dtype that NumPy does not know travels as the integer of its size.
_CARRIERS = {"bfloat16": np.dtype(np.int16)}


class Missing(AttributeError):
    """The library has no such name."""


class Unsupported(Exception):
    """The library lacks what a whole check needs, so the check says nothing about any operator."""


class Library:
    """One library: ``module`` is its ``torch`` namespace, ``device`` where its tensors live (``None``: the CPU).

    ``native`` marks the library whose operator table is used: its helpers run as they are.
    """

    def __init__(self, module: ModuleType | str, device: str | None = None, native: bool = False) -> None:
        self.module: Any = importlib.import_module(module) if isinstance(module, str) else module
        self.device = device
        self.native = native

    # -- names ---------------------------------------------------------------------------------------------------

    def get(self, path: str) -> Any:
        """The object at a dotted path that begins with ``torch``."""
        here: Any = self.module
        walked = self.module.__name__
        for part in path.split(".")[1:]:
            walked = f"{walked}.{part}"
            try:
                here = getattr(here, part) if hasattr(here, part) else importlib.import_module(walked)
            except ModuleNotFoundError as error:
                if error.name is None or not walked.startswith(error.name):
                    raise
                raise Missing(f"{self.module.__name__} has no {path}") from None
        return here

    def has(self, path: str) -> bool:
        try:
            self.get(path)
        except Missing:
            return False
        return True

    def seed(self, seed: int) -> None:
        """Seeds the CPU's generator; torch's ``manual_seed`` looks at every device too, which costs more than an op."""
        if self.has("torch.default_generator"):
            self.module.default_generator.manual_seed(seed)
        elif self.has("torch.manual_seed"):
            self.module.manual_seed(seed)

    # -- neutral values to the library's -------------------------------------------------------------------------

    def build(self, tree: Any, made: dict[int, Any] | None = None) -> Any:
        """The library's value for a neutral one. ``made`` holds the tensors by ``id`` of their :class:`Input`."""
        made = {} if made is None else made
        match tree:
            case Input() | SparseInput():
                if id(tree) not in made:
                    made[id(tree)] = self.tensor(tree)
                return made[id(tree)]
            case Sequence(kind=kind, items=items):
                values = [self.build(item, made) for item in items]
                return values if kind == "list" else self.module.Size(values) if kind == "Size" else tuple(values)
            case dict():
                return {key: self.build(value, made) for key, value in tree.items()}
            case slice():
                return slice(*(self.build(part, made) for part in (tree.start, tree.stop, tree.step)))
            case neutral.Name(path=path):
                return self.get(path)
            case Device(name=name, as_object=as_object):
                name = self.device or name if name == "cpu" else name
                return self.module.device(name) if as_object else name
            case neutral.Generator(seed=seed):
                return self.module.Generator().manual_seed(seed)
            case neutral.Deferred(make=make):
                return make(self)
            case np.ndarray():
                return tree.copy()
            case _:
                return tree

    def tensor(self, spec: Input | SparseInput, requires_grad: bool | None = None) -> Any:
        """The library's tensor for ``spec``, with its strides, its storage and a memory of its own."""
        if isinstance(spec, SparseInput):
            tensor = self._sparse(spec)
        elif spec.is_dense:
            tensor = self._copy(spec.view, spec.dtype)
        else:
            tensor = self._copy(spec.storage, spec.dtype).as_strided(spec.shape, spec.strides, spec.offset)
        if isinstance(spec, Input) and spec.conj:
            tensor = tensor.conj()
        wanted = spec.requires_grad if requires_grad is None else requires_grad
        return tensor.requires_grad_() if wanted else tensor

    def _sparse(self, spec: SparseInput) -> Any:
        parts = [self.tensor(part) for part in spec.parts]
        if spec.layout == "sparse_coo":
            return self.module.sparse_coo_tensor(*parts, spec.shape, is_coalesced=spec.coalesced)
        layout = getattr(self.module, spec.layout)
        return self.module.sparse_compressed_tensor(*parts, spec.shape, layout=layout)

    def _copy(self, values: np.ndarray, dtype: str) -> Any:
        carrier = _CARRIERS.get(dtype)
        if carrier is None:
            tensor = self.module.from_numpy(values)
        else:
            tensor = self.module.from_numpy(values.view(carrier)).view(getattr(self.module, dtype))
        return (tensor if self.device is None else tensor.to(self.device)).clone()

    def random_like(self, tensor: Any, random: np.random.Generator, requires_grad: bool = False) -> Any:
        """A standard normal tensor of the shape and dtype of ``tensor``; the same in every library."""
        dtype = self.dtype_name(tensor)
        values = random.standard_normal(tuple(tensor.shape))
        if dtype.startswith("complex"):
            values = values + 1j * random.standard_normal(tuple(tensor.shape))
        return self.tensor(Input.of(np.asarray(values).astype(numpy_dtype(dtype)), dtype, requires_grad))

    # -- the library's values to neutral ones --------------------------------------------------------------------

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.module.Tensor)

    @staticmethod
    def dtype_name(tensor: Any) -> str:
        return str(tensor.dtype).rpartition(".")[2]

    @cached_property
    def _constants(self) -> tuple[type, ...]:
        paths = ("torch.dtype", "torch.layout", "torch.memory_format")
        return tuple(self.get(path) for path in paths if self.has(path))

    def describe(self, value: Any) -> Any:
        """The neutral form of a result."""
        if self.is_tensor(value):
            return self._describe_tensor(value)
        if isinstance(value, self.module.Size):
            return Sequence("Size", tuple(int(size) for size in value))
        if isinstance(value, tuple):
            fields = field_names(value)
            items = tuple(self.describe(item) for item in value)
            return Sequence("namedtuple", items, type(value).__name__, fields) if fields else Sequence("tuple", items)
        if isinstance(value, list):
            return Sequence("list", tuple(self.describe(item) for item in value))
        if isinstance(value, dict):
            return {key: self.describe(item) for key, item in value.items()}
        if isinstance(value, self._constants):
            return neutral.Name("torch." + str(value).rpartition(".")[2])
        if isinstance(value, self.module.device):
            return Device(self._device_name(value), as_object=True)
        return value if isinstance(value, (*_PLAIN, Raised)) else f"<{type(value).__name__}>"

    def _describe_tensor(self, tensor: Any) -> Array | Sequence:
        layout = str(getattr(tensor, "layout", "torch.strided"))
        if not layout.endswith("strided"):
            parts = (self._describe_tensor(part) for part in self.parts(tensor.detach()))
            return Sequence(layout, (*parts, tensor.requires_grad, tuple(tensor.shape)))
        return Array(
            dtype=self.dtype_name(tensor),
            values=np.zeros(tuple(tensor.shape)) if tensor.device.type == "meta" else self.to_numpy(tensor),
            strides=tuple(tensor.stride()),
            requires_grad=tensor.requires_grad,
            device=self._device_name(tensor.device),
        )

    def _device_name(self, device: Any) -> str:
        """The device's name, where ``cpu`` stands for the device under test."""
        if self.device is None:
            return str(device)
        return "cpu" if device.type == self.device else f"{device} of the host"

    def default_device(self) -> AbstractContextManager[Any]:
        """Makes what has no tensor among its inputs land on the device under test."""
        return nullcontext() if self.device is None else self.module.device(self.device)

    def to_numpy(self, tensor: Any) -> np.ndarray:
        """The tensor's elements in a fresh array."""
        dtype = self.dtype_name(tensor)
        if dtype == "complex32":
            pairs = self.module.view_as_real(tensor.detach().resolve_conj()).numpy(force=True).astype(np.float32)
            return pairs[..., 0] + 1j * pairs[..., 1]
        carrier = _CARRIERS.get(dtype)
        if carrier is None:
            return np.array(tensor.numpy(force=True), order="C")
        plain = tensor.detach().view(self.get(f"torch.{carrier.name}"))
        return np.array(plain.numpy(force=True), order="C").view(numpy_dtype(dtype))

    @staticmethod
    def parts(tensor: Any) -> tuple[Any, ...]:
        """What a sparse tensor is made of."""
        layout = str(tensor.layout).rpartition(".")[2]
        if layout == "sparse_coo":
            return tensor._indices(), tensor._values()
        if layout in ("sparse_csr", "sparse_bsr"):
            return tensor.crow_indices(), tensor.col_indices(), tensor.values()
        return tensor.ccol_indices(), tensor.row_indices(), tensor.values()

    def input_of(self, tensor: Any) -> Input | SparseInput:
        """The neutral form of a tensor that is to be built again, with all of its storage."""
        dtype = self.dtype_name(tensor)
        numpy_dtype(dtype)
        layout = str(tensor.layout).rpartition(".")[2]
        if layout.startswith("sparse_"):
            parts = tuple(self.input_of(part) for part in self.parts(tensor.detach()))
            coalesced = tensor.is_coalesced() if layout == "sparse_coo" else None
            return SparseInput(layout, parts, tuple(tensor.shape), tensor.requires_grad, coalesced)
        if tensor.layout != self.module.strided or dtype == "complex32" or tensor.is_neg() or tensor.is_meta:
            raise neutral.Unconvertible(f"a {dtype} tensor on {tensor.device} of layout {tensor.layout}")
        plain = tensor.detach()
        conj = plain.is_conj()
        plain = plain.conj() if conj else plain
        extent = plain.untyped_storage().nbytes() // plain.element_size()
        return Input(
            dtype=dtype,
            storage=self.to_numpy(plain.as_strided((extent,), (1,), 0)),
            shape=tuple(tensor.shape),
            strides=tuple(tensor.stride()),
            offset=tensor.storage_offset(),
            requires_grad=tensor.requires_grad,
            conj=conj,
        )

    def tensors_in(self, value: Any) -> list[Any]:
        """The tensors in nested tuples, lists and dicts, in order."""
        if self.is_tensor(value):
            return [value]
        if isinstance(value, dict):
            value = value.values()
        elif not isinstance(value, (tuple, list)):
            return []
        return list(itertools.chain.from_iterable(self.tensors_in(item) for item in value))

    def sharing(self, results: Any, inputs: Any) -> list[str]:
        """Which tensors of ``results`` share the storage of which tensors of ``inputs``."""
        sources = [self._address(tensor) for tensor in self.tensors_in(inputs)]
        return [
            f"result {i} with input {j}"
            for i, tensor in enumerate(self.tensors_in(results))
            for j, source in enumerate(sources)
            if source is not None and self._address(tensor) == source
        ]

    @staticmethod
    def _address(tensor: Any) -> int | None:
        """Where the storage of a tensor is; ``None`` if it has no elements."""
        if not str(getattr(tensor, "layout", "strided")).endswith("strided"):
            return None
        return tensor.untyped_storage().data_ptr() or None


def field_names(value: tuple) -> tuple[str, ...]:
    """The fields of a named tuple, of the kind Python makes or of the kind C code makes."""
    named = getattr(value, "_fields", None)
    if named is not None:
        return tuple(named)
    kind = type(value)
    names = getattr(kind, "__match_args__", ())
    return tuple(name for name in names if isinstance(getattr(kind, name, None), MemberDescriptorType))


def differentiable(tensors: Iterable[Any]) -> list[Any]:
    return [tensor for tensor in tensors if tensor.requires_grad and is_inexact(Library.dtype_name(tensor))]
