"""Damaged and forged files for `torch.load`: whatever is in them, it loads or refuses, and does nothing else.

    python -m compat_tests.fuzz_files --count 20000 [--seed 0]

Real files are damaged (bits, cuts, records of one file in another) and pickles are forged, with names of things that
must not run, impossible sizes and calls that copy. Watched are: code that runs, files that are opened for writing,
memory, time, the kind of error, whether tensors stay inside their storages, and whether the process has changed.
"""

from __future__ import annotations

import argparse
import io
import pickle
import random
import struct
import sys
import tempfile
import time
import tracemalloc
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torchlite
from compat_tests.described import description

DATA = Path(__file__).parent / "data" / "checkpoints"

REFUSALS = (pickle.UnpicklingError, RuntimeError, EOFError)
MOST_SECONDS = 5.0
_WATCHED = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "exec", "compile", "socket.connect",
    "os.remove", "os.rename", "shutil.rmtree", "ctypes.dlopen", "pickle.find_class",
)  # fmt: skip


class Harm(Exception):
    """Something that loading a file must not do."""


# ---- watching


class _Watch:
    """While on, notes what the interpreter is asked to do that no file may ask for."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on:
            return
        writes = event == "open" and isinstance(args[1], str) and set("wax+") & set(args[1])
        if event in _WATCHED or writes:
            self.seen.append(f"{event} {args[:1]!r}"[:200])


watch: _Watch | None = None


def _state() -> Any:
    """What a load must leave as it was."""
    config = torchlite.utils.serialization.config
    return (
        torchlite.is_grad_enabled(), torchlite.get_default_dtype(), torchlite.serialization.get_safe_globals(),
        dict(vars(config.load)), dict(vars(config.save)), torchlite.get_default_device(),
    )  # fmt: skip


def try_file(data: bytes, path: Path | None = None) -> str:
    """Load some bytes and look at what comes of it; the name of the outcome. Harm, if it is one that may not be."""
    global watch
    watch = watch or _Watch()
    before, began = _state(), time.perf_counter()
    source: Any = io.BytesIO(data)
    if path is not None:
        path.write_bytes(data)
        source = path
    tracemalloc.reset_peak()
    held = tracemalloc.get_traced_memory()[0]
    watch.seen.clear()
    watch.on = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = torchlite.load(source, map_location="cpu", mmap=path is not None)
        outcome = "loaded"
    except REFUSALS as error:
        loaded, outcome = None, type(error).__name__
    except ValueError as error:
        if "Unknown endianness" not in str(error):
            raise Harm(f"{type(error).__name__}: {error}") from error
        loaded, outcome = None, "ValueError"
    except Exception as error:
        raise Harm(f"{type(error).__name__}: {error}") from error
    finally:
        watch.on = False
    taken = tracemalloc.get_traced_memory()[1] - held
    if watch.seen:
        raise Harm(f"ran {watch.seen}")
    if taken > 32 * len(data) + (8 << 20):
        raise Harm(f"took {taken} bytes for a file of {len(data)}")
    if time.perf_counter() - began > MOST_SECONDS:
        raise Harm("took too long")
    if _state() != before:
        raise Harm("changed the state of the process")
    _look(loaded)
    return outcome


def _look(loaded: Any) -> None:
    """Read all values of all tensors that are there, and check where they lie."""
    seen, left = set(), [loaded]
    while left:
        item = left.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, torchlite.Tensor):
            _check_place(item)
        elif isinstance(item, dict):
            left += [*item.keys(), *item.values()]
        elif isinstance(item, (list, tuple, set)):
            left += item


def _check_place(t: torchlite.Tensor) -> None:
    if t.is_meta or not t.numel():
        return
    reach = t.storage_offset() + sum((n - 1) * s for n, s in zip(t.shape, t.stride())) + 1
    if t.storage_offset() < 0 or min(t.stride(), default=0) < 0:
        raise Harm(f"a tensor with offset {t.storage_offset()} and strides {t.stride()}")
    if reach * t.element_size() > t.untyped_storage().nbytes():
        raise Harm(f"a tensor that reaches to {reach} of a storage of {t.untyped_storage().nbytes()} bytes")
    if t.numel() < 1 << 16:
        description(t)


# ---- making


def corpus() -> list[bytes]:
    """Real files, whole and some of them already damaged."""
    return [path.read_bytes() for path in sorted(DATA.glob("*.pt")) if path.stat().st_size < 20_000]


def _flip(dice: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        if made:
            made[dice.randrange(len(made))] ^= 1 << dice.randrange(8)
    return bytes(made)


def _cut(dice: random.Random, data: bytes) -> bytes:
    a, b = sorted((dice.randrange(len(data) + 1), dice.randrange(len(data) + 1)))
    return dice.choice(
        (data[:a], data[a:], data[:a] + data[b:], data[:b] + data[a:], data[:a] + bytes(b - a) + data[b:])
    )


_NUMBERS = (0, 1, 2, 3, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def _renumber(dice: random.Random, data: bytes) -> bytes:
    """Numbers at places where formats have them, replaced by extreme ones."""
    made = bytearray(data)
    for _ in range(dice.choice((1, 1, 3))):
        width, number = dice.choice((1, 2, 4, 8)), dice.choice(_NUMBERS)
        if len(made) > width:
            tail = dice.random() < 0.5  # where directories are
            at = dice.randrange(max(len(made) - 200, 0) if tail else 0, len(made) - width)
            made[at : at + width] = (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return bytes(made)


def _records(data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = {}
            for info in archive.infolist():
                with archive.open(info) as record:
                    record._expected_crc = None  # type: ignore[attr-defined]
                    found[info.filename] = record.read()
            return found
    except (
        zipfile.BadZipFile,
        ValueError,
        OSError,
        EOFError,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        struct.error,
    ):
        return {}


def packed(records: dict[str, bytes], compressed: bool = False) -> bytes:
    """A zip file of some records."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
            for name, content in records.items():
                archive.writestr(zipfile.ZipInfo(name), content, archive.compression)
    return out.getvalue()


