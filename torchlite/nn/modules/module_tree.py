"""Walking through a module: its parameters, buffers and children, by name or one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

from ...core.machine import Tensor
from ...core.values import warn
from ..parameter import Parameter


def typename(value: Any) -> str:
    """The type of a value, as errors name it."""
    if isinstance(value, Tensor):
        return value.type()
    cls = value if isinstance(value, type) else type(value)
    return cls.__qualname__ if cls.__module__ in ("builtins", "__builtin__", "") else f"{cls.__module__}.{cls.__name__}"


class ModuleTree:
    """How the submodules, parameters and buffers of a module are found and listed."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    training: bool

    def _named_members(
        self, get_members_fn: Callable[[Any], Any], prefix: str = "", recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:  # fmt: skip
        """The members that `get_members_fn` finds in each module."""
        seen: dict[int, Any] = {}  # by id, which is all that makes two members the same
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            members = get_members_fn(module)
            if members and path:
                path += "."
            for name, member in members:
                if member is None:
                    continue
                if remove_duplicate:
                    key = id(member)
                    if key in seen:
                        continue
                    seen[key] = member
                yield path + name, member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters; with `recurse`, those of the modules inside too."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Names and parameters. One that has several names comes once, unless `remove_duplicate` is False."""
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers; with `recurse`, those of the modules inside too."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Names and buffers. One that has several names comes once, unless `remove_duplicate` is False."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Any]:
        """The modules directly inside this one, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Names and modules directly inside this one, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and all inside it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This module and all inside it, with their dotted names."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        if children := self._modules:
            lead = prefix + "." if prefix else ""
            for name, module in children.items():
                if module is not None:
                    yield from module.named_modules(memo, lead + name, remove_duplicate)

    # ---- by dotted name

    def get_submodule(self, target: str) -> Any:
        """The module inside this one with a dotted name."""
        module: Any = self
        for name in target.split(".") if target != "" else ():
            module = _child(module, name)
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put a module in place of the one with a dotted name; with `strict` there must be one."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, ModuleTree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            _child(parent, name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name."""
        found = self._attribute(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a dotted name."""
        found = self._attribute(target)
        path, _, name = target.rpartition(".")
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _attribute(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return getattr(owner, name)

    # ---- all modules at once

    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn` on all modules inside, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Switch to training (`mode=True`) or evaluation."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Switch to evaluation."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for the gradients of all parameters, or stop asking."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        if getattr(self, "_is_replica", False):
            warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are "
                "copied (in a differentiable manner) from the original module. This means they are not leaf nodes in "
                "autograd and so don't accumulate gradients. If you need gradients in your forward method, consider "
                "using autograd.grad instead."
            )
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                if parameter.grad.grad_fn is not None:
                    parameter.grad.detach_()
                else:
                    parameter.grad.requires_grad_(False)
                parameter.grad.zero_()


def _child(module: Any, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    found = getattr(module, name)
    if not isinstance(found, ModuleTree):
        raise AttributeError(f"`{name}` is not an nn.Module")
    return found
