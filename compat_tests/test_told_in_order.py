"""What is refused, in which words, and what is looked at first, where programs and bad calls found it to differ."""

from __future__ import annotations

import warnings

import pytest

import torchlite

torch = pytest.importorskip("torch")


def outcome(library, call):
    """What a call gives, or how it fails; and the first lines of what it warns of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        if library is torch:
            torch.set_warn_always(True)
        try:
            made = eval(call, {"torch": library, "F": library.nn.functional, "x": library.arange(1.0, 5.0)})
            said = repr(made)
        except Exception as error:
            said = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return said, [str(warning.message).split("(Triggered")[0].strip() for warning in seen]


OUTS = """
torch.abs(x * 1j, out=torch.empty(4, dtype=torch.complex64))
torch.abs(x * 1j, out=torch.empty(4, dtype=torch.float16))
torch.abs(x * 1j, out=torch.empty(4, dtype=torch.complex128))
torch.abs(x * 1j, out=torch.empty(4, dtype=torch.int32))
torch.abs(x, out=torch.empty(4, dtype=torch.float64))
torch.clamp(x, x, 2 * x, out=torch.empty(4, dtype=torch.float64))
torch.clamp(x, 0, 2, out=torch.empty(4, dtype=torch.float64))
torch.clamp_max(x, x, out=torch.empty(4, dtype=torch.int32))
torch.hardshrink(x, out=torch.empty(4, dtype=torch.float64))
torch.conj_physical(x, out=torch.empty(4, dtype=torch.float64))
torch.heaviside(x, x, out=torch.empty(4, dtype=torch.float64))
torch.heaviside(x, x, out=torch.empty(4, dtype=torch.complex64))
torch.mean(x, out=torch.empty((), dtype=torch.int64))
torch.mean(x, 0, out=torch.empty((), dtype=torch.int64))
torch.mean(x * 1j, out=torch.empty((), dtype=torch.float64))
torch.mean(x.long(), 0, out=torch.empty(()))
torch.nansum(x * 1j, 0, out=torch.empty(()))
torch.nansum(x, 0, out=torch.empty((), dtype=torch.complex64))
F.softshrink(x, out=torch.empty(4, dtype=torch.float64))
F.gelu(x, out=torch.empty(4, dtype=torch.float64))
F.softplus(x, out=torch.empty(4, dtype=torch.float64))
F.linear(x, torch.ones(2, 4), x[:2], out=torch.empty(2, dtype=torch.float64))
"""


@pytest.mark.parametrize("call", OUTS.strip().splitlines())
def test_dtypes_of_outs(call):
    assert outcome(torchlite, call) == outcome(torch, call)


REFUSED = """
F.unfold(x.view(1, 1, 2, 2), 1, stride=[1])
F.unfold(x.view(1, 1, 2, 2), [1])
F.fold(x.view(1, 1, 4), [2], 1)
F.fold(x.view(1, 1, 4), 2, 1, padding=[0])
F.fold(x.view(1, 1, 4), 2, 1)
torch.lu_unpack(torch.ones(3, 3), torch.tensor([3, 3], dtype=torch.int32))
torch.histc(x, 3, 0, 1e300)
torch.histc(x.half(), 3, 0, 70000)
torch.linalg.pinv(torch.ones(2, 2), atol=x, rtol=None)
F.soft_margin_loss(x.long(), x)
torch.device({})
torch.device(torch.tensor(2))
torch.TypedStorage(device=0.0)
torch.testing.assert_allclose(100, 0.5, float("inf"), 0.5)
F.scaled_dot_product_attention(torch.ones(2, 3, 4), torch.ones(2, 3, 4), torch.ones(2, 3, 4), torch.ones(1, 1, 1, 1))
torch.tensor([True]).clamp(min=torch.tensor([False]))
torch.tensor([True]).clamp(max=False)
torch.tensor([True]).clamp_min(False)
"""


@pytest.mark.parametrize("call", REFUSED.strip().splitlines())
def test_calls_that_were_accepted(call):
    assert outcome(torchlite, call) == outcome(torch, call)


@pytest.mark.parametrize(
    "call",
    [
        "torch.linalg.matrix_rank(torch.ones(2, 2), atol=x, rtol=1.0)",
        "torch.linalg.pinv(torch.ones(2, 2), atol=1.0, rtol=x)",
        "torch.masked.argmax(x, 0, dtype=x)",
        "torch.count_nonzero(x, out=torch.empty((), dtype=torch.int64))",
    ],
)
def test_calls_of_wrong_types_that_were_accepted(call):
    assert outcome(torchlite, call)[0].partition(":")[0] == outcome(torch, call)[0].partition(":")[0] == "TypeError"


def test_pivots_of_other_batches_are_refused():
    """PyTorch reads memory that is not theirs."""
    for shape, pivots in (((2, 3, 3), (3,)), ((3, 3), (3, 3)), ((1, 3, 3), (2, 3))):
        with pytest.raises(RuntimeError, match="pivots passed to lu_unpack"):
            torchlite.lu_unpack(torchlite.ones(shape), torchlite.full(pivots, 3, dtype=torchlite.int32))


def test_vast_dilations_are_no_hang():
    with pytest.raises(RuntimeError, match=r"overflowed|allocate"):
        torchlite.conv3d(
            torchlite.ones(1, 10, 11, 12), torchlite.ones(1, 1, 1, 2, 5), padding="same", dilation=2**31
        )


@pytest.mark.parametrize(
    "call",
    [
        "torch.nn.FractionalMaxPool2d(2, output_ratio={})",
        "(x * 1j).conj().new(2)",
        "x._neg_view().new()",
        "F.max_unpool3d(x.view(1, 1, 1, 4), torch.zeros(1, 1, 1, 4).long(), 1, padding=(0, 0, 0, 0))",
        "F.max_unpool3d(x.view(1, 1, 1, 4), torch.zeros(1, 1, 1, 4).long(), 1, (1, 1))",
    ],
)
def test_sizes_and_bits_that_were_not_looked_at(call):
    assert outcome(torchlite, call) == outcome(torch, call)


@pytest.mark.parametrize(
    "call",
    [
        "torch.masked.logaddexp(x, x, dtype=x)",
        "torch.testing.make_tensor(x.long(), dtype=torch.int64, device='cpu')",
        "torch.rrelu_(-x, -float('inf'), 0.5, True)",
        "torch.FloatStorage(_internal=torch.ones(2).numpy())",
    ],
)
def test_what_is_no_dtype_no_size_no_bound_and_no_flag(call):
    assert outcome(torchlite, call)[0].partition(":")[0] == outcome(torch, call)[0].partition(":")[0]
