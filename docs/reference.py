"""Pages of reference for MkDocs, written from signatures and docstrings when the documentation is built."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from mkdocs.structure.files import File, Files

_MODULES = {
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
    for member in sorted(getattr(owner, "__all__", dir(owner))):
        value = inspect.getattr_static(owner, member) if inspect.isclass(owner) else getattr(owner, member)
        text = inspect.getdoc(getattr(value, "__func__", value))
        shown = inspect.isroutine(value) or inspect.isclass(value) or hasattr(value, "fget")
        if not member.startswith("_") and shown and text:
            entries += [f"## {member}", f"    {member}{_header(value)}", _escaped(text)]
    return "\n\n".join(entries) + "\n"


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
