"""Elementwise formulas over lists of arrays, in one launch: what optimizers do to all their parameters.

A formula is a Python function that changes its operands in place; it is run once on symbols, which write it down as
CUDA C++. The addresses of the arrays travel with the launch, so that nothing is copied to the device before it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import cupy
import numpy as np

from .raw import TYPES

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

    def __bool__(self) -> bool:
        raise TypeError("a formula that runs as one kernel decides nothing by its operands' values")


def _term(value: Any) -> str:
    return value.name if isinstance(value, Symbol) else f"T({float(value)!r})"


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
for _sign, _name in {"<": "lt", ">": "gt"}.items():
    setattr(Symbol, f"__{_name}__", _operator(_sign, "bool")[0])


def _function(template: str) -> Callable[..., Symbol]:
    """A function of the array namespace whose first operand is a symbol."""
    return lambda *operands: operands[0].made(template.format(*map(_term, operands)))


NAMESPACE = SimpleNamespace(
    sqrt=_function("sqrt({0})"),
    absolute=_function("fabs({0})"),
    sign=_function("{0} > 0 ? T(1) : {0} < 0 ? T(-1) : {0}"),
    maximum=_function("{0} != {0} || {0} > {1} ? {0} : {1}"),
    minimum=_function("{0} != {0} || {0} < {1} ? {0} : {1}"),
    clip=_function("{0} < {1} ? {1} : {0} > {2} ? {2} : {0}"),
    where=_function("{0} ? {1} : {2}"),
)

_SOURCE = """
typedef {type} T;
struct Table {{ T* at[{roles}][{count}]; long long size[{count}]; int first[{count}]; }};

extern "C" __global__ void update(const Table table, const int arrays{numbers}) {{
    int low = 0, high = arrays;  // of the array whose elements this block changes
    while (high - low > 1) {{
        const int middle = (low + high) / 2;
        if (table.first[middle] <= (int)blockIdx.x) low = middle; else high = middle;
    }}
    const long long start = (long long)(blockIdx.x - table.first[low]) * {share};
    const long long rest = table.size[low] - start;
    for (int i = threadIdx.x; i < rest && i < {share}; i += blockDim.x) {{
        {loads}
        {lines}
        {stores}
    }}
}}
"""


class _Kernel:
    """A formula for arrays of one dtype, with some of its numbers known."""

    def __init__(
        self, formula: Callable[..., None], roles: int, dtype: np.dtype, known: Sequence[Any], negated: bool
    ) -> None:
        self.itemsize = dtype.itemsize
        self.count = _ROOM // (8 * roles + 12)
        item = [("at", np.intp, (roles, self.count)), ("size", np.int64, self.count), ("first", np.int32, self.count)]
        self.table = np.dtype(item, align=True)
        lines: list[str] = []
        operands = [Symbol(lines, f"x{i}") for i in range(roles)]
        numbers = [Symbol(lines, f"n{i}") if k is float else k for i, k in enumerate(known)]
        if negated:
            lines.append(f"{operands[1].name} = -{operands[1].name};")
        formula(NAMESPACE, *operands, *numbers)
        taken = [n.name for n in numbers if isinstance(n, Symbol)]
        places = [f"table.at[{i}][low][start + i]" for i in range(roles)]
        source = _SOURCE.format(
            type=TYPES[dtype], roles=roles, count=self.count, share=_SHARE,
            numbers="".join([f", const double of_{n}" for n in taken]),
            loads=" ".join(
                [f"T x{i} = {place};" for i, place in enumerate(places)] + [f"const T {n} = T(of_{n});" for n in taken]
            ),
            lines="\n        ".join(lines),
            stores=" ".join([f"{place} = x{i};" for i, place in enumerate(places) if i != 1]),
        )  # fmt: skip
        self.run = cupy.RawKernel(source, "update", options=("-std=c++14",))

    def __call__(self, roles: Sequence[Sequence[Any]], numbers: Sequence[float]) -> None:
        """Change the arrays of one launch."""
        table = np.zeros((), self.table)
        some = len(roles[0])
        sizes = [a.nbytes // self.itemsize for a in roles[0]]
        blocks = [-(-size // _SHARE) for size in sizes]
        table["at"][:, :some] = [[a.data.ptr for a in arrays] for arrays in roles]
        table["size"][:some] = sizes
        table["first"][:some] = [0, *itertools.accumulate(blocks)][:-1]
        if any(blocks):
            self.run((sum(blocks),), (_THREADS,), (table, np.int32(some), *numbers))


_kernel = functools.cache(_Kernel)


def over_lists(
    formula: Callable[..., None], roles: Sequence[Sequence[Any]], numbers: Sequence[Any], negated: bool = False
) -> None:
    """`formula(namespace, *operands, *numbers)` over the arrays of each place in the lists `roles`.

    They are contiguous and of one dtype, those of one place of one size; complex numbers are pairs. The second operand
    is only read, and may be `negated`.
    """
    dtype = roles[0][0].dtype
    real = dtype.type(0).real.dtype if dtype.kind == "c" else dtype
    known = tuple([float if n.__class__ is float else n for n in numbers])
    kernel = _kernel(formula, len(roles), real, known, negated)
    values = [n for n in numbers if n.__class__ is float]
    for start in range(0, len(roles[0]), kernel.count):
        kernel([arrays[start : start + kernel.count] for arrays in roles], values)
