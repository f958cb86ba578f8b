"""Modules that have no file: each is one of PyTorch's, by its names and by what is in it."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys

import pytest

import torchlite
from torchlite.alias.naming import torch_name
from torchlite.faces.table import FACES

pytestmark = pytest.mark.any_build

# What programs for other versions of PyTorch ask for, and what is needed inside.
_MORE = {
    "backends.cuda": ["sdp_kernels"],
    "distributed.distributed_c10d": [
        "BuiltinCommHookType", "DistBackendError", "DistError", "DistNetworkError", "QueueEmptyError",
        "set_debug_level", "set_debug_level_from_env", "FileStore", "HashStore", "TCPStore", "is_available",
    ],
    "backends.nnpack": ["enabled"], "onnx": ["dynamo_export"],
    "utils.model_zoo": ["load_state_dict_from_url"],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FACES)
def test_what_is_in_a_face_is_in_pytorchs_module(name):
    ours = importlib.import_module(f"torchlite.{name}")
    theirs = pytest.importorskip(torch_name(ours.__name__), exc_type=ImportError)
    wanted = [*ours.__all__, *FACES[name].variables]
    assert [each for each in wanted if not hasattr(theirs, each)] == _MORE.get(name, [])
    assert {each: getattr(ours, each) for each in FACES[name].variables} == dict(FACES[name].variables)
    assert importlib.util.find_spec(ours.__name__) is not None
    parent, _, last = ours.__name__.rpartition(".")
    their_parent = importlib.import_module(theirs.__name__.rpartition(".")[0] or "torch")
    if getattr(their_parent, last, theirs) is theirs:  # and not a function of that name
        assert getattr(importlib.import_module(parent), last) is ours


def test_faces_are_loaded_when_they_are_first_used():
    program = """if True:
        import sys, torchlite
        from torchlite.faces.table import FACES
        loaded = [name for name in FACES if f"torchlite.{name}" in sys.modules]
        print(loaded, torchlite.backends.mkldnn.enabled, torchlite.xpu.is_available())
        print([name for name in FACES if f"torchlite.{name}" in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[] True False", "['backends.mkldnn', 'xpu']"]


def test_a_module_that_is_nowhere_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torchlite.backends.nowhere")
    with pytest.raises(AttributeError, match=r"no torch\.backends\.nowhere"):
        _ = torchlite.backends.nowhere
