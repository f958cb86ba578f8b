"""`torch.save` and `torch.load`: files themselves, their formats and settings, damaged and hostile ones included."""

from __future__ import annotations

import collections
import io
import mmap
import os
import pickle
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile

import numpy as np
import pytest

import torchlite
from compat_tests.checkpoints import DATA, records, resaved, saved
from compat_tests.hostile.assembling import packed
from compat_tests.side_by_side import same_story

# ---- files


@same_story
def test_what_is_no_file(torch, tell):
    class Reader:
        def read(self, n=-1):
            return b""

    for call in (
        lambda: torch.load(5), lambda: torch.load(None), lambda: torch.load(Reader()), lambda: torch.save(1, 5),
        lambda: torch.save(1, b"x.pt"), lambda: torch.save(1, "no_such_folder/x.pt"), lambda: torch.load("no_such.pt"),
        lambda: torch.load(io.StringIO("abc")), lambda: torch.save(lambda: 0, io.BytesIO()), lambda: torch.load("."),
        lambda: torch.load(io.BytesIO(), mmap=True), lambda: torch.save(1, io.BytesIO(), pickle_module=5),
        lambda: torch.save(1, io.BytesIO(), pickle_protocol=9), lambda: torch.save((i for i in ()), io.BytesIO()),
        lambda: torch.load(DATA / "legacy_tensor.pt", mmap=True), lambda: torch.load(io.BytesIO(b"PK\3\4"), mmap=True),
        lambda: torch.load(io.BytesIO(), weights_only=True, pickle_module=pickle),
    ):  # fmt: skip
        try:
            call()
        except Exception as error:
            tell(type(error).__name__, str(error).replace("'pickle.Pickler'", ""))


@same_story
def test_whom_to_trust_is_said_by_arguments_and_the_environment(torch, tell):
    data = io.BytesIO()
    torch.save(torch.ones(1), data)
    names = ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    try:
        for always in (None, "1", "yes", "0"):
            for never in (None, "True", "n"):
                for kwargs in ({}, {"weights_only": False}, {"pickle_module": pickle}, {"encoding": "ascii"}):
                    for name, value in zip(names, (always, never)):
                        os.environ.pop(name, None)
                        if value is not None:
                            os.environ[name] = value
                    data.seek(0)
                    try:
                        tell(torch.load(data, **kwargs))
                    except RuntimeError as error:
                        tell(str(error))
    finally:
        for name in names:
            os.environ.pop(name, None)


def test_paths_and_names(tmp_path):
    for name in ("a.b.pt", "ünï.pt", "no_extension", "space in name.pt"):
        path = tmp_path / name
        torchlite.save(torchlite.ones(2), path)
        assert torchlite.load(path).tolist() == torchlite.load(str(path)).tolist() == [1, 1]
    with zipfile.ZipFile(tmp_path / "a.b.pt") as archive:
        assert {name.partition("/")[0] for name in archive.namelist()} == {"a.b"}
    with pytest.raises(RuntimeError, match=r"invalid file name: \.pt"):
        torchlite.save(1, ".pt")


def test_only_write_is_needed_to_save():
    class Sink:
        def __init__(self):
            self.parts = []

        def write(self, data):
            self.parts.append(bytes(data))

    sink = Sink()
    torchlite.save(torchlite.ones(2), sink)
    assert torchlite.load(io.BytesIO(b"".join(sink.parts))).tolist() == [1, 1]


def test_archives_begin_where_the_file_stands_and_may_be_followed_by_anything():
    one, two = (saved(torchlite, torchlite.full((2,), value)) for value in (1.0, 2.0))
    stream = io.BytesIO(b"before" + one + b"after")
    stream.seek(6)
    assert torchlite.load(stream).tolist() == [1, 1]
    assert torchlite.load(io.BytesIO(one + two)).tolist() == [1, 1]  # where the second directory says that it is


