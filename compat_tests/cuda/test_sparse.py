"""Sparse tensors on a GPU give what they give on the CPU, whether or not CUDA's library of sparse products is there."""

import numpy as np
import pytest

import torchlite as torch

pytestmark = pytest.mark.filterwarnings("ignore")

CALLS = """
t.coalesce(); t @ x; t.t() @ x; torch.sparse.mm(t, x); torch.sparse.mm(t, t); c @ x; c @ x[:, 0]; c @ c; c @ c.t();
t + t; t * t; t * 2; t * x[:, :1]; torch.sparse.sum(t, 0); torch.sparse.softmax(t, 1); t.transpose(0, 1);
t.index_select(0, i); c.to_sparse_csc(); t.to_dense().to_sparse_bsr((2, 2)); torch.sparse.sampled_addmm(c, x, x.t());
torch.cat([t, t]);
t.sparse_mask(t); torch.nn.functional.embedding(i, x)
"""


def values(device):
    places = torch.arange(300).mul(7919).remainder(2500)
    indices = torch.stack([places // 50, places % 50])
    t = torch.sparse_coo_tensor(indices, torch.arange(300.0).sin(), (50, 50)).coalesce()
    x = torch.arange(400.0).cos().reshape(50, 8)
    names = {"t": t, "c": t.to_sparse_csr(), "x": x, "i": torch.tensor([3, 1, 3])}
    return {"torch": torch, **{name: value.to(device) for name, value in names.items()}}


@pytest.mark.parametrize("call", [call.strip() for call in CALLS.replace("\n", " ").split(";")])
def test_calls(call):
    here, there = [eval(call, values(device)) for device in ("cpu", "cuda")]
    assert there.device.type == "cuda" and there.layout is here.layout
    np.testing.assert_allclose(there.to_dense().cpu().numpy(), here.to_dense().numpy(), rtol=1e-4, atol=1e-5)


def test_gradients_and_steps():
    results = []
    for device in ("cpu", "cuda"):
        given = values(device)
        x = given["x"].requires_grad_()
        (given["t"] @ x).square().sum().backward()
        torch.manual_seed(0)
        layer = torch.nn.Embedding(20, 4, sparse=True).to(device)
        optimizer = torch.optim.SparseAdam(list(layer.parameters()))
        layer(given["i"]).sum().backward()
        assert layer.weight.grad.layout is torch.sparse_coo and layer.weight.grad.device.type == device
        optimizer.step()
        results.append((x.grad.cpu().numpy(), layer.weight.detach().cpu().numpy()))
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
