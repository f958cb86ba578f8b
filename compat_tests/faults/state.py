"""All state of the thread and of the process that a program may change, as values that can be compared."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np

import torchlite as torch
from torchlite import _ops, settings
from torchlite.amp import autocast_mode, legacy
from torchlite.autograd.saved_hooks import _SavedBeforeWrites
from torchlite.core.machine import format as printing
from torchlite.core.state.mode import Mode, State, local
from torchlite.core.structs import ModeParts, StateParts
from torchlite.nn.modules import module as modules
from torchlite.nn.utils import parametrize
from torchlite.operations.products import attention_kernels
from torchlite.serialization import options
from torchlite.utils import checkpoint
from torchlite.utils.data.datapipes import _decorator

from .catalogue import Scene

STREAM = "the default stream"
_SWITCHES = [
    name for name in (*ModeParts.__slots__, *Mode.__slots__) if name not in ("beneath", "toggled", "transforming")
]


def mode_of(mode: Mode) -> dict[str, Any]:
    return {name: getattr(mode, name) for name in _SWITCHES}


def running_threads() -> int:
    """How many go on, after those that are about to end have had the time for it."""
    for thread in threading.enumerate():
        if thread.is_alive() and thread is not threading.current_thread():
            thread.join(10)
    return sum([thread.is_alive() for thread in threading.enumerate()])


def of_thread() -> dict[str, Any]:
    state = local.state
    found = {
        name: getattr(state, name)
        for name in (*StateParts.__slots__, *State.__slots__)
        if name not in ("mode", "quiet")
    }
    return found | {f"mode.{name}": value for name, value in mode_of(state.mode).items()}


def of_process() -> dict[str, Any]:
    found: dict[str, Any] = {
        "default dtype": torch.get_default_dtype(),
        "deterministic": (torch.are_deterministic_algorithms_enabled(), torch.get_deterministic_debug_mode()),
        "threads of kernels": torch.get_num_threads(),
        "always warns": settings.is_warn_always_enabled(),
        "print options": printing._options,
        "kernels of attention": dict(attention_kernels._kernels),
        "frozen": torch.backends.flags_frozen(),
        "cudnn, mkldnn": (torch.backends.cudnn.enabled, torch.backends.mkldnn.enabled),
        "sparse checks": torch.sparse.check_sparse_tensor_invariants.is_enabled(),
        "autocast dtypes": dict(autocast_mode._DTYPES),
        "autocast nesting": legacy._nesting,
        "mutation allowed": _SavedBeforeWrites.open,
        "parametrized": (parametrize._kept.depth, len(parametrize._kept.values)),
        "checkpoint": (checkpoint._Settings.debug, checkpoint._Settings.early_stop),
        "graph group": checkpoint.GraphExecGroup._get_current_group(),
        "skips data": options.here.skip_data,
        "operators inside": _ops._inside.operators,
        "pipes": _decorator._deterministic,
        "errors of NumPy": np.geterr(),
        STREAM: torch.get_rng_state().numpy().tobytes(),
        "running threads": running_threads(),
    }
    for name, value in vars(modules).items():
        if name.startswith("_global") and hasattr(value, "__len__"):
            found[name] = len(value)
    return found


def of_scene(scene: Scene) -> dict[str, Any]:
    """What the tensors of a program are: of no transform, leaves as before, with as many hooks."""
    tensors = {"x": scene.x, "w": scene.w, **dict(scene.model.named_parameters())}
    found: dict[str, Any] = {}
    for name, t in tensors.items():
        array = t.detach()._array
        found[name] = (
            type(t), type(array), t._backend, array.shape, t.dtype, t.requires_grad, t.is_leaf, t.is_inference(),
            len(t._backward_hooks or ()), "tangents" if t._extra is not None and t._extra.tangents else "",
        )  # fmt: skip
    for name, module in scene.model.named_modules():
        found[f"module {name}"] = (
            sorted(module._parameters), module.training, len(module._forward_hooks), type(module)
        )  # fmt: skip
    found["hooks of the optimizer"] = len(scene.sgd._optimizer_step_post_hooks)
    return found


def snapshot(scene: Scene) -> dict[str, Any]:
    return of_thread() | of_process() | of_scene(scene)


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is not as it was."""
    return [name for name in before if before[name] != after[name]]


def works() -> list[str]:
    """What ordinary programs give that is not what they must."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    plain = torch.tensor([1.0, 2.0])
    f = lambda v: (v * v).sum()
    results = {
        "gradient": (x.grad.tolist(), [2.0, 4.0, 6.0]),
        "sum": (torch.ones(2, 2).sum().item(), 4.0),
        "device": (str(torch.ones(1).device), "cpu"),
        "dtype": (torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype, torch.float32),
        "func.grad": (torch.func.grad(f)(plain).tolist(), [2.0, 4.0]),
        "func.vmap": (torch.func.vmap(f)(torch.ones(2, 2)).tolist(), [2.0, 2.0]),
        "func.jvp": (torch.func.jvp(f, (plain,), (plain,))[1].item(), 10.0),
        "no history": (f(plain).grad_fn, None),
    }
    return [f"{name}: {got!r}" for name, (got, wanted) in results.items() if got != wanted]


def reset() -> None:
    """A fresh state of the thread, after something was left in it."""
    local.state = State()
    gc.collect()
