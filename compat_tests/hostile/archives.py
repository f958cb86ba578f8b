"""Archives that say of themselves what is not so: zip files, stacked pickles, tar files, safetensors files."""

from __future__ import annotations

import io
import pickle
import struct
import tarfile
import zlib
from typing import Any

from compat_tests.hostile.assembling import (
    FLOATS,
    MAGIC_NUMBER,
    call,
    checkpoint,
    legacy,
    listed,
    name,
    number,
    packed,
    safetensors,
    several,
    storage,
    tensor,
    text,
)

_GOOD = checkpoint(tensor())
_ZEROS = 64 << 20

# ---- zip files


def _directory(data: bytes) -> int:
    return data.index(b"PK\1\2")


def _entry(data: bytes, record: str) -> int:
    """Where the directory speaks of a record."""
    return data.index(record.encode(), _directory(data)) - 46


def _with(data: bytes, at: int, form: str, *values: int) -> bytes:
    made = bytearray(data)
    struct.pack_into(form, made, at, *values)
    return bytes(made)


def _said(record: str, at: int, form: str, *values: int, data: bytes = _GOOD) -> bytes:
    """A file whose directory says something else of a record."""
    return _with(data, _entry(data, f"archive/{record}") + at, form, *values)


def _end(at: int, form: str, *values: int) -> bytes:
    """A file whose end says something else of the directory."""
    return _with(_GOOD, _GOOD.index(b"PK\5\6") + at, form, *values)


_PARTS = {"data.pkl": b"\x80\2" + tensor() + b".", "version": b"3\n", "data/0": FLOATS}


def _zip(parts: dict[str, bytes], **said: tuple[bytes, int]) -> bytes:
    """A zip file, in which the records of `said` are of these compressed bytes, and said to have this size."""
    body, directory = b"", b""
    for key, content in parts.items():
        stored, size = said.get(key.replace("/", "__").replace(".", "_"), (content, len(content)))
        path = f"archive/{key}".encode()
        fields = struct.pack("<HHHIII", 8 * (stored is not content), 0, 0, 0, len(stored), size) + _name_length(path)
        directory += b"PK\1\2" + bytes(6) + fields + bytes(10) + struct.pack("<I", len(body)) + path
        body += b"PK\3\4" + bytes(4) + fields + path + stored
    return body + directory + _end_of(len(parts), directory, body)


def _name_length(path: bytes) -> bytes:
    return struct.pack("<HH", len(path), 0)


def _end_of(count: int, directory: bytes, body: bytes) -> bytes:
    return struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)


def _inflating(record: str, said: int = _ZEROS, made: int = _ZEROS, fill: bytes = b"\0") -> bytes:
    """A file with a record of zeros, of which there are very many."""
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    stream = b"".join([machine.compress(fill * (1 << 20)) for _ in range(made >> 20)]) + machine.flush()
    return _zip(_PARTS | {record: b""}, **{record.replace("/", "__").replace(".", "_"): (stream, said)})


def _overlapping(count: int, size: int) -> bytes:
    """Records that each hold the headers and the bytes of all that follow."""
    inner, places = bytes(size), []
    paths = [f"archive/data/{i}".encode() for i in range(count)]
    for path in reversed(paths):
        fields = struct.pack("<HHHIII", 0, 0, 0, 0, len(inner), len(inner)) + _name_length(path)
        places.append((fields, path, len(inner)))
        inner = b"PK\3\4" + bytes(4) + fields + path + inner
    storages = [storage("torch.ByteStorage", text(path.decode()[13:]), count=number(n)) for _, path, n in places]
    parts = {"archive/data.pkl": b"\x80\2" + listed(*storages) + b".", "archive/version": b"3\n"}
    body, directory = inner, b""
    for fields, path, length in places:
        at = len(inner) - length - 30 - len(path)
        directory += b"PK\1\2" + bytes(6) + fields + bytes(10) + struct.pack("<I", at) + path
    for key, content in parts.items():
        fields = struct.pack("<HHHIII", 0, 0, 0, 0, len(content), len(content)) + _name_length(key.encode())
        directory += b"PK\1\2" + bytes(6) + fields + bytes(10) + struct.pack("<I", len(body)) + key.encode()
        body += b"PK\3\4" + bytes(4) + fields + key.encode() + content
    return body + directory + _end_of(count + len(parts), directory, body)


def _records(**changed: bytes | None) -> bytes:
    """The good file with other records."""
    parts: dict[str, Any] = dict(_PARTS) | {key.replace("__", "/"): value for key, value in changed.items()}
    return packed({f"archive/{key}": value for key, value in parts.items() if value is not None})


_EVIL = b"\x80\2" + call("os.system", text("touch evil")) + b"."
_NAMED = {
    "a name upwards": "../../evil",
    "an absolute name": "/tmp/evil",
    "a name of another top": "other/evil",
    "a name upwards inside": "archive/../evil",
    "a backslash": "archive\\evil",
    "a name of nothing": "",
    "a name of a kilometre": "archive/" + "a" * 60_000,
    "a zero in a name": "archive/a\0b",
    "a name like the pickle's": "archive/DATA.PKL",
    "a name that is a folder": "archive/data/",
}

_ZIPS = {
    "nothing": b"",
    "a signature alone": b"PK\3\4",
    "an empty archive": b"PK\5\6" + bytes(18),
    "an empty archive after a signature": b"PK\3\4" + b"PK\5\6" + bytes(18),
    "no end": _GOOD[:-22],
    "half of it": _GOOD[: len(_GOOD) // 2],
    "no beginning": _GOOD[40:],
    "no directory": _GOOD[: _directory(_GOOD)],
    "a comment that is an end": _GOOD + b"PK\5\6" + bytes(18),
    "two archives": _GOOD + _records(data=b""),
    "an evil archive behind": _GOOD + _records(**{"data.pkl": _EVIL}),
    "an evil archive before": _records(**{"data.pkl": _EVIL}) + _GOOD,
    "no pickle": _records(**{"data.pkl": None}),
    "an empty pickle": _records(**{"data.pkl": b""}),
    "an evil pickle": _records(**{"data.pkl": _EVIL}),
    "a script": _records(**{"constants.pkl": _EVIL}),
    "no version": _records(version=None),
    "version 0": _records(version=b"0"),
    "version 11": _records(version=b"11"),
    "version -3": _records(version=b"-3"),
    "version of text": _records(version=b"three"),
    "version of 60,000 digits": _records(version=b"3" * 60_000),
    "version of a megabyte": _records(version=b"3" * (1 << 20)),
    "an empty version": _records(version=b""),
    "byte order big": _records(byteorder=b"big"),
    "byte order middle": _records(byteorder=b"middle"),
    "byte order of a megabyte": _records(byteorder=b"b" * (1 << 20)),
    "no storage": _records(**{"data/0": None}),
    "a longer storage": _records(**{"data/0": bytes(25)}),
    "a shorter storage": _records(**{"data/0": bytes(23)}),
    "an evil serialization id": _records(**{".data/serialization_id": b"\xff" * 99}),
    "an alignment of text": _records(**{".format_version": b"x", ".storage_alignment": b"x" * 70_000}),
    "a size that is too big": _said("data/0", 24, "<I", 1 << 30),
    "sizes that are too big": _said("data/0", 20, "<II", 1 << 30, 1 << 30),
    "a size of 2 ** 32 - 1": _said("data/0", 20, "<II", 0xFFFFFFFF, 0xFFFFFFFF),
    "an offset behind the end": _said("data/0", 42, "<I", 1 << 30),
    "an offset of another record": _said("data/0", 42, "<I", 0),
    "bzip2": _said("data/0", 10, "<H", 12),
    "lzma": _said("data.pkl", 10, "<H", 14),
    "deflated that is stored": _said("data.pkl", 10, "<H", 8),
    "encrypted": _said("data.pkl", 8, "<H", 1),
    "a long name": _said("data.pkl", 28, "<H", 60_000),
    "a long extra field": _said("data.pkl", 30, "<H", 60_000),
    "a long comment": _said("data.pkl", 32, "<H", 60_000),
    "65,535 entries": _end(10, "<H", 65535),
    "no entries": _end(10, "<H", 0),
    "a directory of 4 GB": _end(12, "<I", 1 << 31),
    "a directory at 4 GB": _end(16, "<I", 1 << 31),
    "a directory of nothing": _end(12, "<I", 0),
    "a local name of another": _with(_GOOD, 30, "<B", 0x62),
    "a local name that is long": _with(_GOOD, 26, "<H", 60_000),
    "wide sizes that are not there": _said("data.pkl", 24, "<I", 0xFFFFFFFF),
    "a wide end": _GOOD[:-22] + struct.pack("<4sIQI", b"PK\6\7", 0, (1 << 64) - 1, 1) + _GOOD[-22:],
    "a wide end of 2 ** 63 entries": _GOOD[:-22]
    + struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 0, 0, 0, 0, 1 << 63, 1 << 63, 1 << 63, 0)
    + struct.pack("<4sIQI", b"PK\6\7", 0, len(_GOOD) - 22, 1)
    + _GOOD[-22:],
    "records in records": _overlapping(2000, 1 << 18),
    "an inflating storage": _inflating("data/0"),
    "an inflating pickle": _inflating("data.pkl", fill=b"]"),
    "an inflating version": _inflating("version"),
    "an inflating record that nobody reads": _inflating("data/9"),
    "an inflating storage that says less": _inflating("data/0", said=24),
    "one that says more": _inflating("data/0", made=1 << 20),
    "a stream without end": _zip(_PARTS, data__0=(zlib.compress(bytes(64))[2:-6], 64)),
    "a broken stream": _zip(_PARTS, data__0=(b"\xff" * 30, 24)),
}
_TWICE = _PARTS | {"data.pkx": _EVIL}
_ZIPS |= {
    "two pickles": _zip(_TWICE).replace(b"data.pkx", b"data.pkl"),
    "two pickles in two cases": _zip(_TWICE).replace(b"data.pkx", b"Data.pkl"),
}
_ZIPS |= {
    what: packed({f"archive/{key}": value for key, value in _PARTS.items()} | {path: b"x"})
    for what, path in _NAMED.items()
}


