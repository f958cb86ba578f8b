"""Programs as data, and the interpreter that runs them on either library."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import CodeType, ModuleType
from typing import Any

from .observe import (
    Json,
    Tensor,
    Values,
    gradient,
    keeps_grad,
    name_of,
    observe,
    observe_any,
    owners_of_memory,
    said,
    seen_or_error,
)
from .prelude import EVERYTHING


@dataclass(frozen=True)
class Step:
    """One line of a program: a row of the table, what fills its holes, the name its value gets, the mode it runs in."""

    op: str
    fills: dict[str, str]
    name: str = ""
    mode: str = ""

    @cached_property
    def line(self) -> str:
        """The step as Python, to be run and to be read."""
        line = self.op.format(**self.fills)
        if self.name:
            line = f"{self.name} = {line}"
        return f"with {self.mode}: {line}" if self.mode else line


Program = tuple[Step, ...]


@lru_cache(1000)
def compiled(line: str) -> CodeType:
    """A line's code: the one that draws a program, and both libraries, run it."""
    return compile(line, "<program>", "exec")


def same_every_time(torch: ModuleType) -> None:
    """Set PyTorch up so that what a program gives does not depend on what ran before it."""
    torch.set_num_threads(1)
    torch.set_warn_always(True)  # some warnings come only once in a process


@lru_cache
def given(torch: ModuleType) -> dict[str, Any]:
    """What a program in one library finds there."""
    namespace = {"torch": torch}
    exec(EVERYTHING, namespace)
    return namespace


@lru_cache(1000)
def cotangent(torch: ModuleType, shape: tuple[int, ...], dtype: Any) -> Tensor:
    """What a pass from a tensor of that shape starts with."""
    return given(torch)["cotangent"](torch.empty(shape, dtype=dtype))


class Run:
    """A program being run on one library: the variables it has made, the error and the warnings of each step."""

    def __init__(self, torch: ModuleType, program: Program = ()):
        self.torch = torch
        self.namespace: dict[str, Any] = {**given(torch), "told": []}
        self.told = self.namespace["told"]
        self.errors: list[str | None] = []
        self.warned: list[list[str]] = []
        torch.default_generator.manual_seed(0)  # of the CPU alone: `torch.manual_seed` asks every kind of device
        for step in program:
            self.step(step)

    def step(self, step: Step) -> Exception | None:
        """Run one more step. One that raises makes no variable, and the program goes on; returns what it raised."""
        raised, told = None, len(self.told)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                exec(compiled(step.line), self.namespace)
            except Exception as error:  # what it says is compared
                raised = error
                del self.told[told:]  # how far it came is left to chance
        self.errors.append(raised and said(raised))
        self.warned.append([said(warning.message) for warning in warned])
        return raised

    def values(self) -> Iterator[tuple[str, Any]]:
        """Every live value with the Python text that reaches it; the items of a tuple one by one."""
        for name, value in self.namespace.items():
            if not name.startswith("v"):
                continue
            if isinstance(value, (tuple, list)) and any(isinstance(item, self.torch.Tensor) for item in value):
                yield from ((f"{name}[{i}]", item) for i, item in enumerate(value))
            else:
                yield name, value

    def tensors(self) -> dict[str, Tensor]:
        """Every live tensor by the text that reaches it."""
        return {name: value for name, value in self.values() if isinstance(value, self.torch.Tensor)}

    def outcome(self) -> dict[str, Json]:
        """All that can be seen of the run: errors, values, gradients, what hooks told. Ends the run: calls backward."""
        tensors = self.tensors()
        owners = owners_of_memory(tensors)
        values = {
            name: observe(value, tensors, owners) if name in tensors else observe_any(value)
            for name, value in self.values()
        }
        gradients = self.gradients(tensors)
        told = {f"told[{i}]": observe_any(item) for i, item in enumerate(self.told)}
        return {"errors": self.errors, "warned": self.warned, "values": values, "gradients": gradients, "told": told}

    def roots(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """The differentiable tensors, each object once."""
        return {name: t for name, t in tensors.items() if t.requires_grad and name_of(t, tensors) == name}

    def gradients(self, tensors: dict[str, Tensor]) -> Values:
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
        """Backward from some tensors with fixed cotangents. Tells the error it raised, if it did."""
        told = len(self.told)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cotangents = [cotangent(self.torch, tuple(t.shape), t.dtype).clone() for t in roots]
                self.torch.autograd.backward(roots, cotangents, retain_graph=True)
        except Exception as error:
            del self.told[told:]
            return said(error)
        return None
