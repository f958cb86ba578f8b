"""Loading files where they can do no harm, and seeing whether they tried: in children, under limits, watched.

Whatever is in a file, `torch.load` gives an object or refuses. Harm is all else: an audit event that reading does not
need (imports, files, processes, sockets, code), a crash, more memory or time than the file justifies, an error of
another kind, a tensor outside of its storage, a process that is not as it was.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import pickle
import resource
import signal
import sys
import tracemalloc
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from compat_tests.described import description
from torchlite.core.machine import fast, remembered
from torchlite.core.values.device import find_installed

REFUSALS = (pickle.UnpicklingError, RuntimeError, EOFError)  # which NotImplementedError is one of
SECONDS = 10  # of computing, for one file
ADDRESSES = 1 << 30  # bytes that a load may map
_QUIET = ("builtins.id", "sys._getframe", "object.__", "mmap.__new__", "gc.")
_WRITERS = (fast.__name__, remembered.__name__)  # modules that write functions of their own


class Harm(Exception):
    """Something that loading a file must not do."""


# ---- watching


class _Watch:
    """While on, notes what the interpreter is asked to do that no file may ask for."""

    def __init__(self) -> None:
        self.path: str | None = None
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on or event.startswith(_QUIET):
            return
        if event == "open" and args[0] == self.path and args[1] in ("r", "rb"):
            return
        if event in ("code.__new__", "compile", "exec") and sys._getframe(1).f_globals.get("__name__") in _WRITERS:
            return  # a fast path, made as an op is first taken for a plan or a call is known again
        if not _looks_for_device(sys._getframe(1)):
            self.seen.append(f"{event} {args[:2]!r}"[:200])

    @contextlib.contextmanager
    def watching(self, path: str | None) -> Iterator[None]:
        """Only the file at `path` may be opened, for reading."""
        self.seen.clear()
        self.path, self.on = path, True
        try:
            yield
        finally:
            self.on = False


def _looks_for_device(frame: Any) -> bool:
    """Whether what is asked for is an installed backend, for a device that the file names."""
    while frame is not None:
        if frame.f_globals.get("__name__") == find_installed.__module__:
            return True
        frame = frame.f_back
    return False


def _state(torch: Any) -> Any:
    """What a load must leave as it was."""
    config = torch.utils.serialization.config
    return (
        torch.is_grad_enabled(), torch.get_default_dtype(), torch.serialization.get_safe_globals(),
        dict(vars(config.load)), dict(vars(config.save)), torch.get_default_device(), set(sys.modules),
    )  # fmt: skip


class Trial:
    """Loads files into a library that is imported already, one after the other."""

    def __init__(self, library: str) -> None:
        self.torch = importlib.import_module(library)
        self.ours = library == "torchlite"
        self.watch = _Watch() if self.ours else None

    def load(self, data: bytes, path: Path | None = None) -> str:
        """How loading ends: "loaded", or the name of the error. Harm, if it is one that may not be."""
        if path is not None:
            path.write_bytes(data)
        if self.watch is None:
            return self._load(data, path)[0]
        before = _state(self.torch)
        tracemalloc.reset_peak()
        held = tracemalloc.get_traced_memory()[0]
        with self.watch.watching(None if path is None else str(path)):
            outcome, loaded = self._load(data, path)
        taken = tracemalloc.get_traced_memory()[1] - held
        if self.watch.seen:
            raise Harm(f"asked for {self.watch.seen}")
        if taken > 128 * len(data) + (48 << 20):
            raise Harm(f"took {taken} bytes for a file of {len(data)}")
        if _state(self.torch) != before:
            raise Harm("changed the state of the process")
        _look(self.torch, loaded)
        return outcome

    def _load(self, data: bytes, path: Path | None) -> tuple[str, Any]:
        source = io.BytesIO(data) if path is None else path
        mapped = path is not None and path.suffix == ".pt"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return "loaded", self.torch.load(source, mmap=mapped)
        except Exception as error:
            known = isinstance(error, REFUSALS) or "Unknown endianness" in str(error)
            if self.ours and (not known or "MemoryError" in str(error)):
                raise Harm(f"{type(error).__name__}: {error}") from error
            return type(error).__name__, None


def _look(torch: Any, loaded: Any) -> None:
    """Read all values of all tensors that are there, and check where they lie."""
    seen, left = set(), [loaded]
    while left:
        item = left.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, torch.Tensor) and item.layout is not torch.strided:
            left += [getattr(item, part)() for part in _PARTS[str(item.layout).rpartition("_")[2]]]
        elif isinstance(item, torch.Tensor):
            _check_place(item)
        elif isinstance(item, dict):
            left += [*item.keys(), *item.values()]
        elif isinstance(item, (list, tuple, set)):
            left += item


_BY_ROWS, _BY_COLUMNS = ("crow_indices", "col_indices", "values"), ("ccol_indices", "row_indices", "values")
_PARTS = {"coo": ("_indices", "_values"), "csr": _BY_ROWS, "bsr": _BY_ROWS, "csc": _BY_COLUMNS, "bsc": _BY_COLUMNS}


def _check_place(t: Any) -> None:
    if t.is_meta or not t.numel():
        return
    reach = t.storage_offset() + sum((n - 1) * s for n, s in zip(t.shape, t.stride())) + 1
    if t.storage_offset() < 0 or min(t.stride(), default=0) < 0:
        raise Harm(f"a tensor with offset {t.storage_offset()} and strides {t.stride()}")
    if reach * t.element_size() > t.untyped_storage().nbytes():
        raise Harm(f"a tensor that reaches to {reach} of a storage of {t.untyped_storage().nbytes()} bytes")
    if t.numel() < 1 << 16:
        description(t)


# ---- in children


def outcomes(library: str, files: Iterable[tuple[str, bytes, Path | None]]) -> Iterator[tuple[str, str]]:
    """The names of files and how loading them ended; "harm: ..." where it did any.

    They are loaded in a child, which dies of what they do; the next one goes on where it died.
    """
    waiting = iter(files)
    _load_ordinary(library)
    for first in waiting:
        batch = [first, *[item for _, item in zip(range(_BATCH - 1), waiting)]]
        while batch:
            told, status = _in_child(library, batch)
            yield from told
            batch = batch[len(told) :]
            if batch:
                died = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {status >> 8}"
                yield batch.pop(0)[0], f"harm: died of {died}"


def _load_ordinary(library: str) -> None:
    """Import what is imported when first needed, once for all children."""
    torch = importlib.import_module(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in ORDINARY:
            with contextlib.suppress(Exception):
                torch.load(io.BytesIO(data))


_BATCH = 500


def _in_child(library: str, batch: list[tuple[str, bytes, Path | None]]) -> tuple[list[tuple[str, str]], int]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            with open(writing, "w") as told:
                _tell(library, batch, told)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading) as heard:
        told = [tuple(json.loads(line)) for line in heard if line.endswith("\n")]
    return told, os.waitpid(child, 0)[1]


def _tell(library: str, batch: list[tuple[str, bytes, Path | None]], told: Any) -> None:
    limit_memory()
    gc.freeze()
    trial = Trial(library)
    if trial.ours:
        tracemalloc.start()
    for name, data, path in batch:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            outcome = trial.load(data, path)
            gc.collect()
        except Harm as harm:
            outcome = f"harm: {harm}"
        except MemoryError:
            outcome = "harm: MemoryError"
        signal.setitimer(signal.ITIMER_PROF, 0)
        told.write(json.dumps((name, outcome)) + "\n")
        told.flush()


def limit_memory() -> None:
    """Let this process map little more than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + ADDRESSES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


ORDINARY = [
    path.read_bytes()
    for path in sorted((Path(__file__).parent / "data" / "checkpoints").glob("*.pt"))
    if path.stat().st_size < 20_000
]
