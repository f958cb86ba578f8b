"""`torch.save` and `torch.load`: real files, files exchanged with PyTorch, and files that are damaged or hostile."""

from __future__ import annotations

import collections
import copy
import io
import json
import linecache
import mmap
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import textwrap
import tracemalloc
import types
import warnings
import zipfile
from typing import Any

import numpy as np
import pytest

import torchlite
from compat_tests import fuzz_files
from compat_tests.described import agrees, contents, description
from compat_tests.side_by_side import plain, same, same_story

DATA = pathlib.Path(__file__).parent / "data" / "checkpoints"
FILES = json.loads((DATA / "manifest.json").read_text())["files"]
DROPOUT = "module_full.pt holds a Dropout"


def quiet_load(*args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torchlite.load(*args, **kwargs)


def saved(library: Any, obj: Any, **kwargs: Any) -> bytes:
    out = io.BytesIO()
    library.save(obj, out, **kwargs)
    return out.getvalue()


def resaved(obj: Any, **kwargs: Any) -> Any:
    return torchlite.load(io.BytesIO(saved(torchlite, obj)), **kwargs)


# ---- real files

_REFUSED = {"sparse_quant.pt": "sparse"}  # what torchlite cannot hold, it says
_GOOD = [f for f in FILES if f.get("expect") is not None and f["file"] not in _REFUSED]
_ERRORS = [(f["file"], e) for f in FILES for e in f.get("errors") or ()]


@pytest.mark.parametrize("file", _GOOD, ids=lambda f: f["file"])
def test_real_files_have_their_contents(file):
    if file["file"] == "module_full.pt" and not hasattr(torchlite.nn, "Dropout"):
        pytest.skip(DROPOUT)
    loaded = quiet_load(DATA / file["file"], **file.get("load_kwargs") or {})
    assert agrees(file["expect"], description(loaded))


@pytest.mark.parametrize("name", _REFUSED)
def test_kinds_of_tensors_that_there_are_not_are_named(name):
    with pytest.raises(NotImplementedError, match=_REFUSED[name]):
        torchlite.load(DATA / name)


@pytest.mark.parametrize(("name", "error"), _ERRORS, ids=[f"{name}-{e['load_kwargs']}" for name, e in _ERRORS])
def test_files_that_are_refused_are_refused_in_pytorchs_words(name, error):
    with pytest.raises(
        (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, AssertionError, AttributeError)
    ) as found:
        quiet_load(DATA / name, **error["load_kwargs"])
    if name == "bad_numel_neg.pt":  # where PyTorch names a function in C++
        assert found.type is RuntimeError
        return
    assert found.type.__name__ == error["type"]
    if not (name == "bad_storage_type.pt" and error["load_kwargs"]):
        assert error["message"].rpartition("] . ")[2][:150].strip() in str(found.value)


@pytest.mark.parametrize("file", [f for f in _GOOD if f["file"].endswith(".pt")], ids=lambda f: f["file"])
def test_mapped_files_have_the_same_contents(file):
    kwargs = file.get("load_kwargs") or {}
    try:
        mapped = quiet_load(DATA / file["file"], mmap=True, **kwargs)
    except (RuntimeError, ModuleNotFoundError) as error:
        assert "legacy" in file["file"] or "deflated" in file["file"] or "module" in file["file"], error
        return
    assert agrees(file["expect"], description(mapped))


# ---- files exchanged with PyTorch


def _models(torch: Any) -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))


def _views(torch: Any) -> Any:
    x = torch.arange(12.0).reshape(3, 4)
    return [x, x[1], x.t(), x[:, 1:3], x.expand(2, 3, 4), x.as_strided((2, 2), (1, 1), 1)]


def _dtypes(torch: Any) -> Any:
    names = (
        "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128 uint16 uint32 uint64 "
        "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
    )
    return {
        name: torch.tensor([1.0, 0.0 if name == "bool" else 4.0, 2.0]).to(getattr(torch, name))
        for name in names.split()
    }


def _attributes(torch: Any) -> Any:
    t, p = torch.arange(3.0), torch.nn.Parameter(torch.ones(2))
    t.tag = {"x": 1}
    p.label = "w"
    return [t, p, torch.nn.Buffer(torch.ones(2)), torch.nn.Buffer(torch.ones(1), persistent=False)]


def _values(torch: Any) -> Any:
    values = [1, -3, 2.5, 1 << 80, True, None, "ü", b"\x00\xff", bytearray(b"ab"), {1, 2}, 1 + 2j, (1,), (1, 2, 3, 4)]
    shared = [0]
    return {
        "plain": values, "shared": [shared, shared], "counter": collections.Counter("aab"),
        "names": [torch.float32, torch.device("cuda", 1), torch.Size((1, 2)), torch.strided],
        "ordered": collections.OrderedDict(b=1, a=2),
    }  # fmt: skip


