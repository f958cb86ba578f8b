"""An optimizer that works for a while on other parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.tensor import Tensor
from .optimizer import Optimizer


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Inside, the optimizer has these parameters, in the order of its own, and what such a `state_dict` says."""
    groups, state = optimizer.param_groups, optimizer.state
    count = sum(len(group["params"]) for group in groups)
    params = list(swapin_parameters.values())
    if len(params) != count:
        raise ValueError(f"the optimizer has {count} parameters, and {len(params)} were given")
    numbered = dict(enumerate(params))
    given = swapin_optim_state["param_groups"]
    swapped = [{**group, "params": [numbered[i] for i in group["params"]]} for group in given]
    try:
        optimizer.param_groups = swapped
        optimizer.state = defaultdict(
            dict, {numbered.get(key, key): dict(kept) for key, kept in swapin_optim_state["state"].items()}
        )
        yield
    finally:
        optimizer.param_groups, optimizer.state = groups, state
