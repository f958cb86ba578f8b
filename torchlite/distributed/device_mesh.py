"""Processes laid out in a grid: `torch.distributed.device_mesh`."""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.values import shown_in
from ..operations.making.host_data import tensor
from . import world
from .process_group import ProcessGroup
from .world import get_process_group_ranks, get_rank, own_of

__all__ = ["DeviceMesh", "init_device_mesh"]

_near: weakref.WeakKeyDictionary[ProcessGroup, dict[int, ProcessGroup]] = weakref.WeakKeyDictionary()
_entered: list[DeviceMesh] = []  # those that a `with` has made the current one, the innermost last


@shown_in("torch.distributed.device_mesh")
class DeviceMesh:
    """Processes laid out in a grid, with a group along each of its dimensions."""

    def __init__(
        self, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None, _init_backend: bool = True, _rank: int | None = None,
    ) -> None:  # fmt: skip
        if not world.is_initialized():
            world.init_process_group()
        self.device_type = device_type
        self._grid = np.asarray(mesh.tolist() if hasattr(mesh, "tolist") else mesh, np.int64)
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        self._root: DeviceMesh = self
        place = np.argwhere(self._grid == get_rank())
        self._place = tuple(place[0].tolist()) if len(place) else None
        self._groups = [self._along(dim) for dim in range(self.ndim)] if _init_backend else []
        self._flat: dict[str, DeviceMesh] = {}

    def _along(self, dim: int) -> ProcessGroup | None:
        """The group of those who differ from this process in one coordinate only."""
        if self._grid.tolist() == get_process_group_ranks(None):
            return world._get_default_group()
        rows = np.moveaxis(self._grid, dim, -1).reshape(-1, self._grid.shape[dim]).tolist()
        return own_of(rows, sort_ranks=False, group_desc=f"mesh_{self._name(dim)}")

    def _near(self, count: int) -> ProcessGroup:
        """This process's group of so many neighbours along the last dimension: one for all meshes of a group."""
        groups = _near.setdefault(self.get_group(-1), {})
        if count not in groups:
            groups[count] = DeviceMesh(self.device_type, self._grid.reshape(-1, count)).get_group(1)
        return groups[count]

    def _name(self, dim: int) -> str:
        return self.mesh_dim_names[dim] if self.mesh_dim_names else f"dim_{dim}"

    def _dim(self, said: int | str | None, *advice: str) -> int:
        if said is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                    *advice,
                )
            return 0
        if isinstance(said, str):
            if said not in (self.mesh_dim_names or ()):
                raise KeyError(f"Mesh dimension '{said}' does not exist. Available mesh dimensions are: "
                               f"{self.mesh_dim_names}")  # fmt: skip
            return (self.mesh_dim_names or ()).index(said)
        return range(self.ndim)[said]

    @property
    def mesh(self) -> Any:
        """The ranks, in a tensor of the grid's shape."""
        return tensor(self._grid.tolist())

    @property
    def shape(self) -> tuple[int, ...]:
        """How many there are along each dimension."""
        return self._grid.shape

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return self._grid.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, in all or along a dimension."""
        return self._grid.size if mesh_dim is None else self._grid.shape[mesh_dim]

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group along a dimension that this process is in."""
        advice = "please use `get_all_groups()` instead."
        advice = f"If you want to get the list of all the ProcessGroups in the DeviceMesh,{advice}"
        group = self._groups[self._dim(mesh_dim, advice)]
        if group is None:
            raise RuntimeError("this process is not in the mesh")
        return group

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups along all dimensions."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where in the grid this process is; None if it is not."""
        return self._place

    def get_rank(self) -> int:
        """The number of this process among all."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Where along a dimension this process is."""
        dim = self._dim(mesh_dim)
        if self._place is None:
            raise AssertionError("this process is not in the mesh")
        return self._place[dim]

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the grid along some dimensions, named, that this process is in."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if len(names) == 1 and names[0] in self._flat:
            return self._flat[names[0]]
        dims = [self._dim(name) for name in names]
        if dims == list(range(self.ndim)):
            return self
        if self._place is None:
            raise RuntimeError("this process is not in the mesh")
        index = tuple(slice(None) if dim in dims else at for dim, at in enumerate(self._place))
        part = DeviceMesh(self.device_type, self._grid[index], mesh_dim_names=names, _init_backend=False)
        part._groups, part._root = [self._groups[dim] for dim in dims], self._root
        return part

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """The same processes in one row, which `mesh[name]` is from now on."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        if name not in self._root._flat:
            whole = self._root._grid
            kept = [self._root._dim(each) for each in self.mesh_dim_names or ()] or list(range(whole.ndim))
            rows = np.moveaxis(whole, kept, range(whole.ndim - len(kept), whole.ndim)).reshape(-1, self._grid.size)
            own = own_of(rows.tolist(), sort_ranks=False, group_desc=f"mesh_{name}")
            flat = DeviceMesh(self.device_type, self._grid.reshape(-1), mesh_dim_names=(name,), _init_backend=False)
            flat._groups, flat._root = [own], self._root
            self._root._flat[name] = flat
        return self._root._flat[name]

    @staticmethod
    def from_group(
        group: ProcessGroup | list[ProcessGroup], device_type: str, mesh: Any = None, *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:  # fmt: skip
        """A mesh over groups that exist: one, or one along each dimension of a grid that is given."""
        groups = group if isinstance(group, list) else [group]
        grid = get_process_group_ranks(groups[0]) if mesh is None else mesh
        if mesh is None and len(groups) > 1:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        made = DeviceMesh(device_type, grid, mesh_dim_names=mesh_dim_names, _init_backend=False)
        made._groups = list(groups)
        return made

    def __enter__(self) -> DeviceMesh:
        _entered.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _entered.remove(self)

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._place is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceMesh):
            return NotImplemented
        mine, theirs = ((m.device_type, m.mesh_dim_names, m._grid.tolist()) for m in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.device_type, self.mesh_dim_names, self._grid.shape, self._grid.tobytes()))

    def __repr__(self) -> str:
        names = self.mesh_dim_names or ()
        sizes = ", ".join(
            f"{name}={size}" if name else str(size) for name, size in itertools.zip_longest(names, self.shape)
        )
        shape = f"({sizes})" if names else str(tuple(self.shape))
        return f"DeviceMesh({shape}, '{self.device_type}', stride={_strides(self.shape)})"


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape)))


def _current_mesh() -> DeviceMesh:
    """The mesh whose `with` this is in."""
    if not _entered:
        raise RuntimeError("No device mesh is currently active!")
    return _entered[-1]


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:  # fmt: skip
    """All processes in a grid of a shape, row by row."""
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError("Each mesh_dim_name must be unique.",
                           f"Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}")  # fmt: skip
    if mesh_dim_names is not None and len(mesh_shape) != len(mesh_dim_names):
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length!",
            f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}.",
        )
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    if not world.is_initialized():
        world.init_process_group()
    count = math.prod(mesh_shape)
    if count > world.get_world_size():
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {world.get_world_size()}, but found {count} ranks!"
        )
    return DeviceMesh(device_type, np.arange(count).reshape(mesh_shape), mesh_dim_names=mesh_dim_names)
