"""Pickles and archives put together by hand, out of parts that no program would write."""

from __future__ import annotations

import io
import json
import pickle
import struct
import warnings
import zipfile

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
FLOATS = bytes(24)  # the storage of six of them


def text(value: str) -> bytes:
    encoded = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(encoded)) + encoded


def number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes((value,))
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes((len(data),)) + data


def real(value: float) -> bytes:
    return b"G" + struct.pack(">d", value)


def name(full: str) -> bytes:
    """What a dotted name stands for."""
    module, _, attribute = full.rpartition(".")
    return f"c{module}\n{attribute}\n".encode()


def several(*items: bytes) -> bytes:
    """A tuple."""
    return b"(" + b"".join(items) + b"t"


def listed(*items: bytes) -> bytes:
    return b"](" + b"".join(items) + b"e"


def mapping(*items: bytes) -> bytes:
    return b"}(" + b"".join(items) + b"u"


def call(full: str, *args: bytes) -> bytes:
    return name(full) + several(*args) + b"R"


def new(full: str, *args: bytes) -> bytes:
    """An object by its class's `__new__`."""
    return name(full) + several(*args) + b"\x81"


def storage(
    kind: str = "torch.FloatStorage",
    key: bytes = text("0"),
    location: bytes = text("cpu"),
    count: bytes = number(6),
    *more: bytes,
) -> bytes:
    return several(text("storage"), name(kind), key, location, count, *more) + b"Q"


def tensor(
    of: bytes | None = None, offset: bytes = number(0), size: bytes = b"K\x06\x85", stride: bytes = b"K\x01\x85"
) -> bytes:
    return call("torch._utils._rebuild_tensor_v2", of or storage(), offset, size, stride, b"\x89", b"}")


def packed(records: dict[str, bytes], compressed: bool = False) -> bytes:
    """A zip file of some records."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
            for name_, content in records.items():
                archive.writestr(zipfile.ZipInfo(name_), content, archive.compression)
    return out.getvalue()


def checkpoint(body: bytes, *, compressed: bool = False, **records: bytes) -> bytes:
    """A file whose pickle is `body`, with the storage 0 and what else there is under other names."""
    parts = {"data.pkl": b"\x80\x02" + body + b".", "version": b"3\n", "data/0": FLOATS}
    parts |= {key.replace("__", "/"): content for key, content in records.items()}
    return packed({f"archive/{key}": content for key, content in parts.items()}, compressed)


def legacy(body: bytes, keys: object = ("0",), filled: bytes = struct.pack("<q", 6) + FLOATS, **head: object) -> bytes:
    """Stacked pickles, as files were before zip files."""
    parts = {"magic": MAGIC_NUMBER, "protocol": 1001, "system": {}} | head
    start = b"".join(pickle.dumps(part, 2) for part in parts.values())
    names = keys if isinstance(keys, bytes) else pickle.dumps(list(keys), 2)  # type: ignore[call-overload]
    return start + b"\x80\x02" + body + b"." + names + filled


def safetensors(header: object, body: bytes = b"", length: int | None = None) -> bytes:
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(encoded) if length is None else length) + encoded + body
