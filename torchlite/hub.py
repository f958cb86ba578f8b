"""`torch.hub`: models from a directory with a `hubconf.py`, and weights from a file.

There is no network here: a repository must be a local directory, and an address one of a file (`file://…`), or of what
lies in the cache already.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from urllib.parse import urlparse
from urllib.request import url2pathname

from . import serialization
from .absent import placeholder

try:
    from tqdm import tqdm
except ImportError:
    tqdm = placeholder("torch.hub", "tqdm")

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # in the name of a file: the beginning of its SHA-256
_dir: str | None = None
_list = list


# ---- where things are kept


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """Where weights are kept: what `set_dir` said, `$TORCH_HOME/hub`, or `~/.cache/torch/hub`."""
    return os.path.join(_get_torch_home(), "hub") if _dir is None else _dir


def set_dir(d: str | os.PathLike[str]) -> None:
    """Say where weights are kept."""
    global _dir
    _dir = os.path.expanduser(d)


# ---- models


def _no_network(what: str) -> NoReturn:
    raise NotImplementedError(
        f"torchlite does not use the network, and cannot get {what}: download it yourself, and give its local path"
    )


def _hubconf(directory: str | os.PathLike[str]) -> ModuleType:
    """The module `hubconf.py` of a directory, which may import what lies beside it."""
    path = os.path.join(directory, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf.py", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.fspath(directory))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.fspath(directory))
    missing = [name for name in getattr(module, "dependencies", ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: ModuleType, name: Any) -> Any:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def _directory(repo: str, source: str) -> str:
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        _no_network(f"the repository {repo}")
    return repo


def load(
    repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: Any = "check",
    force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """What the function `model` of a directory's `hubconf.py` gives; `source` must be "local"."""
    return _entry(_hubconf(_directory(repo_or_dir, source.lower())), model)(*args, **kwargs)


def list(
    github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check",
    verbose: bool = True, *, source: str = "github",
) -> _list[str]:  # fmt: skip
    """The names of the functions that a `hubconf.py` offers."""
    module = _hubconf(_directory(github, source))
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check", *,
    source: str = "github",
) -> str | None:  # fmt: skip
    """The docstring of a function that a `hubconf.py` offers."""
    return _entry(_hubconf(_directory(github, source)), model).__doc__


# ---- weights


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Copy the file at an address; `hash_prefix` is how its SHA-256 must begin."""
    parts = urlparse(url)
    if parts.scheme != "file":
        _no_network(url)
    source = url2pathname(parts.path)
    digest = hashlib.sha256(Path(source).read_bytes()).hexdigest()
    if hash_prefix is not None and not digest.startswith(hash_prefix):
        raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
    target = os.path.expanduser(dst)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(target) or ".", delete=False) as partial:
        pass  # so that no half of a file is ever found under its name
    shutil.copyfile(source, partial.name)
    os.replace(partial.name, target)


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """What `torch.load` gives for the file at an address, a copy of which is kept in `model_dir`."""
    directory = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(directory, exist_ok=True)
    kept = os.path.join(directory, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(kept):
        sys.stderr.write(f'Downloading: "{url}" to {kept}\n')
        found = HASH_REGEX.search(os.path.basename(kept)) if check_hash else None
        download_url_to_file(url, kept, found[1] if found else None, progress)
    return serialization.load(kept, map_location=map_location, weights_only=weights_only)
