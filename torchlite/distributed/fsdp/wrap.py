"""Which modules inside of one are sharded by themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...core.values import shown_in
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module
from ...nn.modules.multihead_attention import MultiheadAttention

__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap",
]  # fmt: skip

_enabled: list[tuple[Any, dict[str, Any]]] = []


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module by itself."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Modules of which a function says so."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """Modules of some classes: the layers of a transformer."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, min_num_params: int = 100_000_000,
    force_leaf_modules: set[type[Module]] | None = None, exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:  # fmt: skip
    """Modules with so many numbers in parameters that no module inside of them has for itself."""
    leaves = {MultiheadAttention} if force_leaf_modules is None else force_leaf_modules
    excluded = {ModuleList, ModuleDict} if exclude_wrap_modules is None else exclude_wrap_modules
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, tuple(leaves if recurse else excluded))


def _or_policy(module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]) -> bool:
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


@shown_in("torch.distributed.fsdp.wrap")
class ModuleWrapPolicy:
    """Modules of some classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"ModuleWrapPolicy({self._module_classes})"


@shown_in("torch.distributed.fsdp.wrap")
class CustomPolicy:
    """Modules of which a function says so: True, or the options they are wrapped with."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> Any:
        return recurse or self._lambda_fn(module)


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Let `wrap` wrap modules, by a class that is given these options."""
    _enabled.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _enabled.pop()


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """The module, wrapped where `enable_wrap` says so."""
    if not _enabled:
        return module
    wrapper_cls, options = _enabled[-1]
    return wrapper_cls(module, **{**options, **wrap_overrides})


def wrap_inside(
    module: Module, policy: Any, wrapper: Callable[..., Module], ignored: set[Module], least: int = 1
) -> int:
    """Wrap the modules inside of one for which a policy is; how many numbers are in parameters of wrapped ones.

    What has fewer than the `least` numbers in its parameters is left as it is.
    """
    wrapped = 0
    for name, child in module.named_children():
        if child in ignored:
            continue
        numel = sum(param.numel() for param in child.parameters())
        inside = 0
        if policy(module=child, recurse=True, nonwrapped_numel=numel):
            inside = wrap_inside(child, policy, wrapper, ignored, least)
        chosen = numel >= least and policy(module=child, recurse=False, nonwrapped_numel=numel - inside)
        if chosen:
            setattr(module, name, wrapper(child, **(chosen if isinstance(chosen, dict) else {})))
            inside = numel
        wrapped += inside
    return wrapped
