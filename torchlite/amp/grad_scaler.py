"""`torch.amp.GradScaler`: a loss is scaled up, so that small gradients survive low precision, and these down again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from .. import cuda
from ..core.machine import Tensor, TensorBase
from ..core.machine.registry import functions as F
from ..core.values import DeviceLike, dt, shown_in, warn


class OptState(Enum):
    """How far an optimizer is in the present iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def adapt(scale: Tensor, tracker: Tensor, overflowed: bool, growth: float, backoff: float, interval: int) -> None:
    """Shrink the scale after an overflow; grow it after `interval` steps without one, which `tracker` counts."""
    if overflowed:
        scale.mul_(backoff)
        tracker.fill_(0)
        return
    tracker.add_(1)
    if tracker.item() == interval:
        grown = scale * growth
        if bool(F["isfinite"](grown)):
            scale.copy_(grown)
        tracker.fill_(0)


@shown_in("torch.amp.grad_scaler")
class GradScaler:
    """Scales losses, unscales gradients, skips steps whose gradients are not finite, and adapts the scale.

    After `growth_interval` steps without an infinity or NaN the scale grows by `growth_factor`; after one, it shrinks
    by `backoff_factor`.
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not cuda.is_available():
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if self._enabled:
            assert growth_factor > 1.0, "The growth factor must be > 1.0."
            assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
            self._init_scale = init_scale
            self._scale: Tensor | None = None
            self._growth_factor = growth_factor
            self._backoff_factor = backoff_factor
            self._growth_interval = growth_interval
            self._init_growth_tracker = 0
            self._growth_tracker: Tensor | None = None
            self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    # ---- the scale

    def _scale_on(self, device: DeviceLike) -> Tensor:
        """The scale on a device; made now if nothing was scaled before."""
        if self._scale is None:
            self._scale = F["full"]((), self._init_scale, dtype=dt.float32, device=device)
            self._growth_tracker = F["full"]((), self._init_growth_tracker, dtype=dt.int32, device=device)
        return self._scale.to(device)

    def _started(self, name: str) -> Tensor:
        assert self._scale is not None, (
            f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
            "outputs) earlier in the iteration."
        )
        return self._scale

    def scale(self, outputs: Any) -> Any:
        """A tensor, or an iterable of tensors, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, TensorBase):
            return outputs * self._scale_on(outputs.device)
        if not hasattr(outputs, "__iter__"):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    # ---- gradients

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale."""
        if not self._enabled:
            return
        self._started("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state["found_inf_per_device"] = self._unscaled(optimizer, divide=True)
        state["stage"] = OptState.UNSCALED

    def _unscaled(self, optimizer: Any, divide: bool) -> dict[Any, Tensor]:
        """By device, whether some gradient is not finite: 0 or 1. If asked, the gradients are divided by the scale."""
        inverse = self._started("unscale_").double().reciprocal().float()
        found: dict[Any, Tensor] = {}
        for grad in _gradients(optimizer):
            if divide and grad.dtype is dt.float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            bad = (~F["isfinite"](grad).all()).float()
            found[grad.device] = F["maximum"](found[grad.device], bad) if grad.device in found else bad
            if divide:
                grad.mul_(inverse.to(grad.device))
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> float | None:
        """Call `optimizer.step(*args, **kwargs)`, unless some gradient is not finite. Unscales first, if need be."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._started("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        assert len(state["found_inf_per_device"]) > 0, "No inf checks were recorded for this optimizer."
        result = None
        if not sum(found.item() for found in state["found_inf_per_device"].values()):
            result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the scale to what the steps since the last update found; or set it."""
        if not self._enabled:
            return
        scale = self._started("update")
        if new_scale is None:
            found = [f for s in self._per_optimizer_states.values() for f in s["found_inf_per_device"].values()]
            assert found, "No inf checks were recorded prior to update."
            assert self._growth_tracker is not None
            overflowed = any([f.item() for f in found])
            factors = self._growth_factor, self._backoff_factor
            adapt(scale, self._growth_tracker, overflowed, *factors, self._growth_interval)
        elif isinstance(new_scale, TensorBase):
            assert new_scale.numel() == 1 and new_scale.dtype is dt.float32 and not new_scale.requires_grad, (
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                "requires_grad=False."
            )
            scale.copy_(new_scale.reshape(()))
        else:
            scale.fill_(new_scale)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    # ---- settings

    def get_scale(self) -> float:
        """The scale, 1 where this is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by after enough steps without overflow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets the growth factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets the backoff factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps without overflow the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets the growth interval."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Whether gradients are scaled at all."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The state, in plain values; empty where this is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state from `state_dict()`."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(state_dict["scale"])
            self._growth_tracker.fill_(state_dict["_growth_tracker"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            assert not self._per_optimizer_states, (
                "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                "scaler.update()."
            )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        found = self._unscaled(optimizer, divide=False)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]


def _gradients(optimizer: Any) -> Iterable[Tensor]:
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                yield p.grad
