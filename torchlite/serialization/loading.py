"""`torch.load`."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from ..core.values import warn
from ..utils.serialization import config
from . import names
from .bounds import Bounds
from .inspection import names_in, not_allowed
from .interpreter import Interpreter
from .legacy import read_legacy
from .locations import is_meta, restorer
from .messages import UNSAFE, refused
from .options import trusts_only_weights
from .safetensors_file import read_safetensors
from .source import Source, check_seekable
from .storages import ZipStorages, mapped_file, writes_to_files
from .tar import read_tar
from .target import is_path
from .zip_reader import ZipReader


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
    mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """The object that `torch.save` (here, or PyTorch's) wrote to a file.

    `f` is a path, or a file that can `read`, `readline`, `seek` and `tell`. `map_location` says where storages go: a
    device, a dictionary of such, or a function of a storage and its location. With `weights_only`, which is the
    default, only tensors, plain values, and what `torch.serialization.add_safe_globals` allows are loaded; without, the
    file can run any code, so load only what you trust. With `mmap`, a file's pages are read when they are looked at.
    """
    only_weights = trusts_only_weights(weights_only, pickle_module)
    if only_weights and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if only_weights and pickle_load_args:
        warn("pickle_load_args only works if `weights_only=False`.")
    mapping = config.load.mmap if mmap is None else mmap
    if is_path(f) and os.fspath(f).endswith(".safetensors"):
        return read_safetensors(f, map_location)
    pickle_load_args.setdefault("encoding", "utf-8")
    with _opened(f, "r+b" if mapping and writes_to_files() else "rb") as file:
        reading = _Reading(file, map_location, pickle_module or pickle, only_weights, pickle_load_args)
        if not _is_zip(file):
            if mapping:
                name = f"{f}, " if isinstance(f, str) else ""
                raise RuntimeError(
                    "mmap can only be used with files saved with "
                    f"`torch.save({name}_use_new_zipfile_serialization=True), please torch.save your checkpoint with "
                    "this option in order to use mmap."
                )
            return reading.legacy()
        return reading.zip(mapping, is_path(f))


@contextlib.contextmanager
def _opened(f: Any, mode: str = "rb") -> Iterator[Any]:
    if is_path(f):
        with open(f, mode) as file:
            yield file
    else:
        check_seekable(f)
        yield f


def _is_zip(file: Any) -> bool:
    start = file.tell()
    magic = file.read(4)
    file.seek(start)
    if isinstance(magic, str):
        raise AssertionError("Expected bytes, got str")
    return magic == b"PK\x03\x04"


def _is_on_disk(file: Any) -> bool:
    try:
        file.fileno()
    except (AttributeError, OSError):  # io.UnsupportedOperation is an OSError
        return False
    return True


class _Reading:
    """One call of `load`."""

    def __init__(
        self, file: Any, map_location: Any, pickle_module: Any, only_weights: bool, pickle_args: dict[str, Any]
    ) -> None:
        self.file = file
        self.source = Source(file)
        self.bounds = Bounds(self.source.size)
        self.restore = restorer(map_location)
        self.without_values = is_meta(map_location)
        self.pickle_module = pickle_module
        self.only_weights = only_weights
        self.pickle_args = pickle_args

    def zip(self, mapping: bool, at_path: bool) -> Any:
        reader = ZipReader(self.source, self.bounds)
        if "constants.pkl" in reader:
            self._refuse_script()
        if mapping and not at_path:
            raise ValueError("f must be a file path in order to use the mmap argument")
        pages = mapped_file(self.file) if mapping else None
        data = io.BytesIO(reader.get("data.pkl"))
        storages = ZipStorages(reader, self.restore, self.without_values, pages)
        return self._unpickle(data, storages.persistent_load)

    def legacy(self) -> Any:
        if not self.source.start and _is_on_disk(self.file):
            is_tar, made = read_tar(self.file, self.only_weights, self.restore, self._unpickle)
            if is_tar:
                return made

        def unpickle(persistent_load: Callable[[Any], Any]) -> Any:
            return self._unpickle(self.source, persistent_load)

        return read_legacy(self.source, self.bounds, unpickle, self.restore, self.without_values)

    def _unpickle(self, data: Any, persistent_load: Callable[[Any], Any]) -> Any:
        if not self.only_weights:
            return _unpickler(self.pickle_module, data, persistent_load, self.pickle_args).load()
        try:
            return Interpreter(data, self.bounds, persistent_load, **self.pickle_args).load()
        except pickle.UnpicklingError as error:
            raise refused(str(error)) from None

    def _refuse_script(self) -> None:
        if self.only_weights:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. " + UNSAFE
            )
        raise NotImplementedError("torchlite does not run TorchScript, and this is such an archive")


def _unpickler(pickle_module: Any, file: Any, persistent_load: Callable[[Any], Any], args: dict[str, Any]) -> Any:
    """An unpickler that finds what PyTorch's names stand for. What it reads can run any code."""

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            storage = names.storage_type(module, name) if "Storage" in name else None
            if storage is not None:
                return storage
            if module == "torch.return_types":
                return names.return_type(name)
            if module == "torch" or module.startswith("torch."):
                return names.find(module, name)
            return super().find_class(module, name)

    made = Unpickler(file, **args)
    made.persistent_load = persistent_load
    return made


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file that `torch.load` would not take with `weights_only=True`."""
    with _opened(f) as file:
        if not _is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        source = Source(file)
        reader = ZipReader(source, Bounds(source.size))
        if "constants.pkl" in reader:
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint"
            )
        return not_allowed(names_in(io.BytesIO(reader.get("data.pkl"))))
