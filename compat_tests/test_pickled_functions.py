"""Functions that models hold are pickled under the names that PyTorch has for them, and read from its files."""

from __future__ import annotations

import io
import pickle

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
