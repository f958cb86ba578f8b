"""What all pipes have in common: they are methods of each other."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from ..dataset import Dataset, IterableDataset

_T_co = TypeVar("_T_co", covariant=True)


_NOT_MADE = ("demux", "fork", "groupby", "list_files", "open_files", "read_from_stream", "routed_decode")


class _Pipe:
    functions: ClassVar[dict[str, Any]]  # those that `functional_datapipe` registered, by name

    def __getattr__(self, name: str) -> Any:
        function = type(self).functions.get(name)
        if function is None and name in _NOT_MADE:
            raise NotImplementedError(f"torchlite has no pipe that does what `{name}` does in PyTorch")
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")
        return functools.partial(function, self)

    @classmethod
    def register_function(cls, function_name: str, function: Any) -> None:
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Any) -> None:
        """Make a class of pipes a method of all pipes of this kind."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register

    def __repr__(self) -> str:
        return type(self).__qualname__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]

    def __getstate__(self) -> Any:
        return self.__dict__


class IterDataPipe(_Pipe, IterableDataset[_T_co]):
    """A pipe from which samples come one after the other."""

    functions: ClassVar[dict[str, Any]] = {}

    def __iter__(self) -> Iterator[_T_co]:
        return iter(())


class MapDataPipe(_Pipe, Dataset[_T_co]):
    """A pipe from which samples are got by index."""

    functions: ClassVar[dict[str, Any]] = {}


class DFIterDataPipe(IterDataPipe[Any]):
    """A pipe of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class DataChunk(list[Any]):
    """A batch of samples that are not collated yet."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent: str = "") -> str:
        return f"{indent}[{', '.join(str(item) for item in self)}]"

    def raw_iterator(self) -> Iterator[Any]:
        """The samples, whatever a subclass shows instead."""
        return iter(self.items)


for _class in (IterDataPipe, MapDataPipe, DFIterDataPipe):
    _class.__module__ = "torch.utils.data.datapipes.datapipe"
