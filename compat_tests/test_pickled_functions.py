"""Functions that models hold are pickled under the names that PyTorch has for them, and read from its files."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys

import pytest

import torchlite

torch = pytest.importorskip("torch")
NAMES = (
    "avg_pool2d", "avg_pool3d", "gelu", "linear", "logsigmoid", "one_hot", "scaled_dot_product_attention", "softplus",
    "softshrink", "relu", "softmax",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_functions_of_layers_travel_by_name(name):
    mine, real = getattr(torchlite.nn.functional, name), getattr(torch.nn.functional, name)
    assert pickle.loads(pickle.dumps(mine)) is mine
    for saver, function in ((torchlite, mine), (torch, real)):
        file = io.BytesIO()
        saver.save(function, file)
        for reader, expected in ((torchlite, mine), (torch, real)):
            file.seek(0)
            assert reader.load(file, weights_only=False) is expected


def test_a_transformer_with_gelu_is_saved_whole():
    layer = torchlite.nn.TransformerEncoderLayer(4, 2, activation="gelu").eval()
    again = pickle.loads(pickle.dumps(layer))
    x = torchlite.ones(1, 3, 4)
    assert torchlite.equal(again(x), layer(x))
    file = io.BytesIO()
    torchlite.save(layer, file)
    file.seek(0)
    assert torch.load(file, weights_only=False).activation is torch.nn.functional.gelu


SHOWN = """
import pickle, sys, warnings
import torch
from torch import nn
warnings.simplefilter("ignore")
torch.manual_seed(0)
spectral = nn.utils.spectral_norm(nn.Linear(2, 2))
things = [
    torch.float32, torch.quint8, torch.device("cpu"), torch.device("cuda", 1), torch.Size([2, 3]), torch.sparse_coo,
    torch.per_tensor_affine, torch.arange(4.0)[1:], torch.ones(2, dtype=torch.complex64).conj(), torch.tensor(True),
    nn.Parameter(torch.ones(2)), nn.Buffer(torch.ones(2)), torch.ones(2).storage(), torch.ones(2, device="meta"),
    torch.eye(2).to_sparse(), torch.eye(2).to_sparse_csr(), torch.ones(2, 2).max(0), nn.parameter.UninitializedBuffer(),
    torch.Generator(), torch.optim.SGD([nn.Parameter(torch.ones(1))], 0.1), torch.distributions.Normal(0.0, 1.0),
    torch.amp.GradScaler("cpu"), nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)]), torch.relu, spectral,
    nn.Sequential(nn.Conv2d(1, 1, 1), nn.LSTM(2, 2)), nn.TransformerEncoderLayer(4, 2, activation=nn.functional.gelu),
    torch.utils.data.TensorDataset(torch.ones(2)),
]
"""
WRITES = SHOWN + "\npickle.dump([pickle.dumps(each, p) for p in (2, 4) for each in things], open(sys.argv[1], 'wb'))"
READS = (
    SHOWN
    + """
def told(thing):
    if isinstance(thing, nn.Module):
        return repr(thing), {name: t.tolist() for name, t in thing.state_dict().items()}
    return "" if " at 0x" in repr(thing) else repr(thing)
for thing, pickled in zip(2 * things, pickle.load(open(sys.argv[1], "rb")), strict=True):
    if type(thing).__module__ == "torch.return_types" and sys.argv[2:] == ["there", "here"]:
        continue  # whose class takes a second argument there
    again = pickle.loads(pickled)
    assert type(again).__name__ == type(thing).__name__ and told(again) == told(thing), thing
"""
)


def test_plain_pickles_are_exchanged_with_pytorch(tmp_path):
    """What pickle itself writes where `torch` means torchlite names what PyTorch has, and the other way round."""
    for name, text in (("writes", WRITES), ("reads", READS)):
        (tmp_path / f"{name}.py").write_text(text)
    runs = {"there": [sys.executable], "here": [sys.executable, "-m", "torchlite"]}
    for writer in runs:
        written = str(tmp_path / f"{writer}.pickles")
        subprocess.run([*runs[writer], str(tmp_path / "writes.py"), written], check=True)
        for reader in runs:
            subprocess.run([*runs[reader], str(tmp_path / "reads.py"), written, writer, reader], check=True)


def test_pickles_are_read_under_either_name(tmp_path):
    """What was pickled under torchlite's own name is read where `torch` means torchlite."""
    file = tmp_path / "pickle"
    things = [torchlite.float32, torchlite.Size([2]), torchlite.nn.LazyLinear(2), torchlite.Generator()]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        file.write_bytes(pickle.dumps(things, protocol))
        assert repr(pickle.loads(file.read_bytes())[:3]) == repr(things[:3])
        read = f"import pickle, torch; d, *_ = pickle.load(open({str(file)!r}, 'rb')); assert d is torch.float32"
        subprocess.run([sys.executable, "-m", "torchlite", "-c", read], check=True)
