"""`torch.save` and `torch.load`: what files hold, beside PyTorch, and where it goes."""

from __future__ import annotations

import collections
import copy
import io
import linecache
import operator
import pathlib
import pickle
import sys
import tempfile
import types
import warnings
from typing import Any

import pytest

import torchlite
from compat_tests.checkpoints import DATA, FILES, records, resaved, saved
from compat_tests.described import agrees, contents, description
from compat_tests.side_by_side import plain, same, same_story

DROPOUT = "module_full.pt holds a Dropout"


def quiet_load(*args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torchlite.load(*args, **kwargs)


# ---- real files

_OTHER = "sparse_quant.pt"  # whose tensors have no strides to be described
_GOOD = [f for f in FILES if f.get("expect") is not None and f["file"] != _OTHER]
_ERRORS = [(f["file"], e) for f in FILES for e in f.get("errors") or ()]


@pytest.mark.parametrize("file", _GOOD, ids=lambda f: f["file"])
def test_real_files_have_their_contents(file):
    if file["file"] == "module_full.pt" and not hasattr(torchlite.nn, "Dropout"):
        pytest.skip(DROPOUT)
    loaded = quiet_load(DATA / file["file"], **file.get("load_kwargs") or {})
    assert agrees(file["expect"], description(loaded))


def test_a_real_file_of_sparse_and_quantized_tensors_has_its_contents():
    torch = pytest.importorskip("torch")
    assert repr(quiet_load(DATA / _OTHER)) == repr(torch.load(DATA / _OTHER))


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
        assert records(ours) == records(theirs)
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
    assert records(ours) == records(theirs)
    for library, data in ((torchlite, theirs), (torch, ours), (torchlite, ours)):
        model = library.load(io.BytesIO(data), weights_only=False)
        assert type(model) is library.nn.Sequential
        assert model(library.ones(1, 4)).item() == pytest.approx(_models(torch)(torch.ones(1, 4)).item())


def test_functions_and_classes_have_pytorchs_names():
    torch = pytest.importorskip("torch")
    for path in ("nn.functional.relu", "nn.Linear", "Tensor", "float32", "nn.Parameter", "FloatTensor"):
        find = operator.attrgetter(path)
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


def test_named_tuples_go_both_ways():
    torch = pytest.importorskip("torch")
    for one, other in ((torch, torchlite), (torchlite, torch), (torchlite, torchlite)):
        best = other.load(io.BytesIO(saved(one, one.max(one.arange(4.0).reshape(2, 2), 1))), weights_only=False)
        assert type(best) is other.return_types.max
        assert (best.values.tolist(), best.indices.tolist()) == ([1, 3], [1, 1])


def test_other_pickle_modules():
    other = types.ModuleType("other")
    other.Pickler, other.Unpickler = pickle.Pickler, pickle.Unpickler
    x = torchlite.arange(3.0)
    model, t, view, d = torchlite.load(
        io.BytesIO(saved(torchlite, [torchlite.nn.Linear(1, 1), x, x[1:], x.dtype], pickle_module=other)),
        pickle_module=other,
    )
    view.zero_()
    assert (type(model), t.tolist(), d) == (torchlite.nn.Linear, [0, 0, 0], torchlite.float32)


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


@pytest.mark.filterwarnings("error")
def test_sources_of_the_librarys_own_layers_are_not_compared():
    torch = pytest.importorskip("torch")
    data = [
        saved(library, library.nn.Sequential(library.nn.ReLU()), _use_new_zipfile_serialization=False)
        for library in (torch, torchlite)
    ]
    for library in (torch, torchlite):
        for file in data:
            assert type(library.load(io.BytesIO(file), weights_only=False)) is library.nn.Sequential


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


def test_contents_of_every_dtype_survive():
    for name, t in _dtypes(torchlite).items():
        assert contents(resaved(t)) == contents(t), name
