"""What PyTorch's own tests are written with works on torchlite, and what they ask of PyTorch's insides is there."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import torchlite

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

TESTERS = """
    autograd_function_db common_cuda common_device_type common_jit common_methods_invocations common_mkldnn
    common_modules common_mps common_nn common_optimizers common_quantized common_utils composite_compliance
    custom_op_db custom_tensor hop_db jit_utils logging_utils opinfo.core opinfo.definitions opinfo.refs optests
"""


def run(tmp_path: Path, text: str, *how: str) -> str:
    """What a program prints under the alias."""
    file = tmp_path / "test_program.py"
    file.write_text(dedent(text))
    process = subprocess.run(
        [sys.executable, "-m", "torchlite", *how, str(file)], capture_output=True, text=True, timeout=900
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(autouse=True, scope="module")
def what_testers_import() -> None:
    pytest.importorskip("expecttest")


def test_testers_are_those_of_an_installed_pytorch(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        f"""
        import importlib, torch
        assert torch.__version__.endswith("torchlite")
        for name in {TESTERS.split()}:
            module = importlib.import_module("torch.testing._internal." + name)
            assert "torchlite" not in module.__file__, module.__file__
        from torch.testing._internal.common_methods_invocations import op_db, python_ref_db
        from torch.testing._internal.common_modules import module_db
        from torch.testing._internal.common_optimizers import optim_db
        print(len(op_db), len(python_ref_db), len(module_db), len(optim_db))
    """,
    )
    from torch.testing._internal.common_methods_invocations import op_db, python_ref_db
    from torch.testing._internal.common_modules import module_db
    from torch.testing._internal.common_optimizers import optim_db

    ours, theirs = map(int, said.split()[:1]), len(op_db)
    assert abs(next(ours) - theirs) < 10  # those of CUDA's languages, which depend on what is installed
    assert said.split()[1:] == [str(len(db)) for db in (python_ref_db, module_db, optim_db)]


def test_cases_for_devices_dtypes_ops_modules_and_optimizers(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        import torch
        from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
        from torch.testing._internal.common_methods_invocations import op_db
        from torch.testing._internal.common_modules import module_db, modules
        from torch.testing._internal.common_optimizers import optim_db, optims
        from torch.testing._internal.common_utils import TestCase, gradcheck, parametrize, run_tests

        EVERY = slice(None, None, 17)

        class TestAll(TestCase):
            @ops([op for op in op_db if op.ref is not None][EVERY], allowed_dtypes=[torch.float32, torch.int64])
            def test_reference(self, device, dtype, op):
                for sample in op.sample_inputs(device, dtype):
                    self.assertIsNotNone(op(sample.input, *sample.args, **sample.kwargs))

            @ops([op for op in op_db if op.supports_autograd][EVERY], allowed_dtypes=[torch.float64])
            def test_gradient(self, device, dtype, op):
                for sample in list(op.sample_inputs(device, dtype, requires_grad=True))[:3]:
                    result = op(sample.input, *sample.args, **sample.kwargs)
                    if isinstance(result, torch.Tensor) and result.requires_grad:
                        result.sum().backward()

            @modules(module_db[EVERY], allowed_dtypes=[torch.float32])
            def test_module(self, device, dtype, module_info, training):
                for given in module_info.module_inputs_func(
                    module_info, device=device, dtype=dtype, requires_grad=False, training=training
                ):
                    made = module_info.module_cls(*given.constructor_input.args, **given.constructor_input.kwargs)
                    if given.forward_input is not None:
                        made.to(device, dtype).train(training)(
                            *given.forward_input.args, **given.forward_input.kwargs
                        )

            @optims(optim_db[::5], dtypes=[torch.float32])
            def test_optimizer(self, device, dtype, optim_info):
                for given in optim_info.optim_inputs_func(device=device):
                    optim_info.optim_cls([torch.nn.Parameter(torch.ones(2))], **given.kwargs)

            @parametrize("size", [0, 3])
            def test_assert_equal(self, device, size):
                x = torch.ones(size, device=device)
                self.assertEqual(x, torch.ones(size))
                with self.assertRaisesRegex(AssertionError, "Tensor-likes are not close|shape|not equal"):
                    self.assertEqual(x, torch.zeros(size + 1))

        instantiate_device_type_tests(TestAll, globals(), only_for="cpu")

        if __name__ == "__main__":
            run_tests()
        """,
    )  # fmt: skip


