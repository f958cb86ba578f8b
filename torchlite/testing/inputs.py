"""Arguments for any op, made from its signature: what the conformance suite calls kernels with."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.base import get_backend
from ..core.declare import Op
from ..core.machine import Generator, Tensor, wrap
from ..core.values import CPU, Backend, contiguous_format, dt

if TYPE_CHECKING:
    from ..core.declare.schema import Param

Shape = tuple[int, ...]

# Shapes of tensor arguments by name, "" for those not named; an op gets the first sets that the CPU takes.
_SHAPES: tuple[dict[str, Shape], ...] = (
    {"": (3, 4)},
    {"": (3, 4), "mat2": (4, 2), "vec": (4,), "vec1": (3,), "vec2": (4,), "mat1": (3, 3)},
    {"": (3,), "mat": (3, 4), "vec": (4,)},
    {"": (3, 2), "mat1": (3, 4), "mat2": (4, 2)},
    {"": (2, 3, 3)},
    {"": (3, 3), "batch1": (2, 3, 4), "batch2": (2, 4, 3)},
    {"": (6,)},
    {"": (3, 4), "index": (2,), "source": (2, 4)},
    {"": (3, 4), "weight": (2, 4), "bias": (2,)},
    {"": (3, 4), "value": ()},
    {"": (3, 4), "src": (4,)},
    {"": (3, 4), "src": (3,), "grad_output": (3,)},
    {"": (2, 3, 2)},
    {"": ()},
    # Images and volumes, and their gradients after windows of 2.
    {"": (1, 2, 4, 4), "weight": (3, 2, 2, 2), "bias": (3,), "grid": (1, 3, 3, 2), "theta": (1, 2, 3)},
    {"": (1, 2, 4, 4), "grad_output": (1, 3, 3, 1), "weight": (3, 2, 2, 2), "random_samples": (1, 2, 2)},
    {"": (1, 2, 4, 4), "grad_output": (1, 2, 3, 1), "result": (1, 2, 3, 1), "indices": (1, 2, 3, 1)},
    {"": (1, 2, 3, 3, 3), "grid": (1, 2, 2, 2, 3), "theta": (1, 3, 4), "random_samples": (1, 2, 3)},
    {"": (1, 2, 3, 3, 3), "grad_output": (1, 2, 2, 2, 2), "result": (1, 2, 2, 2, 2), "indices": (1, 2, 2, 2, 2)},
    # Gradients of what was made smaller.
    {"": (1, 2, 2)},
    {"": (1, 2, 2, 2)},
    {"": (3, 1, 2), "weight": (2, 2, 3), "bias": (3,)},
    {"": (1, 8, 1)},
)

# Values of plain arguments by name, for arguments without a default; each of them is tried.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "dim": (0, (0,)), "dim0": (0,), "dim1": (1, 0), "dim2": (1,), "dims": ((1, 0), (0,), (0, 1)), "dimension": (0,),
    "size": ((4, 3), (3, 4), (2, 3, 4), 2), "stride": ((1, 3), (4, 1), (1, 1, 1)), "step": (1,), "start": (0,),
    "end": (2,), "pad": ((1, 1),),
    "input_size": ((1, 2, 4), (1, 2, 4, 4), (1, 2, 3, 3, 3)), "align_corners": (False,),
    "input_sizes": ((3, 4),), "index": (1,), "split_size": (2,), "split_sizes": ((1, 2), (2, 1)), "k": (2,),
    "shifts": ((1,),), "repeats": ((2, 1),), "n": (1, 2), "p": (2, 0.5), "maxnorm": (1,), "offset": (0,),
    "reduce": ("sum", "add", "prod"), "rounding_mode": ("floor",), "decimals": (1,), "bins": ((2, 2, 2, 2), 3),
    "length": (2,), "half_to_float": (False,), "stable": (True,), "value": (2,), "element": (2,),
    "kernel_size": ((2, 2), (2, 2, 2)), "padding": ((0, 0), (0, 0, 0), (1, 1, 1, 1), (1, 1, 1, 1, 1, 1)),
    "dilation": ((1, 1), (1, 1, 1)), "output_padding": ((0, 0),), "output_size": ((2, 2), (2, 2, 2), (2,)),
    "image_size": ((2, 2), (2, 2, 2), (2,)), "output_mask": ((True, True, True), (True, True)),
    "test_element": (2,), "from": (0,), "to": (5,), "dtype": (dt.float64,), "input_dtype": (dt.float32,),
}  # fmt: skip

_BY_TYPE: dict[str, tuple[Any, ...]] = {
    "Scalar": (2,), "int": (1,), "float": (0.5,), "bool": (False,), "MemoryFormat": (contiguous_format,),
}  # fmt: skip

_PLACES = ("index", "indices", "repeats", "sorter")
_MASKS = ("mask", "condition")
_EDGES = ("bins", "boundaries", "sorted_sequence")  # what is searched, for which it has to be in order
_TRIES = 400


@dataclass(frozen=True)
class Call:
    """Arguments of an op: plain ones as they are, tensors as NumPy arrays."""

    values: tuple[Any, ...]

    def on(self, backend: Backend, requires_grad: bool = False) -> list[Any]:
        """The arguments with tensors on a device, and generators newly seeded."""
        return [_on(value, backend, requires_grad) for value in self.values]


_SEEDED = object()  # stands for a generator


def _on(value: Any, backend: Backend, requires_grad: bool) -> Any:
    if isinstance(value, list):
        return [_on(item, backend, requires_grad) for item in value]
    if value is _SEEDED:
        made = Generator(backend.device if backend.values else "cpu")
        made.stream = get_backend(CPU).random_stream(1)  # so that what is drawn can be compared
        return made
    if not isinstance(value, np.ndarray):
        return value
    t: Tensor = wrap(backend.from_host(value), dt.of_numpy(value.dtype), backend)
    return t.requires_grad_() if requires_grad and t.dtype.category >= dt.FLOAT else t


def run(op: Op, values: list[Any]) -> Any:
    """Call an op; one that only works in place does so on its first argument."""
    in_place_only = op.kernel is None and type(op).apply is Op.apply
    return op.apply_in_place(values) if in_place_only else op.apply(*values)


def calls(op: Op, d: dt.dtype, count: int = 2) -> list[Call]:
    """Up to `count` calls with tensors of this dtype that the CPU takes, each with shapes of its own."""
    sets = (next(filter(_takes(op), itertools.islice(_candidates(op, d, s), _TRIES)), None) for s in _SHAPES)
    return list(itertools.islice((call for call in sets if call is not None), count))


def _takes(op: Op) -> Callable[[Call], bool]:
    """Whether the CPU takes a call of this op; whatever it refuses, for any reason, is no call to compare."""

    def takes(call: Call) -> bool:
        try:
            run(op, call.on(get_backend()))
        except Exception:
            return False
        return True

    return takes


def _candidates(op: Op, d: dt.dtype, shapes: dict[str, Shape]) -> Iterator[Call]:
    random = np.random.default_rng(zlib.crc32(op.name.encode()))
    numbers = op.signature.overload.endswith("Scalar")  # the operands that are no Tensor are numbers then
    choices = [
        (2,) if numbers and param.type == "Operand" else _choices(param, d, shapes, random)
        for param in op.signature.params
    ]
    return (Call(values) for values in itertools.product(*choices))


def _choices(param: Param, d: dt.dtype, shapes: dict[str, Shape], random: np.random.Generator) -> tuple[Any, ...]:
    if param.is_tensor:
        shape = shapes.get(param.name, shapes[""])
        made: Any = [_values(param.name, d, shape, random) for _ in range(2)]
        given = made if param.sequence else made[0]
        return (given,) if param.required else (param.default, given)
    if param.type == "Generator":
        return (_SEEDED,)
    if not param.required:
        return (param.default,)
    if param.optional:
        return (None, *_PLAIN.get(param.name, ()))
    if param.type == "Device":
        return ()
    return _PLAIN.get(param.name) or _BY_TYPE.get(param.type, (None,))


def _values(name: str, d: dt.dtype, shape: Shape, random: np.random.Generator) -> np.ndarray:
    made = _unordered(name, d, shape, random)
    return np.sort(made, -1) if name in _EDGES and shape else made


def _unordered(name: str, d: dt.dtype, shape: Shape, random: np.random.Generator) -> np.ndarray:
    if name in _PLACES:
        return random.integers(0, 2, shape)
    if name in _MASKS or d is dt.bool_:
        return random.integers(0, 2, shape).astype(bool)
    if d.category == dt.INT:
        return random.integers(1, 5, shape).astype(d.numpy)
    values = random.uniform(-2, 2, shape)
    if d.category == dt.COMPLEX:
        values = values + 1j * random.uniform(-2, 2, shape)
    return np.asarray(values).astype(d.numpy)
