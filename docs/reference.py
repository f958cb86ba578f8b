"""Pages of reference for MkDocs, written from signatures and docstrings when the documentation is built."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from mkdocs.structure.files import File, Files

_MODULES = {
    f"torch.{name}": f"torchlite.{name}"
    for name in (
        "amp", "cuda", "distributed", "distributions", "library", "nn.init", "nn.utils", "profiler", "sparse",
        "utils.checkpoint",
    )
} | {
    "torch": "torchlite", "torch.Tensor": "torchlite", "torch.nn": "torchlite.nn",
    "torch.nn.functional": "torchlite.nn.functional", "torch.optim": "torchlite.optim",
    "torch.optim.lr_scheduler": "torchlite.optim.lr_scheduler", "torch.autograd": "torchlite.autograd",
    "torch.func": "torchlite.func", "torch.linalg": "torchlite.linalg", "torch.fft": "torchlite.fft",
    "torch.special": "torchlite.special", "torch.utils.data": "torchlite.utils.data", "viz": "torchlite.viz",
}  # fmt: skip


def on_files(files: Files, config: Any) -> Files:
    for name, module in _MODULES.items():
        owner = importlib.import_module(module)
        owner = owner.Tensor if name == "torch.Tensor" else owner
        files.append(File.generated(config, f"reference/{name}.md", content=_page(name, owner)))
    return files


def _page(name: str, owner: Any) -> str:
    entries = [f"# {name}", inspect.getdoc(owner) or ""]
    for member in sorted(getattr(owner, "__all__", dir(owner)), key=_place):
        value = inspect.getattr_static(owner, member) if inspect.isclass(owner) else getattr(owner, member)
        text = inspect.getdoc(getattr(value, "__func__", value))
        shown = inspect.isroutine(value) or inspect.isclass(value) or hasattr(value, "fget")
        if not member.startswith("_") and shown and text:
            entries += [f"## {member}", _code(member + _header(value)), _escaped(text)]
    return "\n\n".join(entries) + "\n"


def _place(name: str) -> tuple[bool, str]:
    """Functions before classes, each by the alphabet."""
    return name[:1].isupper(), name.lower()


def _code(call: str, width: int = 80) -> str:
    """A call as code; a long one with a line for each parameter."""
    name, bracket, rest = call.partition("(")
    if len(call) > width and bracket:
        inside, _, result = rest.rpartition(")")
        call = f"{name}(\n    {_separated(inside)},\n){result}"
    return "\n".join(["    " + line for line in call.splitlines()])


def _separated(parameters: str) -> str:
    """Parameters on lines of their own: at commas that stand in no brackets."""
    depth, told = 0, ""
    for letter in parameters:
        depth += (letter in "([{") - (letter in ")]}")
        told += ",\n   " if letter == "," and not depth else letter
    return told


def _header(value: Any) -> str:
    try:
        return "" if hasattr(value, "fget") else str(inspect.signature(value)).replace("'", "")
    except (TypeError, ValueError):
        return "(…)"


def _escaped(text: str) -> str:
    """Examples as code; `<` as itself, where it begins no tag."""
    lines, shown = [], False
    for line in text.splitlines():
        example = line.startswith(">>>") or (shown and bool(line.strip()))
        if example and not shown:
            lines.append("")
        lines.append("    " + line if example else line.replace("<", "&lt;"))
        shown = example
    return "\n".join(lines)
