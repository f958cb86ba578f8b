"""`torch.utils.hooks`: handles of hooks, and the hooks around a module's part of the backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.machine import RemovableHandle, Tensor
from ..core.values import shown_in, warn

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks", "BackwardHook"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook as one that is not expected to be saved with its tensor."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of each hook of a tensor that will not be saved with it."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning"
            )


@shown_in("torch.utils.hooks")
class BackwardHook:
    """Calls a module's hooks when the gradients of its outputs, and those of its inputs, are known.

    All inputs pass through one node, and all outputs through another; the hooks are theirs.
    """

    def __init__(self, module: Any, user_hooks: Sequence[Any], user_pre_hooks: Sequence[Any]) -> None:
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.module = module
        self.grad_outputs: tuple[Any, ...] | None = None  # between the two moments
        self.n_outputs = -1
        self.output_tensors_index: list[int] | None = None
        self.n_inputs = -1
        self.input_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> Any:
        """The inputs as the module's `forward` is to get them."""
        args, self.input_tensors_index, node = _through_one_node(args)
        self.n_inputs = len(args)

        def hook(gradients: Any, _: Any) -> Any:
            return self._inputs_known(gradients)

        if node is not None:
            node.register_hook(hook)
        return args

    def setup_output_hook(self, args: tuple[Any, ...]) -> Any:
        """The outputs as the module's caller is to get them."""
        single = not isinstance(args, tuple)
        args, self.output_tensors_index, node = _through_one_node((args,) if single else args)
        self.n_outputs = len(args)

        def hook(_: Any, gradients: Any) -> Any:
            return self._outputs_known(gradients)

        if node is not None:
            node.register_hook(hook)
        return args[0] if single else args

    def _outputs_known(self, gradients: Sequence[Any]) -> tuple[Any, ...] | None:
        assert self.output_tensors_index is not None
        self.grad_outputs = _spread(self.output_tensors_index, gradients, self.n_outputs)
        for hook in self.user_pre_hooks:
            found = hook(self.module, self.grad_outputs)
            if found is not None:
                if len(found) != len(self.grad_outputs):
                    raise RuntimeError(
                        f"Backward pre hook returned an invalid number of grad_output, got {len(found)}, but expected "
                        f"{len(self.grad_outputs)}"
                    )
                self.grad_outputs = found
        outputs = self.grad_outputs
        if self.input_tensors_index is None:
            self._no_gradient_for_inputs()
        return None if outputs is None else tuple([outputs[i] for i in self.output_tensors_index])

    def _no_gradient_for_inputs(self) -> None:
        """No input requires grad: the hooks are called now."""
        warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details."
        )
        nothing = (None,) * self.n_inputs
        for hook in self.user_hooks:
            found = hook(self.module, nothing, self.grad_outputs)
            if found is not None and not (isinstance(found, tuple) and all([g is None for g in found])):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
        self.grad_outputs = None

    def _inputs_known(self, gradients: Sequence[Any]) -> tuple[Any, ...] | None:
        if self.grad_outputs is None:  # the gradient has not come through the outputs
            return None
        assert self.input_tensors_index is not None
        known = _spread(self.input_tensors_index, gradients, self.n_inputs)
        for hook in self.user_hooks:
            found = hook(self.module, known, self.grad_outputs)
            if found is not None:
                if len(found) != len(known):
                    raise RuntimeError(
                        f"Backward hook returned an invalid number of grad_input, got {len(found)}, but expected "
                        f"{len(known)}"
                    )
                known = found
        self.grad_outputs = None
        return tuple([known[i] for i in self.input_tensors_index])


def _spread(places: Sequence[int], values: Sequence[Any], size: int) -> tuple[Any, ...]:
    """`values` at their places among as many Nones."""
    found: list[Any] = [None] * size
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return tuple(found)


def _through_one_node(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int] | None, Any]:
    """The tensors among `args` passed through one node: `args` anew, where the tensors are in it, and the node.

    Nothing is passed through where no gradient will be asked for.
    """
    from ..autograd.grad_mode import is_grad_enabled
    from ..nn.modules._functions import BackwardHookFunction

    places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not (is_grad_enabled() and any([args[i].requires_grad for i in places])):
        return args, None, None
    results = BackwardHookFunction.apply(*[args[i] for i in places])
    nodes = [t.grad_fn for t in results if t.grad_fn is not None]
    made = list(args)
    for place, result in zip(places, results, strict=True):
        made[place] = result
    if type(args) is tuple:
        return tuple(made), places, nodes[0]
    return type(args)(*made), places, nodes[0]  # a named tuple