def _trained(torch: Any) -> Any:
    """Optimizers in the middle of training."""
    found = {}
    for name, options in (("SGD", {"momentum": 0.9}), ("Adam", {}), ("AdamW", {"amsgrad": True})):
        torch.manual_seed(1)
        model = torch.nn.Linear(3, 2)
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.125, **options)
        model.weight.grad, model.bias.grad = torch.ones(2, 3), torch.ones(2)
        optimizer.step()
        found[name] = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    return found


_OBJECTS = {
    "views": _views,
    "dtypes": _dtypes,
    "attributes": _attributes,
    "values": _values,
    "shapes": lambda torch: [torch.tensor(3.5), torch.zeros(0), torch.zeros(2, 0, 3), torch.ones(1, 2, 1)],
    "state_dict": lambda torch: _models(torch).state_dict(),
    "tied": lambda torch: (lambda p: [p, p, p.data, torch.nn.Parameter(p.data)])(torch.nn.Parameter(torch.ones(3))),
    "requires_grad": lambda torch: [torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True) * 2],
    "conj": lambda torch: [torch.tensor([1 + 2j, 3 - 1j]).conj(), torch.tensor([1 + 2j]).conj().imag],
    "storages": lambda torch: [torch.arange(4.0).untyped_storage(), torch.arange(4).storage()],
    "meta": lambda torch: torch.ones(2, 3, device="meta"),
    "rng": lambda torch: (torch.manual_seed(3), torch.get_rng_state())[1],
}


def _records(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("serialization_id")}


