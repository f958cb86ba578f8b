"""Which public names of PyTorch torchlite has: ``python -m compat_tests.coverage`` writes ``docs/coverage.md``."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from torchlite.absent import Missing
from torchlite.testing.progress import progress

from .parity import gaps, samples
from .parity.library import Library

_FILE = Path(__file__).parent.parent / "docs" / "coverage.md"
_NAMESPACES = (
    "torch",
    "torch.Tensor",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.attention",
    "torch.nn.parameter",
    "torch.nn.utils",
    "torch.nn.utils.parametrizations",
    "torch.nn.utils.parametrize",
    "torch.nn.utils.prune",
    "torch.nn.utils.rnn",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.signal.windows",
    "torch.masked",
    "torch.sparse",
    "torch.autograd",
    "torch.autograd.forward_ad",
    "torch.autograd.function",
    "torch.autograd.functional",
    "torch.autograd.grad_mode",
    "torch.autograd.graph",
    "torch.autograd.profiler",
    "torch.func",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.optim.swa_utils",
    "torch.utils.checkpoint",
    "torch.utils.data",
    "torch.utils.dlpack",
    "torch.utils.hooks",
    "torch.distributions",
    "torch.distributions.constraint_registry",
    "torch.distributions.constraints",
    "torch.distributions.kl",
    "torch.distributions.transforms",
    "torch.distributed",
    "torch.distributed.checkpoint",
    "torch.distributed.fsdp",
    "torch.distributed.nn.functional",
    "torch.distributed.optim",
    "torch.nn.parallel",
    "torch.fx",
    "torch.random",
    "torch.serialization",
    "torch.amp",
    "torch.cpu",
    "torch.cuda",
    "torch.cuda.amp",
    "torch.compiler",
    "torch.futures",
    "torch.hub",
    "torch.library",
    "torch.multiprocessing",
    "torch.nested",
    "torch.overrides",
    "torch.package",
    "torch.profiler",
    "torch.storage",
    "torch.testing",
    "torch.types",
    "torch.version",
)
_INTRODUCTION = (
    "Every public name, and whether torchlite has it. *Partial* means that the name is there and that the suite knows "
    "of inputs on which it differs from PyTorch (`compat_tests/known_gaps.toml`). Not surveyed: "
    "ao, backends, export, jit, onnx, quantization, the rest of distributed (of its rpc there are names, which refuse "
    "to be called) and of fx (of its type checkers, its partitioner and its tracer of forms there are such names), the "
    "devices mps, mtia and xpu, and what is private. Written on {day} by "
    "`python -m compat_tests.coverage`."
)
_VALUES = (torch.dtype, torch.layout, torch.memory_format, torch.Generator, float)


@dataclass(frozen=True)
class Namespace:
    """The public names of one namespace of torch, by what torchlite has of them."""

    path: str
    present: tuple[str, ...]
    partial: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def total(self) -> int:
        return len(self.present) + len(self.partial) + len(self.missing)


def public_names(path: str) -> list[str]:
    """What users find in a namespace: what it exports or, if it does not say, what it holds under plain names."""
    owner = Library(torch, native=True).get(path)
    names = {name for name in dir(owner) if not name.startswith("_")}.union(getattr(owner, "__all__", ()))
    return sorted(name for name in names if hasattr(owner, name) and _is_public(owner, name))


def _is_public(owner: Any, name: str) -> bool:
    """Whether a name is torch's own: no submodule, no import from elsewhere, no type of the TorchScript compiler."""
    value = getattr(owner, name)
    if isinstance(value, ModuleType) or "pybind11_type" in (type(value).__name__, type(type(value)).__name__):
        return False
    if inspect.isclass(owner) or name in getattr(owner, "__all__", ()):
        return True
    if callable(value):
        visitor = owner is not torch and (hasattr(torch.overrides, name) or inspect.isclass(getattr(torch, name, None)))
        home = getattr(value, "__module__", None) or "torch"
        return home.startswith("torch") and not hasattr(owner, "__all__") and not visitor
    return isinstance(value, _VALUES if owner is torch else _VALUES[:-1])  # numbers elsewhere are visitors


def partial_paths() -> set[str]:
    """The functions and methods whose operators are among the known gaps."""
    paths = set()
    for check, operators in gaps.read().items():
        for operator in operators:
            name = samples.op_infos()[operator].name
            paths |= {f"torch.Tensor.{name}_"} if "inplace" in check else {f"torch.{name}", f"torch.Tensor.{name}"}
    return paths


def _is_there(subject: Library, path: str) -> bool:
    """Whether a name does something: placeholders, which can only be named and subclassed, don't."""
    return subject.has(path) and not isinstance(subject.get(path), Missing)


def survey(subject: Library) -> Iterator[Namespace]:
    """Every namespace in order."""
    partial = partial_paths()
    for path in progress(_NAMESPACES, name=str):
        names = public_names(path)
        there = [name for name in names if _is_there(subject, f"{path}.{name}")]
        in_part = tuple(name for name in there if f"{path}.{name}" in partial)
        missing = tuple(name for name in names if name not in there)
        yield Namespace(path, tuple(name for name in there if name not in in_part), in_part, missing)


def markdown(namespaces: list[Namespace]) -> str:
    """The page: totals first, then the names."""
    release = torch.__version__.partition("+")[0]
    lines = [
        f"# Coverage of PyTorch {release}",
        "",
        *textwrap.wrap(_INTRODUCTION.format(day=f"{datetime.now(UTC):%-d %B %Y}"), 120),
        "",
        "| namespace | names | present | partial | missing |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [_row(f"`{n.path}`", n.total, len(n.present), len(n.partial), len(n.missing)) for n in namespaces]
    sums = [sum(len(getattr(n, kind)) for n in namespaces) for kind in ("present", "partial", "missing")]
    lines.append(_row("**all**", sum(sums), *sums))
    for namespace in namespaces:
        lines += ["", f"## {namespace.path}"]
        for kind in ("missing", "partial", "present"):
            names = getattr(namespace, kind)
            if names:
                text = f"**{kind.capitalize()}** ({len(names)}): " + ", ".join(f"`{name}`" for name in names)
                lines += ["", *textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)]
    return "\n".join(lines) + "\n"


def _row(name: str, *counts: int) -> str:
    return f"| {name} | " + " | ".join(map(str, counts)) + " |"


if __name__ == "__main__":
    _FILE.parent.mkdir(exist_ok=True)
    _FILE.write_text(markdown(list(survey(Library("torchlite")))))