# ---- stacked pickles

_VIEWED = ("torch.FloatStorage", text("0"), text("cpu"), number(6))
_DEEP = b")" + b"\x85" * 200_000


def _stacked(*view: bytes, **how: Any) -> bytes:
    return legacy(tensor(storage(*_VIEWED, several(*view) if view else b"N")), **how)


_FAN = b"\x80\2](" + b"K\1\x85q\0" + b"h\0h\0\x86q\0" * 60 + b"e."

_STACKED = {
    "as it should be": _stacked(),
    "another magic number": _stacked(magic=1),
    "a magic list": _stacked(magic=[[]]),
    "protocol 1000": _stacked(protocol=1000),
    "a protocol of tuples": pickle.dumps(MAGIC_NUMBER, 2) + _FAN + _FAN,
    "a system of text": _stacked(system="evil"),
    "a longer storage": legacy(tensor(storage("torch.FloatStorage", text("0"), text("cpu"), number(1 << 40), b"N"))),
    "many storages": legacy(
        listed(*(storage("torch.ByteStorage", text(str(i)), text("cpu"), number(100_000), b"N") for i in range(1000)))
    ),
    "a fanned count": legacy(_FAN[2:-2] + storage("torch.FloatStorage", text("0"), text("cpu"), b"h\0", b"N") + b"e"),
    "a negative storage": legacy(storage("torch.FloatStorage", text("0"), text("cpu"), number(-6), b"N")),
    "a view": _stacked(text("v"), number(1), number(5)),
    "a view out of it": _stacked(text("v"), number(1), number(6)),
    "a view before it": _stacked(text("v"), number(-1), number(6)),
    "a view of 2 ** 70": _stacked(text("v"), number(1 << 70), number(1)),
    "a view of a deep key": _stacked(_DEEP, number(0), number(6)),
    "a view of two parts": _stacked(text("v"), number(0)),
    "a view of texts": _stacked(text("v"), text("a"), text("b")),
    "no keys": _stacked(keys=()),
    "another key": _stacked(keys=("1",)),
    "the key twice": _stacked(keys=("0", "0")),
    "keys of nothing": _stacked(keys=b"\x80\2N."),
    "deep keys": _stacked(keys=b"\x80\2]" + _DEEP + b"a."),
    "fanned keys": _stacked(keys=_FAN),
    "keys that are called": _stacked(keys=_EVIL),
    "no bytes": _stacked(filled=b""),
    "a count of bytes that is too big": _stacked(filled=struct.pack("<q", 1 << 60)),
    "a negative count": _stacked(filled=struct.pack("<q", -6) + FLOATS),
    "half the bytes": _stacked(filled=struct.pack("<q", 6) + FLOATS[:9]),
    "a module's class": legacy(several(text("module"), name("builtins.set"), text("a"), text("b")) + b"Q"),
    "an evil object": legacy(call("os.system", text("touch evil"))),
    "meta of 2 ** 50": legacy(storage("torch.FloatStorage", text("0"), text("meta"), number(1 << 50), b"N")),
    "bools of 255": legacy(
        tensor(storage("torch.BoolStorage", text("0"), text("cpu"), number(6), b"N")),
        filled=struct.pack("<q", 6) + b"\xff" * 6,
    ),
}


