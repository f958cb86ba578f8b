"""Elementwise formulas over lists of arrays, in one launch: what optimizers do to all their parameters.

A formula is a Python function that changes its operands in place; it is run once on symbols, which write it down as
CUDA C++. The addresses of the arrays travel with the launch, so that nothing is copied to the device before it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import cupy
import numpy as np

from .raw import STORED, TYPES, header, rows_of_one_type, summed
from .rows import REDUCTIONS

_ROOM = 3584  # bytes of a launch's arguments that addresses may take: 4096, less what numbers may need
_SHARE = 2048  # elements for each block of threads
_THREADS = 256


class Symbol:
    """A variable of a kernel that is being written: operations on it add lines to `lines`."""

    def __init__(self, lines: list[str], name: str) -> None:
        self.lines, self.name = lines, name

    def made(self, expression: str, type_: str = "T") -> Symbol:
        made = Symbol(self.lines, f"v{len(self.lines)}")
        self.lines.append(f"{type_} {made.name} = {expression};")
        return made

    def __setitem__(self, index: Any, value: Any) -> None:
        self.lines.append(f"{self.name} = {_term(value)};")

    def __neg__(self) -> Symbol:
        return self.made(f"-{self.name}")

    def __pow__(self, exponent: Any) -> Symbol:
        return self.made(f"pow({self.name}, {_term(exponent)})" if exponent != 2 else f"{self.name} * {self.name}")

    def __bool__(self) -> bool:
        raise TypeError("a formula that runs as one kernel decides nothing by its operands' values")


def _term(value: Any) -> str:
    if isinstance(value, Symbol):
        return value.name
    number = float(value)
    return f"T({number!r})" if math.isfinite(number) else f"T({'-' if number < 0 else ''}INFINITY)"


def _operator(sign: str, type_: str = "T") -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """What an operator does, in its three forms: from the left, from the right, in place."""

    def left(a: Symbol, b: Any) -> Symbol:
        return a.made(f"{a.name} {sign} {_term(b)}", type_)

    def right(a: Symbol, b: Any) -> Symbol:
        return a.made(f"{_term(b)} {sign} {a.name}", type_)

    def inplace(a: Symbol, b: Any) -> Symbol:
        a.lines.append(f"{a.name} {sign}= {_term(b)};")
        return a

    return left, right, inplace


for _sign, _name in {"+": "add", "-": "sub", "*": "mul", "/": "truediv"}.items():
    for _prefix, _form in zip(("", "r", "i"), _operator(_sign)):
        setattr(Symbol, f"__{_prefix}{_name}__", _form)
for _sign, _name in {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq"}.items():
    setattr(Symbol, f"__{_name}__", _operator(_sign, "bool")[0])


def _function(template: str) -> Callable[..., Symbol]:
    """A function of the array namespace whose first operand is a symbol."""
    return lambda *operands: operands[0].made(template.format(*map(_term, operands)))


NAMESPACE = SimpleNamespace(
    sqrt=_function("sqrt({0})"),
    exp=_function("exp({0})"),
    log=_function("log({0})"),
    log1p=_function("log1p({0})"),
    absolute=_function("fabs({0})"),
    sign=_function("{0} > 0 ? T(1) : {0} < 0 ? T(-1) : {0}"),
    maximum=_function("{0} != {0} || {0} > {1} ? {0} : {1}"),
    minimum=_function("{0} != {0} || {0} < {1} ? {0} : {1}"),
    clip=_function("{0} < {1} ? {1} : {0} > {2} ? {2} : {0}"),
    where=_function("{0} ? {1} : {2}"),
)

_LISTS = """
typedef {stored} S;
typedef {type} T;
struct Table {{ S* at[{roles}][{count}]; long long size[{count}]; int first[{count}]; }};

