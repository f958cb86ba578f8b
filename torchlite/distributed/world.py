"""The groups that this process is in: making them, asking about them, leaving them."""

from __future__ import annotations

import functools
import hashlib
import itertools
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, NewType

from ..core.values import bear_name, shown_in, warn
from . import registered
from .backend import Backend, BackendConfig
from .engines import available, connect, launched
from .engines.base import Engine
from .errors import DistBackendError
from .options import default_pg_timeout
from .process_group import Group, ProcessGroup
from .registered import _DistributedBackendOptions
from .rendezvous import rendezvous
from .stores import PrefixStore, Store

__all__ = [
    "Backend", "BackendConfig", "GroupMember", "GroupName", "destroy_process_group", "get_backend",
    "get_backend_config", "get_default_backend_for_device", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_pg_count",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group", "is_available",
    "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
    "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "new_group", "new_subgroups",
    "new_subgroups_by_enumeration", "split_group",
]  # fmt: skip

_TORCHCOMM_AVAILABLE = False  # a way of PyTorch's to talk that there is not here
_log = logging.getLogger(__name__)
_NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."


class _World:
    """What this process knows of its groups."""

    def __init__(self) -> None:
        self.default_pg: ProcessGroup | None = None
        self.groups: dict[str, ProcessGroup] = {}
        self.count = 0  # of all groups made, also by others: the same in all processes


_world = _World()


class _WorldMeta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes."""
        return _world.default_pg

    @WORLD.setter
    def WORLD(cls, group: Group) -> None:
        _world.default_pg = group


GroupName = NewType("GroupName", str)
bear_name(GroupName, "torch.distributed.distributed_c10d")


@shown_in("torch.distributed.distributed_c10d")
class group(metaclass=_WorldMeta):
    """The group of all processes, as `group.WORLD`."""


@shown_in("torch.distributed.distributed_c10d")
class GroupMember(metaclass=_WorldMeta):
    """Who is in a group; one who is not is given `NON_GROUP_MEMBER` in its place."""

    NON_GROUP_MEMBER = -100


# ---- what there is


def is_available() -> bool:
    """Whether processes can work together here."""
    return sys.platform != "win32"


def is_initialized() -> bool:
    """Whether `init_process_group` has been called."""
    return _world.default_pg is not None


def is_torchelastic_launched() -> bool:
    """Whether a launcher started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_backend_available(backend: str) -> bool:
    """Whether there is what a backend's name stands for."""
    return available(backend.lower()) or backend.upper() in Backend._plugins


def is_gloo_available() -> bool:
    """Whether processes of one host can talk by shared memory, which goes by gloo's name."""
    return is_available()


def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    return available("mpi")


def is_nccl_available() -> bool:
    """Whether CuPy has NCCL."""
    return available("nccl")


def is_ucc_available() -> bool:
    """Whether there is UCC: there is not."""
    return False


def is_xccl_available() -> bool:
    """Whether there is XCCL: there is not."""
    return False


def get_default_backend_for_device(device: Any) -> str:
    """The name of the backend that serves a device unless one is named."""
    kind = device if isinstance(device, str) else device.type
    return Backend.default_device_backend_map[kind.partition(":")[0]]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Which of the processes on this host this is, as a launcher wrote into the environment."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


# ---- beginning and ending


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None, world_size: int = -1,
    rank: int = -1, store: Store | None = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:  # fmt: skip
    """Meet the other processes: by a URL (`env://`, `tcp://host:port`, `file:///path`), or by a store.

    `env://` reads MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE; under mpiexec it needs none of these.
    """
    if _world.default_pg is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    timeout = _checked_timeout(timeout)
    config = BackendConfig(Backend(backend) if backend is not None else Backend.UNDEFINED)
    _check_available(config, explicit=backend is not None)
    if store is None:
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=timeout))
        store.set_timeout(timeout)
    elif world_size < 1:
        raise AssertionError("world_size must be positive if using store")
    elif rank < 0:
        raise AssertionError("rank must be non-negative if using store")
    name = group_name or "0"
    made = _make(config, backend, list(range(world_size)), rank, name, "default_pg", PrefixStore("default_pg", store),
                 timeout, pg_options)  # fmt: skip
    _world.default_pg, _world.count = made, 1


def _checked_timeout(timeout: timedelta | None) -> timedelta:
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return default_pg_timeout if timeout is None else timeout


def _check_available(config: BackendConfig, explicit: bool) -> None:
    for device, backend in list(config.device_backend_map.items()):
        if is_backend_available(backend):
            continue
        if backend == "mpi":
            raise RuntimeError(
                "Distributed package doesn't have MPI built in. torchlite has it by mpi4py: install "
                "'torchlite-numpy[mpi]', and start the program with mpiexec."
            )
        if backend not in Backend.backend_list:
            raise AssertionError(f"Unknown backend type {backend}")
        if explicit:
            raise RuntimeError(f"Distributed package doesn't have {backend.upper()} built in")
        del config.device_backend_map[device]


