"""`nn.Module`: an object made of parameters, buffers and other modules.

What stands here is how a module registers its parts and shows itself. The rest of the class comes from
`module_tree` (walking through the parts), `module_state` (saving and loading them), `module_moves` (changing their
dtype and device) and `module_hooks` (being called, with hooks around it).
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from ...core.machine import RemovableHandle, Tensor, register
from ...core.native import named, native
from ...core.values import reduce_ex
from ..parameter import Parameter
from . import module_hooks
from .module_hooks import (  # noqa: F401
    ModuleHooks,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    _has_any_global_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .module_moves import ModuleMoves
from .module_state import _EXTRA_STATE_KEY_SUFFIX, ModuleState, _IncompatibleKeys, _WrappedHook  # noqa: F401
from .module_tree import ModuleTree, typename

__all__ = [
    "register_module_forward_pre_hook", "register_module_forward_hook", "register_module_full_backward_pre_hook",
    "register_module_backward_hook", "register_module_full_backward_hook", "register_module_buffer_registration_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook", "Module",
]  # fmt: skip

_global_is_full_backward_hook: bool | None = None  # whether the backward hooks of all modules are full ones


PLAIN = frozenset((bool, int, float, str, tuple, type(None)))  # what is no part of a module, as is soon seen


def _addindent(s_: str, numSpaces: int) -> str:
    """All lines but the first, moved to the right."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """Compute the module's result. Every module has a `forward` of its own."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


def _check_name(kind: str, name: Any, shown: str = "") -> None:
    """Refuse what cannot be part of a dotted name."""
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."{shown}')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')


class Module(ModuleTree, ModuleState, ModuleMoves, ModuleHooks):
    """The base of all neural networks.

    Parameters, buffers and modules that are assigned as attributes are registered under that name.
    """

    dump_patches: bool = False
    call_super_init: bool = False
    _version: int = 1
    _compiled_call_impl: ClassVar[Callable[..., Any] | None] = None

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Module | None]

    forward: Callable[..., Any] = _forward_unimplemented

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        # Past __setattr__, which needs these to be there.
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(),
            _backward_pre_hooks=OrderedDict(), _backward_hooks=OrderedDict(), _is_full_backward_hook=None,
            _forward_hooks=OrderedDict(), _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(), _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(), _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(), _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(), _modules={},
        )  # fmt: skip
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- registering parts

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the module's state but no parameter.

        A buffer that is not `persistent` is left out of `state_dict`.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name("buffer", name)
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._place_buffer(name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def _place_buffer(self, name: str, tensor: Any) -> None:
        self._buffers[name] = _announced(_global_buffer_registration_hooks, self, name, tensor)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None keeps its name for later."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name("parameter", name)
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                    "forward() method."
                )
            param = _announced(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module as a child; None keeps its name for later."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        _check_name("module", name, f", got: {name}")
        self._place_module(name, module)

    def _place_module(self, name: str, module: Module | None) -> None:
        self._modules[name] = _announced(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    # ---- attributes

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__
        if "_parameters" in known and name in known["_parameters"]:
            return known["_parameters"][name]
        if "_buffers" in known and name in known["_buffers"]:
            return known["_buffers"][name]
        if "_modules" in known and name in known["_modules"]:
            return known["_modules"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    if native is not None:
        __getattr__ = named(native.look_up(__getattr__), __getattr__)

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.__dict__
        parameters = known.get("_parameters")
        if value.__class__ in PLAIN and parameters is not None and not (
            name in parameters or name in known["_modules"] or name in known["_buffers"]
        ):
            super().__setattr__(name, value)
            return
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _forget(name, known, self._buffers, self._modules, self._non_persistent_buffers_set)
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = known.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            _forget(name, known, parameters, self._buffers, self._non_persistent_buffers_set)
            self._place_module(name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._place_module(name, value)
            return
        buffers = known.get("_buffers")
        # Only what may become a buffer is asked whether it is one.
        marked = isinstance(value, Tensor) and getattr(value, "_is_buffer", False)
        if not marked and (buffers is None or name not in buffers):
            super().__setattr__(name, value)
            return
        if buffers is None:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if marked:
            self.register_buffer(name, value, value.persistent)  # type: ignore[union-attr]
        else:
            self._place_buffer(name, value)

    def __delattr__(self, name: str) -> None:
        for place in (self._parameters, self._buffers, self._modules):
            if name in place:
                del place[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted([name for name in names if not name[0].isdigit()])

    # ---- copies and pickles

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the state of a pickle, which may be older than some kinds of hooks."""
        self.__dict__.update(state)
        for name in module_hooks.HOOKS:
            if name not in self.__dict__:
                self.__dict__[name] = OrderedDict()
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    __reduce_ex__ = reduce_ex

    # ---- showing itself

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses of the module's repr, for subclasses to define."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        name = self._get_name()
        if len(extra_lines) == 1 and not child_lines:
            return f"{name}({extra_lines[0]})"
        lines = extra_lines + child_lines
        return f"{name}({_lines(lines)})" if lines else f"{name}()"

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        """The full backward hooks and the others."""
        found: tuple[list[Any], list[Any]] = ([], [])
        if _global_is_full_backward_hook is not None:
            found[not _global_is_full_backward_hook].extend(_global_backward_hooks.values())
        if self._is_full_backward_hook is not None:
            found[not self._is_full_backward_hook].extend(self._backward_hooks.values())
        return found

    def _replicate_for_data_parallel(self) -> Any:
        """A copy for another device, whose parameters are yet to come."""
        replica = self.__new__(type(self))
        replica.__dict__.update(self.__dict__)
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: a module runs the same compiled or not."""


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `Module.register_full_backward_hook`, for all modules."""
    return _add_global_backward_hook(hook, full=True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `Module.register_backward_hook`, for all modules."""
    return _add_global_backward_hook(hook, full=False)


def _add_global_backward_hook(hook: Callable[..., Any], full: bool) -> RemovableHandle:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one of them."
        )
    _global_is_full_backward_hook = full
    return register(_global_backward_hooks, hook)


def _lines(lines: Iterable[str]) -> str:
    return "\n  " + "\n  ".join(lines) + "\n"


def _announced(hooks: dict[int, Any], module: Module, name: str, part: Any) -> Any:
    """What is to be registered, after the hooks for that have seen and maybe replaced it."""
    for hook in hooks.values():
        replaced = hook(module, name, part)
        if replaced is not None:
            part = replaced
    return part


def _forget(name: str, *places: Any) -> None:
    """Take a name out of dictionaries and sets."""
    for place in places:
        if name in place:
            if isinstance(place, dict):
                del place[name]
            else:
                place.discard(name)


for _base in (ModuleTree, ModuleState, ModuleMoves, ModuleHooks):
    for _method in vars(_base).values():
        if inspect.isfunction(_method):
            _method.__qualname__ = f"Module.{_method.__name__}"  # as errors name it


# Packages evaluate the annotations of modules where the names in them mean nothing.
Module.__annotations__ = {_name: eval(_type) for _name, _type in Module.__annotations__.items()}
