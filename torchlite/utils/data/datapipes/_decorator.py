"""What pipes are decorated with."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

from ....core.state import HoldingItems
from ....core.values import shown_in
from .datapipe import IterDataPipe, MapDataPipe


@shown_in("torch.utils.data.datapipes._decorator")
class functional_datapipe:
    """Makes a class of pipes a method of all pipes: `source.name(...)` is then `cls(source, ...)`."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        if enable_df_api_tracing:
            raise NotImplementedError("torchlite has no pipes of data frames")

    def __call__(self, cls: Any) -> Any:
        if isinstance(cls, type) and issubclass(cls, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        else:
            IterDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


_deterministic = False


@shown_in("torch.utils.data.datapipes._decorator")
class guaranteed_datapipes_determinism(HoldingItems):
    """Within this context, pipes that are `non_deterministic` cannot be made."""

    def __init__(self) -> None:
        super().__init__(globals(), {"_deterministic": True})


def non_deterministic(arg: type[IterDataPipe[Any]] | Callable[..., bool]) -> Any:
    """Marks a class of pipes whose order differs from run to run, or does if a function of its arguments says so."""
    if isinstance(arg, type) and issubclass(arg, IterDataPipe):
        return _guarded(arg, lambda *args, **kwargs: True, "")
    if not inspect.isfunction(arg):
        raise TypeError(f"{arg} can not be decorated by non_deterministic")
    return lambda cls: _guarded(cls, arg, " with the inputs")


def _guarded(cls: Any, differs: Callable[..., bool], when: str) -> Any:
    make = cls.__init__

    @functools.wraps(make)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if _deterministic and differs(*args, **kwargs):
            raise TypeError(
                f"{cls.__name__} is non-deterministic{when}, but you set 'guaranteed_datapipes_determinism'. You can "
                "turn off determinism for this DataPipe if that is acceptable for your application"
            )
        make(self, *args, **kwargs)

    cls.__init__ = init
    return cls


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a function take nothing but pipes for the arguments that are annotated so."""
    signature, hints = inspect.signature(f), typing.get_type_hints(f)

    @functools.wraps(f)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            wanted = typing.get_origin(hints.get(name)) or hints.get(name)
            if wanted is IterDataPipe and not isinstance(value, IterDataPipe):
                raise TypeError(f"Expected argument '{name}' as a IterDataPipe, but found {type(value)}")
        return f(*args, **kwargs)

    return checked


def runtime_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Marks an `__iter__` whose samples are to be of the pipe's type. Pipes do not know theirs: none is checked."""
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")
    return f


@shown_in("torch.utils.data.datapipes._decorator")
class runtime_validation_disabled:
    """A context in which `runtime_validation` checks nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass
