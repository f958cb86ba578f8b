"""`torch.save`."""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

from ..utils.serialization import config
from .legacy_writer import write_legacy
from .options import here
from .pickler import PROTOCOL, StorageIds, host_bytes, pickler
from .target import check_writable, opened, top_directory
from .zip_writer import ZipWriter


def save(
    obj: object, f: Any, pickle_module: Any = pickle, pickle_protocol: int = PROTOCOL,
    _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Write an object to a file, in PyTorch's format: what PyTorch writes is read here, and the other way round.

    `f` is a path, or has a `write`. At a path, the file that was there is replaced when all is written, and not before.
    Tensors that share memory do so again when loaded. All of a storage is written, however little of it tensors show.
    """
    check_writable(f)
    if not _use_new_zipfile_serialization:
        if here.skip_data:
            raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
        with opened(f) as file:
            write_legacy(obj, file, pickle_module, pickle_protocol)
        return
    top = top_directory(f)
    ids = StorageIds()
    data = io.BytesIO()
    pickler(data, pickle_module, pickle_protocol, ids).dump(obj)
    with opened(f) as file:
        writer = ZipWriter(file, top, config.save.storage_alignment, config.save.compute_crc32)
        writer.record("data.pkl", data.getbuffer())
        writer.record(".format_version", b"1")
        writer.record(".storage_alignment", str(config.save.storage_alignment).encode())
        if not _disable_byteorder_record:
            writer.record("byteorder", sys.byteorder.encode())
        for key, storage in ids.storages.items():
            if here.skip_data:
                writer.room(f"data/{key}", storage.nbytes())
            else:
                writer.record(f"data/{key}", host_bytes(storage))
        writer.record("version", b"3\n")
        if _disable_byteorder_record:  # PyTorch's writer adds it then, at the end
            writer.record("byteorder", sys.byteorder.encode())
        writer.finish()