def test_tables_of_arguments_name_functions(tmp_path: Path) -> None:
    """What there is not can be a key of a table, and says so when it is called."""
    run(
        tmp_path,
        """
        import torch
        from torch.testing._internal.generated.annotated_fn_args import annotated_args
        assert torch.add in annotated_args and torch.Tensor.add in annotated_args
        functions = torch._C._VariableFunctions
        assert functions.result_type is torch.result_type and functions._foreach_add is torch._foreach_add
        for lacking in (functions._lstm_mps, torch._C._nn.thnn_conv2d, torch.ones(2).to_mkldnn):
            try:
                lacking()
            except NotImplementedError as error:
                assert "has no torch." in str(error), error
            else:
                raise AssertionError
        assert not hasattr(functions, "nothing_at_all")
    """,
    )


# ---- what testers ask

COMMON = """
    canonicalize_dim(3,-4) canonicalize_dim(0,0) canonicalize_dim(0,0,False) canonicalize_dim(0,1)
    canonicalize_dims(3,(-1,0)) canonicalize_dims(3,-1) make_contiguous_strides_for((2,0,3))
    make_contiguous_strides_for((2,3,4),row_major=False) make_channels_last_strides_for((2,3,4,5))
    make_channels_last_strides_for((2,3,4)) make_channels_last_strides_for((2,3)) validate_dim_length(-1)
    validate_shape((2,-1)) validate_strides((2,-1)) validate_idx(2,5) validate_idx(0,0) infer_size((2,-1),6)
    infer_size((2,-1),7) infer_size((-1,-1),6) infer_size((2,2),6) infer_size((0,-1),0)
    extract_shape_from_varargs(((2,3),)) extract_shape_from_varargs((2,3)) extract_shape_from_varargs((2,-3))
    extract_dims_from_varargs(((0,1),)) extract_dims_from_varargs((0,1)) reduction_dims((2,3),None)
    reduction_dims((2,3),(-1,)) reduction_dims((2,3),(-1,1)) compute_reduction_output_shape((2,3,4),(1,))
    apply_perm((5,6,7),(2,0,1)) invert_perm((2,0,1)) is_expandable_to((3,),(2,3)) is_expandable_to((2,3),(3,))
    set_correction(None,None) set_correction(True) set_correction(False) set_correction(None,2) set_correction(True,2)
    compute_required_storage_length((2,3),(3,1),4) compute_required_storage_length((2,0),(3,1),4)
    compute_required_storage_length((),(),4) is_valid_permutation(3,(0,2,1)) is_valid_permutation(3,(0,2,2))
    is_valid_permutation(3,[0,1,2]) validate_no_repeating_dims((0,0)) same_shape((1,2),(1,2,3))
    check_same_shape(t(2),t(3),allow_cpu_scalar_tensors=False) check_same_dtype(t(2),t(2).int())
    check_same_shape(t(),t(3),allow_cpu_scalar_tensors=True) check_same_dtype(t(2),2)
    check_fp_or_complex(lib.int64,'f') check_fp_or_complex(lib.half,'f',False) check_is_matrix(t(2),'f')
    check_layout(lib.sparse_coo) check_pin_memory(True) validate_memory_format(3)
    suggest_memory_format(t(2,3,4,5).to(memory_format=lib.channels_last)) suggest_memory_format(t(2,3).t())
    is_contiguous(t(2,3).t()) is_contiguous(t(0,3).t()) dtype_or_default(None) layout_or_default(None)
    reduction_dtypes(t(2).int(),REDUCTION_OUTPUT_TYPE_KIND.SAME) canonicalize_device('cpu')
    reduction_dtypes(t(2).cfloat(),REDUCTION_OUTPUT_TYPE_KIND.COMPLEX_TO_FLOAT)
    reduction_dtypes(t(2).half(),REDUCTION_OUTPUT_TYPE_KIND.SAME)
    reduction_dtypes(t(2),REDUCTION_OUTPUT_TYPE_KIND.ALWAYS_BOOL)
    reduction_dtypes(t(2),REDUCTION_OUTPUT_TYPE_KIND.KEEP_PROMOTED_TYPE,lib.double)
    is_cpu_scalar_tensor(t()) is_non_overlapping_and_dense_or_false(t(2,3).t())
    is_non_overlapping_and_dense_or_false(t(4,4)[::2]) mask_tensor(t(2)>2,t(2)) mask_tensor(t(2)>0,t(2)>0)
    check_in_bounds_for_storage(t(3).storage(),(2,2),(2,1),0) clone_preserve_strides(t(2,3).t()).stride()
    type_to_dtype(str) type_to_dtype(complex) dtype_to_type(3) is_float_dtype(3) get_higher_dtype(None,None)
    get_higher_dtype(lib.int,2.) get_higher_dtype(t(2).half(),lib.bfloat16) number_type(2)
    elementwise_dtypes(t(2).int(),2.5,type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)
    elementwise_dtypes('a',type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)
    elementwise_dtypes(t(2).half(),type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)
    elementwise_dtypes(t(2).chalf(),type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.COMPLEX_TO_FLOAT)
    elementwise_dtypes(3,2.,None,type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)
    elementwise_dtypes(True,type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.BOOL_TO_LONG)
    elementwise_dtypes(t(2).bool(),type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT)
    elementwise_dtypes(t(2).half(),type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH)
    elementwise_dtypes(t(2),t(2).int(),type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.ALWAYS_BOOL)
    get_acc_type(lib.half,lib.device('cuda')) get_acc_type(lib.float,lib.device('cpu'))
    corresponding_complex_dtype(lib.bfloat16) corresponding_real_dtype(lib.float)
    can_safe_cast_to(cast_to=lib.int,cast_from=lib.float) can_safe_cast_to(cast_to=lib.cfloat,cast_from=lib.float)
    check_same_device(t(2),t(2).to('meta'),allow_cpu_scalar_tensors=False) dtype_to_type(lib.cfloat)
    get_higher_type(int,bool) is_weakly_lesser_type(int,bool) is_weakly_lesser_type(str,bool) get_higher_type(str,bool)
    is_grad_dtype(lib.int) is_low_precision_dtype(lib.half) is_integer_dtype(lib.bool) is_boolean_dtype(lib.bool)
"""