def _make(
    config: BackendConfig, backend: str | None, ranks: list[int], rank: int, name: str, desc: str, store: Store,
    timeout: timedelta, pg_options: Any = None,
) -> ProcessGroup:  # fmt: skip
    made = _made_by_program(config, ranks, rank, name, store, timeout, pg_options)
    if made is None:
        made = ProcessGroup(rank, len(ranks))
        made._connect(_engines(config, ranks, rank, name, store, timeout))
    made._join(ranks, repr(config), name, desc, timeout)
    made._asked_for, made._store = backend or Backend.UNDEFINED, store
    _world.groups[name] = made
    return made


def _made_by_program(
    config: BackendConfig, ranks: list[int], rank: int, name: str, store: Store, timeout: timedelta, pg_options: Any
) -> ProcessGroup | None:
    """The group of a backend that a program registered, if one is asked for."""
    for device, talks_by in config.device_backend_map.items():
        plugin = Backend._plugins.get(talks_by.upper())
        if plugin is not None:
            others = [] if _world.default_pg is None else ranks
            told = _DistributedBackendOptions(PrefixStore(f"{device}/", store), rank, len(ranks), timeout, name, others)
            return registered.made(plugin, told, pg_options)
    return None


def _engines(
    config: BackendConfig, ranks: list[int], rank: int, name: str, store: Store, timeout: timedelta
) -> dict[str, Engine]:
    """What connects the processes, by the types of devices that are served."""
    engines: dict[str, Engine] = {}
    by_name: dict[str, Engine] = {}
    for device, talks_by in config.device_backend_map.items():
        kind = "nccl" if talks_by == "nccl" else "cpu"
        if kind == "cpu" and talks_by != "mpi" and (started := launched.by_mpi()):
            _say_what_is_meant(talks_by, started.rank)
        if kind not in by_name:
            _check_mpi(talks_by, len(ranks))
            by_name[kind] = connect(kind, PrefixStore(f"{name}/{kind}", store), rank, ranks, timeout.total_seconds())
        engines[device] = by_name[kind]
    return engines


@functools.cache
def _say_what_is_meant(talks_by: str, rank: int) -> None:
    # Of a process that was killed, mpiexec names the number alone.
    _log.debug("rank %d (process %d) was started by mpiexec: %s means MPI", rank, os.getpid(), talks_by)


def _check_mpi(talks_by: str, size: int) -> None:
    if talks_by == "mpi" and size > 1 and not launched.by_mpi():
        raise DistBackendError(f"MPI did not start this process: use `mpiexec -n {size} python -m torchlite script.py`")


def destroy_process_group(group: Group = None) -> None:
    """Leave a group, or all of them."""
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    leaving = _world.default_pg if group is None else group
    if leaving is None:
        raise AssertionError("Process group cannot be None")
    if leaving is not _world.default_pg:
        if leaving not in _world.groups.values():
            raise ValueError("Invalid process group specified")
        del _world.groups[leaving.group_name]
        leaving.shutdown()
        return
    for each in reversed(_world.groups.values()):
        each.shutdown()
    _world.__init__()  # type: ignore[misc]


# ---- groups of some


def new_group(
    ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None,
    pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
    device_id: Any = None, sort_ranks: bool = True,
) -> Any:  # fmt: skip
    """A group of some processes, or `GroupMember.NON_GROUP_MEMBER` where this is none of them.

    All processes call this, also those that are not in the group; with `use_local_synchronization`, these need not,
    and get None.
    """
    world = _get_default_group()
    chosen = list(world._ranks) if ranks is None else list(ranks)
    if sort_ranks:
        chosen.sort()
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {list(ranks or ())}")
    if len(chosen) > world.size():
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for rank in chosen:
        if not 0 <= rank < world.size():
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {world.size() - 1} (world_size={world.size()})"
            )
    name = _group_name(chosen, use_local_synchronization)
    if get_rank() not in chosen:
        return None if use_local_synchronization else GroupMember.NON_GROUP_MEMBER
    asked = world._asked_for if backend is None else Backend(backend)
    config = BackendConfig(asked)
    _check_available(config, explicit=asked != Backend.UNDEFINED)
    return _make(config, asked, chosen, chosen.index(get_rank()), name, group_desc or "undefined",
                 PrefixStore(f"group/{name}", world._store), _checked_timeout(timeout),
                 pg_options)  # fmt: skip


def _group_name(ranks: Sequence[int], local: bool) -> str:
    """A name that all members give the group by themselves."""
    if not local:
        name, _world.count = str(_world.count), _world.count + 1
        return name
    base = hashlib.sha1("_".join(map(str, ranks)).encode()).hexdigest()
    return next(name for number in itertools.count() if (name := f"{base}{number}") not in _world.groups)


