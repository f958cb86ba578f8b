"""Damaged and forged files for `torch.load`: whatever is in them, it loads or refuses, and does nothing else.

    python -m compat_tests.fuzz_files --count 100000 [--seed 0]

Real files are damaged (bits, cuts, numbers, records of one in another), their pickles are changed opcode by opcode, and
pickles are forged, with the names that may be called and those of all that is imported, impossible sizes and calls that
copy. What counts as harm, and how it is seen, is in `harmless.py`.
"""

from __future__ import annotations

import argparse
import io
import pickletools
import random
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from compat_tests.harmless import ORDINARY, outcomes
from compat_tests.hostile.assembling import checkpoint, legacy, listed, number, packed, storage, text
from torchlite.serialization import allowed
from torchlite.testing.progress import progress

# ---- damage


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
        width, value = dice.choice((1, 2, 4, 8)), dice.choice(_NUMBERS)
        if len(made) > width:
            tail = dice.random() < 0.5  # where directories are
            at = dice.randrange(max(len(made) - 200, 0) if tail else 0, len(made) - width)
            made[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return bytes(made)


# The fields of a zip file's headers: the signature that they follow, their place and width.
_FIELDS = [
    (signature, at, width)
    for signature, places in (
        (b"PK\3\4", ((4, 2), (6, 2), (8, 2), (18, 4), (22, 4), (26, 2), (28, 2))),
        (b"PK\1\2", ((8, 2), (10, 2), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (42, 4))),
        (b"PK\5\6", ((8, 2), (10, 2), (12, 4), (16, 4), (20, 2))),
        (b"PK\6\6", ((24, 8), (32, 8), (40, 8), (48, 8))),
        (b"PK\6\7", ((8, 8),)),
    )
    for at, width in places
]


def _reheader(dice: random.Random, data: bytes) -> bytes:
    """A zip file whose headers say something else."""
    made = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5))):
        signature, at, width = dice.choice(_FIELDS)
        found = [i for i in range(len(made)) if made.startswith(signature, i)]
        if found:
            place = dice.choice(found) + at
            was = int.from_bytes(made[place : place + width], "little")
            value = dice.choice((*_NUMBERS, was + 1, max(was - 1, 0), was * 2, 8, 12, len(made)))
            made[place : place + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return bytes(made)


_NO_ARCHIVE = (
    zipfile.BadZipFile, ValueError, OSError, EOFError, zlib.error, NotImplementedError, RuntimeError, struct.error,
)  # fmt: skip


def _records(data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = {}
            for info in archive.infolist():
                with archive.open(info) as record:
                    record._expected_crc = None  # type: ignore[attr-defined]
                    found[info.filename] = record.read()
            return found
    except _NO_ARCHIVE:
        return {}


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


def _reopcode(dice: random.Random, data: bytes) -> bytes:
    """A file whose pickle has other opcodes: some are left out, said twice, moved, or new."""
    records = _records(data)
    name = next((n for n in records if n.endswith("data.pkl")), None)
    codes = _opcodes(records[name]) if name else []
    if name is None or not codes:
        return _flip(dice, data)
    for _ in range(dice.choice((1, 1, 2, 4, 10))):
        a, b = (dice.randrange(1, len(codes) + 1) for _ in range(2))
        change = dice.randrange(5)
        if change == 0:
            del codes[a : a + 1]
        elif change == 1:
            codes.insert(a, dice.choice(codes))
        elif change == 2:
            codes.insert(a, dice.choice(_PARTS)(dice))
        elif change == 3:
            codes[a:b] = codes[a:b][::-1]
        else:
            codes[a : a + 1] = [dice.choice((b"h", b"q")) + bytes((dice.randrange(20),))]
    records[name] = b"".join(codes)
    return packed(records, dice.random() < 0.1)


def _opcodes(pickled: bytes) -> list[bytes]:
    """The opcodes of a pickle with their arguments; none where it is damaged already."""
    try:
        places = [at for _, _, at in pickletools.genops(pickled)]
    except ValueError:
        return []
    return [pickled[a:b] for a, b in zip(places, [*places[1:], len(pickled)])]


# ---- forgery


@cache
def _imported() -> list[str]:
    """The names of all that there is in this process, which files may not name unless they are on the list."""
    found = {
        f"{module.replace('torchlite', 'torch')} {name}"
        for module, contents in sorted(sys.modules.items())
        for name in list(getattr(contents, "__dict__", ()))
    }
    return sorted(found)


@cache
def _permitted() -> list[str]:
    return [" ".join(name.rsplit(".", 1)) for name in sorted(allowed.names())]


def _name(dice: random.Random) -> bytes:
    names = _permitted() if dice.random() < 0.95 else _imported()
    return b"c" + dice.choice(names).replace(" ", "\n").encode() + b"\n"


def _number(dice: random.Random) -> bytes:
    return number(dice.choice((*_NUMBERS, -1, -5, dice.randrange(100))))


_TEXTS = ("storage", "cpu", "cuda:0", "meta", "0", "1", "latin1", "zlib", "module", "__class__", "array", "conj")


def _storage(dice: random.Random) -> bytes:
    kind = dice.choice(("torch.FloatStorage", "torch.BoolStorage", "torch.storage.UntypedStorage", "torch.LongStorage"))
    return storage(kind, count=dice.choice((b"K\x06", b"K\x18", b"K\x00", _number(dice))))


def _tensor(dice: random.Random) -> bytes:
    """A tensor with whatever geometry."""
    dims = dice.randrange(4)
    small = lambda: _number(dice) if dice.random() < 0.2 else number(dice.randrange(4))
    size, stride = (b"(" + b"".join(small() for _ in range(dims)) + b"t" for _ in range(2))
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + _storage(dice) + small() + size + stride + b"\x89}tR"


def _rebuilt(dice: random.Random) -> bytes:
    """A call of something that is permitted, with arguments of any kind."""
    called = [n for n in _permitted() if not n.endswith(("Storage", "Tensor")) and "rebuild" in n]
    parts = (_number, _text, _name, _storage, _tensor, _empty)
    args = b"".join(dice.choice(parts)(dice) for _ in range(dice.randrange(8)))
    return b"c" + dice.choice(called).replace(" ", "\n").encode() + b"\n(" + args + b"tR"


def _text(dice: random.Random) -> bytes:
    return text(dice.choice(_TEXTS))


def _empty(dice: random.Random) -> bytes:
    return dice.choice((b")", b"]", b"}", b"N", b"\x88", b"\x8f"))


def _plain(*codes: bytes) -> Callable[[random.Random], bytes]:
    return lambda dice: dice.choice(codes)


_PARTS: tuple[Callable[[random.Random], bytes], ...] = (
    _number, _text, _name, _name, _storage, _tensor, _tensor, _rebuilt, _empty,
    _plain(b"(", b"t", b"\x85", b"\x86", b"\x87"),
    _plain(b"R", b"R", b"b", b"\x81", b"Q", b"a", b"e", b"s", b"u"),
    _plain(b"q\0", b"h\0", b"q\1", b"h\1", b"r\xff\xff\xff\xff", b"j\xff\xff\xff\xff", b"h\x02"),
    _plain(b"ctorch\nSize\n(K\x02t\x85R", b"c__builtin__\nbytearray\n", b"ccollections\nOrderedDict\n)R"),
    lambda dice: dice.choice((b"X\xff\xff\xff\xff", b"\x93", b"i", b"o", b"2", b"0")) if dice.random() < 0.1 else b"N",
    lambda dice: b"c_codecs\nencode\nX\x40\x42\x0f\x00" + b"a" * 50,
    lambda dice: b"(" * 50 + b"t" * 50,
    lambda dice: listed(b"K\1\x85q\0" + b"h\0h\0\x86q\0" * dice.randrange(40)),
)  # fmt: skip


def _forge(dice: random.Random) -> bytes:
    """A pickle of random opcodes that mean something, and usually fit the stack."""
    pickled = b"".join(dice.choice(_PARTS)(dice) for _ in range(dice.randrange(1, 60)))
    if dice.random() < 0.1:
        return legacy(pickled)
    return checkpoint(pickled, compressed=dice.random() < 0.1)


_DAMAGES = (_flip, _cut, _renumber, _reheader, _reopcode, _reopcode)


def inputs(seed: str, count: int) -> Iterator[tuple[str, bytes]]:
    """Damaged and forged files, each with what it is called."""
    for at in range(count):
        dice = random.Random(f"{seed} {at}")
        data = dice.choice(ORDINARY)
        how = dice.randrange(10)
        if how < len(_DAMAGES):
            made = _DAMAGES[how](dice, data)
        elif how == len(_DAMAGES):
            made = _splice(dice, data, dice.choice(ORDINARY))
        else:
            made = _forge(dice)
        yield f"input {at} of seed {seed}", made


def run(seed: str, count: int) -> tuple[Counter[str], list[str]]:
    """Try so many inputs: how they ended, and which did harm."""
    ended: Counter[str] = Counter()
    harms = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.pt")  # one in eight is mapped
        files = ((name, data, path if at % 8 == 0 else None) for at, (name, data) in enumerate(inputs(seed, count)))
        for name, outcome in progress(outcomes("torchlite", files), count):
            if outcome.startswith("harm"):
                harms.append(f"{name}: {outcome}")
            else:
                ended[outcome] += 1
    return ended, harms


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", default="0")
    options = parser.parse_args()
    began = time.perf_counter()
    ended, harms = run(options.seed, options.count)
    seconds = time.perf_counter() - began
    print(f"seed {options.seed}: {options.count} inputs in {seconds:.1f} s: {dict(ended.most_common())}")
    print("\n".join(harms) or "no harm")
    return bool(harms)


if __name__ == "__main__":
    sys.exit(main())