def _answer(lib, call: str) -> str:
    common = importlib.import_module(f"{lib.__name__}._prims_common")
    try:
        found = eval(f"common.{call.replace('(ELEM', '(common.ELEM')}", {
            "common": common, "lib": lib, "t": lambda *size: lib.ones(*size),
            "ELEMENTWISE_TYPE_PROMOTION_KIND": common.ELEMENTWISE_TYPE_PROMOTION_KIND,
            "REDUCTION_OUTPUT_TYPE_KIND": common.REDUCTION_OUTPUT_TYPE_KIND,
        })  # fmt: skip
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0].replace("torchlite", "torch")
    return str(found).replace("torchlite", "torch")


@pytest.mark.parametrize("call", COMMON.split())
def test_questions_about_dtypes_sizes_and_strides(call: str) -> None:
    assert _answer(torchlite, call) == _answer(torch, call)


def test_short_names_of_dtypes() -> None:
    ours, theirs = (importlib.import_module(f"{lib}.utils._dtype_abbrs").dtype_abbrs for lib in ("torchlite", "torch"))
    assert {str(dtype): short for dtype, short in ours.items()} == {
        str(dtype): short for dtype, short in theirs.items()
    }


@pytest.mark.parametrize("lib", [torchlite, torch], ids=["torchlite", "torch"])
def test_where_a_program_is(lib) -> None:
    profiler = importlib.import_module(f"{lib.__name__}._C._profiler")

    def deep():
        return profiler.gather_traceback(True, True, False)

    innermost, caller, *_ = profiler.symbolize_tracebacks([deep()])[0]
    assert (innermost["name"], caller["name"]) == ("deep", "test_where_a_program_is")
    assert innermost["filename"] == __file__ and caller["line"] == innermost["line"] + 2
    assert profiler.symbolize_tracebacks([profiler.gather_traceback(False, False, False)]) == [[]]


