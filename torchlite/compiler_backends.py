"""The backends that `torch.compile` knows by name: a program's own, and PyTorch's, which run graphs as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any

from .faces.compiler_errors import InvalidBackend

Backend = Callable[..., Any]


def eager(gm: Any, example_inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
    """The backend that runs a graph as it is."""
    return gm.forward


_PYTORCHS: dict[tuple[str, ...], str] = {
    (): "cudagraphs inductor openxla tvm",
    ("experimental",): "openxla_eval",
    ("debug",): "aot_eager aot_eager_decomp_partition aot_eager_decomp_partition_crossref aot_ts eager eager_debug"
    " aot_eager_decomp_partition_with_mode aot_eager_default_partitioner eager_noexcept invoke_subgraph ts"
    " pre_dispatch_eager",
}
_tags: dict[str, tuple[str, ...]] = {name: tags for tags, names in _PYTORCHS.items() for name in names.split()}
_registered: dict[str, Backend] = dict.fromkeys(_tags, eager)


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Sequence[str] = ()) -> Any:
    """Let `torch.compile` know a backend by name, which is that of the function if none is given; or a decorator."""
    if compiler_fn is None:
        return lambda given: register_backend(given, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"compiler_fn must be callable, got {type(compiler_fn)}")
    name = name or compiler_fn.__name__
    if name in _registered:
        raise AssertionError(f"duplicate name: {name}")
    _registered[name], _tags[name] = compiler_fn, tuple(tags)
    return compiler_fn


def _installed() -> dict[str, Any]:
    """What packages that are installed offer."""
    return {point.name: point for point in entry_points(group="torch_dynamo_backends")}


def lookup_backend(compiler_fn: Any) -> Any:
    """The backend of a name; anything else is one."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _registered:
        point = _installed().get(compiler_fn)
        if point is None:
            raise InvalidBackend(name=compiler_fn)
        register_backend(point.load(), compiler_fn)
    return _registered[compiler_fn]


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names of backends, but of those with one of these tags."""
    names = {*_registered, *_installed()}
    return sorted([name for name in names if not {*_tags.get(name, ())} & {*(exclude_tags or ())}])
