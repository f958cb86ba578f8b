"""Kinds of elements and arguments that PyTorch's kernels, or their derivatives, are not made for, in its words."""

from __future__ import annotations

from typing import Any

import pytest

import torchlite

torch = pytest.importorskip("torch")

# `ones(kind, *shape)` makes a tensor.
CALLS = """
t.nn.functional.conv1d(ones('uint8', 1, 2, 4), ones('uint8', 2, 2, 2))
t.nn.functional.conv1d(ones('uint8', 1, 2, 4), ones('uint8', 2, 2, 2), dilation=2)
t.nn.functional.conv2d(ones('int32', 1, 2, 4, 4), ones('int32', 2, 2, 2, 2), dilation=2)
t.nn.functional.conv2d(ones('int64', 1, 2, 4, 4), ones('int64', 2, 2, 2, 2), dilation=2)
t.nn.functional.conv2d(ones('bool', 1, 2, 4, 4), ones('bool', 2, 2, 2, 2), dilation=2)
t.nn.functional.conv3d(ones('bool', 1, 2, 4, 4, 4), ones('bool', 2, 2, 2, 2, 2))
t.nn.functional.conv_transpose1d(ones('int16', 1, 2, 4), ones('int16', 2, 2, 2))
t.nn.functional.conv_transpose2d(ones('uint8', 1, 2, 4, 4), ones('uint8', 2, 2, 2, 2))
t.nn.functional.conv_transpose2d(ones('int64', 1, 2, 4, 4), ones('int64', 2, 2, 2, 2))
t.nn.functional.conv_transpose3d(ones('int32', 1, 2, 4, 4, 4), ones('int32', 2, 2, 2, 2, 2))
t.polygamma(0, ones('complex64', 2))
t.polygamma(1, ones('complex64', 2))
t.polygamma(2, ones('complex64', 2))
t.round(ones('bool', 2), decimals=0)
t.round(ones('int64', 2), decimals=0)
t.round(ones('int64', 2), decimals=1)
t.grid_sampler_3d(ones('int64', 1, 1, 2, 2, 2), ones('int64', 1, 1, 1, 1, 3), 0, 0, False)
t.nn.functional.grid_sample(ones('int64', 1, 1, 2, 2), ones('int64', 1, 1, 1, 2))
t.div(ones('complex64', 2), ones('complex64', 2), rounding_mode='trunc')
t.div(ones('bool', 2), 1, rounding_mode='trunc')
t.div(ones('bool', 2), ones('bool', 2), rounding_mode='trunc')
t.div(ones('bool', 2), ones('bool', 2), rounding_mode='floor')
ones('bool', 3).index_reduce(0, t.tensor([0]), ones('bool', 1), 'amax')
ones('bool', 3, 3).index_reduce(0, t.tensor([0]), ones('bool', 1, 3), 'amax')
ones('bool', 3, 3).index_reduce(0, t.tensor([0]), ones('bool', 1, 3), 'prod', include_self=False)
ones('complex64', 3, 3).index_reduce(0, t.tensor([0]), ones('complex64', 1, 3), 'amin')
ones('complex64', 3, 3).index_reduce(0, t.tensor([0]), ones('complex64', 1, 3), 'prod')
t.bmm(ones('bool', 1, 2, 2), ones('bool', 1, 2, 2))
t.bmm(ones('bool', 1, 20, 20), ones('bool', 1, 20, 20))
t.baddbmm(ones('bool', 1, 2, 2), ones('bool', 1, 2, 2), ones('bool', 1, 2, 2))
t.addbmm(ones('bool', 2, 2), ones('bool', 1, 2, 2), ones('bool', 1, 2, 2))
t.max_pool1d(ones('complex64', 1, 2, 4).requires_grad_(), 2)
t.max_pool1d(ones('complex64', 1, 2, 4), 2)
t.nn.functional.embedding(t.tensor([0]), ones('int64', 2, 2), max_norm=1.0)
t.special.i1(ones('bfloat16', 2).requires_grad_()).sum().backward()
t.special.i1e(ones('float16', 2).requires_grad_()).sum().backward()
ones('int64', 2, 2).ldexp_(ones('int64', 2, 2))
ones('int64', 2, 2).ldexp_(ones('int64', 2, 2, 2))
ones('float32').addr_(ones('float32', 2), ones('float32', 3))
ones('float32', 2, 2, 2).addr_(ones('float32', 2), ones('float32', 3))
ones('float32', 3, 3).addr_(ones('float32', 2), ones('float32', 3))
t.isin(ones('complex32', 2), ones('complex32', 2))
t.isin(ones('complex64', 2), ones('complex64', 2))
t.logsumexp(ones('complex32', 2), 0)
t.unravel_index(ones('float32', 2), (2, 2))
t.nn.functional.embedding(t.tensor([1]), ones('complex64', 3, 2).requires_grad_())
t.nn.HuberLoss(delta=1j)
t.gt(1, 1)
t.eq(ones('float32', 1), 'a')
t.fmod(1, ones('float32', 1))
t.where(1, 1, 1)
t.clamp_min(1, ones('float32', 1))
t.clamp('a')
t.bitwise_and(1, 1)
t.remainder(1, 1)
t.rsub(1, ones('float32', 1))
t.isin(1, 'a')
t.special.zeta(1, 1)
t.special.xlog1py(ones('float32', 1), 'a')
ones('float32', 1).eq('a')
ones('float32', 1).gt_('a')
t.add(ones('float32', 1), 'a')
t.copysign(1, ones('float32', 1))
t.nn.functional.embedding_bag(t.tensor([[0]]), ones('complex64', 3, 2))
t.nn.functional.embedding_bag(t.tensor([[0]]), ones('uint8', 3, 2))
t.nn.functional.embedding_bag(t.tensor([[0]]), ones('bool', 3, 2))
ones('complex64', 3, 2).requires_grad_().index_reduce(0, t.tensor([0]), ones('complex64', 1, 2), 'prod')
ones('bool', 3, 3).index_reduce(0, t.tensor([0]), ones('bool', 1, 3), 'mean')
t.trapz(ones('bool', 3))
t.trapz(ones('bool', 3), ones('bool', 3))
t.float_power(1, 1)
t.nn.functional.max_pool2d(ones('float32', 0, 1, 49), 2, padding=-1)
t.nn.functional.max_pool2d(ones('float32', 2, 0, 4, 4), 2, padding=4, return_indices=True)
t.nn.functional.max_pool2d(ones('float32', 2, 0, 4, 4), 2)
t.nn.functional.max_pool2d(ones('float32', 4), 2, padding=-1)
t.nn.functional.max_pool3d(ones('float32', 2, 1, 0, 1, 2), 1)
t.nn.functional.max_pool3d(ones('float32', 2, 1, 0, 1, 2), 2, padding=-1)
t.nn.functional.conv2d(ones('float32', 1, 1, 4, 3), ones('float32', 1, 2, 2), padding='same')
ones('float32', 3).index_add_(0, t.tensor([5]), ones('float32', 1))
ones('float32', 3, 2).index_add_(0, t.tensor([5]), ones('float32', 1, 2))
t.dist(ones('float32', 2), ones('float32', 3))
t.sparse.mm(ones('complex64', 2, 2).to_sparse_csr(), ones('complex64', 2, 2), 'sum')
t.sparse.mm(ones('int64', 2, 2).to_sparse_csr(), ones('int64', 2, 2), 'amax')
t.sparse.sampled_addmm(ones('int64', 2, 2).to_sparse_csr(), ones('int64', 2, 2), ones('int64', 2, 2))
t.sparse.sampled_addmm(ones('float16', 2, 2).to_sparse_csr(), ones('float16', 2, 2), ones('float16', 2, 2))
t.sparse.sampled_addmm(ones('float32', 2, 2).to_sparse_csr(), ones('float16', 2, 2), ones('float32', 2, 2))
t.sparse.sampled_addmm(ones('int64', 2, 2).to_sparse_csr(), ones('float32', 2, 2), ones('float32', 2, 2))
t.special.zeta(ones('float32', 2).requires_grad_(), 2).sum().backward()
t.nn.functional.unfold(ones('complex32', 1, 1, 2, 2), 1)
t.nn.functional.conv2d(ones('float32', 1, 1, 4, 3), ones('float32', 1, 2, 2), padding='x')
""".strip().splitlines()