@pytest.mark.filterwarnings("ignore")
def test_optimizers_go_both_ways_in_the_middle_of_training():
    torch = pytest.importorskip("torch")
    if not hasattr(torchlite, "optim"):
        pytest.skip("there is no torchlite.optim")
    wanted = plain(_trained(torch))
    for library, data in ((torchlite, saved(torch, _trained(torch))), (torch, saved(torchlite, _trained(torchlite)))):
        assert same(plain(library.load(io.BytesIO(data))), wanted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", _OBJECTS)
def test_files_are_pytorchs_byte_for_byte(name):
    torch = pytest.importorskip("torch")
    theirs, ours = (saved(library, _OBJECTS[name](library)) for library in (torch, torchlite))
    assert description(torchlite.load(io.BytesIO(theirs))) == description(torch.load(io.BytesIO(theirs)))
    assert description(torch.load(io.BytesIO(ours))) == description(torch.load(io.BytesIO(theirs)))
    assert description(torchlite.load(io.BytesIO(ours))) == description(torch.load(io.BytesIO(theirs)))
    if name != "values":  # which hold constants that are equal, and may be one object or several
        assert _records(ours) == _records(theirs)
        assert len(ours) == len(theirs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(_OBJECTS.keys() - {"dtypes", "storages", "meta"}))
def test_legacy_files_go_both_ways(name):
    torch = pytest.importorskip("torch")
    theirs, ours = (
        saved(library, _OBJECTS[name](library), _use_new_zipfile_serialization=False) for library in (torch, torchlite)
    )
    wanted = description(torch.load(io.BytesIO(theirs)))
    for library, data in ((torchlite, theirs), (torch, ours), (torchlite, ours)):
        stream = io.BytesIO(data + b"what follows")
        assert description(library.load(stream)) == wanted
        assert stream.read() == b"what follows"


def test_whole_modules_go_both_ways():
    torch = pytest.importorskip("torch")
    theirs, ours = (saved(library, _models(library)) for library in (torch, torchlite))
    assert _records(ours) == _records(theirs)
    for library, data in ((torchlite, theirs), (torch, ours), (torchlite, ours)):
        model = library.load(io.BytesIO(data), weights_only=False)
        assert type(model) is library.nn.Sequential
        assert model(library.ones(1, 4)).item() == pytest.approx(_models(torch)(torch.ones(1, 4)).item())


def test_functions_and_classes_have_pytorchs_names():
    torch = pytest.importorskip("torch")
    for path in ("nn.functional.relu", "nn.Linear", "Tensor", "float32", "nn.Parameter", "FloatTensor"):
        find = lambda library, path=path: __import__("operator").attrgetter(path)(library)
        assert torch.load(io.BytesIO(saved(torchlite, find(torchlite))), weights_only=False) is find(torch), path
    assert torch.load(io.BytesIO(saved(torchlite, torchlite.tanh)), weights_only=False) is torch.tanh
    assert torchlite.load(io.BytesIO(saved(torch, torch.tanh)), weights_only=False) is torchlite.tanh


def test_generators_go_both_ways():
    torch = pytest.importorskip("torch")
    for one, other in ((torch, torchlite), (torchlite, torch)):
        g = one.Generator().manual_seed(7)
        one.rand(3, generator=g)
        again = other.load(io.BytesIO(saved(one, g)), weights_only=False)
        assert other.rand(2, generator=again).tolist() == one.rand(2, generator=g).tolist()


def test_archives_pass_pytorchs_own_checks():
    torch = pytest.importorskip("torch")
    reader = torch._C.PyTorchFileReader(io.BytesIO(saved(torchlite, _views(torchlite))))
    assert reader.has_record("byteorder")
    assert all(reader.get_record_offset(name) % 64 == 0 for name in reader.get_all_records())


@same_story
def test_legacy_files_know_the_source_of_modules(torch, tell):
    source = "class Net(Base):\n    def forward(self, x):\n        return x{}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "net_in_a_file.py")
        module = types.ModuleType("net_in_a_file")
        module.__file__, module.Base = str(path), torch.nn.Module
        sys.modules["net_in_a_file"] = module
        try:
            for change in ("", " + 1"):
                path.write_text(source.format(change))
                linecache.clearcache()
                exec(compile(path.read_text(), path, "exec"), module.__dict__)
                if not change:
                    data = saved(torch, module.Net(), _use_new_zipfile_serialization=False)
                tell(type(torch.load(io.BytesIO(data), weights_only=False)) is module.Net)
        finally:
            del sys.modules["net_in_a_file"]


# ---- what is shared, and what is kept


def test_views_stay_views():
    x, row, *_ = resaved(_views(torchlite))
    row.zero_()
    assert x[1].tolist() == [0, 0, 0, 0]


def test_subclasses_with_attributes():
    again = resaved(_tagged(), weights_only=False)
    assert type(again) is Tagged
    assert (again.tolist(), again.tag, again.kept) == ([0, 1, 2], "x", 5)
    with pytest.raises(pickle.UnpicklingError, match="Tagged was not an allowed global"):
        resaved(_tagged())
    with torchlite.serialization.safe_globals([Tagged]):
        assert type(resaved(_tagged())) is Tagged


class Tagged(torchlite.Tensor):
    __slots__ = ("kept",)


def _tagged() -> Any:
    t = torchlite.arange(3.0).as_subclass(Tagged)
    t.tag, t.kept = "x", 5
    return t


def test_pickles_and_copies_of_storages():
    x = torchlite.arange(4.0)
    for storage in (x.untyped_storage(), x.storage()):
        for again in (pickle.loads(pickle.dumps(storage)), copy.deepcopy(storage)):
            assert type(again) is type(storage)
            assert again.tolist() == storage.tolist()
            assert again.data_ptr() != storage.data_ptr()
    typed, t = pickle.loads(pickle.dumps((x.storage(), x[1:])))
    typed[1] = 9.0
    assert t.tolist() == [9, 2, 3]


@same_story
def test_legacy_storages(torch, tell):
    warnings.simplefilter("ignore")
    s = torch.FloatStorage([1, 2, 3])
    tell(isinstance(s, torch.FloatStorage), isinstance(s, torch.IntStorage), s.tolist(), len(s), s.nbytes(), s.type())
    tell(str(s), s.double().tolist(), s.pickle_storage_type(), torch.BoolStorage([1, 0, 2]).tolist())
    tell(
        torch.FloatStorage.from_buffer(b"abcd", "little").tolist(),
        torch.FloatStorage.from_buffer(b"abcd", "big").tolist(),
    )
    tell(torch.FloatTensor(s), torch.tensor([]).set_(s), torch.UntypedStorage([1, 2]).tolist(), torch.Storage.dtype)
    tell(torch.ones(1).untyped_storage().type(), torch.UntypedStorage(b"ab").tolist())
    swapped = torch.ones(1).untyped_storage()
    swapped.byteswap(torch.float32)
    tell(swapped.tolist())
    s[0:1]


def test_saving_one_memory_as_two_types_is_refused():
    x = torchlite.ones(2)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        torchlite.save([x, x.view(torchlite.int32)], io.BytesIO())


@same_story
def test_hooks_are_not_saved(torch, tell):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: g)
    data = io.BytesIO()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.save(x, data)
    tell([str(w.message).split(" on tensor")[1] for w in seen])


# ---- where storages go


