"""Saving and loading a module's state: `state_dict` and `load_state_dict`."""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from ... import __future__ as future
from ...autograd.grad_mode import no_grad
from ...core.declare import is_tensor
from ...core.machine import RemovableHandle, register
from ...core.values import reduce_ex, shown_in, warn
from ...utils.swapping import swap_tensors
from ..parameter import Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The result of `load_state_dict`: keys that were missing, and unexpected ones."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


@shown_in("torch.nn.modules.module")
class _WrappedHook:
    """A hook that may get a module as its first argument, which it knows weakly."""

    __reduce_ex__ = reduce_ex

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module: Any = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.with_module else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


class ModuleState:
    """How a module's state becomes a dict and comes back."""

    T_destination = TypeVar("T_destination", bound=dict[str, Any])

    _version: int
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_post_hooks: OrderedDict[int, Any]

    # ---- saving

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by their dotted names.

        They are detached, and share memory with the module's, unless `keep_vars` says to give the very tensors.
        """
        if args:
            warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if replaced is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif replaced is not None:
                destination = replaced
        return destination

    def _own_state(self) -> Iterator[tuple[str, Any]]:
        """The parameters and persistent buffers that are not in a module inside."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                yield name, parameter
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                yield name, buffer

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own state, without that of the modules inside, into `destination`."""
        for name, t in self._own_state():
            destination[prefix + name] = t if keep_vars else t.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """What a module wants in its `state_dict` besides parameters and buffers, for subclasses to define."""
        raise _never_called("get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise _never_called("set_extra_state")

    # ---- loading

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy the values of a `state_dict` into parameters and buffers, here and in the modules inside.

        With `strict`, its names must be just those of this module's own `state_dict`. With `assign`, its tensors
        themselves take the places of the module's.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata  # type: ignore[attr-defined]
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []

        def load(module: Any, state: Any, prefix: str = "") -> None:
            local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(state, prefix, local_metadata, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    inside = f"{prefix}{name}."
                    load(child, {k: v for k, v in state.items() if k.startswith(inside)}, inside)
            incompatible = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                        "values, if incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, state)
        if strict:
            said = [("Missing", missing), ("Unexpected", unexpected)]
            errors[:0] = [f"{what} key(s) in state_dict: {_quoted(keys)}. " for what, keys in said if keys]
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Load this module's own state, without that of the modules inside, and note what does not fit.

        Subclasses define this to load what older versions of them saved: `local_metadata["version"]` tells which.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = dict(self._own_state())
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, t in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load(name, key, t, state_dict[key], assign)
                if problem is not None:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not ModuleState.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if first not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _load(self, name: str, key: str, t: Any, given: Any, assign: bool) -> str | None:
        """Load one parameter or buffer; what is wrong, if something is."""
        if not is_tensor(given):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(given)}"
            )
        if not is_lazy(t) and given.shape != t.shape:
            if not t.shape and len(given.shape) == 1:
                given = given[0]  # numbers were saved so before there were tensors without dimensions
            if given.shape != t.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in "
                    f"current model is {t.shape}."
                )
        if t.is_meta and not given.is_meta and not assign:
            warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary "
                "to their corresponding key in the module instead of copying them in place?)"
            )
        try:
            with no_grad():
                if not assign:
                    t.copy_(given)
                    return None
                if isinstance(t, Parameter):
                    if not isinstance(given, Parameter):
                        given = Parameter(given, requires_grad=t.requires_grad)
                    else:
                        given.requires_grad_(t.requires_grad)
                if future.get_swap_module_params_on_conversion() and name in self._parameters:
                    swap_tensors(t, given)
                else:
                    setattr(self, name, given)
        except Exception as error:  # whatever went wrong is told, with all else that is wrong, when all was tried
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {t.size()} and whose '
                f"dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
            )
        return None

    # ---- hooks

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module's state is saved."""
        return register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` when the module's state has been saved."""
        hook._from_public_api = True
        return register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but the hook may return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return register(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook before the module's state is loaded, as `hook(module, state_dict, prefix, local_metadata,
        strict, missing_keys, unexpected_keys, error_msgs)`."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """As `register_load_state_dict_pre_hook`, but the hook gets the module only `with_module`."""
        return register(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` when the module's state has been loaded."""
        return register(self._load_state_dict_post_hooks, hook)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _never_called(method: str) -> RuntimeError:
    return RuntimeError(
        f"Reached a code path in Module.{method}() that should never be called. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
    )