def _splice(dice: random.Random, data: bytes, other: bytes) -> bytes:
    """Records of one file in the place of another's, or damaged inside a whole archive."""
    mine, theirs = _records(data), _records(other)
    if not mine:
        return _cut(dice, data)
    name = dice.choice(list(mine))
    if theirs and dice.random() < 0.5:
        mine[name] = theirs[dice.choice(list(theirs))]
    else:
        mine[name] = dice.choice((_flip, _cut, _renumber))(dice, mine[name])
    if dice.random() < 0.1:
        mine[dice.choice(("../../evil", "/abs", "archive/../x", "archive/data/0"))] = b"x"
    return packed(mine, dice.random() < 0.2)


_FORBIDDEN = (
    "os system", "posix system", "subprocess Popen", "__builtin__ eval", "builtins exec", "nt system", "sys exit",
    "__builtin__ getattr", "torch.serialization load", "torch load", "torchlite.serialization save", "builtins open",
    "torch.nn.modules.linear Linear", "numpy frombuffer", "shutil rmtree", "importlib import_module", "torch from_file",
    "collections defaultdict", "functools partial", "operator attrgetter", "codecs decode", "torch._utils os",
)  # fmt: skip
_PERMITTED = (
    "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor_v3", "torch._utils _rebuild_tensor",
    "torch._utils _rebuild_parameter", "torch._utils _rebuild_parameter_with_state", "torch FloatStorage",
    "torch._tensor _rebuild_from_type_v2", "torch._utils _rebuild_meta_tensor_no_storage", "torch Tensor",
    "torch._utils _rebuild_device_tensor_from_cpu_tensor", "torch._utils _rebuild_sparse_tensor",
    "torch.storage UntypedStorage", "torch BoolStorage", "torch FloatTensor",
    "torch.nn.parameter Parameter", "collections OrderedDict", "collections Counter", "_codecs encode", "torch Size",
    "__builtin__ bytearray", "__builtin__ set", "__builtin__ complex", "torch device", "torch float32", "torch bool",
    "torch.serialization _get_layout", "torch QInt8Storage", "torch complex32", "torch.cuda FloatTensor",
)  # fmt: skip


def _forged_pickle(dice: random.Random) -> bytes:
    """A pickle of random opcodes that mean something, and usually fit the stack."""
    made = [b"\x80\x02"]
    for _ in range(dice.randrange(1, 60)):
        made.append(dice.choice(_PARTS)(dice))
    return b"".join(made) + b"."


def _number(dice: random.Random) -> bytes:
    n = dice.choice((*_NUMBERS, -1, -5, dice.randrange(100)))
    if 0 <= n < 256:
        return b"K" + bytes((n,))
    data = n.to_bytes(9, "little", signed=True)
    return b"\x8a" + bytes((len(data),)) + data


def _string(dice: random.Random) -> bytes:
    text = dice.choice(
        ("storage", "cpu", "cuda:0", "meta", "0", "1", "latin1", "zlib", "module", "__class__", "array")
    ).encode()
    return b"X" + struct.pack("<I", len(text)) + text


