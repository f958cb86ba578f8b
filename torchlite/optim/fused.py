"""`_fused_*_`: a step of an optimizer as one call over lists, which dispatch modes see of `fused=True`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import grad_enabled
from ..core.declare import published_whole
from ..core.machine import Tensor
from .by_element import ON_TENSORS, Elementwise, number
from .together import of_lists

Step = Callable[[Sequence[Tensor], Sequence[Tensor], Sequence[dict[str, Any]], dict[str, Any]], None]


def fused(name: str, algorithm: type[Elementwise], kept: dict[str, str], options: str, **fixed: Any) -> Step:
    """Declare the call, for a state whose parts are `kept` in lists of these names; gives how optimizers make it."""
    lists = ", ".join([f"Tensor[] {plural}" for plural in kept.values()])
    last = "Tensor? grad_scale=None, Tensor? found_inf=None"
    schema = f"_fused_{name}_(Tensor[] self, Tensor[] grads, {lists}, *, {options}, {last})"
    names = [option.rpartition(" ")[2] for option in options.split(", ")]
    optimizer: Any = object.__new__(algorithm)

    @published_whole(schema, function=False, method=False, by_form=False)
    def call(params: Sequence[Tensor], grads: Sequence[Tensor], *values: Any) -> None:
        *values, scale, found = values  # type: ignore[assignment]
        if found is not None and found.item():
            return
        group = {**dict(zip(names, values[len(kept) :], strict=True)), **fixed}
        group["betas"] = group.get("beta1"), group.get("beta2")
        new = group.get("is_first_step", False)
        with grad_enabled(False):
            for i, (p, grad) in enumerate(zip(params, grads, strict=True)):
                g = grad if scale is None else grad.div_(scale)
                state = {part: tensors[i] for part, tensors in zip(kept, values, strict=False) if tensors}
                counts = [state.pop("step").item() - 1] if "step" in state else []
                arrays = [t.zero_() if new else t for t in state.values()]
                numbers = optimizer.numbers(group, counts, new)
                algorithm.formula(ON_TENSORS, p, -g if group["maximize"] else g, *arrays, *numbers)

    def step(
        params: Sequence[Tensor], grads: Sequence[Tensor], states: Sequence[dict[str, Any]], group: dict[str, Any]
    ) -> None:
        lists = [[s[part] for s in states] if part in states[0] else [] for part in kept]
        if "step" in kept:
            of_lists("add_")(lists[-1], 1)
        given = {**group, **dict(zip(("beta1", "beta2"), group.get("betas", ()), strict=False))}
        numbers = [v if isinstance(v, bool) else number(v, group) for v in map(given.__getitem__, names)]
        call(params, grads, *lists, *numbers, None, None)

    return step
