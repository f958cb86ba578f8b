"""Files as samples: `list_files`, `open_files`, `read_from_stream`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from io import IOBase
from typing import Any

from .....core.values import warn
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils import decoder
from ..utils.common import StreamWrapper, get_file_binaries_from_pathnames, get_file_pathnames_from_root
from .wrapping import IterableWrapper


class _Sized(IterDataPipe[Any]):
    """A pipe that is told how long it is."""

    length: int

    def __len__(self) -> int:
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


@functional_datapipe("list_files")
class FileListerIterDataPipe(_Sized):
    """The paths of the files in folders, of those whose names fit a pattern."""

    def __init__(
        self, root: str | Sequence[str] | IterDataPipe[str] = ".", masks: str | list[str] = "", *,
        recursive: bool = False, abspath: bool = False, non_deterministic: bool = False, length: int = -1,
    ) -> None:  # fmt: skip
        roots = [root] if isinstance(root, str) else root
        self.datapipe = roots if isinstance(roots, IterDataPipe) else IterableWrapper(roots)
        self.masks = masks
        self.recursive = recursive
        self.abspath = abspath
        self.non_deterministic = non_deterministic
        self.length = length

    def __iter__(self) -> Iterator[str]:
        for path in self.datapipe:
            yield from get_file_pathnames_from_root(
                path, self.masks, self.recursive, self.abspath, self.non_deterministic
            )


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(_Sized):
    """Pairs of a path and the file there, opened."""

    def __init__(self, datapipe: Iterable[str], mode: str = "r", encoding: str | None = None, length: int = -1) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe = datapipe
        self.mode = mode
        self.encoding = encoding
        self.length = length

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        yield from get_file_binaries_from_pathnames(self.datapipe, self.mode, self.encoding)


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[Any]):
    """Pairs of a path and what its file holds, or pieces of that."""

    def __init__(self, datapipe: IterDataPipe[tuple[str, IOBase]], chunk: int | None = None) -> None:
        self.datapipe = datapipe
        self.chunk = chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for path, stream in self.datapipe:
            while data := stream.read(self.chunk):
                yield path, data
                if self.chunk is None:
                    break
            if isinstance(stream, StreamWrapper):
                stream.close()


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe[Any]):
    """Pairs of a path and what its data hold, by the ending of the path."""

    def __init__(
        self, datapipe: Iterable[tuple[str, Any]], *handlers: decoder.Handler,
        key_fn: Callable[[str], str] = decoder.extension_extract_fn,
    ) -> None:  # fmt: skip
        warn(
            "`RoutedDecoderIterDataPipe()` and its functional API `.routed_decode()` are deprecated since 1.12 and "
            "will be removed in 1.13.\nSee https://github.com/pytorch/data/issues/163 for details.",
            FutureWarning,
        )
        self.datapipe = datapipe
        asked = handlers or (decoder.basichandlers, decoder.imagehandler("torch"))
        self.decoder = decoder.Decoder(*asked, key_fn=key_fn)

    def add_handler(self, *handler: decoder.Handler) -> None:
        """Ask these first."""
        self.decoder.add_handler(*handler)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for path, data in self.datapipe:
            yield path, self.decoder([(path, data)])[path]

    def __len__(self) -> int:
        if not isinstance(self.datapipe, Sized):
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return len(self.datapipe)
