"""Custom Functions for tests, in whichever library."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch._decomp.decompositions_for_jvp  # noqa: F401  # warns when first loaded


def define(torch: Any, forward: Any, backward: Any = None, name: str = "Fn", **more: Any) -> Any:
    """A Function from its methods."""
    methods = {"forward": forward, "backward": backward, **more}
    plain = ("generate_vmap_rule", "clear_saved_tensors_on_access", "boxed_grads_call")
    found = {n: m if n in plain else staticmethod(m) for n, m in methods.items() if m is not None}
    return type(torch.autograd.Function)(name, (torch.autograd.Function,), found)


def through(ctx: Any, *gradients: Any) -> Any:
    return gradients if len(gradients) > 1 else gradients[0]


def attempt(tell: Callable[..., None], name: Any, f: Callable[[], Any]) -> None:
    """Tell what comes of `f`, an exception included."""
    try:
        tell(name, f())
    except Exception as error:
        tell(name, error)


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor([*values] or [1.0, 2.0, 3.0], requires_grad=True)


def square(torch: Any, **more: Any) -> Any:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    return define(torch, forward, lambda ctx, g: g * 2 * ctx.saved_tensors[0], "Square", **more)


def cube(torch: Any, **more: Any) -> Any:
    """With a setup_context, and an intermediate result returned to be saved."""

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])
        ctx.save_for_forward(inputs[0], output[1])

    def backward(ctx, gradient, slope_gradient):
        x, slope = ctx.saved_tensors
        return gradient * slope + slope_gradient * 6 * x

    def jvp(ctx, tangent):
        x, slope = ctx.saved_tensors
        return tangent * slope, tangent * 6 * x

    return define(torch, lambda x: (x**3, 3 * x**2), backward, "Cube", setup_context=setup_context, jvp=jvp, **more)


def writer(torch: Any, more: bool = False) -> Any:
    """Doubles its argument in place."""

    def forward(ctx, x, n=2):
        ctx.mark_dirty(x)
        x.mul_(2)
        return (x, x * 3) if more else x

    return define(torch, forward, lambda ctx, g, *h: g * 2)
