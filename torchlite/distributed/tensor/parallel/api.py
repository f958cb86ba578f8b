"""Which modules of a model are shared out, and how."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch

from ....nn.modules.module import Module
from ...device_mesh import DeviceMesh, _current_mesh
from .style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Module, device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None, *, src_data_rank: int | None = 0,
) -> Module:  # fmt: skip
    """Share out a module in a style, or those of its parts that the patterns of a plan name (`layers.*.linear`).

    The parameters are those of `src_data_rank`; with None, those that each process has.
    """
    mesh = device_mesh or _current_mesh()
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this "
            "parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        for part in _found(module, path):
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def _found(module: Module, path: str) -> list[Module]:
    """The parts of a module that a path of patterns leads to; itself, if that is empty."""
    if not path:
        return [module]
    token, _, rest = path.partition(".")
    parts = [part for name, part in module.named_children() if fnmatch(name, token)]
    if not parts:
        warnings.warn(
            f"Parallelize plan key '{path}' could not be resolved: no submodule matching token '{token}' in module "
            f"{module}, skipping this plan entry.",
            stacklevel=3,
        )
    return [found for part in parts for found in _found(part, rest)]
