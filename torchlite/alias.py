"""`import torch` means torchlite."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from typing import Any


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `torch` and `torch.x.y` as `torchlite` and `torchlite.x.y`: the same module objects."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != "torch" and not name.startswith("torch."):
            return None
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        name = "torchlite" + spec.name.removeprefix("torch")
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            raise ModuleNotFoundError(
                f"torchlite has no {spec.name} yet (docs/coverage.md lists what there is)", name=spec.name
            ) from None
        self._own = module.__spec__
        return module

    def exec_module(self, module: Any) -> None:
        module.__spec__ = self._own  # importing under a second name leaves the module as it was


def enable() -> None:
    """From now on, `import torch` in this process gives torchlite. The real torch must not have been imported."""
    loaded = sys.modules.get("torch")
    if loaded is not None and not getattr(loaded, "__version__", "").endswith("+torchlite"):
        raise RuntimeError("torch is already imported in this process; enable the alias before that")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