def _jacobians(lib):
    check = importlib.import_module(f"{lib.__name__}.autograd.gradcheck")
    x = lib.tensor([1.0, 2.0], dtype=lib.double, requires_grad=True)
    y = lib.tensor([3.0, 4.0], dtype=lib.double, requires_grad=True)
    made = check._get_numerical_jacobian(lambda a, b: (a * b, a.sum()), (x, y))
    some = list(check._iter_tensors([x, [x.detach(), [y]], 3], True))
    with pytest.raises(ValueError, match="no longer supports functions that return complex outputs"):
        check._get_numerical_jacobian(lambda a: a * 1j, (x,))
    return [[each.round(decimals=4).tolist() for each in pair] for pair in made], [each.tolist() for each in some]


def test_numerical_jacobians() -> None:
    assert _jacobians(torchlite) == _jacobians(torch)


# ---- functions that PyTorch tests by their inner names


def _scaled(lib, shape_a=(), shape_b=(), dtype=None, bias=False, scale=0.5):
    a = (lib.arange(16 * 32).reshape(16, 32) % 7 - 3.0).to(lib.float8_e4m3fn)
    b = (lib.arange(16 * 32).reshape(16, 32) % 5 - 2.0).to(lib.float8_e4m3fn).t()
    scales = lib.full(shape_a, scale), lib.full(shape_b, 0.25)
    try:
        made = lib._scaled_mm(a, b, *scales, lib.ones(16) if bias else None, out_dtype=dtype and getattr(lib, dtype))
    except (ValueError, RuntimeError) as error:
        return type(error), str(error).partition("\n")[0]
    return str(made.dtype).removeprefix("torch"), made.float().tolist()


@pytest.mark.parametrize(
    "case",
    [
        {}, {"dtype": "float32", "bias": True}, {"dtype": "bfloat16"}, {"dtype": "float8_e5m2"},
        {"shape_a": (16, 1), "shape_b": (1, 16), "dtype": "float32"}, {"shape_a": (3,)},
        {"scale": 500.0}, {"scale": 5e5, "dtype": "float8_e5m2"},
    ],
    ids=str,
)  # fmt: skip
def test_products_of_eight_bits(case) -> None:
    assert _scaled(torchlite, **case) == _scaled(torch, **case)


