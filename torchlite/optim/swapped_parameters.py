"""An optimizer that works for a while on other parameters."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..core.machine import Tensor
from ..core.state import Holding
from .optimizer import Optimizer


def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Holding:
    """Inside, the optimizer has these parameters, in the order of its own, and what such a `state_dict` says."""
    count = sum(len(group["params"]) for group in optimizer.param_groups)
    params = list(swapin_parameters.values())
    if len(params) != count:
        raise ValueError(f"the optimizer has {count} parameters, and {len(params)} were given")
    numbered = dict(enumerate(params))
    given = swapin_optim_state["param_groups"]
    swapped = [{**group, "params": [numbered[i] for i in group["params"]]} for group in given]
    kept = {numbered.get(key, key): dict(values) for key, values in swapin_optim_state["state"].items()}
    return Holding(optimizer, param_groups=swapped, state=defaultdict(dict, kept))