def told(call: str, t: Any) -> Any:
    """What a call gives, or the first line of what it is refused with."""

    def ones(kind: str, *shape: int) -> Any:
        return t.ones(shape, dtype=getattr(t, kind))

    try:
        result = eval(call, {"t": t, "ones": ones})
    except (RuntimeError, NotImplementedError, TypeError, IndexError) as refused:
        return type(refused).__name__, str(refused).split("\n")[0]
    return result is None or (str(result.dtype), result.tolist())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_refusals_have_the_same_words(call: str) -> None:
    assert told(call, torchlite) == told(call, torch)


def test_candidates_are_listed() -> None:
    """One for a tensor and one for a number; the lines that say what does not match are PyTorch's alone."""

    def lines(t: Any, call: str) -> list[str]:
        with pytest.raises(TypeError) as refused:
            eval(call, {"t": t})
        return [line for line in str(refused.value).splitlines() if line.startswith(" *")]

    for call in ("t.gt(1, 1)", "t.clamp_min(1, 1)", "t.ones(1).eq('a')", "t.ones(1).ne_('a')"):
        assert lines(torchlite, call) == lines(torch, call)


@pytest.mark.parametrize("t", [torch, torchlite], ids=["torch", "torchlite"])
def test_complex_gradients_are_refused_whatever_was_called_before(t: Any) -> None:
    x, y = t.ones(3, 3, dtype=t.complex64), t.ones(1, 3, dtype=t.complex64)
    for _ in range(3):  # later calls of a form go another way than the first
        t.nan_to_num(x)
        t.slice_scatter(x, y, 0, 0, 1)
    for call in (t.nan_to_num, lambda x: t.slice_scatter(x, y, 0, 0, 1)):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="does not support automatic differentiation"):
                call(x.clone().requires_grad_())


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling_has_no_order_to_promise(dims: int) -> None:
    def refusal(t: Any) -> str:
        image, unpool = t.ones([1] * (dims + 2)), getattr(t.nn.functional, f"max_unpool{dims}d")
        t.use_deterministic_algorithms(True)
        try:
            with pytest.raises(RuntimeError) as refused:
                unpool(image, t.zeros(image.shape, dtype=t.int64), 2)
        finally:
            t.use_deterministic_algorithms(False)
        return str(refused.value)

    assert refusal(torchlite) == refusal(torch)


@pytest.mark.parametrize("t", [torch, torchlite], ids=["torch", "torchlite"])
def test_a_precision_of_no_known_name_changes_nothing(t: Any) -> None:
    before = t.get_float32_matmul_precision()
    with pytest.warns(UserWarning, match="x is not one of 'highest', 'high', or 'medium'"):
        t.set_float32_matmul_precision("x")
    assert t.get_float32_matmul_precision() == before