# ---- tar files, which are never loaded by default


def _tar(*members: tuple[str, bytes | None, str]) -> bytes:
    """An archive of files, and of links where there are no bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path, content, target in members:
            info = tarfile.TarInfo(path)
            info.size = len(content or b"")
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info, io.BytesIO(content or b""))
    return out.getvalue()


_TARS = {
    "of nothing": _tar(),
    "of evil pickles": _tar(*[(part, _EVIL, "") for part in ("storages", "tensors", "pickle")]),
    "of links": _tar(*[(part, None, "/etc/passwd") for part in ("storages", "tensors", "pickle")]),
    "of a link to itself": _tar(*[(part, None, part) for part in ("storages", "tensors", "pickle")]),
    "of names upwards": _tar(("../../evil", b"x", ""), ("/tmp/evil", b"x", "")),
}


# ---- safetensors files


def _sized(shape: Any, offsets: Any = (0, 24), dtype: Any = "F32", body: bytes = FLOATS) -> bytes:
    return safetensors({"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}, body)


_SAFETENSORS = {
    "as they should be": _sized([6]),
    "of nothing": b"",
    "of a length alone": bytes(8),
    "of 2 ** 63 bytes": safetensors({}, length=1 << 63),
    "of a header behind the end": safetensors({}, length=99),
    "of no JSON": safetensors(b"{]"),
    "of deep JSON": safetensors(b"[" * 1_000_000),
    "of a list": safetensors([1]),
    "of numbers": safetensors({"a": 1}),
    "of a number of a megabyte": safetensors(b'{"a":' + b"1" * (1 << 20) + b"}"),
    "with a shape of -6": _sized([-6]),
    "with a shape of 6.0": _sized([6.0]),
    "with a shape of true": _sized([True]),
    "with a shape of text": _sized("6"),
    "with a shape of 2 ** 64": _sized([1 << 64, 0], (0, 0), body=b""),
    "with 200,000 dimensions": _sized([9] * 200_000),
    "with a size that overflows": _sized([1 << 32, 1 << 32]),
    "with offsets behind the end": _sized([600], (0, 2400)),
    "with offsets backwards": _sized([6], (24, 0)),
    "with offsets of text": _sized([6], ("0", "24")),
    "with three offsets": _sized([6], (0, 24, 24)),
    "with a hole": _sized([5], (4, 24)),
    "with bytes behind": _sized([5], (0, 20)),
    "of dtype F33": _sized([6], dtype="F33"),
    "of a dtype of lists": _sized([6], dtype=[["F32"]]),
    "that overlap": safetensors(
        {name_: {"dtype": "U8", "shape": [1 << 16], "data_offsets": [0, 1 << 16]} for name_ in map(str, range(500))},
        bytes(1 << 16),
    ),
    "of bools of 255": _sized([6], (0, 6), "BOOL", b"\xff" * 6),
    "that are pickles": _EVIL,
    "that are zip files": _GOOD,
}


def files() -> dict[str, bytes]:
    """All of them; the names of those that are for `.safetensors` begin so."""
    themes = {"zip with": _ZIPS, "stacked pickles with": _STACKED, "tar": _TARS, "safetensors": _SAFETENSORS}
    return {f"{theme} {what}": data for theme, bodies in themes.items() for what, data in bodies.items()}
