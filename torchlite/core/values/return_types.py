"""Named tuples for ops with several results: `torch.return_types.max(values=…, indices=…)`."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from .pickling import means_this


class _Named(tuple):
    """A tuple whose items have names."""

    __slots__ = ()

    _fields: tuple[str, ...] = ()
    n_sequence_fields = n_fields = n_unnamed_fields = 0

    def __repr__(self) -> str:
        items = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{items})"

    def put_into(self, outs: Any) -> tuple[Any, ...]:
        """The tensors given as `out=`, named as these results are."""
        name = type(self).__name__
        return return_type(name if name.endswith("_out") else name + "_out", self._fields)(outs)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (tuple(self),)) if means_this() else (_again, (type(self).__name__, tuple(self)))


def _again(name: str, items: tuple[Any, ...]) -> Any:
    return made[name](items)


made: dict[str, type[_Named]] = {}


def return_type(name: str, fields: tuple[str, ...]) -> type[_Named]:
    """The type of an op's results; one for all overloads of the op."""
    found = made.get(name)
    if found is None:
        body: dict[str, Any] = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
        body |= {"__slots__": (), "_fields": fields, "n_sequence_fields": len(fields), "n_fields": len(fields)}
        found = made[name] = type(name, (_Named,), body)
        found.__module__ = "torch.return_types"
    return found
