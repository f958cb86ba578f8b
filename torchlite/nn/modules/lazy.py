"""Modules that learn the shapes of their parameters from the first input: `LazyModuleMixin`."""

from __future__ import annotations

from typing import Any

from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """What makes a module lazy; it stands before the module's class among the bases.

    Parameters start as `UninitializedParameter`. Before the first `forward`, `initialize_parameters` is called with its
    arguments, to `materialize` them; then the module becomes one of the class `cls_to_become`, if that is given.
    """

    cls_to_become: type | None = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(_before_loading, with_module=True)
        self._initialize_hook = self.register_forward_pre_hook(_before_forward, with_kwargs=True)

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, t in self._own_state():
            destination[prefix + name] = t if is_lazy(t) or keep_vars else t.detach()

    def _lazy_load_hook(
        self: Any, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Take the shapes of the tensors that are about to be loaded."""
        for name, t in self._own_state():
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(t) and not is_lazy(given):
                t.materialize(given.shape)

    def initialize_parameters(self: Any, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters, as the arguments of `forward` show; for subclasses to define."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Whether some parameters or buffers still wait for their shape."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(self: Any, module: Any, args: tuple[Any, ...], kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
            "correctly initialize the modules"
        )


def lazy_twin(become: type, *bases: type, learns: str) -> Any:
    """The class of modules that become ones of class `become`, once they know what their first input shows."""
    own = {name: vars(become)[name] for name in ("dims", "_check_input_dim") if name in vars(become)}
    said = f"A `{become.__name__}` that takes {learns} from its first input."
    more = {"cls_to_become": become, "__doc__": said, "__module__": become.__module__}
    return type(f"Lazy{become.__name__}", bases, own | more)


# Functions, not bound methods: a module that held those would hold itself.


def _before_loading(module: Any, *args: Any) -> None:
    module._lazy_load_hook(*args)


def _before_forward(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    module._infer_parameters(module, args, kwargs)
