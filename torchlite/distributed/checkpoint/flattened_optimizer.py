"""States of optimizers as one flat dict, whose names say of which parameter each entry is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def flattened(whole: dict[str, Any]) -> dict[str, Any]:
    """`state.NAME.KEY` and `param_groups.NAME.KEY`."""
    flat = {f"state.{name}.{key}": value for name, state in whole["state"].items() for key, value in state.items()}
    for group in whole["param_groups"]:
        options = {key: value for key, value in group.items() if key != "params"}
        flat |= {f"param_groups.{name}.{key}": value for name in group["params"] for key, value in options.items()}
    return flat


def unflattened(flat: dict[str, Any], own: Sequence[Sequence[dict[str, Any]]]) -> dict[str, Any]:
    """The state of optimizers that have these groups, by names."""
    state: dict[str, Any] = {}
    groups = []
    for group in (group for several in own for group in several):
        options: dict[str, Any] = {}
        for name in group["params"]:
            start = f"state.{name}."
            found = {key.removeprefix(start): value for key, value in flat.items() if key.startswith(start)}
            known = {key: value for key, value in found.items() if "." not in key}
            if known:
                state[name] = known
            options |= {key: flat[f"param_groups.{name}.{key}"] for key in group
                        if f"param_groups.{name}.{key}" in flat}  # fmt: skip
        groups.append({**group, **options})
    return {"state": state, "param_groups": groups}
