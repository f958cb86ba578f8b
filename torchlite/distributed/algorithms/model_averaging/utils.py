"""The average of processes' parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....nn.parameter import Parameter
from ....utils.lists_of_tensors import _flatten_dense_tensors, _unflatten_dense_tensors
from ...collectives import all_reduce
from ...process_group import Group
from ...world import _rank_not_in_group, get_world_size

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterator[Parameter], process_group: Group) -> None:
    """Write to parameters their average among the processes of a group, which meet once for all of them."""
    if _rank_not_in_group(process_group):
        return
    averaged = list(params)
    flat = _flatten_dense_tensors([parameter.data for parameter in averaged])
    flat /= get_world_size(process_group)
    all_reduce(flat, group=process_group)
    for parameter, part in zip(averaged, _unflatten_dense_tensors(flat, averaged), strict=True):
        parameter.data = part.type_as(parameter)


def get_params_to_average(params: Iterable[Any]) -> list[Parameter]:
    """Those that have a gradient, of parameters or of the groups of an optimizer."""
    found: list[Parameter] = []
    for item in params:
        if isinstance(item, Parameter):
            some = [item]
        elif isinstance(item, dict):
            some = item["params"]
        else:
            raise NotImplementedError(f"Parameter input of type {type(item)} is not supported")
        found += [parameter for parameter in some if parameter.grad is not None]
    return found


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Group) -> None:
    """Average those that have a gradient, of parameters or of the groups of an optimizer."""
    average_parameters(iter(get_params_to_average(params)), process_group)
