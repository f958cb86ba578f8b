"""`torch.compiler`, and `torch.compile`. What is to be compiled runs as it is, but for a program's own backend."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Sized
from typing import Any, TypeVar

from .compiler_backends import eager, list_backends, lookup_backend
from .core.values import shown_in
from .nn.modules.module import Module

__all__ = [
    "compile", "assume_constant_result", "reset", "allow_in_graph", "substitute_in_graph", "list_backends", "disable",
    "set_default_backend", "get_default_backend", "set_stance", "set_enable_guard_collectives",
    "cudagraph_mark_step_begin", "load_compiled_function", "wrap_numpy", "is_compiling", "is_dynamo_compiling",
    "is_exporting", "save_cache_artifacts", "load_cache_artifacts", "keep_portable_guards_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe", "skip_guard_on_all_nn_modules_unsafe", "keep_tensor_guards_unsafe",
    "skip_guard_on_globals_unsafe", "skip_all_guards_unsafe", "nested_compile_region",
]  # fmt: skip

_T = TypeVar("_T")
_default_backend: Any = "inductor"


_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def _unchanged(fn: _T) -> _T:
    return fn


@shown_in("torch._dynamo.eval_frame")
class OptimizedModule(Module):
    """What `compile` gives for a module: it runs `_orig_mod`, and whatever it is asked or told is that one's."""

    def __init__(self, mod: Module, dynamo_ctx: Callable[..., Any]) -> None:
        super().__init__()
        self.__dict__["dynamo_ctx"] = dynamo_ctx
        super().__setattr__("_orig_mod", mod)
        self.__dict__["_run"] = dynamo_ctx(mod)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        self._orig_mod.training = value

    def _is_own(self, name: str) -> bool:
        """Whether an attribute is every module's, and so this one's too."""
        return name == "_orig_mod" or name in self.__dict__ or hasattr(type(self), name)

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__.get("_modules", {}).get("_orig_mod")
        if inner is None or name == "_orig_mod":
            return super().__getattr__(name)
        return getattr(inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_own(name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if self._is_own(name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        if not isinstance(self._orig_mod, Sized):
            raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")
        return len(self._orig_mod)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})


def _compiled(model: Any, /, *, backend: Any = None, fullgraph: bool = False, **more: Any) -> Any:
    """A function as it is, or as a backend runs its graphs; of a module, inside what stands for a compiled one.

    The backend is given `more`, too.
    """
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if isinstance(model, OptimizedModule):
        return model
    run: Callable[..., Any] = _unchanged
    found = lookup_backend(_default_backend if backend is None else backend)
    if callable(found) and found is not eager:
        from .fx.captured import captured

        given = functools.partial(found, **more) if more else found
        run = functools.partial(captured, backend=given, fullgraph=fullgraph)
    return OptimizedModule(model, run) if isinstance(model, Module) else run(model)


def compile(
    model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None, mode: str | None = None, options: dict[str, Any] | None = None,
    name: str | None = None, disable: bool = False, recompile_limit: int | None = None,
    isolate_recompiles: bool = False, shapes_spec: Any = None,
) -> Any:  # fmt: skip
    """A function itself, or a module as an `OptimizedModule`; without either, a decorator that does so.

    A `backend` that is a program's own, or the name of one, is handed graphs, and what it gives runs in their place
    (`fx/captured.py`).
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode not in (None, *_MODES) and backend in (None, "inductor"):
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    told = {"mode": mode if mode != "default" else None, "options": options}
    more: dict[str, Any] = {name: value for name, value in told.items() if value}
    given: Any = functools.partial(_compiled, backend=backend, fullgraph=fullgraph, **more)
    if disable:
        given = _unchanged
    return given if model is None else given(model)


def optimize(backend: Any = "inductor", *, nopython: bool = False, disable: bool = False, **_: Any) -> Any:
    """A decorator: what is decorated is compiled by a backend."""
    lookup_backend(backend)
    return _unchanged if disable else functools.partial(_compiled, backend=backend, fullgraph=nopython)


def optimize_assert(backend: Any, **more: Any) -> Any:
    """The same, where what a graph cannot say is an error."""
    return optimize(backend, nopython=True, **more)


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """`fn` itself, which would not be compiled; or a decorator."""
    return _unchanged if fn is None else fn


def _disable_dynamo(fn: Callable[..., Any] | None = None, recursive: bool = True) -> Any:
    return disable(fn, recursive)


def nested_compile_region(fn: Callable[..., Any] | None = None, **_: Any) -> Any:
    """`fn` itself, which would be compiled apart; or a decorator."""
    return _unchanged if fn is None else fn


def allow_in_graph(fn: _T) -> _T:
    """`fn` itself, which would not be looked into."""
    return fn


def assume_constant_result(fn: _T) -> _T:
    """`fn` itself, which would be called once."""
    return fn


def substitute_in_graph(original_fn: Any, **_: Any) -> Callable[[_T], _T]:
    """A decorator for what would be compiled in place of `original_fn`."""
    return _unchanged


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn`, a function of NumPy arrays, as one of tensors."""
    import functools

    from .operations.making.host_data import from_numpy
    from .utils._pytree import tree_map_only

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        import numpy as np

        from .core.machine import Tensor

        args, kwargs = tree_map_only(Tensor, lambda t: t.numpy(), (args, kwargs))
        return tree_map_only(np.ndarray, from_numpy, fn(*args, **kwargs))

    return wrapped


def _captured() -> Any:
    """What captures graphs, if any were asked for."""
    return sys.modules.get(f"{__package__}.fx.captured")


def reset() -> None:
    """Forget what was compiled."""
    captured = _captured()
    if captured is not None:
        captured.reset()


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins."""


def is_compiling() -> bool:
    """Whether the code that asks is being compiled: captured for a program's own backend."""
    captured = _captured()
    return captured is not None and captured.is_capturing()


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether a program is being exported: never."""
    return False


def set_default_backend(backend: Any) -> None:
    """Say which compiler to use."""
    global _default_backend
    _default_backend = "inductor" if backend is None else backend


def get_default_backend() -> Any:
    """What `set_default_backend` said."""
    return _default_backend


class set_stance(contextlib.ContextDecorator):
    """Say when to compile: from now on, inside a `with`, or in a function that this decorates."""

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        self.stance = stance

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Nothing here; whether it was on before."""
    return False


def save_cache_artifacts() -> None:
    """What was compiled, to be kept: nothing."""


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """Take up what was compiled elsewhere: nothing."""


def load_compiled_function(file: Any, *, f_globals: Any = None, external_data: Any = None) -> Any:
    """Refuse: there is nothing that could run it."""
    raise NotImplementedError("torchlite cannot run functions that PyTorch compiled")


def _all_true(guard_entries: Any, *_: Any) -> list[bool]:
    """Keeps every guard: nothing is compiled, so there are none."""
    return [True for _ in guard_entries]


keep_portable_guards_unsafe = keep_tensor_guards_unsafe = _all_true
skip_guard_on_inbuilt_nn_modules_unsafe = skip_guard_on_all_nn_modules_unsafe = _all_true
skip_guard_on_globals_unsafe = skip_all_guards_unsafe = _all_true
