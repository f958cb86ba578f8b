"""Groups without some of their processes."""

from __future__ import annotations

from typing import Any

from .process_group import Group, ProcessGroup
from .world import _get_default_group

__all__ = ["shrink_group"]

SHRINK_DEFAULT, SHRINK_ABORT = 0, 1


def shrink_group(
    ranks_to_exclude: list[int], group: Group = None, shrink_flags: int = SHRINK_DEFAULT, pg_options: Any = None
) -> ProcessGroup:
    """A group without some of its processes: which no backend makes here, so that this says why it refuses."""
    if not isinstance(ranks_to_exclude, list):
        raise TypeError(
            f"ranks_to_exclude must be a list, but got {type(ranks_to_exclude).__name__}. Example: [1, 3, 5] to "
            "exclude ranks 1, 3, and 5."
        )
    if not ranks_to_exclude:
        raise ValueError(
            "ranks_to_exclude cannot be empty. To shrink a group, you must specify at least one rank to exclude. "
            "Example: [failed_rank_id]"
        )
    if shrink_flags not in (SHRINK_DEFAULT, SHRINK_ABORT):
        raise ValueError(
            f"Invalid shrink_flags value: {shrink_flags}. Must be one of: SHRINK_DEFAULT (0) or SHRINK_ABORT (1). Use "
            "SHRINK_ABORT to abort ongoing operations before shrinking."
        )
    pg = group or _get_default_group()
    if pg.size() < 2:
        raise ValueError(
            f"Cannot shrink a process group with size {pg.size()}. Group must have at least 2 ranks to support "
            "shrinking."
        )
    raise TypeError(f"Process group backend for '{pg.group_name}' does not support shrinking operations.")