def new_subgroups(
    group_size: int | None = None, group: Group = None, timeout: timedelta | None = None, backend: str | None = None,
    pg_options: Any = None, group_desc: str | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Groups of so many processes each: that of this process, and all of them."""
    size = get_world_size(group)
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    ranks = get_process_group_ranks(group)
    parts = [ranks[at : at + group_size] for at in range(0, size, group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None, backend: str | None = None,
    pg_options: Any = None, group_desc: str | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Groups of those that are listed: that of this process, and all of them."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    first: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in first:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {first[rank]} and {ranks}")
            first[rank] = ranks
    made = [new_group(ranks, timeout, backend, pg_options, group_desc=group_desc) for ranks in ranks_per_subgroup_list]
    own = next((each for ranks, each in zip(ranks_per_subgroup_list, made) if get_rank() in ranks), None)
    return own, made


def split_group(
    parent_pg: ProcessGroup | None = None, split_ranks: list[list[int]] | None = None, timeout: timedelta | None = None,
    pg_options: Any = None, group_desc: str | None = None, backend: str | None = None,
) -> ProcessGroup | None:  # fmt: skip
    """The part of a group that this process is in; all of its processes call this, with the same parts."""
    parent = parent_pg or _get_default_group()
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    if max(map(len, split_ranks)) > parent.size():
        raise ValueError("the split group's size should be less or equal to the world_size set by init_process_group")
    rows = [[parent._ranks[rank] for rank in ranks] for ranks in split_ranks]
    return own_of(rows, timeout=timeout, backend=backend, group_desc=group_desc)


def own_of(rows: Iterable[Sequence[int]], **how: Any) -> ProcessGroup | None:
    """Make a group of each row; the last that this process is in."""
    made = [new_group(ranks, **how) for ranks in rows]
    return next((group for group in reversed(made) if not _rank_not_in_group(group)), None)


# ---- asking


def _get_default_group() -> ProcessGroup:
    if _world.default_pg is None:
        raise ValueError(_NOT_INITIALIZED)
    return _world.default_pg


def _get_default_store() -> Store:
    return _get_default_group()._store


def _get_process_group_name(pg: ProcessGroup) -> str:
    return pg.group_name


def _resolve_process_group(group_name: str) -> ProcessGroup:
    if group_name not in _world.groups:
        raise ValueError(f"Could not resolve the process group registered under the name {group_name}")
    return _world.groups[group_name]


def _rank_not_in_group(group: Group) -> bool:
    """Whether a group is what those outside of it were given."""
    return group is not None and group == GroupMember.NON_GROUP_MEMBER


def _member(group: Group, doing: str) -> ProcessGroup | None:
    """The group meant; None, with a warning, where this process is not in it."""
    if group is None:
        return _get_default_group()
    if _rank_not_in_group(group):
        warn(f"Running {doing} on global rank {get_rank()} which does not belong to the given group.")
        return None
    return group


def get_rank(group: Group = None) -> int:
    """The number of this process in a group, -1 where it is not in it."""
    default = _get_default_group()
    return -1 if group == GroupMember.NON_GROUP_MEMBER else (group or default).rank()


def get_world_size(group: Group = None) -> int:
    """How many processes a group has, -1 where this one is not in it."""
    default = _get_default_group()
    return -1 if group == GroupMember.NON_GROUP_MEMBER else (group or default).size()


def get_backend(group: Group = None) -> str:
    """The name of what a group talks by, as it was asked for."""
    pg = group or _get_default_group()
    if pg == GroupMember.NON_GROUP_MEMBER:
        raise ValueError("Invalid process group specified")
    return pg._asked_for


def get_backend_config(group: Group = None) -> str:
    """Which backend serves which type of device in a group."""
    return (group or _get_default_group())._backend


def _get_pg_config(group: Group = None) -> dict[str, Any]:
    """What a group is: its names, what it talks by, and who is in it."""
    pg = group or _get_default_group()
    return {
        "pg_name": pg.group_name, "pg_desc": pg.group_desc, "backend_config": get_backend_config(group),
        "pg_size": pg.size(), "ranks": get_process_group_ranks(group),
    }  # fmt: skip


def get_pg_count() -> int:
    """How many groups have been made of which all processes know."""
    return _world.count


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The number in a group of one of all processes."""
    if group is _world.default_pg:
        return global_rank
    if global_rank not in group._by_rank:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group._by_rank[global_rank]


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The number among all processes of one in a group."""
    if group is _world.default_pg:
        return group_rank
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group._ranks[group_rank]


def get_process_group_ranks(group: Group) -> list[int]:
    """The numbers among all processes of those in a group."""
    return list((group or _get_default_group())._ranks)
