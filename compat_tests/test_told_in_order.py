"""What is refused, in which words, and what is looked at first, where programs and bad calls found it to differ."""

from __future__ import annotations

import warnings

import pytest

import torchlite

from .side_by_side import same_story

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
torch.testing.assert_allclose(100, 0.5, float("inf"), 0.5)
F.scaled_dot_product_attention(torch.ones(2, 3, 4), torch.ones(2, 3, 4), torch.ones(2, 3, 4), torch.ones(1, 1, 1, 1))
torch.tensor([True]).clamp(min=torch.tensor([False]))
torch.tensor([True]).clamp(max=False)
torch.tensor([True]).clamp_min(False)
torch.cond({}, torch.sin, torch.cos, (x,))
torch.eye(3).to_sparse().dim_order()
"""


@pytest.mark.parametrize("call", REFUSED.strip().splitlines())
def test_calls_that_were_accepted(call):
    assert outcome(torchlite, call) == outcome(torch, call)


@pytest.mark.parametrize(
    "call",
    [
        "torch.TypedStorage(device=0.0)",
        "torch.linalg.matrix_rank(torch.ones(2, 2), atol=x, rtol=1.0)",
        "torch.linalg.pinv(torch.ones(2, 2), atol=1.0, rtol=x)",
        "torch.masked.argmax(x, 0, dtype=x)",
        "torch.eye(3).new(torch.eye(3).to_sparse())",
        "torch.count_nonzero(x, out=torch.empty((), dtype=torch.int64))",
        "torch.utils.checkpoint.set_device_states([], [], device_type=torch.device('cpu'))",
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
    ],
)
def test_what_is_no_dtype_no_size_and_no_bound(call):
    assert outcome(torchlite, call)[0].partition(":")[0] == outcome(torch, call)[0].partition(":")[0]


EMPTY = """
torch.ones(0, 3, dtype=torch.bool).t() @ torch.ones(0, 3, dtype=torch.bool)
torch.ones(2, 0, dtype=torch.bool) @ torch.ones(0, dtype=torch.bool)
torch.ones(2, 2, 0, dtype=torch.bool) @ torch.ones(2, 0, 2, dtype=torch.bool)
torch.ones(0, dtype=torch.bool) @ torch.ones(0, dtype=torch.bool)
torch.addmv(torch.tensor(1.0), torch.ones(4, 0), torch.ones(0)).untyped_storage().nbytes()
F.adaptive_avg_pool1d(torch.ones(0, 3, dtype=torch.int64), 2)
torch.cdist(torch.ones(2, 0).half(), torch.ones(2, 0))
torch.func.vmap(lambda x: (x * 2).add_(x.sin()), in_dims=-1, out_dims=-1)(torch.ones(3, 1, 0)).shape
x[:0].argmax()
"""
FIRST = """
x.bool().argmin(3)
(x * 1j).argmax(3)
torch.var_mean(x.long(), 3)
torch.zeros(4, 4, out=x.expand(4, 4)).stride()
torch.rand(4, 4, out=x.expand(4, 4)).stride()
torch.square(x.view(2, 2).t(), out=torch.zeros(1)).stride()
torch.normal((x * 1j).requires_grad_(), 0.5)
(x * 1j)[0].requires_grad_().kthvalue(1)
F.bilinear((x * 1j).requires_grad_(), x * 1j, torch.ones(2, 4, 4) * 1j)
"""


@pytest.mark.parametrize("call", [*EMPTY.strip().splitlines(), *FIRST.strip().splitlines()])
def test_what_has_no_elements_and_what_is_looked_at_first(call):
    assert outcome(torchlite, call) == outcome(torch, call)


@same_story
def test_what_no_history_may_be_asked_of(torch, tell):
    base = torch.arange(1.0, 5.0, requires_grad=True) * 1
    part, _ = base.split(2)
    base.mul_(2)
    for call in (
        lambda: part.transpose(0, 3), lambda: part.diagonal(), lambda: part.unbind(3), lambda: part.split(1, 3),
        lambda: part.logical_and(torch.ones(3)), lambda: part[:0].argmax(), lambda: part.isin(part > 0),
    ):  # fmt: skip
        try:
            tell(call())
        except Exception as error:
            tell(type(error).__name__, str(error))


@same_story
def test_group_norm_keeps_a_copy_of_what_does_not_lie_row_by_row(torch, tell):
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    turned = (x * 1).mT
    y = torch.nn.functional.group_norm(turned, 2)
    turned.mul_(2)
    y.sum().backward()
    tell(y.stride(), x.grad)


@same_story
def test_pairs_of_one_turned_round_have_gradients(torch, tell):
    x = torch.tensor([0.25 + 1j], requires_grad=True)
    y = torch.view_as_real(x).mT
    y.backward(torch.tensor([[0.5], [0.25]]))
    tell(x.grad)


ORDER = """
x.expand(2, 4).cumsum_(5)
(x * 1j).expand(2, 4).relu_()
torch.add(x, x, alpha=1j)
torch.ones(3, 2).mul_(torch.ones(4, 3, 2) * 1j)
torch.zeros(2).index_put_((torch.tensor([0, 1]),), torch.ones(3).long())
torch.zeros(2).index_put_((torch.tensor([0, 1]),), torch.ones(2).long())
torch.zeros(2).masked_fill_(torch.tensor([True, False]), torch.tensor(1 + 1j))
torch.zeros(2).index_put_((torch.tensor([True, False]),), torch.tensor(1 + 1j))
x.clone().expand(2, 4).index_put_((torch.tensor([True, False]),), torch.tensor(1.0))
F.interpolate(torch.ones(1, 1, 0), size=5)
F.conv1d(torch.ones(2, 1, 0), torch.ones(2, 1, 2), padding=1)
"""


@pytest.mark.parametrize("call", ORDER.strip().splitlines())
def test_what_is_looked_at_before_something_is_written(call):
    assert outcome(torchlite, call) == outcome(torch, call)


@pytest.mark.parametrize("name", ["erf", "erfc", "erfinv", "angle", "special.erfcx", "special.ndtr"])
def test_gradients_lie_as_the_first_factor_of_their_formula(name):
    @same_story
    def program(torch, tell):
        x = (torch.arange(1.0, 7).reshape(2, 3) / 8).t().requires_grad_()
        function = torch
        for part in name.split("."):
            function = getattr(function, part)
        for graph in (False, True):
            tell(torch.autograd.grad(function(x).mean(), x, create_graph=graph)[0].stride())

    program()


@pytest.mark.parametrize("name", ["xlogy", "nan_to_num", "leaky_relu"])
def test_gradients_lie_as_pytorchs_kernels_lay_them(name):
    @same_story
    def program(torch, tell):
        x = torch.arange(1.0, 7).reshape(2, 3).t().requires_grad_()
        made = {
            "xlogy": lambda: torch.xlogy(x, x.detach()), "nan_to_num": lambda: torch.nan_to_num(x),
            "leaky_relu": lambda: torch.nn.functional.leaky_relu(x),
        }[name]()  # fmt: skip
        tell(torch.autograd.grad(made.mean(), x, create_graph=True)[0].stride())

    program()


FIRST = """
torch.zeros(2, 2).masked_fill_(torch.zeros(2, 3) > 0, 1)
torch.zeros(2, 2).masked_fill_(torch.zeros(2, 3), 1)
torch.zeros(2, 2).masked_fill(torch.zeros(2, 3), x)
torch.zeros(2, 2).masked_scatter(torch.zeros(3), x.long())
torch.zeros(2, 2).masked_scatter_(torch.zeros(3), x.long())
torch.masked_select(x, torch.zeros(3), out=torch.empty(0, dtype=torch.int64))
x[0].unbind(5)
x[0].unbind()
x[0].stride(5)
torch.slice_copy(x[0], 0)
torch.cumulative_trapezoid(x[0])
x[0].expand(2, -1)
x.expand(-2, 4)
x[0].cummax(3)
torch.mean(x.double(), [0], out=torch.empty(0, dtype=torch.int64))
torch.matmul(x, x, out=torch.empty(0, dtype=torch.bool))
torch.matmul(x.view(2, 2), x[:2], out=torch.empty(0, dtype=torch.bool))
torch.matmul(torch.ones(2, 2, 4), x, out=torch.empty(0, dtype=torch.bool))
torch.mm(x.view(2, 2), x.view(2, 2).half(), out=torch.empty(0, dtype=torch.int64))
torch.mv(x.view(2, 2), x[:2].long())
torch.bmm(x.view(1, 2, 2), x.view(1, 2, 2).half(), out=torch.empty(0, dtype=torch.int64))
torch.inner(x.view(2, 2), x.view(2, 2), out=torch.empty(2, 2, dtype=torch.int64))
torch.where(x > 0, x, torch.ones(3), out=torch.empty(4, dtype=torch.int64))
torch.where(x, x, torch.ones(3), out=torch.empty(4, dtype=torch.int64))
torch.where(x, x, torch.ones(3), out=torch.empty(4))
torch.clamp(x * 1j, x, torch.ones(3))
torch.clamp(x, x * 1j)
torch.clamp(x, x * 1j, x)
x.clamp_(x * 1j)
torch.clamp_max(x, torch.ones(3) * 1j)
torch.clamp(x, x * 1j, x, out=torch.empty(4))
torch.add(x, torch.ones(3), alpha=1j)
torch.rsub(x, torch.ones(3))
torch.ones(1).expand(2).sub_(torch.ones(2) > 0)
torch.sub(x, x > 0, out=torch.ones(1).expand(4))
torch.mul(x[:2], torch.ones(3), out=x[1:3])
F.pad(x, (1, 1), value=1j)
F.pad(x, pad="a")
torch.zeros((), dtype=torch.half).fill_(70000.0)
torch.zeros(2, dtype=torch.half).fill_(70000.0)
torch.ones(2, 0, dtype=torch.complex64).max(1)
torch.ones(2, 0, dtype=torch.complex64).mode(1)
torch.ones(2, 0, dtype=torch.complex64).aminmax()
torch.ones(2, 0).amax(-1)
torch.ones(0).index_select(0, torch.tensor([0]))
torch.cat([torch.ones(2, 2), x], out=torch.empty(0, dtype=torch.int64))
torch.cat([x[0], x], out=torch.empty(0, dtype=torch.int64))
torch.zeros(2, 3)[[2, 0], :0]
torch.zeros(3, 0)[[7]]
torch.zeros(3, 0).index_put_((torch.tensor([7]),), torch.tensor(1.0))
torch.zeros(0, 3)[[1]]
F.conv1d(torch.zeros(0, 4, 0), torch.zeros(2, 4, 2), padding=1).shape
F.conv_transpose1d(torch.zeros(0, 1, 0), torch.zeros(1, 2, 2), stride=2).shape
F.conv1d(torch.zeros(1, 4, 0), torch.zeros(2, 4, 2), padding=1)
torch.ones(2, 0, dtype=torch.complex64).min()
torch.diag(torch.ones(1, 1, 1))
torch.diag(torch.ones(1, 1, 1), out=torch.empty(0))
"""


@pytest.mark.parametrize("call", FIRST.strip().splitlines())
def test_the_first_of_several_errors(call):
    assert outcome(torchlite, call) == outcome(torch, call)


def test_complex_numbers_have_no_dtype_beside_bfloat16():
    for library in (torch, torchlite):
        library.set_default_dtype(library.bfloat16)
    try:
        for call in ("torch.tensor(1j)", "torch.tensor([1j, 2])", "torch.tensor([1j], dtype=torch.complex64)"):
            assert outcome(torchlite, call) == outcome(torch, call)
    finally:
        for library in (torch, torchlite):
            library.set_default_dtype(library.float32)


@pytest.mark.parametrize("check", ["True", "[]", "[1]", "None", "[{0}]", "[{0}, {1}]", "[torch.preserve_format]"])
@pytest.mark.parametrize(
    "made", ["(), {0}", "(2, 3, 4), {0}", "(1, 2, 3, 4), {0}", "(2, 3, 4, 5), {1}", "(1, 3, 1, 5), {1}"]
)
def test_orders_of_dimensions_that_are_not_unique(made, check):
    sizes, _, laid = made.rpartition(" ")
    call = f"torch.empty({sizes} memory_format={laid}).dim_order(ambiguity_check={check})"
    call = call.format("torch.contiguous_format", "torch.channels_last")
    assert outcome(torchlite, call) == outcome(torch, call)
