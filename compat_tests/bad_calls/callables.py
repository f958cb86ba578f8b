"""Which callables there are: what both libraries have under the same public name."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

MODULES = (
    "torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "torch.func", "torch.autograd",
    "torch.autograd.functional", "torch.autograd.forward_ad", "torch.autograd.graph", "torch.nn", "torch.nn.init",
    "torch.nn.utils", "torch.nn.utils.rnn", "torch.nn.utils.parametrize", "torch.nn.utils.parametrizations",
    "torch.nn.utils.prune", "torch.nn.utils.stateless", "torch.nn.attention", "torch.optim", "torch.optim.lr_scheduler",
    "torch.optim.swa_utils", "torch.distributions", "torch.distributions.kl", "torch.distributions.constraints",
    "torch.distributions.transforms", "torch.utils.data", "torch.signal.windows", "torch.random", "torch.amp",
    "torch.masked", "torch.testing", "torch.utils", "torch.utils.checkpoint", "torch.utils.dlpack", "torch.overrides",
)  # fmt: skip

# Objects whose methods are called.
OBJECTS = {
    "torch.Generator": "torch.Generator()", "torch.Size": "torch.Size([2, 3])", "torch.finfo": "torch.finfo()",
    "torch.UntypedStorage": "torch.UntypedStorage(8)", "torch.dtype": "torch.float32",
    "torch.nn.Module": "torch.nn.Linear(2, 3)", "torch.nn.Sequential": "torch.nn.Sequential(torch.nn.ReLU())",
    "torch.nn.ModuleList": "torch.nn.ModuleList([torch.nn.ReLU()])",
    "torch.nn.ModuleDict": "torch.nn.ModuleDict({'a': torch.nn.ReLU()})",
    "torch.nn.ParameterList": "torch.nn.ParameterList([T('float32', 2)])",
    "torch.nn.ParameterDict": "torch.nn.ParameterDict({'a': torch.nn.Parameter(T('float32', 2))})",
    "torch.optim.SGD": "torch.optim.SGD([T('float32', 2).requires_grad_()], lr=0.1)",
    "torch.optim.Adam": "torch.optim.Adam([T('float32', 2).requires_grad_()])",
    "torch.optim.lr_scheduler.StepLR":
        "torch.optim.lr_scheduler.StepLR(torch.optim.SGD([T('float32', 2).requires_grad_()]), 3)",
    "torch.distributions.Normal": "torch.distributions.Normal(T('float32', 3), 1.0)",
    "torch.distributions.Gamma": "torch.distributions.Gamma(2.0, 1.0)",
    "torch.distributions.Categorical": "torch.distributions.Categorical(torch.tensor([0.2, 0.8]))",
    "torch.distributions.Bernoulli": "torch.distributions.Bernoulli(0.5)",
    "torch.distributions.Dirichlet": "torch.distributions.Dirichlet(torch.tensor([0.2, 0.8]))",
    "torch.distributions.MultivariateNormal":
        "torch.distributions.MultivariateNormal(T('float32', 2), torch.eye(2))",
    "torch.distributions.AffineTransform": "torch.distributions.AffineTransform(1.0, 2.0)",
    "torch.utils.data.TensorDataset": "torch.utils.data.TensorDataset(T('float32', 4, 2))",
    "torch.utils.data.DataLoader": "torch.utils.data.DataLoader([1, 2, 3])",
    "torch.nn.utils.rnn.PackedSequence": "torch.nn.utils.rnn.pack_sequence([T('float32', 3, 2)])",
}  # fmt: skip

# Not called: they change the process, run or store code, or wait for others.
LEFT_OUT = {
    "torch.set_num_threads",
    "torch.set_num_interop_threads",
    "torch.compile",
    "torch.load",
    "torch.save",
    "torch.import_ir_module",
    "torch.import_ir_module_from_buffer",
    "torch.get_file_path",
    "torch.from_file",
    "torch.prepare_multiprocessing_environment",
    "torch.initialize_extensions",
    "torch.set_autocast_cache_enabled",
    "torch.utils.set_module",
    "torch.utils.swap_tensors",
    "torch.fork",
    "torch.wait",
    "torch.utils.generate_methods_for_privateuse1_backend",
    "torch.utils.rename_privateuse1_backend",
    "torch.Tensor.__class__",
    "torch.Tensor.share_memory_",
    "torch.UntypedStorage.from_file",
    "torch.UntypedStorage.share_memory_",
}

# Special methods that are called as others are.
SPECIAL = [
    "add",
    "radd",
    "iadd",
    "sub",
    "rsub",
    "isub",
    "mul",
    "rmul",
    "imul",
    "truediv",
    "rtruediv",
    "itruediv",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "pow",
    "rpow",
    "ipow",
    "matmul",
    "rmatmul",
    "and",
    "or",
    "xor",
    "iand",
    "ior",
    "ixor",
    "lshift",
    "rshift",
    "ilshift",
    "irshift",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "neg",
    "invert",
    "abs",
    "pos",
    "getitem",
    "setitem",
    "contains",
    "len",
    "iter",
    "bool",
    "int",
    "float",
    "complex",
    "index",
    "format",
    "array",
    "deepcopy",
    "reduce_ex",
    "setstate",
]


def get(torch: ModuleType, name: str) -> Any:
    """What a library has under PyTorch's name for it; AttributeError when it has none."""
    found: Any = torch
    for part in name.split(".")[1:]:
        if not hasattr(found, part) and inspect.ismodule(found):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


@functools.cache
def names(torch: ModuleType, module: ModuleType) -> tuple[str, ...]:
    """The names of all callables."""
    return tuple(sorted({name for name in _candidates(torch) if name not in LEFT_OUT and _shared(torch, module, name)}))


def _candidates(torch: ModuleType) -> Iterator[str]:
    for place in MODULES:
        for name, found in list(vars(get(torch, place)).items()):
            if not name.startswith("_") and _of_torch(found):
                yield f"{place}.{name}"
    for kind in ("torch.Tensor", *OBJECTS):
        special = {f"__{name}__" for name in SPECIAL}
        owner = get(torch, kind)
        contained = issubclass(owner, torch.nn.Module) and owner is not torch.nn.Module
        for name in vars(owner) if contained else dir(owner):
            if not name.startswith("_") or (name in special and kind == "torch.Tensor"):
                yield f"{kind}.{name}"


def _of_torch(found: Any) -> bool:
    if inspect.isclass(found) and issubclass(found, BaseException):
        return False
    return (getattr(found, "__module__", None) or "torch").startswith("torch") and not inspect.ismodule(found)


def _shared(torch: ModuleType, module: ModuleType, name: str) -> bool:
    try:
        return all(callable(get(library, name)) for library in (torch, module))
    except (AttributeError, ImportError):
        return False


def expression(name: str) -> str:
    """What stands before the parentheses: a method is called on an object, a tensor's on its first argument."""
    owner, _, last = name.rpartition(".")
    return f"{OBJECTS[owner]}.{last}" if owner in OBJECTS else name
