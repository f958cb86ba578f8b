"""Who shares parameters out among themselves, and who has the same shards."""

from __future__ import annotations

import os
from typing import Any

from ..world import _get_default_group, get_process_group_ranks, own_of
from .api import ShardingStrategy

HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)


def groups_of(strategy: ShardingStrategy, group: Any, mesh: Any) -> tuple[Any, Any]:
    """The group that shards, and that of the replicas of its shards, if there are any."""
    if group is not None and mesh is not None:
        raise ValueError("Cannot pass both process_group and device_mesh at the same time. Please just pass only one "
                         "of them.")  # fmt: skip
    if strategy not in HYBRID:
        if mesh is not None:
            return mesh.get_group(mesh_dim=0), None
        return group or _get_default_group(), None
    if mesh is not None:
        if mesh.ndim != 2:
            raise ValueError("Manual wrapping with ShardingStrategy.HYBRID_SHARD requires explicit specification of "
                             "process group or device_mesh.")  # fmt: skip
        return mesh.get_group(mesh_dim=1), mesh.get_group(mesh_dim=0)
    if group is None:
        return _by_host()
    if not isinstance(group, tuple) or len(group) != 2:
        raise ValueError("Expected process_group to be passed in as either None or a 2-tuple of process groups")
    return group


def _by_host() -> tuple[Any, Any]:
    """The processes of one host, and those with this one's place on all hosts."""
    ranks = get_process_group_ranks(_get_default_group())
    local = int(os.environ.get("LOCAL_WORLD_SIZE", len(ranks)))
    hosts = [ranks[at : at + local] for at in range(0, len(ranks), local)]
    return own_of(hosts), own_of(zip(*hosts, strict=True))