def test_softmax_of_rows_that_are_minus_infinity() -> None:
    def of(lib):
        x = lib.tensor([[-float("inf")] * 2, [1.0, 2.0]])
        return lib._safe_softmax(x, -1).flatten().tolist(), lib._safe_softmax(x, 0, lib.float64).flatten().tolist()

    for ours, theirs in zip(of(torchlite), of(torch), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("lib", [torchlite, torch], ids=["torchlite", "torch"])
def test_functions_in_cuda_say_that_there_is_none(lib) -> None:
    jiterator = importlib.import_module(f"{lib.__name__}.cuda.jiterator")
    made = jiterator._create_jit_fn("template <typename T> T f(T x, T k) { return x * k; }", k=2.0)
    if not lib.cuda.is_available():
        with pytest.raises(AssertionError, match="Jiterator is only supported on CUDA and ROCm GPUs"):
            made(lib.ones(2))
    with pytest.raises(Exception, match="Couldn't parse code, please check correctness"):
        jiterator._create_jit_fn("T f(T x) { return x; }")
    x = lib.ones(1, 2, 2, 2)
    with pytest.raises(NotImplementedError, match="Could not run 'aten::_flash_attention_forward' with arguments"):
        lib.ops.aten._flash_attention_forward(x, x, x, None, None, 1, 1, 0.0, False, False)


def test_operations_comply_as_composites(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        from torch.testing import assert_close
        from torch.testing._internal import composite_compliance as compliance
        from torch.testing._internal.common_methods_invocations import op_db
        import torch

        for name in ("abs", "expand_as", "view_as", "sort", "nn.functional.linear", "softmax"):
            op = next(op for op in op_db if op.name == name)
            sample = next(iter(op.sample_inputs("cpu", torch.float64, requires_grad=True)))
            plain = next(iter(op.sample_inputs("cpu", torch.float64)))
            compliance.check_with_mode(op, (plain.input, *plain.args), plain.kwargs, assert_close)
            compliance.check_all_permutations(op, (plain.input, *plain.args), plain.kwargs, assert_close)
            given = (sample.input, *sample.args), sample.kwargs
            compliance.check_backward_formula(
                op.get_op(), *given, sample.output_process_fn_grad, op.gradcheck_wrapper, assert_close
            )
            compliance.check_forward_ad_formula(op.get_op(), *given, op.gradcheck_wrapper, assert_close)
        """,
    )  # fmt: skip


# ---- operations that call functions, as compiled programs have them


def _of_scores(lib):
    inner, outer = (importlib.import_module(f"{lib.__name__}.{name}.flex_attention")
                    for name in ("_higher_order_ops", "nn.attention"))  # fmt: skip
    q, k, v = ((lib.arange(24.0).reshape(1, 2, 4, 3) * s).sin().requires_grad_() for s in (1, 2, 3))
    mask = outer.create_block_mask(lambda b, h, m, n: m >= n, 1, 2, 4, 4, device="cpu")
    whole = outer._create_empty_block_mask(q, k)
    made = inner.flex_attention(
        q, k, v, lambda s, b, h, m, n, w: s * w + h, mask.as_tuple(), 0.5, {}, (lib.tensor(2.0),)
    )
    (back,) = lib.autograd.grad(made[0].sum() + made[1].sum(), q)
    form = [tuple(t.shape) if isinstance(t, lib.Tensor) else t for t in mask.as_tuple(False)[:-1]]
    numbers = [t.detach().flatten().tolist() for t in (*made, back, *whole.as_tuple()[2:4])]
    return [n for each in numbers for n in each], [t.requires_grad for t in made], form, whole.BLOCK_SIZE


def test_attention_is_given_all_at_once() -> None:
    (ours, *more), (theirs, *wanted) = _of_scores(torchlite), _of_scores(torch)
    assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-6)
    assert more == wanted


def _called(lib):
    inner = importlib.import_module(f"{lib.__name__}._higher_order_ops")
    hook = importlib.import_module(f"{lib.__name__}._higher_order_ops.register_hook").register_hook_op
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    same = hook(y, lambda g: g * 3) is y
    y.sum().backward()
    quant = inner.InvokeQuant()
    packed = inner.invoke_quant_packed(lambda x: (x.square(),), x)
    return same, x.grad.tolist(), repr(quant), quant(lambda x: x + 1, x, scheme="a").tolist(), packed[0].tolist()


def test_functions_are_called_as_they_are() -> None:
    assert _called(torchlite) == _called(torch)


@pytest.mark.parametrize("lib", [torchlite, torch], ids=["torchlite", "torch"])
def test_inputs_are_cloned_as_leaves(lib) -> None:
    clone = importlib.import_module(f"{lib.__name__}._dynamo.utils").clone_input
    x = lib.ones(3, 4).t().requires_grad_()
    x.grad = lib.ones(4, 3)
    made, other = clone(x), clone(x * 2)
    assert made.is_leaf and made.requires_grad and made.stride() == (1, 4)
    assert made.grad is not x.grad and made.grad.tolist() == x.grad.tolist()
    assert other.is_leaf and not other.requires_grad
    assert clone(x, dtype=lib.float64).dtype == lib.float64


def test_a_missing_module_is_not_taken_for_what_is_there(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        import pytest
        with pytest.raises(ImportError) as caught:
            import torch.nn.Linear
        assert "did you mean torch.nn.Linear?" not in str(caught.value)
        """,
    )  # fmt: skip
