"""What `help` says of public functions: texts, and signatures in PyTorch's words, worked out when asked for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ..machine import Tensor, takes_out
from ..machine.registry import aliases, aten, functions
from .schema import Param, Signature

_IN_PLACE = "The result is written into the tensor itself."
# What PyTorch has in `torch.functional`, and hands on.
_FUNCTIONAL = frozenset((
    "align_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
    "cartesian_prod", "cdist", "chain_matmul", "einsum", "lu", "meshgrid", "norm", "split", "stft", "tensordot",
    "unique", "unique_consecutive", "unravel_index",
))  # fmt: skip


class _LeftOut:
    """Stands for the default of what some overloads do without."""

    def __repr__(self) -> str:
        return "..."


_LEFT_OUT = _LeftOut()
_ROOMS = ("fft_", "linalg_", "special_")
# Functions that torch has in `nn.functional` alone, from its compiled core.
_OF_LAYERS = frozenset((
    "avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardsigmoid_", "hardswish_", "hardtanh_", "leaky_relu_", "linear",
    "log_sigmoid", "mish_", "one_hot", "scaled_dot_product_attention", "silu_", "softplus", "softshrink",
))  # fmt: skip


class Told(tuple[Any, ...]):
    """Stands at the end of a public function's `__wrapped__`, where `inspect.signature` looks for `__signature__`.

    Its items: the signatures, whether it is a method, whether it takes `out=` (None: as functions of its name do), and
    whether a lone list of ints may be spread over its arguments.
    """

    __slots__ = ()
    __module__ = "builtins"  # which have no source: this file is not what a reader of the function looks for

    @property
    def __signature__(self) -> inspect.Signature:
        return merged(*self)


def _overloads(signatures: Sequence[Signature], method: bool) -> str:
    """The schemas that a call may fit, as a paragraph of a text."""
    first = "Tensor self" if method else "Tensor input"
    forms = [s.text.partition("(")[2].replace("Tensor self", first, 1) for s in signatures]
    return "\n\nOverloads:\n" + "".join([f"\n    {signatures[0].name}({form}" for form in forms])


def dwell(call: Any, name: str, method: bool = False) -> None:
    """Give a public function its name, and the place where PyTorch's users find it."""
    call.__name__ = name
    root = sys.modules["torchlite"].__name__  # "torch" while the alias is on
    call.__module__ = root
    if method:
        call.__qualname__ = "Tensor." + name
        return
    call.__qualname__ = name
    if name in _FUNCTIONAL:
        call.__module__ = f"{root}.functional"
    elif name in _OF_LAYERS:
        call.__module__ = f"{root}._C._nn"
    elif name.startswith(_ROOMS):
        room, _, call.__qualname__ = name.partition("_")
        call.__module__ = f"{root}.{room}"


def tell(
    call: Any, name: str, signatures: Sequence[Signature], method: bool = False, out: bool | None = None,
    spread: bool = False, doc: str | None = None,
) -> Any:  # fmt: skip
    """Give a public function its name, and what is told of it."""
    dwell(call, name, method)
    in_python: Any = call if call.__class__ is FunctionType else call.general  # for which what is in C stands
    in_python.__wrapped__ = Told((signatures, method, out, spread))
    if in_python is not call:
        in_python.__qualname__ = name  # as Python's own refusals call it
    if len(signatures) > 1:
        doc = (doc or "") + _overloads(signatures, method)
    if doc is not None:
        call.__doc__ = doc
    return call


def describe(**texts: str) -> None:
    """Say what the functions and methods of these names do that do not say it themselves, and so what their in-place
    forms do."""
    methods = vars(Tensor)
    also = {alias: texts[name] for alias, name in aliases.items() if name in texts}
    for name, text in (texts | also).items():
        in_place = name + "_"
        known = False
        for f in (functions.get(name), aten.get(name), methods.get(name)):
            if f is not None:
                known = True
                told = f.__doc__ or ""
                if not told or told.startswith("\n"):  # at most the overloads
                    f.__doc__ = text.rstrip() + told
        if not known:
            raise ValueError(f"there is no op '{name}' to be described")
        for f in (functions.get(in_place), methods.get(in_place)):
            if f is not None:
                f.__doc__ = f"{text.rstrip()}\n\n{_IN_PLACE}"


def signatures_of(call: Any) -> Any:
    """The signatures of the ops that a public function stands for."""
    return getattr(call, "general", call).__wrapped__[0]


def merged(signatures: Sequence[Signature], method: bool, out: bool | None, spread: bool) -> inspect.Signature:
    """One signature to which calls of all overloads can be bound: that of the longest, and what others add.

    What an overload does without may be left out; where no value stands for that, the default is shown as `...`.
    """
    first, *others = sorted(signatures, key=lambda s: -len(s.params))
    known = {p.name: _shown(p, method, all(p.name in s.by_name for s in others)) for p in first.params}
    for p in [p for s in others for p in s.params if p.name not in known]:
        known[p.name] = _shown(p, method, False).replace(kind=inspect.Parameter.KEYWORD_ONLY)
    if not (not method and takes_out(signatures[0].name) if out is None else out):
        known.pop("out", None)
    elif "out" not in known:
        known["out"] = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    for s in signatures:
        if spread or (method and s.variadic):
            name = next(p.name for p in s.params if p.sequence)
            known[name] = inspect.Parameter(name, inspect.Parameter.VAR_POSITIONAL)
    shown = sorted(known.values(), key=lambda p: p.kind)
    optional = False
    for i, one in enumerate(shown):  # after one that may be left out, all may be
        if one.kind is one.POSITIONAL_OR_KEYWORD:
            optional = optional or one.default is not one.empty
            shown[i] = one.replace(default=_LEFT_OUT) if optional and one.default is one.empty else one
    return inspect.Signature(shown)


def _shown(p: Param, method: bool, everywhere: bool) -> inspect.Parameter:
    """A parameter as users name it, which is no word of Python's."""
    name = "from_" if p.name == "from" else p.name if method else p.called
    kind = inspect.Parameter.KEYWORD_ONLY if p.kwonly else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = p.default if not p.required else inspect.Parameter.empty if everywhere else _LEFT_OUT
    return inspect.Parameter(name, kind, default=default)