def _name(dice: random.Random) -> bytes:
    names = _PERMITTED if dice.random() < 0.96 else _FORBIDDEN
    return b"c" + dice.choice(names).replace(" ", "\n").encode() + b"\n"


def _storage(dice: random.Random) -> bytes:
    kind = dice.choice(
        ("torch\nFloatStorage", "torch\nBoolStorage", "torch.storage\nUntypedStorage", "torch\nLongStorage")
    )
    count = dice.choice((b"K\x06", b"K\x18", b"K\x00", _number(dice)))
    return b"(X\x07\0\0\0storagec" + kind.encode() + b"\nX\x01\0\0\0" + b"0" + b"X\x03\0\0\0cpu" + count + b"tQ"


def _tensor(dice: random.Random) -> bytes:
    """A tensor with whatever geometry."""
    dims = dice.randrange(4)
    small = lambda: _number(dice) if dice.random() < 0.2 else b"K" + bytes((dice.randrange(4),))
    size, stride = (b"(" + b"".join(small() for _ in range(dims)) + b"t" for _ in range(2))
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + _storage(dice) + small() + size + stride + b"\x89}tR"


def _plain(*codes: bytes) -> Callable[[random.Random], bytes]:
    return lambda dice: dice.choice(codes)


_PARTS: tuple[Callable[[random.Random], bytes], ...] = (
    _number, _string, _name, _name, _storage, _tensor, _tensor,
    _plain(b"(", b"t", b"\x85", b"\x86", b"\x87", b")", b"]", b"}", b"\x8f", b"N", b"\x88"),
    _plain(b"R", b"R", b"b", b"\x81", b"Q", b"a", b"e", b"s", b"u"),
    _plain(b"q\0", b"h\0", b"q\1", b"h\1", b"r\xff\xff\xff\xff", b"j\xff\xff\xff\xff", b"h\x02"),
    _plain(b"ctorch\nSize\n(K\x02t\x85R", b"c__builtin__\nbytearray\n", b"ccollections\nOrderedDict\n)R"),
    lambda dice: dice.choice((b"X\xff\xff\xff\xff", b"\x93", b"i", b"o", b"2", b"0")) if dice.random() < 0.1 else b"N",
    lambda dice: b"c_codecs\nencode\nX\x40\x42\x0f\x00" + b"a" * 50,
    lambda dice: b"(" * 50 + b"t" * 50,
)  # fmt: skip


def _forge(dice: random.Random, storage: bytes = bytes(range(24))) -> bytes:
    pickled = _forged_pickle(dice)
    if dice.random() < 0.1:  # stacked pickles
        head = b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {}))
        return head + pickled + pickle.dumps(["0"], 2) + struct.pack("<q", 6) + storage
    records = {"archive/data.pkl": pickled, "archive/data/0": storage, "archive/version": b"3\n"}
    return packed(records, dice.random() < 0.1)


def inputs(seed: int, count: int) -> Iterator[tuple[int, bytes]]:
    """Damaged and forged files, each with its number."""
    files = corpus()
    for number in range(count):
        dice = random.Random(f"{seed} {number}")
        data = dice.choice(files)
        how = dice.randrange(6)
        if how == 0:
            yield number, _flip(dice, data)
        elif how == 1:
            yield number, _cut(dice, data)
        elif how == 2:
            yield number, _renumber(dice, data)
        elif how == 3:
            yield number, _splice(dice, data, dice.choice(files))
        else:
            yield number, _forge(dice)


def run(seed: int, count: int) -> Counter[str]:
    """Try so many inputs; how they ended. Harm, with the number of the input, if one did any."""
    for data in corpus():  # import what is imported when first needed
        try_quietly(data)
    outcomes: Counter[str] = Counter()
    tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for number, data in inputs(seed, count):
                try:
                    outcomes[try_file(data, Path(folder, "file.pt") if number % 8 == 0 else None)] += 1
                except Harm as harm:
                    raise Harm(f"input {number} of seed {seed}: {harm}") from harm
    finally:
        if not tracing:
            tracemalloc.stop()
    return outcomes


def try_quietly(data: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            description(torchlite.load(io.BytesIO(data)))
        except (*REFUSALS, ValueError, AssertionError):
            pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    outcomes = run(options.seed, options.count)
    print(f"{options.count} inputs in {time.perf_counter() - began:.1f} s, no harm: {dict(outcomes.most_common())}")


if __name__ == "__main__":
    main()
