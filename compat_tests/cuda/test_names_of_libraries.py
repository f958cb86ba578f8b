"""cuDNN's functions compute what the general ones do, and batch norm in parts what it does as a whole."""

from __future__ import annotations

import pytest

import torchlite

pytestmark = pytest.mark.skipif(not torchlite.cuda.is_available(), reason="needs CUDA")


def _images():
    torchlite.manual_seed(0)
    return torchlite.randn(4, 3, 5, 5, device="cuda"), torchlite.randn(2, 3, 3, 3, device="cuda")


def test_convolutions_and_their_gradients():
    x, w = _images()
    w.requires_grad_()
    made = torchlite.cudnn_convolution(x, w, [1, 1], [1, 1], [1, 1], 1, False, False, True)
    whole = torchlite.nn.functional.conv2d(x, w, padding=1)
    assert torchlite.allclose(made, whole)
    (a,), (b,) = (torchlite.autograd.grad(t.sum(), w) for t in (made, whole))
    assert torchlite.allclose(a, b)
    fused = torchlite.cudnn_convolution_add_relu(x, w, whole, 2, None, [1, 1], [1, 1], [1, 1], 1)
    assert torchlite.allclose(fused, (3 * whole).relu())
    with pytest.raises(RuntimeError, match="ATen not compiled with MIOpen support"):
        torchlite.miopen_convolution(x, w, None, [1, 1], [1, 1], [1, 1], 1, False, False)


def test_batch_norm_of_parts_is_that_of_the_whole():
    x, _ = _images()
    weight, bias = torchlite.rand(3, device="cuda"), torchlite.rand(3, device="cuda")
    running = torchlite.zeros(3, device="cuda"), torchlite.ones(3, device="cuda")
    parts = [torchlite.batch_norm_stats(p, 1e-5) for p in (x[:1], x[1:])]
    mean, invstd = (torchlite.stack(t) for t in zip(*parts, strict=True))
    counts = torchlite.tensor([25.0, 75.0], device="cuda")
    whole = torchlite.batch_norm_gather_stats_with_counts(x, mean, invstd, *running, 0.1, 1e-5, counts)
    made = torchlite.batch_norm_elemt(x, weight, bias, *whole, 1e-5)
    again = torchlite.zeros(3, device="cuda"), torchlite.ones(3, device="cuda")
    leaves = [t.clone().requires_grad_() for t in (x, weight, bias)]
    expected = torchlite.nn.functional.batch_norm(leaves[0], *again, *leaves[1:], training=True)
    assert torchlite.allclose(made, expected, atol=1e-5)
    assert all(torchlite.allclose(a, b, atol=1e-5) for a, b in zip(running, again, strict=True))
    g = torchlite.randn_like(x)
    reduced = torchlite.batch_norm_backward_reduce(g, x, *whole, weight, True, True, True)
    sum_dy, sum_dy_xmu, to_weight, to_bias = reduced
    to_input = torchlite.batch_norm_backward_elemt(g, x, *whole, weight, sum_dy, sum_dy_xmu, counts.int())
    for found, wanted in zip((to_input, to_weight, to_bias), torchlite.autograd.grad(expected, leaves, g), strict=True):
        assert torchlite.allclose(found, wanted, atol=1e-4)
