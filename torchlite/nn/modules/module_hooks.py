"""Calling a module, with the hooks around its `forward` and around its part of the backward pass."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ...core.machine import RemovableHandle, Tensor, register
from ...core.native import named, native
from ...core.values import warn
from .module_state import _WrappedHook

Hooks = OrderedDict[int, Callable[..., Any]]
Flags = OrderedDict[int, bool]  # by the number of the hook; only True is in it

# The dictionaries of a module that hold hooks, or say something of them.
HOOKS = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip

# Hooks of all modules. They run before a module's own.
_global_buffer_registration_hooks: Hooks = OrderedDict()
_global_module_registration_hooks: Hooks = OrderedDict()
_global_parameter_registration_hooks: Hooks = OrderedDict()
_global_backward_pre_hooks: Hooks = OrderedDict()
_global_backward_hooks: Hooks = OrderedDict()
_global_forward_pre_hooks: Hooks = OrderedDict()
_global_forward_hooks: Hooks = OrderedDict()
_global_forward_hooks_always_called: Flags = OrderedDict()
_global_forward_hooks_with_kwargs: Flags = OrderedDict()


class ModuleHooks:
    """How a module is called."""

    forward: Callable[..., Any]
    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks
    _is_full_backward_hook: bool | None
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: Flags
    _forward_hooks_always_called: Flags
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: Flags

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
        ):
            return _Call(self).run(args, kwargs)
        return self.forward(*args, **kwargs)

    if native is not None:
        _wrapped_call_impl = named(
            native.module_call(
                _wrapped_call_impl,
                (_global_backward_hooks, _global_backward_pre_hooks, _global_forward_hooks, _global_forward_pre_hooks),
            ),
            _wrapped_call_impl,
        )
    __call__ = _call_impl = _wrapped_call_impl

    # ---- registering

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before each `forward`; what it returns replaces the arguments.

        With `with_kwargs`, it is called as `hook(module, args, kwargs)` and returns both, or None.
        """
        flags = [(self._forward_pre_hooks_with_kwargs, with_kwargs)]
        return register(self._forward_pre_hooks, hook, prepend, flags)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after each `forward`; what it returns replaces the output.

        With `with_kwargs`, it is called as `hook(module, args, kwargs, output)`; with `always_call`, also when forward
        or another hook fails.
        """
        flags = [(self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call)]
        return register(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the outputs are known; it may replace them."""
        return register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known; it may replace
        those."""
        self._check_backward_hooks(full=True)
        return register(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook with the gradients of the last operation of `forward`. Deprecated."""
        self._check_backward_hooks(full=False)
        return register(self._backward_hooks, hook)

    def _check_backward_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = full

    def _get_backward_pre_hooks(self) -> list[Any]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _maybe_warn_non_full_backward_hook(self, inputs: Any, result: Any, grad_fn: Any) -> None:
        problem = _missed(inputs, result, grad_fn)
        if problem is not None:
            where, what = problem
            warn(
                f"Using {where} is deprecated and will be removed in future versions. This hook will be missing some "
                f"{what}. Please use register_full_backward_hook to get the documented behavior.",
                FutureWarning,
            )


def _missed(inputs: Any, result: Any, grad_fn: Any) -> tuple[str, str] | None:
    """Of which modules a backward hook that is not full misses gradients, and of what; None if it misses none."""
    results = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(results, tuple) and all([isinstance(r, Tensor) for r in results])):
        return "non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors", (
            "of the grad_output"
        )
    given = (inputs,) if isinstance(inputs, Tensor) else inputs
    if not (isinstance(given, tuple) and all([isinstance(i, Tensor) for i in given])):
        return (
            "non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors",
            "of the grad_input",
        )
    if len({r.grad_fn for r in results if r.grad_fn is not None} | {grad_fn}) > 1:
        return "a non-full backward hook when outputs are generated by different autograd Nodes", "grad_output"
    nodes = {i.grad_fn for i in given if i.grad_fn is not None}
    if {node for node, _ in grad_fn.next_functions} != nodes:
        return "a non-full backward hook when the forward contains multiple autograd Nodes", "grad_input"
    return None


# ---- a call


