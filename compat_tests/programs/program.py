"""Programs as data, the interpreter that runs them on either library, and what is seen of a run."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Tensor = Any  # of whichever library runs the program
Json = Any  # what is seen of a run is plain data, so that it can be compared with a recorded one


@dataclass(frozen=True)
class Step:
    """One line of a program: a row of the table, what fills its holes, the name its value gets, the mode it runs in."""

    op: str
    fills: dict[str, str]
    name: str = ""
    mode: str = ""

    @property
    def line(self) -> str:
        """The step as Python, to be run and to be read."""
        line = self.op.format(**self.fills)
        if self.name:
            line = f"{self.name} = {line}"
        return f"with {self.mode}: {line}" if self.mode else line


Program = tuple[Step, ...]


class Run:
    """A program being run on one library: the variables it has made, and the type of the error each step raised."""

    def __init__(self, torch: ModuleType, program: Program = ()):
        self.torch = torch
        self.namespace: dict[str, Any] = {"torch": torch}
        self.errors: list[str | None] = []
        for step in program:
            self.step(step)

    def step(self, step: Step) -> Exception | None:
        """Run one more step. One that raises makes no variable, and the program goes on; returns what it raised."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(step.line, self.namespace)
        except Exception as error:  # which type it was is compared
            self.errors.append(type(error).__name__)
            return error
        self.errors.append(None)
        return None

    def values(self) -> Iterator[tuple[str, Any]]:
        """Every live value with the Python text that reaches it; the items of a tuple one by one."""
        for name, value in self.namespace.items():
            if name == "torch" or name.startswith("__"):
                continue
            if isinstance(value, tuple | list) and any(isinstance(item, self.torch.Tensor) for item in value):
                yield from ((f"{name}[{i}]", item) for i, item in enumerate(value))
            else:
                yield name, value

    def tensors(self) -> dict[str, Tensor]:
        """Every live tensor by the text that reaches it."""
        return {name: value for name, value in self.values() if isinstance(value, self.torch.Tensor)}

    def outcome(self) -> dict[str, Json]:
        """All that can be seen of the run: errors, values, then gradients. Ends the run, for it calls backward."""
        tensors = self.tensors()
        seen = {
            name: observe(value, tensors) if name in tensors else {"type": type(value).__name__, "values": flat(value)}
            for name, value in self.values()
        }
        return {"errors": self.errors, "values": seen, "gradients": self.gradients(tensors)}

    def roots(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """The differentiable tensors, each object once."""
        return {name: t for name, t in tensors.items() if t.requires_grad and name_of(t, tensors) == name}

    def gradients(self, tensors: dict[str, Tensor]) -> dict[str, Json]:
        """One backward from every differentiable tensor with fixed cotangents, and what it leaves in each `grad`.

        Where that raises, how far it came is left to chance; every tensor is then differentiated on its own, so that
        one stale tensor does not hide more.
        """
        roots = self.roots(tensors)
        leaves = {name: t for name, t in tensors.items() if seen_or_error(lambda t=t: keeps_grad(t)) is True}
        if not roots:
            return {}
        error = self.backward(list(roots.values()))
        found = {"backward": {"error": error}}
        if not error:
            found |= {f"{name}.grad": gradient(t) for name, t in leaves.items()}
        for name, root in roots.items() if error else ():
            for t in leaves.values():
                t.grad = None
            alone = self.backward([root])
            found[f"backward from {name}"] = {"error": alone}
            if not alone:
                found |= {f"{leaf}.grad from {name}": gradient(t) for leaf, t in leaves.items()}
        return found

    def backward(self, roots: list[Tensor]) -> str | None:
        """Backward from some tensors with fixed cotangents. Tells the type of the error it raised, if it did."""
        try:
            self.torch.autograd.backward(roots, [cotangent(self.torch, t) for t in roots], retain_graph=True)
        except Exception as error:
            return type(error).__name__
        return None


# -- What is seen of a tensor ------------------------------------------------------------------------------------------


def flat(value: Any) -> list[Json]:
    """The numbers in nested lists one after another, complex ones as two."""
    if isinstance(value, tuple | list):
        return [number for item in value for number in flat(item)]
    if isinstance(value, complex):
        return [value.real, value.imag]
    return [value if isinstance(value, bool | int | float | str | None) else str(value)]


def numbers(tensor: Tensor) -> list[Json]:
    """A tensor's values in order. A copy is read, for PyTorch's gradients may be zeros that have no memory."""
    return flat(tensor.detach().clone().tolist())


FIELDS: dict[str, Callable[[Tensor], Json]] = {
    "dtype": lambda t: str(t.dtype),
    "shape": lambda t: list(t.shape),
    "values": numbers,
    "stride()": lambda t: list(t.stride()),
    "storage_offset()": lambda t: t.storage_offset(),
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "grad_fn": lambda t: t.grad_fn and t.grad_fn.name(),
    "_version": lambda t: t._version,
}


def observe(tensor: Tensor, tensors: dict[str, Tensor]) -> dict[str, Json]:
    """Every field of a tensor, and which of the live tensors are the same object or its base."""
    seen = look_at(tensor, FIELDS)
    seen["is"] = name_of(tensor, tensors)
    seen["_base"] = seen_or_error(lambda: name_of(tensor._base, tensors))
    return seen


def look_at(tensor: Tensor, fields: Iterable[str]) -> dict[str, Json]:
    return {field: seen_or_error(lambda field=field: FIELDS[field](tensor)) for field in fields}


def keeps_grad(tensor: Tensor) -> bool:
    return tensor.requires_grad and (tensor.is_leaf or tensor.retains_grad)


def name_of(tensor: Tensor | None, tensors: dict[str, Tensor]) -> str | None:
    if tensor is None:
        return None
    return next((name for name, other in tensors.items() if other is tensor), "a tensor with no name")


def seen_or_error(look: Callable[[], Json]) -> Json:
    """What a look gives, or which error it raises: reading a field is part of what is compared."""
    try:
        return look()
    except Exception as error:
        return f"raises {type(error).__name__}"


def cotangent(torch: ModuleType, tensor: Tensor) -> Tensor:
    """Fixed numbers of a tensor's shape and type, all different, none of them special."""
    numbers = [0.5 + 0.07 * i for i in range(math.prod(tensor.shape))]
    return torch.tensor(numbers, dtype=tensor.dtype).reshape(tensor.shape)


def gradient(tensor: Tensor) -> Json:
    """What is in a tensor's `grad`."""
    grad = tensor.grad
    return {"grad": None} if grad is None else look_at(grad, ("dtype", "shape", "values"))
