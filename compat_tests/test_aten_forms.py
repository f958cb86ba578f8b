"""Ops for PyTorch's own use, and others that few programs call, beside PyTorch's."""

from __future__ import annotations

from compat_tests.side_by_side import same_story


def attempt(tell, call):
    try:
        tell(call())
    except (RuntimeError, IndexError, NotImplementedError) as error:
        tell(type(error).__name__, str(error))


@same_story
def test_segment_reduce(torch, tell):
    x = torch.tensor([1.0, 3, 3, -2, 5, 0], dtype=torch.float64, requires_grad=True)
    lengths, offsets = torch.tensor([3, 0, 3]), torch.tensor([0, 3, 3, 6])
    for kind in ("sum", "mean", "prod", "max", "min"):
        for initial in (None, 3):
            made = torch.segment_reduce(x, kind, lengths=lengths, initial=initial)
            tell(kind, made.detach(), torch.segment_reduce(x.detach(), kind, offsets=offsets, initial=initial))
            tell(torch.autograd.grad(made[[0, 2]].pow(2).sum(), x))
    rows = torch.arange(6.0).reshape(3, 2)
    tell(torch.segment_reduce(rows, "sum", lengths=torch.tensor([1, 2])))
    tell(torch.segment_reduce(rows, "max", lengths=torch.tensor([[1, 1], [2, 0], [0, 2]]), axis=1))
    tell(torch.segment_reduce(torch.arange(6.0), "sum", lengths=torch.tensor([2, 3]), unsafe=True))


@same_story
def test_what_segment_reduce_refuses(torch, tell):
    x = torch.arange(6.0)
    for kind, keywords in (
        ("sum", {}), ("sum", {"lengths": [2, 3]}), ("sum", {"lengths": [-1, 7]}), ("sum", {"indices": [0, 1]}),
        ("middle", {"lengths": [6]}),
    ):  # fmt: skip
        tensors = {name: torch.tensor(numbers) for name, numbers in keywords.items()}
        attempt(tell, lambda kind=kind, tensors=tensors: torch.segment_reduce(x, kind, **tensors))


@same_story
def test_hash_tensor(torch, tell):
    for d in (torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32, torch.float64):
        x = torch.tensor([[1, 0, 7], [2, 3, 5]]).to(d)
        tell(x.hash_tensor(), torch.hash_tensor(x, 0), torch.hash_tensor(x, (0, 1), keepdim=True))
    attempt(tell, lambda: torch.hash_tensor(torch.ones(0)))
    attempt(tell, lambda: torch.hash_tensor(torch.ones(2), mode=1))
    attempt(tell, lambda: torch.hash_tensor(torch.ones(2, dtype=torch.complex64)))


@same_story
def test_chunk_cat(torch, tell):
    a, b = torch.arange(10.0).reshape(5, 2), torch.arange(6.0).reshape(3, 2)
    tell(torch._chunk_cat([a, b], 0, 2), torch._chunk_cat([a, a + 1], 1, 3))
    for tensors, dim, chunks in (([], 0, 2), ([a, b], 1, 2), ([a, b.long()], 0, 2), ([a], 3, 1), ([a], 0, -1)):
        attempt(tell, lambda t=tensors, d=dim, n=chunks: torch._chunk_cat(t, d, n))


@same_story
def test_operators_under_aten(torch, tell):
    aten = torch.ops.aten
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    tell(aten.slice(x, 2, 1, 3), aten.slice.Tensor(x, 3, -2))
    tell(aten._upsample_bilinear2d_aa(x, [2, 2], False), aten._upsample_bilinear2d_aa(x, None, False, [0.5, 1.5]))
    best, places = aten.max_pool2d_with_indices(x, [2, 2])
    tell(best, aten.max_pool2d_with_indices_backward(best, x, [2, 2], [2, 2], [0, 0], [1, 1], False, places))
    tell(aten.native_dropout_backward(torch.ones(3), torch.tensor([True, False, True]), 2.0))
    mean, var = torch.zeros(1), torch.ones(1)
    tell(aten._batch_norm_with_update(x, None, None, mean, var, 0.1, 1e-5), mean, var)
    tell(torch._native_batch_norm_legit(x, None, None, mean, var, False, 0.1, 1e-5)[0])
    tell(torch._native_batch_norm_legit(x, None, None, True, 0.1, 1e-5))
    tell(torch.view_as_real_copy(torch.complex(x, x)), torch.view_as_complex_copy(torch.ones(3, 2)))
