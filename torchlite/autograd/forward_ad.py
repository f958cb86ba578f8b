"""`torch.autograd.forward_ad`: dual tensors, which carry a tangent from operation to operation.

    with forward_ad.dual_level():
        x = forward_ad.make_dual(primal, tangent)
        value, derivative = forward_ad.unpack_dual(f(x))

A level belongs to the thread that opened it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core.declare import ViewOp, publish_python
from ..core.machine import TangentLevel, Tensor, check_no_overlap, moves, set_tangent, tangent_of
from ..core.state import Context, Mode, SetAtOnce, State, local
from ..core.values import shown_in
from . import forward
from .grad_mode import _Decorating

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


@shown_in("torch.autograd.forward_ad")
class UnpackedDualTensor(NamedTuple):
    """A dual tensor's value and, if it moves, its tangent."""

    primal: Tensor
    tangent: Tensor | None


# Views for a backward pass, but not for tangents: they do not move with what they show, nor that with them.
_STILL: dict[str, Any] = {"still": True, "by_form": False}
_dual = ViewOp(
    "_make_dual(Tensor primal)", lambda xp, t: t, {"primal": lambda g: g.view(g.shape)}, node="ViewBackward0", **_STILL
)
_primal = ViewOp("_unpack_dual(Tensor dual)", lambda xp, t: t, {"dual": lambda g: g}, node="Identity", **_STILL)


def enter_dual_level() -> int:
    """Open a level, so that dual tensors can be made; there can be one at a time. Its number."""
    _new_level().begin()
    return 0


def _new_level() -> TangentLevel:
    if local.state.mode.levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    return forward.ForwardLevel()


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level: all tensors are without tangents from now on."""
    current = len(local.state.mode.levels) - 1
    if level is None:
        level = current
    if level != current:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    local.state.mode.levels[-1].end()


class dual_level(Context, _Decorating):
    """Inside, dual tensors can be made; also a decorator."""

    def _take(self, state: State) -> TangentLevel:
        return _new_level()

    def _set(self, state: State, kept: TangentLevel) -> int:
        kept.begin()
        return 0

    def _put(self, state: State, kept: TangentLevel) -> None:
        kept.end()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that moves by `tangent`, which is taken as it is if it lies in memory as the tensor does."""
    levels = local.state.mode.levels
    if level is None:
        level = len(levels) - 1
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    return _make_dual(tensor, tangent, level=level)


def _made_dual(primal: Tensor, tangent: Tensor, level: int) -> Tensor:
    """A view of a tensor that moves at the level of this number."""
    levels = local.state.mode.levels
    if level >= len(levels):
        raise RuntimeError("Invalid level given to _make_dual")
    return moving(primal, tangent, levels[level])


_make_dual = publish_python("_make_dual(Tensor primal, Tensor tangent, int level)", _made_dual, method=False)


def moving(tensor: Tensor, tangent: Tensor, level: TangentLevel) -> Tensor:
    """A view of `tensor` that moves at a level."""
    if tangent_of(tensor, level) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    if tangent_of(tangent, level) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    forward.check_size(tensor, tangent)
    if tensor.stride() != tangent.stride():  # then the tangent is to be copied
        check_no_overlap(tensor._array)
    dual = _dual.apply(tensor)
    set_tangent(dual, level, forward.laid_out_as(dual, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor, as a view, and its tangent; None where it has none, or no level is open."""
    if level is None:
        level = len(local.state.mode.levels) - 1
    return UnpackedDualTensor(tensor, None) if level < 0 else UnpackedDualTensor(*_unpack_dual(tensor, level=level))


def _unpack(dual: Tensor, level: int) -> tuple[Tensor, Tensor | None]:
    """The value of a tensor, as a view, and its tangent at the level of this number."""
    levels = local.state.mode.levels
    if level >= len(levels):
        if moves(dual):
            raise RuntimeError("Invalid level given to _fw_primal")
        return _primal.apply(dual), None
    on = levels[level] in local.state.mode.moving
    return _primal.apply(dual), tangent_of(dual, levels[level]) if on else None


_unpack_dual = publish_python(
    "_unpack_dual(Tensor dual, int level) -> (Tensor primal, Tensor tangent)", _unpack, method=False
)


def _is_fwd_grad_enabled() -> bool:
    """Whether operations carry tangents on in this thread."""
    return local.state.mode.forward


class _set_fwd_grad_enabled(SetAtOnce, _Decorating):
    """Turn the carrying on of tangents on or off: at once, and inside a `with` until its end."""

    switches = ("forward",)

    def __init__(self, mode: bool) -> None:
        self.enabled = bool(mode)
        super().__init__()

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(forward=self.enabled)

    def clone(self) -> Any:
        return type(self)(self.enabled)