// Which array this block works on, and from which of its elements on.
__device__ int find(const Table& table, int arrays, long long& start) {{
    int low = 0, high = arrays;
    while (high - low > 1) {{
        const int middle = (low + high) / 2;
        if (table.first[middle] <= (int)blockIdx.x) low = middle; else high = middle;
    }}
    start = (long long)(blockIdx.x - table.first[low]) * {share};
    return low;
}}
#define EACH(i) for (long long i = start + threadIdx.x; i < table.size[array] && i < start + {share}; i += blockDim.x)
"""
_UPDATE = """
extern "C" __global__ void update(const Table table, const int arrays{parameters}) {{
    long long start;
    const int array = find(table, arrays, start);
    {loads}
    EACH(i) {{
        {lines}
    }}
}}
"""
_SQUARES = """
extern "C" __global__ void squares(const Table table, const int arrays, T* sums) {
    long long start;
    const int array = find(table, arrays, start);
    T sum = 0;
    EACH(i) {
        const T x = table.at[0][array][i];
        sum += x * x;
    }
    sum = over_block<T, add<T>>(sum, 0);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
"""


class _Lists:
    """A kernel over lists of arrays, which is given their addresses; a block of threads for each share of elements."""

    def __init__(self, name: str, source: str, roles: int, dtype: np.dtype) -> None:
        self.itemsize = dtype.itemsize
        self.count = _ROOM // (8 * roles + 12)
        item = [("at", np.intp, (roles, self.count)), ("size", np.int64, self.count), ("first", np.int32, self.count)]
        self.table = np.dtype(item, align=True)
        types = {"stored": STORED[dtype], "type": TYPES[summed(dtype)]}
        lists = header(dtype) + _LISTS.format(**types, roles=roles, count=self.count, share=_SHARE)
        self.kernel = cupy.RawKernel(lists + source, name, options=("-std=c++14",))

    def __call__(self, roles: Sequence[Sequence[Any]], arguments: Callable[[int], tuple[Any, ...]]) -> None:
        """Launch for as many arrays at a time as there is room for; `arguments` are given the number of blocks."""
        for start in range(0, len(roles[0]), self.count):
            some = [arrays[start : start + self.count] for arrays in roles]
            table, n = np.zeros((), self.table), len(some[0])
            sizes = [a.nbytes // self.itemsize for a in some[0]]
            blocks = [-(-size // _SHARE) for size in sizes]
            table["at"][:, :n] = [[a.data.ptr for a in arrays] for arrays in some]
            table["size"][:n] = sizes
            table["first"][:n] = [0, *itertools.accumulate(blocks)][:-1]
            if any(blocks):
                self.kernel((sum(blocks),), (_THREADS,), (table, np.int32(n), *arguments(sum(blocks))))


@functools.cache
def _update(formula: Callable[..., None], roles: int, dtype: np.dtype, known: Sequence[Any], negated: bool) -> _Lists:
    """A formula for arrays of one dtype, with some of its numbers known."""
    lines: list[str] = []
    operands = [Symbol(lines, f"x{i}") for i in range(roles)]
    numbers = [Symbol(lines, f"n{i}") if k.__class__ is _Given else k for i, k in enumerate(known)]
    places = [f"table.at[{i}][array][i]" for i in range(roles)]
    lines += [f"T {x.name} = {place};" for x, place in zip(operands, places)]
    if negated:
        lines.append(f"{operands[1].name} = -{operands[1].name};")
    formula(NAMESPACE, *operands, *numbers)
    lines += [f"{place} = {x.name};" for i, (x, place) in enumerate(zip(operands, places)) if i != 1]
    taken = [(n.name, k) for n, k in zip(numbers, known) if k.__class__ is _Given]
    source = _UPDATE.format(
        parameters="".join([f", {k.type} of_{name}" for name, k in taken]),
        loads=" ".join([f"const T {name} = T({k.read}of_{name});" for name, k in taken]),
        lines="\n        ".join(lines),
    )
    return _Lists("update", source, roles, dtype)


class _Given(NamedTuple):
    """A number that differs from call to call: of what type it comes, and how it is read."""

    type: str
    read: str = ""


def _known(number: Any) -> Any:
    """What is known of a number when its kernel is compiled: all, or where it is given."""
    if number.__class__ is cupy.ndarray:
        return _Given(f"const {STORED[number.dtype]}*", "*")
    return _Given("const double") if number.__class__ is float else number


def over_lists(
    formula: Callable[..., None], roles: Sequence[Sequence[Any]], numbers: Sequence[Any], negated: bool = False
) -> None:
    """`formula(namespace, *operands, *numbers)` over the arrays of each place in the lists `roles`.

    They are contiguous and of one dtype, those of one place of one size; halves are computed in float32, and complex
    numbers are pairs. The second operand is only read, and may be `negated`. Numbers may lie on the device.
    """
    known = tuple(map(_known, numbers))
    given = tuple([n for n, k in zip(numbers, known) if k.__class__ is _Given])
    _update(formula, len(roles), _real(roles[0][0].dtype), known, negated)(roles, lambda _: given)


def _real(dtype: np.dtype) -> np.dtype:
    return dtype.type(0).real.dtype if dtype.kind == "c" else dtype


# ---- gradients, all at once


def _scaled(xp: Any, x: Any, factor: Any) -> None:
    x *= factor


def scale_all(arrays: Sequence[Any], factor: Any) -> Any:
    """Multiply all arrays by a number that lies on the device."""
    if not rows_of_one_type(factor) or not all([a.dtype == factor.dtype and a.flags.c_contiguous for a in arrays]):
        return NotImplemented
    over_lists(_scaled, [arrays], (factor,))
    return None


def _clipped(xp: Any, x: Any, limit: Any) -> None:
    x[...] = xp.minimum(xp.maximum(x, -limit), limit)


def clip_all(arrays: Sequence[Any], limit: float) -> Any:
    """Bring all elements of all arrays between `-limit` and `limit`."""
    if not rows_of_one_type(*arrays):
        return NotImplemented
    over_lists(_clipped, [arrays], (limit,))
    return None


@functools.cache
def _squares(dtype: np.dtype) -> _Lists:
    return _Lists("squares", REDUCTIONS + _SQUARES, 1, dtype)


_root_of_sum = cupy.ReductionKernel("T x", "S y", "x", "a + b", "y = S(sqrt(a))", "0", "torchlite_root_of_sum")


def norm_of_all(arrays: Sequence[Any]) -> Any:
    """The norm of all elements of all arrays."""
    dtype = arrays[0].dtype
    if dtype not in STORED or not all([a.dtype == dtype and a.flags.c_contiguous for a in arrays]):
        return NotImplemented
    parts: list[Any] = []

    def room(blocks: int) -> tuple[Any, ...]:
        parts.append(cupy.empty(blocks, summed(dtype)))
        return (parts[-1],)

    _squares(dtype)([arrays], room)
    every = parts[0] if len(parts) == 1 else cupy.concatenate([*parts, cupy.zeros(1, summed(dtype))])
    return _root_of_sum(every, cupy.empty((), dtype))
