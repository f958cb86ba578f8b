"""Collectives of any objects, which travel as pickles: only between processes that trust each other."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.machine import Tensor
from ..core.values import DeviceLike
from ..operations.making.host_data import from_numpy
from .checks import check_given_by_root, root_of
from .collectives import all_gather, broadcast, gather, scatter
from .messages import recv, send
from .process_group import Group, ProcessGroup
from .world import _member

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list",
]  # fmt: skip


def _device(pg: ProcessGroup, device: DeviceLike = None) -> Any:
    return device or ("cpu" if "cpu" in pg._engines else next(iter(pg._engines), "cpu"))


def _tensor(array: np.ndarray, device: DeviceLike) -> Tensor:
    return from_numpy(array).to(device)


def _packed(objects: Sequence[Any], device: DeviceLike) -> tuple[Tensor, Tensor]:
    """Pickles behind each other, and how long each is."""
    pickles = [pickle.dumps(each) for each in objects]
    content = np.frombuffer(bytearray(b"".join(pickles)), np.uint8)
    return _tensor(content, device), _tensor(np.array([len(each) for each in pickles], np.int64), device)


def _unpacked(content: Tensor, sizes: Sequence[int]) -> list[Any]:
    whole, at, objects = content.cpu().numpy(), 0, []
    for size in sizes:
        objects.append(pickle.loads(whole[at : at + size].data))
        at += size
    return objects


def _blank(length: int, device: DeviceLike, dtype: Any = np.uint8) -> Tensor:
    return _tensor(np.zeros(length, dtype), device)


def _among_all(obj: Any, pg: ProcessGroup, device: DeviceLike) -> tuple[Tensor, list[int]]:
    """A pickle, filled up to the length of the longest that a process has, and how long each is."""
    content, size = _packed([obj], device)
    sizes = [_blank(1, device, np.int64) for _ in range(pg.size())]
    all_gather(sizes, size, pg)
    lengths = [int(each) for each in sizes]
    return _padded(content, max(lengths), device), lengths


def _padded(content: Tensor, length: int, device: DeviceLike) -> Tensor:
    room = _blank(length, device)
    room[: content.numel()] = content
    return room


def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """Give an object of each process to all, as a list."""
    pg = _member(group, "all_gather_object")
    if pg is None:
        return
    device = _device(pg)
    content, sizes = _among_all(obj, pg, device)
    rooms = [_blank(max(sizes), device) for _ in sizes]
    all_gather(rooms, content, pg)
    for number, (room, length) in enumerate(zip(rooms, sizes, strict=True)):
        object_list[number] = _unpacked(room, [length])[0]


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Group = None,
    group_dst: int | None = None,
) -> None:  # fmt: skip
    """Give an object of each process to one, as a list."""
    pg = _member(group, "gather_object")
    if pg is None:
        return
    root = root_of(pg, 0 if dst is None and group_dst is None else dst, group_dst, "gather")
    mine = root == pg.rank()
    check_given_by_root(object_gather_list, "gather_list", "destination", mine)
    device = _device(pg)
    content, sizes = _among_all(obj, pg, device)
    rooms = [_blank(max(sizes), device) for _ in sizes] if mine else None
    gather(content, rooms, group=pg, group_dst=root)
    for number, room in enumerate(rooms or ()):
        assert object_gather_list is not None
        object_gather_list[number] = _unpacked(room, sizes[number : number + 1])[0]


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Group = None, device: DeviceLike = None,
    group_src: int | None = None,
) -> None:  # fmt: skip
    """Give the objects in one process's list to all, in place of those in theirs."""
    pg = _member(group, "broadcast_object_list")
    if pg is None:
        return
    root = root_of(pg, 0 if src is None and group_src is None else src, group_src, "broadcast")
    device = _device(pg, device)
    mine = root == pg.rank()
    content, sizes = _packed(object_list, device) if mine else (None, _blank(len(object_list), device, np.int64))
    broadcast(sizes, group=pg, group_src=root)
    lengths = sizes.tolist()
    room = content if content is not None else _blank(sum(lengths), device)
    broadcast(room, group=pg, group_src=root)
    if not mine:
        object_list[:] = _unpacked(room, lengths)


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: Sequence[Any] | None = None,
    src: int | None = None, group: Group = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """Give each process one of the objects that one has, as the first in its list."""
    pg = _member(group, "scatter_object_list")
    if pg is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = root_of(pg, 0 if src is None and group_src is None else src, group_src, "scatter")
    device = _device(pg)
    packed = None
    lengths = _blank(pg.size(), device, np.int64)
    if root == pg.rank():
        if not scatter_object_input_list or len(scatter_object_input_list) != pg.size():
            raise ValueError("Expected argument scatter_object_input_list to have one object for each rank.")
        packed = [_packed([each], device)[0] for each in scatter_object_input_list]
        lengths = _tensor(np.array([each.numel() for each in packed], np.int64), device)
    broadcast(lengths, group=pg, group_src=root)
    sizes = lengths.tolist()
    room = _blank(max(sizes), device)
    pieces = packed and [_padded(each, max(sizes), device) for each in packed]
    scatter(room, pieces, group=pg, group_src=root)
    scatter_object_output_list[0] = _unpacked(room, [sizes[pg.rank()]])[0]


def send_object_list(
    object_list: Sequence[Any], dst: int | None = None, group: Group = None, device: DeviceLike = None,
    group_dst: int | None = None, use_batch: bool = False,
) -> None:  # fmt: skip
    """Send objects to one process."""
    pg = _member(group, "send_object_list")
    if pg is None:
        return
    content, sizes = _packed(object_list, _device(pg, device))
    send(sizes, dst, pg, group_dst=group_dst)
    send(content, dst, pg, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any], src: int | None = None, group: Group = None, device: DeviceLike = None,
    group_src: int | None = None, use_batch: bool = False,
) -> int:  # fmt: skip
    """Receive objects from one process, or from any, in place of those in a list; and say from which."""
    pg = _member(group, "recv_object_list")
    if pg is None:
        return -1
    device = _device(pg, device)
    sizes = _blank(len(object_list), device, np.int64)
    source = recv(sizes, src, pg, group_src=group_src)
    lengths = sizes.tolist()
    room = _blank(sum(lengths), device)
    recv(room, source, pg)
    object_list[:] = _unpacked(room, lengths)
    return source