def test_failed_saves_leave_the_file_that_was_there(tmp_path, monkeypatch):
    path = tmp_path / "kept.pt"
    torchlite.save(torchlite.ones(2), path)
    path.chmod(0o640)
    before = path.read_bytes()

    with pytest.raises((AttributeError, pickle.PicklingError)):
        torchlite.save([torchlite.zeros(2), lambda: 0], path)

    def interrupted(storage):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(torchlite.serialization.saving, "host_bytes", interrupted)
        with pytest.raises(KeyboardInterrupt):
            torchlite.save(torchlite.zeros(2), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["kept.pt"]

    loaded = torchlite.load(path, mmap=True)
    torchlite.save(torchlite.zeros(2), path)
    assert loaded.tolist() == [1, 1]
    assert torchlite.load(path).tolist() == [0, 0]
    assert path.stat().st_mode & 0o777 == 0o640


def test_links_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.pt"
    link.symlink_to(tmp_path / "real" / "file.pt")
    torchlite.save(torchlite.ones(1), tmp_path / "real" / "file.pt")
    torchlite.save(torchlite.zeros(1), link)
    assert link.is_symlink()
    assert torchlite.load(tmp_path / "real" / "file.pt").item() == 0


def test_big_files_are_written_and_read_with_8_byte_sizes(tmp_path):
    path = tmp_path / "big.pt"
    with torchlite.serialization.skip_data():
        torchlite.save([torchlite.empty((1 << 32) + 5, dtype=torchlite.uint8), torchlite.ones(3)], path)
    assert path.stat().st_size > 1 << 32
    big, small = torchlite.load(path, mmap=True)
    assert (len(big), small.tolist()) == ((1 << 32) + 5, [0, 0, 0])
    big[-1] = 7
    assert torchlite.load(path, mmap=True)[0][-1] == 0
    torch = pytest.importorskip("torch")
    assert len(torch.load(path, mmap=True)[0]) == len(big)


def test_saving_makes_no_second_copy(tmp_path):
    t = torchlite.ones(1 << 22)
    tracemalloc.start()
    try:
        torchlite.save(t, tmp_path / "x.pt")
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


def test_mapped_files_are_private_unless_shared(tmp_path):
    path = tmp_path / "x.pt"
    torchlite.save([torchlite.arange(4.0)], path)
    t = torchlite.load(path, mmap=True)[0]
    t.zero_()
    assert torchlite.load(path)[0].tolist() == [0, 1, 2, 3]
    assert t.untyped_storage().nbytes() == 16
    assert torchlite.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with pytest.raises(ValueError, match="but got 5"):
        torchlite.serialization.set_default_mmap_options(5)
    with torchlite.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        torchlite.load(path, mmap=True)[0].fill_(5)
    assert torchlite.load(path)[0].tolist() == [5, 5, 5, 5]
    assert torchlite.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE


def test_settings(tmp_path):
    serialization = torchlite.serialization
    config = torchlite.utils.serialization.config
    try:
        serialization.set_crc32_options(False)
        config.save.storage_alignment = 4096
        torchlite.save(torchlite.ones(2), tmp_path / "x.pt")
        with zipfile.ZipFile(tmp_path / "x.pt") as archive:
            assert {info.CRC for info in archive.infolist()} == {0}
            assert archive.getinfo("x/.storage_alignment").file_size == len("4096")
    finally:
        serialization.set_crc32_options(True)
        config.save.storage_alignment = 64
    assert torchlite.load(tmp_path / "x.pt").tolist() == [1, 1]
    config.load.mmap = True
    try:
        with pytest.raises(ValueError, match="f must be a file path"):
            torchlite.load(io.BytesIO((tmp_path / "x.pt").read_bytes()))
    finally:
        config.load.mmap = False
    with pytest.raises(AttributeError):
        config.save.no_such_setting = 1


@same_story
def test_byte_order_of_files_that_do_not_say(torch, tell):
    endianness = torch.serialization.LoadEndianness
    kept = records(saved(torch, torch.tensor([1.0, 2.0])))
    del kept["archive/byteorder"]
    data = io.BytesIO(packed(kept))
    try:
        for order in (None, endianness.NATIVE, endianness.LITTLE, endianness.BIG):
            torch.serialization.set_default_load_endianness(order)
            data.seek(0)
            tell(str(torch.serialization.get_default_load_endianness()), torch.load(data))
        torch.serialization.set_default_load_endianness("x")
    finally:
        torch.serialization.set_default_load_endianness(None)


def test_files_of_memory(tmp_path):
    path = tmp_path / "memory"
    path.write_bytes(bytes(range(16)))
    assert torchlite.from_file(str(path), size=2, dtype=torchlite.int32).tolist() == [50462976, 117835012]
    private = torchlite.from_file(str(path), size=4, dtype=torchlite.uint8)
    private.zero_()
    shared = torchlite.from_file(str(path), shared=True, size=4, dtype=torchlite.uint8)
    shared[0] = 9
    assert path.read_bytes()[:4] == b"\x09\x01\x02\x03"
    with pytest.raises(RuntimeError, match="is smaller than the required mapping size"):
        torchlite.UntypedStorage.from_file(path, nbytes=64)
    with pytest.raises(RuntimeError, match=r"unable to open file <.*> in read-only mode: No such file"):
        torchlite.UntypedStorage.from_file(tmp_path / "none", nbytes=1)
    assert torchlite.UntypedStorage.from_file(path, True, 32).filename == str(path)
    assert path.stat().st_size == 32
    assert torchlite.ShortStorage.from_file(path, size=2).tolist() == [265, 770]


# ---- safety


@same_story
def test_safe_globals(torch, tell):
    serialization = torch.serialization
    before = serialization.get_safe_globals()
    serialization.clear_safe_globals()
    try:
        data = io.BytesIO()
        torch.save(collections.deque([1]), data)

        def load():
            data.seek(0)
            tell(torch.load(data))

        try:
            load()
        except pickle.UnpicklingError as error:
            tell(str(error))
        data.seek(0)
        tell(serialization.get_unsafe_globals_in_checkpoint(data))
        with serialization.safe_globals([collections.deque]):
            tell(str(serialization.get_safe_globals()))
            data.seek(0)
            tell(serialization.get_unsafe_globals_in_checkpoint(data))
        tell(serialization.get_safe_globals())
        serialization.add_safe_globals([(np.float64, "collections.deque")])
        load()
    finally:
        serialization.clear_safe_globals()
        serialization.add_safe_globals(before)


def test_blocked_modules_stay_blocked():
    refusal = pytest.raises(pickle.UnpicklingError, match="whose module os is blocked")
    with torchlite.serialization.safe_globals([os.system]), refusal:
        torchlite.load(DATA / "evil_os_system.pt")


def test_allowed_classes_are_made_and_filled():
    thing = Thing(3)
    with torchlite.serialization.safe_globals([Thing]):
        assert vars(resaved([thing, thing])[0]) == {"x": 3}
        first, second = resaved([thing, thing])
        assert first is second


class Thing:
    def __init__(self, x):
        self.x = x


def test_deep_containers_load():
    body = b"]" + b"\x85" * 100_000
    data = packed({"archive/data.pkl": b"\x80\x02" + body + b".", "archive/version": b"3\n"})
    assert type(torchlite.load(io.BytesIO(data))) is tuple


def test_bytes_of_bools_are_zero_or_one():
    kept = records(saved(torchlite, torchlite.tensor([True, False, True])))
    kept["archive/data/0"] = b"\xff\x00\x02"
    loaded = torchlite.load(io.BytesIO(packed(kept)))
    assert loaded.untyped_storage().tolist() == [1, 0, 1]


# ---- other formats and programs


def test_safetensors_files_need_no_package():
    loaded = torchlite.load(DATA / "sample.safetensors")
    assert {name: (str(t.dtype), tuple(t.shape)) for name, t in loaded.items()} == {
        "b": ("torch.bfloat16", (3,)), "e": ("torch.float32", (0, 2)), "flag": ("torch.bool", ()),
        "w": ("torch.float32", (2, 3)),
    }  # fmt: skip


def _safetensors(header: bytes, data: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + data


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\0", "header too small"),
        ((1 << 40).to_bytes(8, "little"), "header too large"),
        ((100).to_bytes(8, "little"), "invalid header length"),
        (_safetensors(b"{nope"), "invalid JSON"),
        (_safetensors(b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}', bytes(4)), "invalid shape"),
        (_safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', bytes(8)), "invalid offset"),
        (_safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', bytes(8)), "not fully covered"),
        (_safetensors(b'{"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}', bytes(4)), "invalid shape"),
    ],
)
def test_damaged_safetensors_files(tmp_path, content, said):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match=said):
        torchlite.load(path)


def test_files_under_the_alias(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""\
            import io, pickle, sys, torch
            from torch._utils import _rebuild_tensor_v2
            from torch.serialization import safe_globals
            data = io.BytesIO()
            torch.save([torch.nn.Linear(2, 1), torch.arange(3.)], data)
            data.seek(0)
            print(torch.load(data, weights_only=False)[1].tolist())
            t = torch.ones(2)
            t.tag = 1
            print(pickle.loads(pickle.dumps([t, t[1:]]))[0].tag)
        """)
    )
    done = subprocess.run(
        [sys.executable, "-m", "torchlite", str(script)], capture_output=True, text=True, cwd=DATA.parents[2]
    )
    assert done.stdout.split("\n")[:2] == ["[0.0, 1.0, 2.0]", "1"], done.stderr


def test_plain_pickles_of_pytorch_open_under_the_alias(tmp_path):
    torch = pytest.importorskip("torch")
    (tmp_path / "plain.pickle").write_bytes(pickle.dumps({"t": torch.arange(4.0)[1:], "s": torch.arange(2).storage()}))
    script = tmp_path / "script.py"
    script.write_text(
        "import pickle; got = pickle.load(open(__import__('sys').argv[1], 'rb')); print(got['t'].tolist())"
    )
    command = [sys.executable, "-m", "torchlite", str(script), str(tmp_path / "plain.pickle")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=DATA.parents[2])
    assert done.stdout == "[1.0, 2.0, 3.0]\n", done.stderr
