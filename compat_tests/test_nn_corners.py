"""Corners of `torch.nn`: attention by rule, causal biases, products in groups, several devices, swapped parameters."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from typing import Any

import pytest

import torchlite

from .side_by_side import same_story, story


def flex(torch: Any) -> Any:
    warnings.simplefilter("ignore")  # PyTorch's says that nothing is fused
    return importlib.import_module(f"{torch.__name__}.nn.attention.flex_attention")


def qkv(torch: Any, heads: int = 2) -> tuple[Any, ...]:
    torch.manual_seed(0)
    return torch.randn(2, heads, 5, 8), torch.randn(2, 2, 6, 8), torch.randn(2, 2, 6, 4)


# ---- flex attention


@same_story
def test_scores_changed_by_rule(torch, tell):
    fx = flex(torch)
    q, k, v = qkv(torch)
    bias, slope = torch.randn(2, 5, 6), torch.tensor([0.5, 0.25])
    tell(fx.flex_attention(q, k, v))
    tell(fx.flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s * 2 + (i - j) + h, scale=0.3))
    tell(fx.flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + bias[h, i, j] + slope[h]))
    tell(fx.flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: torch.where(i >= j, s, -float("inf"))))
    tell(fx.flex_attention(q, k, v, return_lse=True))
    tell(fx.flex_attention(q, k, v, return_aux=fx.AuxRequest(lse=True)))


@same_story
def test_scores_masked_by_rule(torch, tell):
    fx = flex(torch)
    q, k, v = qkv(torch, heads=4)
    document, length = torch.tensor([0, 0, 1, 1, 1, 2]), torch.tensor([3, 6])

    def rule(b, h, i, j):
        return (document[i] == document[j]) & (j < length[b])

    mask = fx.create_block_mask(rule, 2, None, 5, 6, device="cpu", BLOCK_SIZE=2)
    tell(fx.flex_attention(q, k, v, block_mask=mask, enable_gqa=True, return_lse=True))
    tell(fx.create_mask(fx.and_masks(rule, lambda b, h, i, j: i >= j), 2, None, 5, 6, device="cpu"))
    tell(fx.create_mask(fx.or_masks(rule, lambda b, h, i, j: i >= j), 2, None, 5, 6, device="cpu"))
    fx.or_masks(rule, 3)


@same_story
def test_block_masks(torch, tell):
    fx = flex(torch)
    mask = fx.create_block_mask(lambda b, h, i, j: i >= j, 2, 2, 10, 12, device="cpu", BLOCK_SIZE=(2, 3))
    for each in (mask, mask[0], mask[-1, 0, 1:3], mask._adjust(5, 7), mask.to("cpu")):
        tell(repr(each), str(each), each.to_dense(), each.sparsity(), each.numel(), each.shape)
        for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks",
                     "q_indices", "full_q_num_blocks", "full_q_indices"):  # fmt: skip
            tell(name, getattr(each, name))
    tell(mask.to_string(grid_size=(3, 3), limit=2))
    made = fx.BlockMask.from_kv_blocks(torch.tensor([[[1, 2]]]), torch.tensor([[[[0, 1], [0, 1]]]]), BLOCK_SIZE=4)
    tell(repr(made), made.q_indices, made.seq_lengths)


@pytest.mark.parametrize(
    "call",
    [
        lambda fx, q, k, v: fx.flex_attention(q[0], k, v),
        lambda fx, q, k, v: fx.flex_attention(q[..., :4], k, v),
        lambda fx, q, k, v: fx.flex_attention(q[:, :1], k, v),
        lambda fx, q, k, v: fx.flex_attention(q[:1], k, v),
        lambda fx, q, k, v: fx.flex_attention(q, k, v, return_lse=True, return_aux=fx.AuxRequest(lse=True)),
        lambda fx, q, k, v: fx.flex_attention(q, k, v, block_mask=_mask(fx, 8)),
        lambda fx, q, k, v: fx.flex_attention(q, k, v, block_mask=_mask(fx, 4)),
        lambda fx, q, k, v: fx.create_mask(lambda i, j: i, 1, 1, 2, 2, device="cpu"),
    ],
)
def test_flex_attention_refuses(call: Any) -> None:
    torch = pytest.importorskip("torch")

    def program(torch: Any, tell: Any) -> None:
        call(flex(torch), *qkv(torch))

    assert story(program, torchlite) == story(program, torch)


def _mask(fx: Any, length: int) -> Any:
    return fx.create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device="cpu", BLOCK_SIZE=2)


def test_gradients_of_flex_attention_are_those_of_attention() -> None:
    torch, fx = torchlite, flex(torchlite)
    leaves = [t.requires_grad_() for t in (torch.randn(1, 2, 4, 3) for _ in range(3))]
    given = torch.randn(1, 2, 4, 3)
    mask = _mask(fx, 4)
    found = torch.autograd.grad(fx.flex_attention(*leaves, block_mask=mask), leaves, given)
    attention = torch.nn.functional.scaled_dot_product_attention
    wanted = torch.autograd.grad(attention(*leaves, is_causal=True), leaves, given)
    for a, b in zip(found, wanted):
        torch.testing.assert_close(a, b)


# ---- attention's biases and kernels


@same_story
def test_causal_biases(torch, tell):
    bias = importlib.import_module(f"{torch.__name__}.nn.attention.bias")
    attention = torch.nn.functional.scaled_dot_product_attention
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4)
    for make in (bias.causal_upper_left, bias.causal_lower_right):
        made = make(3, 5)
        tell(made.shape, repr(made), made.variant.name, attention(q, k, v, made))
        tell(attention(q, q, q, make(3, 3)))
    attention(q, k, v, made, is_causal=True)


@same_story
def test_choosing_kernels(torch, tell):
    attention, cuda = torch.nn.attention, torch.backends.cuda

    @attention.sdpa_kernel([attention.SDPBackend.MATH, attention.SDPBackend.FLASH_ATTENTION])
    def inside():
        return cuda.flash_sdp_enabled(), cuda.math_sdp_enabled(), cuda.mem_efficient_sdp_enabled()

    tell(inside(), cuda.mem_efficient_sdp_enabled())
    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        tell(cuda.flash_sdp_enabled(), cuda.math_sdp_enabled(), cuda.cudnn_sdp_enabled())
    tell(int(attention.SDPBackend.MATH))
    with attention.sdpa_kernel("math"):
        pass


@same_story
def test_lists_of_flash_kernels(torch, tell):
    attention = torch.nn.attention
    tell(attention.list_flash_attention_impls(), attention.current_flash_attention_impl())
    attention.activate_flash_attention_impl("nothing")


# ---- functions


@same_story
def test_products_in_groups(torch, tell):
    def numbers(*shape: int) -> Any:
        return torch.arange(torch.Size(shape).numel()).remainder(7).float().reshape(shape)

    flat, stacked = numbers(6, 8), numbers(2, 8, 8)
    grouped, ends = torch.nn.functional.grouped_mm, torch.tensor([2, 6], dtype=torch.int32)
    tell(grouped(flat, stacked, offs=ends), grouped(stacked, stacked))
    tell(grouped(numbers(4, 8), numbers(8, 8), offs=torch.tensor([2, 8], dtype=torch.int32)))
    tell(grouped(numbers(2, 4, 8), numbers(8, 8), offs=torch.tensor([3, 8], dtype=torch.int32)))
    grouped(flat, stacked)


@same_story
def test_products_in_eight_bits(torch, tell):
    functional = torch.nn.functional
    kinds = functional.ScalingType
    torch.manual_seed(0)
    a = torch.randn(16, 16).to(torch.float8_e4m3fn)
    one, two = torch.tensor(0.5), torch.tensor(2.0)
    tell(functional.scaled_mm(a, a.t(), one, kinds.TensorWise, two, kinds.TensorWise).float())
    rows, columns = torch.rand(16, 1), torch.rand(1, 16)
    tell(functional.scaled_mm(a, a.t(), rows, kinds.RowWise, columns, kinds.RowWise, output_dtype=torch.float32))


@same_story
def test_factory_kwargs(torch, tell):
    make = torch.nn.factory_kwargs
    tell(make(None), make({"device": "cpu", "dtype": 1}), make({"dtype": 3, "factory_kwargs": {"device": 2}}))
    make({"device": 1, "factory_kwargs": {"device": 2}})


# ---- modules on several devices


@pytest.fixture
def two_devices() -> list[Any]:
    torchlite.testing.enable_strict()
    return [torchlite.device("strict:0"), torchlite.device("strict:1")]


def test_data_parallel_gives_what_one_device_gives(two_devices: list[Any]) -> None:
    torch = torchlite
    torch.manual_seed(0)
    here = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    there = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    there.load_state_dict(here.state_dict())
    parallel = torch.nn.DataParallel(there.to(two_devices[0]), two_devices)
    x = torch.randn(5, 3)
    result = parallel(x)
    assert result.device == two_devices[0]
    torch.testing.assert_close(result.cpu(), here(x))
    result.sum().backward()
    here(x).sum().backward()
    for a, b in zip(there.parameters(), here.parameters()):
        assert a.grad.device == two_devices[0]
        torch.testing.assert_close(a.grad.cpu(), b.grad)
    assert list(parallel.state_dict()) == [f"module.{name}" for name in here.state_dict()]


def test_data_parallel_cuts_and_joins_containers(two_devices: list[Any]) -> None:
    class Model(torchlite.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torchlite.nn.Parameter(torchlite.ones(1))

        def forward(self, pair: tuple[Any, int], named: Any = None) -> dict[str, Any]:
            return {"sum": pair[0] * named["other"] * pair[1] * self.scale, "none": None}

    parallel = torchlite.nn.DataParallel(Model().to(two_devices[0]), two_devices)
    x = torchlite.arange(4.0)
    result = parallel((x, 2), named={"other": x + 1})
    assert result["sum"].tolist() == [0.0, 4.0, 12.0, 24.0] and result["none"] is None


def test_data_parallel_tells_which_replica_failed(two_devices: list[Any]) -> None:
    class Fails(torchlite.nn.Module):
        def forward(self, x: Any) -> Any:
            if x.device.index == 1:
                raise KeyError("no")
            return x

    with pytest.raises(KeyError, match="Caught KeyError in replica 1 on device strict:1"):
        torchlite.nn.DataParallel(Fails(), two_devices)(torchlite.ones(2))


@same_story
def test_data_parallel_without_devices(torch, tell):
    torch.manual_seed(0)
    model = torch.nn.DataParallel(torch.nn.Linear(2, 3))
    tell(model.device_ids, repr(model), model(torch.ones(1, 2)))
    torch.nn.parallel.data_parallel(model, torch.ones(1, 2))


# ---- conversion that swaps


@same_story
def test_swapped_tensors(torch, tell):
    a, b = torch.ones(2), torch.zeros(3, requires_grad=True)
    a.mark = 1
    torch.utils.swap_tensors(a, b)
    tell(a, b, hasattr(a, "mark"), b.mark)
    parameter = torch.nn.Parameter(torch.ones(1))
    torch.utils.swap_tensors(a, parameter)
    tell(type(a).__name__, type(parameter).__name__)


@same_story
def test_conversion_by_swapping(torch, tell):
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        torch.manual_seed(0)
        layer = torch.nn.Linear(2, 3)
        kept = layer.weight
        layer(torch.ones(2)).sum().backward()
        grad = kept.grad
        layer.double()
        tell(layer.weight is kept, kept.dtype, kept.requires_grad, type(kept).__name__, kept.grad, kept.grad is grad)
        layer.load_state_dict(torch.nn.Linear(2, 3).double().state_dict(), assign=True)
        tell(layer.weight is kept, kept)
        layer.to("meta")
        tell(layer.weight is kept, kept.device.type)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


@same_story
def test_the_older_name_of_the_base_of_transposed_convolutions_warns(torch, tell):
    conv = torch.nn.modules.conv
    tell(issubclass(conv._ConvTransposeMixin, conv._ConvTransposeNd))
    with warnings.catch_warnings(record=True) as said, contextlib.suppress(TypeError, AttributeError):
        warnings.simplefilter("always")
        conv._ConvTransposeMixin(2, 2)
    tell([(each.category.__name__, str(each.message)) for each in said])