@same_story
def test_map_location(torch, tell):
    data = io.BytesIO()
    torch.save([torch.arange(3.0), torch.arange(2)], data)

    def load(where):
        data.seek(0)
        try:
            tell([(str(t.device), tuple(t.shape)) for t in torch.load(data, map_location=where)])
        except Exception as error:
            tell(type(error).__name__, str(error))

    def asked(storage, location):
        tell(type(storage).__name__, len(storage), location, str(storage.device))
        return storage

    for where in ("cpu", torch.device("cpu"), "meta", torch.device("meta"), {"cpu": "meta"}, {"cuda:0": "cpu"}):
        load(where)
    for where in (asked, lambda storage, location: None, lambda storage, location: 5, 5, "foo", "cuda", "xpu:1", "hpu"):
        load(where)


def test_registered_packages_are_asked_by_priority():
    packages = torchlite.serialization.locations._packages
    before = list(packages)
    try:
        torchlite.serialization.register_package(
            5, lambda s: "moon" if s.nbytes() == 12 else None, lambda s, location: s if location == "moon" else None
        )
        data = saved(torchlite, torchlite.ones(3))
        assert torchlite.serialization.location_tag(torchlite.ones(3).untyped_storage()) == "moon"
        assert torchlite.load(io.BytesIO(data)).tolist() == [1, 1, 1]
    finally:
        packages[:] = before
    with pytest.raises(RuntimeError, match="tagged with moon"):
        torchlite.load(io.BytesIO(data))
    assert torchlite.load(io.BytesIO(data), map_location="cpu").tolist() == [1, 1, 1]


def test_strict_backend_restores_its_storages():
    torchlite.testing.enable_strict()
    t = torchlite.arange(3.0).to("strict")
    data = saved(torchlite, t)
    assert torchlite.load(io.BytesIO(data)).device == t.device
    assert torchlite.load(io.BytesIO(data), map_location="cpu").tolist() == [0, 1, 2]


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
    assert torchlite.load(io.BytesIO(one + two)).tolist() == [2, 2]


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
            assert archive.read.__self__.NameToInfo["x/.storage_alignment"].file_size == 4
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
    records = _records(saved(torch, torch.tensor([1.0, 2.0])))
    del records["archive/byteorder"]
    data = io.BytesIO(fuzz_files.packed(records))
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


_REPEATED = (
    b"q\x00" + b"0".join([b""]) + b"".join(b"c_codecs\nencode\nh\x00X\x06\0\0\0latin1\x86R" for _ in range(3000))
)


@pytest.mark.parametrize(
    "body",
    [
        b"c__builtin__\nbytearray\n\x8a\x05\xff\xff\xff\xff\x00\x85R",
        b"ctorch\nTensor\n\x8a\x05\xff\xff\xff\xff\x00\x85\x81",
        b"ctorch.storage\nUntypedStorage\n\x8a\x05\xff\xff\xff\xff\x00\x85R",
        b"(X\x50\xc3\x00\x00" + b"a" * 50_000 + _REPEATED + b"t",
        b"c_codecs\nencode\nX\x01\0\0\0aX\x05\0\0\0bz2xx\x86R",
        b"]" + b"\x85" * 200_000 + b"c__builtin__\nset\nh\x00\x85R",
        b"}" + b")" + b"\x85" * 200_000 + b"Ns",
        b"X\xff\xff\xff\xff",
        b"r\xff\xff\xff\xff",
    ],
    ids=["bytearray", "tensor", "storage", "copies", "codec", "deep", "deep key", "long text", "memo"],
)
def test_pickles_that_ask_for_too_much(body):
    data = fuzz_files.packed({"archive/data.pkl": b"\x80\x02" + body + b".", "archive/version": b"3\n"})
    fuzz_files.try_quietly(data)
    tracemalloc.start()
    try:
        with pytest.raises((pickle.UnpicklingError, EOFError)):
            torchlite.load(io.BytesIO(data))
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_deep_containers_load():
    body = b"]q\x00" + b"]a" * 0 + b"\x85" * 100_000
    data = fuzz_files.packed({"archive/data.pkl": b"\x80\x02" + body + b".", "archive/version": b"3\n"})
    assert type(torchlite.load(io.BytesIO(data))) is tuple


@pytest.mark.parametrize("seed", range(2))
def test_damaged_and_forged_files_do_no_harm(seed):
    assert fuzz_files.run(seed, 300)["loaded"]


def test_bytes_of_bools_are_zero_or_one():
    records = _records(saved(torchlite, torchlite.tensor([True, False, True])))
    records["archive/data/0"] = b"\xff\x00\x02"
    loaded = torchlite.load(io.BytesIO(fuzz_files.packed(records)))
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


def test_contents_of_every_dtype_survive():
    for name, t in _dtypes(torchlite).items():
        assert contents(resaved(t)) == contents(t), name