class _Call:
    """One call of a module that has hooks."""

    __slots__ = ("called", "module", "result")

    def __init__(self, module: Any) -> None:
        self.module = module
        self.called: set[int] = set()  # those of the hooks to be always called that were
        self.result: Any = None

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not (self.module._forward_hooks_always_called or _global_forward_hooks_always_called):
            return self.inner(args, kwargs)
        try:
            return self.inner(args, kwargs)
        except Exception:
            self.call_the_rest(args, kwargs)
            raise

    def inner(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        module = self.module
        full: list[Any] = []
        regular: list[Any] = []
        before: list[Any] = []
        if module._backward_pre_hooks or _global_backward_pre_hooks:
            before = module._get_backward_pre_hooks()
        if module._backward_hooks or _global_backward_hooks:
            full, regular = module._get_backward_hooks()
        args, kwargs = self.before_forward(args, kwargs)
        around = None
        if full or before:
            from ...utils.hooks import BackwardHook

            around = BackwardHook(module, full, before)
            args = around.setup_input_hook(args)
        self.result = module.forward(*args, **kwargs)
        for number, hook, with_kwargs, always in self.forward_hooks():
            if always:
                self.called.add(number)
            found = hook(module, args, kwargs, self.result) if with_kwargs else hook(module, args, self.result)
            if found is not None:
                self.result = found
        if around is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                    f"received {type(self.result)}"
                )
            self.result = around.setup_output_hook(self.result)
        if regular:
            self.hook_last_node(regular, args)
        return self.result

    def before_forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        module = self.module
        for number, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            if number in module._forward_pre_hooks_with_kwargs:
                found = hook(module, args, kwargs)
                if found is not None:
                    if not (isinstance(found, tuple) and len(found) == 2):
                        raise RuntimeError(
                            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {found}."
                        )
                    args, kwargs = found
            else:
                found = hook(module, args)
                if found is not None:
                    args = found if isinstance(found, tuple) else (found,)
        return args, kwargs

    def forward_hooks(self) -> Iterator[tuple[int, Any, bool, bool]]:
        """The forward hooks: their number, whether they get kwargs, and whether they are always called."""
        module = self.module
        for hooks, with_kwargs, always in (
            (_global_forward_hooks, _global_forward_hooks_with_kwargs, _global_forward_hooks_always_called),
            (module._forward_hooks, module._forward_hooks_with_kwargs, module._forward_hooks_always_called),
        ):
            for number, hook in tuple(hooks.items()):
                yield number, hook, number in with_kwargs, number in always

    def hook_last_node(self, hooks: list[Any], args: tuple[Any, ...]) -> None:
        """Register hooks that are not full on the node of the (first) result."""
        t = self.result
        while not isinstance(t, Tensor):
            t = next(v for v in t.values() if isinstance(v, Tensor)) if isinstance(t, dict) else t[0]
        node = t.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(_WrappedHook(hook, self.module))
            self.module._maybe_warn_non_full_backward_hook(args, self.result, node)

    def call_the_rest(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """After a failure, call the hooks that are always called and were not yet."""
        module = self.module
        for number, hook, with_kwargs, always in self.forward_hooks():
            if always and number not in self.called:
                self.called.add(number)
                common = number in _global_forward_hooks
                try:
                    if with_kwargs and not common:  # PyTorch gives those of all modules no kwargs here
                        found = hook(module, args, kwargs, self.result)
                    else:
                        found = hook(module, args, self.result)
                    if found is not None:
                        self.result = found
                except Exception as error:  # the failure that is under way is the one to be seen
                    kind = "global module" if common else "module"
                    warn(
                        f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}"
                    )


# ---- hooks of all modules


def _has_any_global_hook() -> bool:
    return bool(
        _global_backward_pre_hooks or _global_backward_hooks or _global_forward_hooks or _global_forward_pre_hooks
    )


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when any module gets a buffer; what it returns is taken instead."""
    return register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` when any module gets a child; what it returns is taken instead."""
    return register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` when any module gets a parameter; what it returns is taken instead."""
    return register(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `Module.register_forward_pre_hook`, for all modules."""
    return register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """As `Module.register_forward_hook`, for all modules."""
    flags = [(_global_forward_hooks_with_kwargs, with_kwargs), (_global_forward_hooks_always_called, always_call)]
    return register(_global_forward_hooks, hook, flags=flags)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `Module.register_full_backward_pre_hook`, for all modules."""
    return register(_global_backward_pre_hooks, hook)
