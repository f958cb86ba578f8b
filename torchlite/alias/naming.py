"""The names of torch's modules and of torchlite's."""

from __future__ import annotations

from pathlib import Path

SITE = str(Path(__file__).parent / "site")
"""A folder that where `import torch` finds torchlite, and torch is an installed distribution, on a search path."""


def is_torch(name: str) -> bool:
    """Whether PyTorch has a module so named; `functorch` is one beside `torch`."""
    return name.partition(".")[0] in ("torch", "functorch")


def own_name(name: str) -> str:
    """torchlite's name for what PyTorch calls `torch.x.y`."""
    return "torchlite." + name if name.startswith("functorch") else "torchlite" + name.removeprefix("torch")


def torch_name(name: str) -> str:
    """PyTorch's name for `torchlite.x.y`."""
    if is_torch(name):
        return name
    rest = name.removeprefix("torchlite")
    return rest.removeprefix(".") if rest.startswith(".functorch") else "torch" + rest


def inside(module: str, packages: tuple[str, ...]) -> bool:
    """Whether a module is one of these, or in one of them."""
    return any(module == package or module.startswith(package + ".") for package in packages)
