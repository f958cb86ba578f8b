"""The older functions for autocast, one for each type of device: `torch.is_autocast_cpu_enabled` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.declare import taking
from ..core.state import local
from ..core.values import dt, type_name, warn
from .autocast_mode import (
    Casts,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)

_nesting = 0
_UNUSED: dict[str, dict[str, Any]] = {  # devices that there are not, and what was said of them
    "ipu": {"enabled": False, "dtype": dt.float16},
    "xla": {"enabled": False, "dtype": dt.bfloat16},
}
# What a function is called now, and what to call for devices that there are.
_FORMS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "is_autocast_{}_enabled": ("", "is_autocast_enabled('{}')", is_autocast_enabled),
    "set_autocast_{}_enabled": ("enabled", "set_autocast_enabled('{}', enabled)", set_autocast_enabled),
    "get_autocast_{}_dtype": ("", "get_autocast_dtype('{}')", get_autocast_dtype),
    "set_autocast_{}_dtype": ("dtype", "set_autocast_dtype('{}', dtype)", set_autocast_dtype),
}


def _older(form: str, named: str, device: str) -> Callable[..., Any]:
    given, instead, function = _FORMS[form]
    name, option = form.format(named), "enabled" if form.endswith("enabled") else "dtype"

    @taking(f"{name}({'any' if given == 'dtype' else 'bool'} {given})" if given else f"{name}()")
    def call(*values: Any) -> Any:
        warn(
            f"torch.{name}({given}) is deprecated. Please use torch.{instead.format(device)} instead.",
            DeprecationWarning,
        )
        if given == "dtype" and not isinstance(values[0], dt.dtype):
            raise TypeError(f"dtype must be a torch.dtype (got {type_name(values[0])})")
        if device not in _UNUSED:
            return function(device, *values)
        if given:
            _UNUSED[device][option] = values[0]
            return None
        return _UNUSED[device][option]

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The older form of `{instead.format(device)}`."
    return call


OLDER = {
    form.format(named): _older(form, named, device)
    for form in _FORMS
    for named, device in (("cpu", "cpu"), ("gpu", "cuda"), ("ipu", "ipu"), ("xla", "xla"))
    if (named, form) != ("gpu", "is_autocast_{}_enabled") and (named, form) != ("gpu", "set_autocast_{}_enabled")
}
globals().update(OLDER)


@taking("set_autocast_cache_enabled(bool enabled)")
def set_autocast_cache_enabled(enabled: bool) -> None:
    """Whether weights that were cast are kept for further use."""
    state = local.state
    casts = state.mode.autocast
    if enabled != is_autocast_cache_enabled():
        kept = Casts({}, {}, enabled) if casts is None else Casts(casts.dtypes, casts.weights, enabled)
        state.mode = state.mode.but(autocast=kept if kept.dtypes or not enabled else None)


def autocast_increment_nesting() -> int:
    """Say that a region begins; how many have."""
    global _nesting
    _nesting += 1
    return _nesting


def autocast_decrement_nesting() -> int:
    """Say that a region ends; how many have not."""
    global _nesting
    _nesting -= 1
    return _nesting
