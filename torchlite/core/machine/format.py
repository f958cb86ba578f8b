"""How tensors print: `repr(tensor)`, and the options that shape it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import ContextDecorator
from dataclasses import asdict, dataclass, replace
from itertools import compress
from typing import Any

import ml_dtypes
import numpy as np

from ..state import Context, State, local
from ..values import bool_, default_complex, get_default_dtype, int64, sparse_bsr, sparse_coo, sparse_csr, strided
from .node import DatedCounter, name_of


@dataclass(frozen=True)
class PrintOptions:
    """See `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: float = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}

_options = PrintOptions()


def set_printoptions(
    precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
    linewidth: float | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Choose how tensors print, in the whole process.

    Args:
        precision: digits after the decimal point.
        threshold: tensors with more elements than this are summarised.
        edgeitems: elements a summary keeps at either end of a dimension.
        linewidth: characters after which a line is broken.
        profile: "default", "short" or "full": values for the four above, which arguments given beside it override.
        sci_mode: always (True) or never (False) use scientific notation; None, to which every call that does not
            say otherwise returns, lets the values decide.
    """
    global _options
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _options = replace(_PROFILES.get(profile or "", _options), **changes, sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    """The options in force, by name."""
    return asdict(_options)


class printoptions(Context, ContextDecorator):
    """`set_printoptions` for the duration of a `with` block."""

    def __init__(self, **kwargs: Any) -> None:
        self.options = kwargs

    def _take(self, state: State) -> Any:
        return _options

    def _set(self, state: State, kept: Any) -> None:
        set_printoptions(**self.options)

    def _put(self, state: State, kept: Any) -> None:
        global _options
        _options = kept


def tensor_str(t: Any, *, tensor_contents: str | None = None) -> str:
    """The `repr` of a tensor; `tensor_contents` stands in for the text of its elements."""
    text = _tensor_str(t, tensor_contents)
    return f"Parameter({text})" if getattr(t, "_is_param", False) else text


def _tensor_str(t: Any, tensor_contents: str | None) -> str:
    if t._backend.layout is not strided and not t._backend.home.level:
        return _sparse_str(t)
    if not (t._backend.strided or t._backend.handed):
        return t._backend.shown(t._array)
    # Only subclasses that users define go by their own name.
    own = type(t).__module__.partition(".")[0] in ("torchlite", "torch") and not t._backend.handed
    prefix = "tensor(" if own else f"{type(t).__name__}("
    text = prefix + (_contents(t, len(prefix)) if tensor_contents is None else tensor_contents)
    text = _completed(text, _suffixes(t), len(prefix))
    if t._counter.__class__ is DatedCounter:  # PyTorch wraps whatever is made inside of a transform that differentiates
        for level in local.state.levels:
            if level.elements is None and level.serial < t._counter.born:
                text = level.shown(text)
    return text


def _completed(text: str, suffixes: Iterable[str], indent: int, break_first: bool = False) -> str:
    """The text of a tensor with what the elements do not tell, in lines that are not too long."""
    used = len(text.rpartition("\n")[2]) + 2  # PyTorch, too, breaks this much early after the elements
    for suffix in suffixes:
        if break_first or used + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
        break_first = False
    return text + ")"


def _sparse_str(t: Any) -> str:
    """The `repr` of a sparse tensor: its parts, and what they do not tell."""
    prefix = "tensor("
    by_rows = t.layout in (sparse_csr, sparse_bsr)
    names = ("indices",) if t.layout is sparse_coo else _COMPRESSED_PARTS[by_rows]
    texts = []
    for name, part in zip((*names, "values"), t._array.parts(), strict=True):
        head = f"{name}=tensor("
        size = f", size={tuple(part.shape)}" if part.is_meta or not part.numel() else ""
        texts.append(f"{head}{_contents(part, len(prefix) + len(head))}{size})")
    text = prefix + (",\n" + " " * len(prefix)).join(texts)
    return _completed(text, _suffixes(t), len(prefix), t.layout is sparse_coo)


_COMPRESSED_PARTS = {True: ("crow_indices", "col_indices"), False: ("ccol_indices", "row_indices")}


def said_of_history(t: Any) -> Iterator[str]:
    """How a tensor shows where it comes from, or that gradients are wanted for it."""
    try:
        node = t.grad_fn
    except RuntimeError:  # a view whose history an in-place operation has made unusable
        yield "grad_fn=<Invalid>"
    else:
        if node is not None:
            yield f"grad_fn=<{name_of(node).rpartition('::')[2]}>"
        elif t.requires_grad:
            yield "requires_grad=True"


def _suffixes(t: Any) -> Iterator[str]:
    """The part of a `repr` after the elements: size, dtype, device, history."""
    meta = t.device.type == "meta"
    sparse = t.layout is not strided
    empty = t.numel() == 0 and not sparse
    if t.device.type != "cpu":
        yield f"device='{t.device}'"
    if sparse:
        yield f"size={tuple(t.shape)}"
        if not meta:
            yield f"nnz={t._nnz()}"
    elif meta or (t.dim() != 1 if empty else _options.edgeitems == 0):
        yield f"size={tuple(t.shape)}"
    evident = {get_default_dtype()}
    if not (meta or empty):
        evident |= {default_complex(), int64, bool_}
    if t.dtype not in evident:
        yield f"dtype={t.dtype}"
    if sparse:
        yield f"layout={t.layout}"
    yield from said_of_history(t)
    for level in local.state.mode.moving:
        tangent = level.of(t)
        if tangent is not None:
            yield f"tangent={tangent}"


def _contents(t: Any, margin: int) -> str:
    """The elements of a tensor, for a text whose first line already holds `margin` characters."""
    if t.device.type == "meta":
        return "..."
    if t.numel() == 0:
        return "[]"
    array = t._host_array()
    edge = _options.edgeitems
    cut = [False] * array.ndim
    if array.ndim and array.size > _options.threshold:
        if edge == 0:
            return "[...]"
        cut = [size > 2 * edge for size in array.shape]
        edges = [*range(edge), *range(-edge, 0)]
        array = array[np.ix_(*(edges if c else range(size) for c, size in zip(cut, array.shape)))]
    cells, width = _cells(array.ravel())
    return _nested(cells, array.shape, cut, width, margin)


def _nested(cells: list[str], shape: tuple[int, ...], cut: list[bool], width: int, margin: int) -> str:
    """Bracket `cells` into the given shape, from the innermost dimension out; a dimension that is cut gets dots."""
    innermost = len(shape) - 1
    for axis in reversed(range(len(shape))):
        indent = margin + axis + 1
        groups = _chunks(cells, shape[axis])
        if cut[axis]:
            for group in groups:
                group.insert(_options.edgeitems, " ..." if axis == innermost else "...")
        if axis == innermost:
            per_line = max(1, math.floor((_options.linewidth - margin - axis) / (width + 2)))
            groups = [[", ".join(line) for line in _chunks(group, per_line)] for group in groups]
        line_break = "," + "\n" * max(1, innermost - axis) + " " * indent
        cells = [f"[{line_break.join(group)}]" for group in groups]
    return cells[0]


def _chunks(items: list[str], size: int) -> list[list[str]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def _cells(values: np.ndarray) -> tuple[list[str], int]:
    """Each value's text, padded to a common width, and the width by which to break lines."""
    if values.dtype.kind == "W":
        values = values.astype(np.complex64)
    if values.dtype.kind == "c":
        reals, real_width = _floats(values.real)
        imags, imag_width = _floats(values.imag)
        signed = (imag if imag.startswith("-") else "+" + imag for imag in imags)
        texts = [f"{real:>{real_width}}{imag}j" for real, imag in zip(reals, signed)]
        return texts, real_width + imag_width + 1
    if values.dtype.kind in "biu":
        texts = list(map(str, values.tolist()))
        width = max(map(len, texts))
    else:
        texts, width = _floats(values)
    return [text.rjust(width) for text in texts], width


def _floats(values: np.ndarray) -> tuple[list[str], int]:
    """Each value's text in the one format that suits them all, and the width of the widest that is not special."""
    doubles = values.astype(np.float64)
    if values.dtype == ml_dtypes.float8_e8m0fnu:
        # A type without zero and infinity, to which PyTorch's tests for them answer so.
        ordinary = values.view(np.uint8) != 0
    else:
        ordinary = np.isfinite(doubles) & (doubles != 0)
    spec = _float_spec(doubles[ordinary])
    texts = [format(value, spec) for value in doubles.tolist()]
    return texts, max(map(len, compress(texts, ordinary)), default=1)


def _float_spec(values: np.ndarray) -> str:
    """The format specification in which finite, nonzero values read best."""
    if values.size == 0:
        return "#.0f"
    sizes = np.abs(values)
    smallest, largest = sizes.min().item(), sizes.max().item()
    scientific = _options.sci_mode
    if scientific is None:
        scientific = largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4
    if scientific:
        return f".{_options.precision}e"
    whole = (values == np.ceil(values)).all()
    return "#.0f" if whole else f".{_options.precision}f"
