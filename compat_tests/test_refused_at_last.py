"""What bad calls and random programs found to be accepted, or refused, against PyTorch's word."""

from __future__ import annotations

import re
import warnings

import numpy
import pytest

from .side_by_side import same_story

PARTS = "torch.tensor([0, 1, 2]), torch.tensor([0, 1]).{}, torch.ones(2)"
CALLS = f"""
torch.sparse_coo_tensor([], [-1])
torch.sparse_coo_tensor([1], [1.0])
torch.sparse_coo_tensor([1], [1.0], (2,))
torch.sparse_coo_tensor([[[1]]], [1.0], (3,))
torch.sparse_coo_tensor([[0, 1]], [1.0])
torch.sparse_coo_tensor(torch.tensor(2), [1.0], (3,))
torch.sparse_coo_tensor([], [1.0], (2,))
torch.sparse_coo_tensor((-1,))
torch.sparse_coo_tensor((2**40, 2**40))
torch.sparse_coo_tensor([[0]], [1.0], (-1,))
torch.sparse_csr_tensor({PARTS.format("float()")})
torch.sparse_csc_tensor({PARTS.format("bool()")})
torch.sparse_csr_tensor({PARTS.format("cfloat()")})
torch.sparse_csr_tensor({PARTS.format("short()")}).shape
torch.sparse_csr_tensor(torch.zeros(()), torch.zeros(2), torch.ones(2))
torch.norm(torch.ones(3, 3).to_sparse(), 2, (0, 1), True)
torch.norm(torch.ones(3, 3).to_sparse(), 2, 0, True)
torch.ones(3, 3).to_sparse().is_set_to(torch.ones(4))
torch.ones(4).is_set_to(torch.ones(3, 3).to_sparse_csr())
torch.Tensor(torch.ones(3, 3).to_sparse())
torch.Tensor(torch.ones(3, 3).to_sparse_csr())
torch.FloatTensor(torch.ones(3, 3).to_sparse())
torch.pdist(torch.ones(3, 3), float("nan"))
torch.fbgemm_pack_quantized_matrix(torch.ones(2))
torch.fbgemm_pack_quantized_matrix(torch.ones(2, 2).long())
torch.fbgemm_pack_quantized_matrix(torch.ones(2, 2).long(), 2, 100)
torch.fbgemm_pack_gemm_matrix_fp16(torch.ones(0))
torch.fbgemm_pack_gemm_matrix_fp16(torch.ones(2, 2).half())
torch._C.DispatchKeySet(5)
torch._C.DispatchKeySet()
torch._C.DispatchKeySet(torch._C.DispatchKey.CPU).has(torch._C.DispatchKey.CUDA)
torch.frobenius_norm(torch.ones(3, 3), (0,), out=torch.ones(3).double())
torch.frobenius_norm(torch.ones(3, 3), (0,), out=torch.ones(3).long())
torch.nuclear_norm(torch.ones(3, 3), out=torch.ones(()).double())
torch.nuclear_norm(torch.ones(3, 3), (0, 1), out=torch.ones(()).half())
[*torch.cummax(torch.tensor(1j), 0)]
torch.cummin(torch.tensor([1j]), 0)
[*torch.mode(torch.tensor(1j))]
torch.mode(torch.tensor([1j]))
torch.ones(4, 4).to_sparse_bsr((2,))
torch.ones(4, 4).to_sparse_bsc(2).layout
torch.ones(4, 4).to_sparse(layout=torch.sparse_bsr, blocksize=(2,))
torch.sparse_coo_tensor((2, -3))
torch.empty((2, -1), layout=torch.sparse_coo)
torch.empty((2, -1), layout=torch.sparse_csr)
torch.zeros((2, -1), layout=torch.sparse_coo)
torch.zeros((2, -1), layout=torch.sparse_csc)
torch.ones(4, 4).to_sparse().sparse_resize_and_clear_((-4, 4), 2, 0)
torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1), (1, -1))
torch.chain_matmul((torch.ones(2, 2), torch.ones(2, 2)))
torch.hann_window(3, numpy.True_)
torch.ones(2, 2).sum(0, keepdim=numpy.True_)
torch.ones(2, 2).mean(0, "a")
torch.ones(2).requires_grad_(numpy.True_)
torch.zeros(2, requires_grad=numpy.True_)
torch.topk(torch.ones(2), 1, largest=numpy.False_)
torch.relu_(self=torch.ones(2))
torch.median(self=torch.ones(2), dim=3)
torch.unbind(self=torch.ones(2))
torch.ops.aten.abs(self=-torch.ones(2))
torch.ops.aten.abs_.default(self=-torch.ones(2))
torch.ops.aten.sum.dim_IntList(self=torch.ones(2), dim=[0])
torch.masked.std(torch.ones(2, 2), range(5))
torch.zeros((2, True)).shape
torch.zeros((True, 2))
torch.zeros((2, True, "a"))
torch.zeros((2, numpy.True_))
torch.ones(2, 2).sum((0, True))
torch.max_pool2d(torch.ones(1, 1, 2, 2), (1, True))
torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2), (2, True))
torch.ones(2, 2).sum(torch.tensor([0]))
torch.ones(2, 2).sum(numpy.int64(0))
torch.ones(2, 2).unsqueeze(numpy.array(0))
torch.ones(2, 2).softmax(torch.tensor([0]))
torch.ones(2, 2).softmax(torch.tensor(0))
torch.ones(3, 3).triu(numpy.array(1))
[*torch.ones(3).topk(torch.tensor([2]))]
torch.ones(3).split(numpy.int64(2))
torch.split(torch.ones(3), numpy.array(2))
torch.ones(3).split(torch.tensor(2))
torch.ones(3).split(2.0)
torch.ones(2) == torch.Tensor
torch.nn.Parameter != torch.ones(2)
torch.Tensor in [torch.ones(2)]
torch.sparse_coo_tensor(numpy.int64(3)).shape
torch.nn.Hardtanh(float("nan")).max_val
torch.nn.Hardtanh(1.0, 1.0)
torch.nn.FractionalMaxPool2d(0, output_size=2).kernel_size
torch.nn.FractionalMaxPool3d(0, output_size=2)
torch.ones(3) @ torch.ones(2, 3, 4).double()
torch.ones(3) @ torch.ones(2, 5, 4)
torch.ones(3) @ torch.ones(2, 4, 3).double().mT
torch.ones(3).requires_grad_() @ torch.ones(2, 3, 4).double()
torch.ones(3) @ torch.arange(24.0).view(2, 3, 4)
torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), (3,))
torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), ([0], [5]))
torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), ([0.5], [0]))
torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), (1, 0))
torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), torch.tensor([]))
torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), torch.tensor([[1], [0]]))
torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), torch.tensor([1]))
torch.gradient(torch.arange(4.0), dim=numpy.int64(0))
torch.gradient(torch.arange(4.0), spacing=numpy.float32(2), dim=torch.tensor(0))
torch.gradient(torch.arange(4.0), spacing=None, dim=[0])
torch.gradient(torch.arange(4.0), spacing=2**64)
torch.gradient(torch.arange(4.0), dim=True)
torch.gradient(torch.arange(4.0), spacing=[torch.tensor([0.0, 1.0, 3.0, 4.0])], dim=(0,))
numpy.int64(2) in torch.arange(3), numpy.float32(0.5) in torch.arange(3)
numpy.True_ in torch.arange(3)
torch.choose_qparams_optimized(torch.arange(8.0).view(2, 2, 2), 3, 4, 0.5, 2)
torch.ones(3).to(torch.uint16).to_sparse()
torch.ones(2, 2).to(torch.float8_e5m2).to_sparse(1)
torch.ones(3).expand(2, 3).conj_physical_()
torch.ones(3).cfloat().expand(2, 3).conj_physical_()
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_calls(call):
    @same_story
    def program(torch, tell):
        warnings.simplefilter("ignore")  # of what is young, or to go
        try:
            tell(eval(call, {"torch": torch, "numpy": numpy}))
        except Exception as error:  # the first sentence: what follows may be a list of what can be done
            tell(type(error).__name__, re.split(r"\.\s|\n", str(error))[0])

    program()


@pytest.mark.parametrize("index", ["[1], nothing", "nothing, [5]", "torch.zeros(0).long(), [5]", "[7], none"])
def test_numbers_beside_an_empty_index_are_never_read(index):
    @same_story
    def program(torch, tell):
        at = eval(index, {"torch": torch, "nothing": torch.tensor([False]), "none": torch.zeros(0).long()})
        x = torch.ones(1, 1, 4, requires_grad=True)
        x[at].sum().backward()
        tell(x.grad)
        y = torch.zeros(1, 1, 4)
        y[at] = 1.0
        tell(y)

    program()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("function", ["erf", "sigmoid", "square", "rsqrt", "lgamma", "frac", "neg", "exp"])
def test_results_keep_their_layout_beside_others(function, dtype):
    @same_story
    def program(torch, tell):
        for _ in range(3):  # the second call of a form is planned
            columns = getattr(torch, function)(torch.full((2, 3), 0.5, dtype=getattr(torch, dtype)).mT)
            rows = torch.ones(3, 2, dtype=columns.dtype).flip((0, 1))
            tell(
                columns.stride(),
                (columns * rows).stride(),
                (rows * columns).stride(),
                torch.hypot(columns, rows).stride(),
            )

    program()


@pytest.mark.parametrize(
    "call", ["zeros((2, 2)", "full((2,), 3.0", "eye(2", "randn((2,)", "cat([torch.ones(2)]", "zeros((3, 2)"]
)
@pytest.mark.parametrize("bits", ["ones(3, 2)._neg_view()", "ones(3, 2, dtype=torch.complex64).conj()"])
def test_outs_with_bits_are_resized_twice(call, bits):
    @same_story
    def program(torch, tell):
        out = eval(f"torch.{bits}", {"torch": torch})
        eval(f"torch.{call}, out=out)", {"torch": torch, "out": out})
        tell(out.shape, out.is_neg(), out.is_conj())

    program()


@pytest.mark.parametrize(
    "call",
    [
        "scatter(x, 0, i, x, out=x)", "scatter(torch.ones(3, 3), 0, i, x, out=x)", "scatter(x, 0, i, 1.0, out=x)",
        "scatter(x, 0, i, x, reduce='add', out=x)", "scatter_add(torch.ones(3, 3), 0, i, x, out=x)",
        "scatter_reduce(torch.ones(3, 3), 0, i, x, 'prod', out=x)", "index_add(x[:], 0, i[0], x + 1, out=x)",
        "index_add(x, 0, i[0], x, out=x)", "index_copy(x, 0, i[0], x, out=x)", "index_copy(x, 0, i[0], x + 1, out=x)",
        "index_reduce(x, 0, i[0], x, 'prod', out=x)", "index_add(x[1:], 0, i[0], x + 1, out=x[:-1])",
        "gather(x, 0, i, out=x)", "take_along_dim(x, i, 0, out=x)", "take_along_dim(x, i, out=x)",
        "take_along_dim(x, i, 0, out=x.double())", "take_along_dim(x, i, 0, out=torch.ones(0))",
    ],
)  # fmt: skip
def test_places_are_written_from_other_memory(call):
    @same_story
    def program(torch, tell):
        warnings.simplefilter("ignore")
        x, i = torch.arange(9.0).reshape(3, 3), torch.tensor([[1, 0, 2]])
        tell(eval(f"torch.{call}", {"torch": torch, "x": x, "i": i}), x)

    program()


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_entropies_of_odds_have_the_dtype_of_the_target(dtype, target):
    @same_story
    def program(torch, tell):
        x = torch.tensor([0.5, -1.0], dtype=getattr(torch, dtype), requires_grad=True)
        t = torch.tensor([0.0, 1.0], dtype=getattr(torch, target))
        for reduction in ("none", "mean"):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                x, t, pos_weight=torch.ones(2).double(), reduction=reduction
            )
            loss.sum().backward()
            tell(loss.dtype, x.grad.dtype)

    program()
