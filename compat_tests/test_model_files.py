"""The state of twenty models, saved in one library and loaded in the other, exactly."""

from __future__ import annotations

import io

import pytest

torch = pytest.importorskip("torch")

import torchlite  # noqa: E402


def _mlp(nn):
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def _resnet(nn):
    return nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1))


def _tied(nn):
    model = nn.ModuleDict({"one": nn.Linear(3, 3), "two": nn.Linear(3, 3)})
    model["two"].weight = model["one"].weight
    return model


MODELS = {
    "mlp": _mlp,
    "residual block": _resnet,
    "tied weights": _tied,
    "nested": lambda nn: nn.ModuleList([_mlp(nn), nn.ModuleDict({"a": _resnet(nn)}), nn.Identity()]),
    "parameters": lambda nn: nn.ParameterList([nn.Linear(2, 3).weight, nn.Linear(3, 1).bias]),
    "linear": lambda nn: nn.Linear(5, 3, bias=False),
    "bilinear": lambda nn: nn.Bilinear(2, 3, 4),
    "half": lambda nn: nn.Linear(5, 3).half(),
    "bfloat16": lambda nn: _mlp(nn).bfloat16(),
    "double": lambda nn: _mlp(nn).double(),
    "conv1d": lambda nn: nn.Conv1d(2, 4, 3, groups=2),
    "transposed": lambda nn: nn.ConvTranspose2d(2, 3, 3),
    "embeddings": lambda nn: nn.Sequential(nn.Embedding(7, 4, padding_idx=0), nn.LayerNorm(4)),
    "bags": lambda nn: nn.EmbeddingBag(5, 3),
    "group norm": lambda nn: nn.GroupNorm(2, 4),
    "instance norm": lambda nn: nn.InstanceNorm1d(3, affine=True, track_running_stats=True),
    "lstm": lambda nn: nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2),
    "gru": lambda nn: nn.GRU(3, 4),
    "attention": lambda nn: nn.MultiheadAttention(8, 2, add_bias_kv=True),
    "transformer": lambda nn: nn.Transformer(8, 2, 1, 1, 16),
    "prelu": lambda nn: nn.PReLU(3),
}


@pytest.mark.parametrize(("writer", "reader"), [(torch, torchlite), (torchlite, torch)], ids=["read", "written"])
@pytest.mark.parametrize("model", MODELS)
def test_states_go_both_ways(model, writer, reader):
    writer.manual_seed(1)
    given = MODELS[model](writer.nn)
    file = io.BytesIO()
    writer.save(given.state_dict(), file)
    file.seek(0)
    state = reader.load(file)
    reader.manual_seed(2)
    taken = MODELS[model](reader.nn)
    assert str(taken.load_state_dict(state)) == "<All keys matched successfully>"
    wanted, found = given.state_dict(), taken.state_dict()
    assert list(found) == list(wanted)
    assert found._metadata == wanted._metadata
    for name, value in wanted.items():
        assert str(found[name].dtype) == str(value.dtype)
        assert tuple(found[name].shape) == tuple(value.shape)
        assert found[name].tolist() == value.tolist()
