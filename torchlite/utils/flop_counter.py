"""`torch.utils.flop_counter`: how many floating point operations the products and convolutions of a run take."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..core.machine import Tensor
from ..nn.modules.module import Module
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Shape = Sequence[int]

aten: Any = ops.aten
flop_registry: dict[Any, Callable[..., int]] = {}
"""What counts the operations of a call, by packet of overloads."""


def get_shape(i: Any) -> Any:
    return i.shape if isinstance(i, Tensor) else i


def shape_wrapper(f: Callable[..., int]) -> Callable[..., int]:
    """`f`, which takes the shapes of tensors, as a function of the tensors."""

    @functools.wraps(f)
    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out_shape, **kwargs)

    return count


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Let a function count the operations of calls of a packet, or several; of their shapes, unless `get_raw`."""

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        counter = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = counter
        return formula

    return register


# ---- products


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Shape, b_shape: Shape, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    (m, k), (_, n) = a_shape, b_shape
    return m * n * 2 * k


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    (b, m, k), (_, _, n) = a_shape, b_shape
    return b * m * n * 2 * k


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    return bmm_flop(a_shape, b_shape)


# ---- convolutions


def conv_flop_count(x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False) -> int:
    """Each place of the result, or of the operand of a transposed one, has a product with the whole of the kernel."""
    places = (x_shape if transposed else out_shape)[2:]
    return math.prod(places) * math.prod(w_shape) * x_shape[0] * 2


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any, _padding: Any, _dilation: Any, transposed: bool,
    *args: Any, out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


def _swapped(shape: Shape) -> list[int]:
    return [shape[1], shape[0], *shape[2:]]


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Shape, x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any, _padding: Any, _dilation: Any,
    transposed: bool, _output_padding: Any, _groups: int, output_mask: Sequence[bool], out_shape: Any, **kwargs: Any,
) -> int:  # fmt: skip
    """A convolution of the gradient for the operand, and one of both for the kernel."""
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        moved, over = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(_swapped(moved), _swapped(over), _swapped(w_shape), transposed=False)
    return count


# ---- the mode


class FlopCounterMode(TorchDispatchMode):
    """Counts, inside a `with`, operations by module; `display` says whether they are printed at its end."""

    def __init__(
        self, mods: Module | list[Module] | None = None, depth: int = 2, display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.depth, self.display, self.mods = depth, display, mods
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        custom = custom_mapping or {}
        self.flop_registry = flop_registry | {
            packet: f if getattr(f, "_get_raw", False) else shape_wrapper(f) for packet, f in custom.items()
        }
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self) -> int:
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Counts by the name of the module and by packet."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A table of modules, to a depth, and what they called."""
        import tabulate

        depth = 999999 if depth is None and self.depth is None else self.depth if depth is None else depth
        total, rows = self.get_total_flops(), []
        names = [name for name in sorted(self.flop_counts) if name != "Global" and name.count(".") + 1 <= depth]
        whole = self.flop_counts["Global"]
        if "Global" in self.flop_counts and not any(dict(self.flop_counts[name]) == dict(whole) for name in names):
            rows += self._rows("Global", 0, total)
            names_depth = 1
        else:
            names_depth = 0
        for name in names:
            rows += self._rows(name, name.count(".") + names_depth, total)
        if not rows:
            rows = [["Global", "0", "0%"]]
        return tabulate.tabulate(rows, headers=["Module", "FLOP", "% Total"], colalign=("left", "right", "right"))

    def _rows(self, name: str, depth: int, total: int) -> list[list[str]]:
        indent, counts = " " * depth, self.flop_counts[name]
        rows = [[indent + name, *_told(sum(counts.values()), total)]]
        return rows + [[f"{indent} - {packet}", *_told(count, total)] for packet, count in counts.items()]

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        return super().__enter__()

    def __exit__(self, *args: object) -> None:
        super().__exit__(*args)
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        return self._count_flops(func._overloadpacket, out, args, kwargs or {})

    def _count_flops(self, func_packet: Any, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        counter = self.flop_registry.get(func_packet)
        if counter is not None:
            count = counter(*args, **kwargs, out_val=out)
            for name in set(self.mod_tracker.parents):
                self.flop_counts[name][func_packet] += count
        return out


_SUFFIXES = ["", "K", "M", "B", "T"]


def get_suffix_str(number: int) -> str:
    """The unit in which a number has few digits."""
    return _SUFFIXES[max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def _told(count: int, total: int) -> tuple[str, str]:
    """A count, and its share of the whole."""
    share = f"{count / total * 100:.2f}%" if total else "0%"
    return convert_num_with_suffix(count, get_suffix_str(total)), share
