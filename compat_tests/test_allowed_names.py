"""What a file may name and call by default: PyTorch's list, and nothing that a module of ours happens to hold."""

from __future__ import annotations

import importlib
import io
import pickle
import sys

import pytest

import torchlite
from compat_tests.hostile.assembling import packed
from torchlite.serialization import allowed, calls

pytestmark = pytest.mark.any_build

CALLED = {
    "_codecs.encode", "builtins.bytearray", "builtins.complex", "builtins.set", "collections.Counter",
    "collections.OrderedDict", "torch.Size", "torch._tensor._rebuild_from_type_v2",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor", "torch._utils._rebuild_device_tensor_from_numpy",
    "torch._utils._rebuild_meta_tensor_no_storage", "torch._utils._rebuild_nested_tensor",
    "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state", "torch._utils._rebuild_qtensor",
    "torch._utils._rebuild_sparse_tensor", "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3", "torch._utils._rebuild_wrapper_subclass", "torch.device",
    "torch.nn.parameter.Parameter", "torch.serialization._get_layout", "torch._dynamo.decorators._DimRange",
    "torch.nested._internal.nested_tensor._rebuild_njt",
}  # fmt: skip
OF_NESTED_TENSORS = ("torch._dynamo.decorators", "torch.nested._internal.nested_tensor")  # adds names when imported


def calling(module: str, name: str, argument: bytes = b"X\x04\0\0\0evil") -> bytes:
    """A file whose pickle calls something."""
    pickled = b"\x80\x02c" + f"{module}\n{name}\n".encode() + argument + b"\x85R."
    return packed({"archive/data.pkl": pickled, "archive/version": b"3\n"})


def unsafe(data: bytes) -> list[str]:
    return torchlite.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))


def test_names_are_pytorchs():
    unpickler = pytest.importorskip("torch._weights_only_unpickler")
    modules = [importlib.import_module(name).__name__ for name in OF_NESTED_TENSORS]
    safe = pytest.importorskip("torch.serialization").get_safe_globals()
    added = {f"{named.__module__}.{named.__qualname__}" for named in safe if named.__module__ in modules}
    assert allowed.names() == unpickler._get_allowed_globals().keys() | added


def test_what_is_called_is_written_here_once_more():
    assert {name for name in allowed.names() if allowed.lookup(name) in calls.CHECKS} == CALLED
    assert len(calls.CHECKS) == len(CALLED)


@pytest.mark.parametrize("module", ["torch._utils", "torch._tensor", "torch.serialization", "torch.nn.parameter"])
def test_whatever_else_a_module_holds_is_refused(module):
    ours = importlib.import_module("torchlite" + module.removeprefix("torch"))
    others = [name for name in vars(ours) if f"{module}.{name}" not in CALLED]
    assert others
    for name in others:
        data = calling(module, name)
        with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
            torchlite.load(io.BytesIO(data))
        assert unsafe(data) == [f"{module}.{name}"]


def test_a_module_that_grows_changes_nothing(monkeypatch):
    monkeypatch.setattr(torchlite._utils, "_rebuild_anything", exec, raising=False)
    monkeypatch.setattr(torchlite._utils, "__all__", [*torchlite._utils.__all__, "_rebuild_anything"])
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        torchlite.load(io.BytesIO(calling("torch._utils", "_rebuild_anything")))


def test_files_import_nothing():
    before = set(sys.modules)
    for name in ("antigravity", "this"):
        argument = b"X" + len(name).to_bytes(4, "little") + name.encode()
        with pytest.raises(pickle.UnpicklingError):
            torchlite.load(io.BytesIO(calling("torch._utils", "try_import", argument)))
    assert set(sys.modules) == before


def test_unsafe_names_are_told_as_load_finds_them():
    data = calling("os", "system")
    with torchlite.serialization.safe_globals([(print, "os.system")]):  # blocked all the same
        with pytest.raises(pickle.UnpicklingError, match="blocked"):
            torchlite.load(io.BytesIO(data))
        assert unsafe(data) == ["os.system"]
    assert unsafe(calling("__builtin__", "eval")) == ["builtins.eval"]
    assert unsafe(calling("__builtin__", "set")) == []
