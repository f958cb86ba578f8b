"""What all pipes have in common: they are methods of each other."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from ....core.values import shown_in
from ..dataset import Dataset, IterableDataset
from ._hook_iterator import _SnapshotState, hooked

_T_co = TypeVar("_T_co", covariant=True)


class _Pipe:
    functions: ClassVar[dict[str, Any]]  # those that `functional_datapipe` registered, by name

    def __getattr__(self, name: str) -> Any:
        function = type(self).functions.get(name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")
        return functools.partial(function, self)

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
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

    # What takes the place of pickling, for tools that look into pipes: functions of the state, and of the pipe.
    getstate_hook: ClassVar[Callable[[Any], Any] | None] = None
    reduce_ex_hook: ClassVar[Callable[[Any], Any] | None] = None

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        if cls.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        if cls.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls.reduce_ex_hook = hook_fn

    def __getstate__(self) -> Any:
        hook = type(self).getstate_hook
        return self.__dict__ if hook is None else hook(self.__dict__)

    def __reduce_ex__(self, *args: Any) -> Any:
        hook = type(self).reduce_ex_hook
        if hook is not None:
            with contextlib.suppress(NotImplementedError):
                return hook(self)
        return super().__reduce_ex__(*args)


@shown_in("torch.utils.data.datapipes.datapipe")
class IterDataPipe(_Pipe, IterableDataset[_T_co]):
    """A pipe from which samples come one after the other."""

    functions: ClassVar[dict[str, Any]] = {}

    _valid_iterator_id = -1  # counts passes
    _number_of_samples_yielded = 0
    _snapshot_state = _SnapshotState.NotStarted
    _fast_forward_iterator: Iterator[Any] | None = None

    def __init_subclass__(cls, hooks: bool = True, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if hooks and "__iter__" in vars(cls):
            cls.__iter__ = hooked(vars(cls)["__iter__"])  # type: ignore[method-assign]

    def __iter__(self) -> Iterator[_T_co]:
        return self


@shown_in("torch.utils.data.datapipes.datapipe")
class MapDataPipe(_Pipe, Dataset[_T_co]):
    """A pipe from which samples are got by index."""

    functions: ClassVar[dict[str, Any]] = {}


class _Wrapped:
    """A pipe that a DataLoader holds; what wants to be pickled in another way can say so here."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_Wrapped, IterDataPipe[Any]):
    def __init__(self, datapipe: Any) -> None:
        super().__init__(datapipe)
        self._datapipe_iter: Iterator[Any] | None = None

    def __iter__(self) -> _IterDataPipeSerializationWrapper:
        self._datapipe_iter = iter(self._datapipe)
        return self

    def __next__(self) -> Any:
        if self._datapipe_iter is None:
            raise AssertionError("Iterator has not been initialized; call __iter__() before __next__()")
        return next(self._datapipe_iter)


class _MapDataPipeSerializationWrapper(_Wrapped, MapDataPipe[Any]):
    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]


@shown_in("torch.utils.data.datapipes.datapipe")
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
        """The items as text."""
        return f"{indent}[{', '.join(str(item) for item in self)}]"

    def raw_iterator(self) -> Iterator[Any]:
        """The samples, whatever a subclass shows instead."""
        return iter(self.items)
