"""Names below the public ones that packages use do what PyTorch's do."""

from __future__ import annotations

import importlib
import io
import pkgutil
import zipfile

import pytest

import torchlite

pytestmark = pytest.mark.any_build

torch = pytest.importorskip("torch")
BOTH = (torch, torchlite)


def module(lib, name):
    return importlib.import_module(f"{lib.__name__}.{name}")


def told(call, *args):
    """What a call gives, or how it refuses."""
    try:
        return call(*args)
    except Exception as error:
        return type(error).__name__, str(error)


# ---- how many hold some memory


def use_counts(lib):
    count = lambda t: lib._C._storage_Use_Count(t.untyped_storage()._cdata)
    t = lib.ones(3)
    found = [count(t)]
    view, alias = t[1:], t.detach()
    found += [count(t), count(view), count(alias)]
    del view
    found.append(count(t))
    x = lib.randn(3, requires_grad=True)
    y = (x * 2).exp()
    return [*found, count(x), count(y)]


def test_use_counts():
    assert use_counts(torchlite) == use_counts(torch)


# ---- files, record by record


def written(lib, **options):
    buffer = io.BytesIO()
    writer = lib._C.PyTorchFileWriter(buffer, **options)
    assert writer.serialization_id() == ""
    writer.write_record("text", "hello", 3)
    writer.write_record("data/0", lib.arange(4.0).untyped_storage(), 16)
    writer.write_record("empty", b"", 0)
    assert writer.get_all_written_records() == {"text", "data/0", "empty"}
    writer.write_end_of_file()
    assert len(writer.serialization_id()) == 40
    buffer.seek(0)
    return buffer, writer.archive_name()


@pytest.mark.parametrize("options", [{}, {"storage_alignment": 128}], ids=["usual", "alignment"])
def test_files_written_by_records(options):
    def inside(lib):
        buffer, top = written(lib, **options)
        with zipfile.ZipFile(buffer) as file:
            last = file.namelist()[-1]
            held = [(i.filename, i.header_offset, file.read(i.filename)) for i in file.infolist()[:-1]]
        buffer.seek(0)
        return top, held, last, lib._C.PyTorchFileReader(buffer).get_all_records()

    assert inside(torchlite) == inside(torch)


def test_files_at_paths(tmp_path):
    path = str(tmp_path / "model.pt")
    writer = torchlite._C.PyTorchFileWriter(path)
    writer.set_min_version(6)
    writer.write_record("a", b"xyz", 3)
    with pytest.raises(RuntimeError, match="Tried to serialize file twice: a"):
        writer.write_record("a", b"xyz", 3)
    writer.write_end_of_file()
    with pytest.raises(RuntimeError):
        writer.write_end_of_file()
    assert torch._C.PyTorchFileReader(path).get_record("a") == b"xyz"
    with zipfile.ZipFile(path) as file:
        assert file.namelist()[:2] == ["model/a", "model/.data/version"]
    missing = str(tmp_path / "no" / "a.pt")
    assert told(torchlite._C.PyTorchFileWriter, missing) == told(torch._C.PyTorchFileWriter, missing)


# ---- line searches


@pytest.mark.parametrize("step", [0.01, 1.0, 30.0])
def test_line_searches(step):
    def searched(lib):
        def f(x, t, d):
            at = (x + t * d).requires_grad_()
            value = (at**4 - 3 * at**2 + at).sum()
            (grad,) = lib.autograd.grad(value, at)
            return value.item(), grad

        x = lib.tensor([2.0, -1.0])
        value, grad = f(x, 0.0, x)
        d = -grad
        search = module(lib, "optim.lbfgs")._strong_wolfe
        found, g, t, evals = search(f, x, step, d, value, grad, grad.dot(d), max_ls=12)
        return [found, *g.tolist(), float(t), evals]

    assert searched(torchlite) == pytest.approx(searched(torch), rel=1e-5)


def test_cubics():
    cases = [(0.0, 1.0, -2.0, 1.0, 0.5, 1.0), (1.0, 0.5, 1.0, 0.0, 1.0, -2.0), (0.0, 0.0, 1.0, 1.0, 5.0, 1.0)]

    def minima(lib):
        cubic = module(lib, "optim.lbfgs")._cubic_interpolate
        found = [cubic(*map(lib.tensor, case), bounds) for case in cases for bounds in (None, (0.2, 0.6))]
        return [float(x) for x in found]

    assert minima(torchlite) == pytest.approx(minima(torch), rel=1e-6)


def test_bases_of_tensors():
    def basis(lib):
        tensors = (lib.ones(2), lib.ones(1, dtype=lib.float64), lib.ones(0))
        parts = lib.autograd.functional._construct_standard_basis_for(tensors, (2, 1, 0))
        return [(part.tolist(), str(part.dtype), tuple(part.shape)) for part in parts]

    assert basis(torchlite) == basis(torch)


def test_what_derivatives_are_made_with():
    def made(lib):
        inner = lib.autograd.functional
        x, y = lib.ones(2, requires_grad=True), lib.ones(2)
        given = inner._grad_preprocess((x, y), True, True)
        results = ((x * 2, y), (y, x * 3))
        found = inner._grad_postprocess(results, False)
        kept = [inner._tuple_postprocess(found, flags) for flags in ((True, True), (False, True), (True, False), False)]
        shown = [t.tolist() for t in (kept[1][0], kept[2][1])], type(kept[3]).__name__, len(kept[0])
        return [t.requires_grad for t in given], shown, found[0][0].requires_grad, inner._as_tuple(y, "v", "f")[0]

    assert made(torchlite) == made(torch)


# ---- devices


@pytest.mark.skipif(torchlite.accelerator.is_available(), reason="there is an accelerator")
@pytest.mark.usefixtures("without_cuda")
def test_memory_of_no_accelerator():
    ours, theirs = (module(lib, "accelerator.memory") for lib in (torchlite, torch))
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    for name in theirs.__all__:
        assert told(getattr(ours, name)) == told(getattr(theirs, name))


# What graphs have where PyTorch is built for CUDA alone.
_OF_CONDITIONS = {"begin_capture_to_if_node", "end_capture_to_conditional_node", "get_currently_capturing_graph"}


@pytest.mark.parametrize("name", [m.name for m in pkgutil.iter_modules(torch.cuda.__path__) if m.name[0] != "_"])
def test_modules_of_cuda_and_their_classes_have_pytorchs_names(name):
    ours, theirs = (module(lib, f"cuda.{name}") for lib in (torchlite, torch))
    public = getattr(theirs, "__all__", ())
    assert [n for n in public if not hasattr(ours, n)] == []
    for of in (n for n in public if isinstance(getattr(theirs, n), type)):
        members = {m for m in dir(getattr(theirs, of)) if m[0] != "_" and not hasattr(getattr(ours, of), m)}
        assert not members - _OF_CONDITIONS, (of, members)


@pytest.mark.skipif(torchlite.cuda.is_available(), reason="there is CUDA")
@pytest.mark.usefixtures("without_cuda")
def test_profilers_without_cuda():
    for name in ("start", "stop"):
        ours, theirs = (told(getattr(module(lib, "cuda.profiler"), name)) for lib in (torchlite, torch))
        assert ours[0] == theirs[0] == "AssertionError"


@pytest.mark.parametrize("name", ["has_cuda", "has_cudnn", "has_mkldnn", "has_mps"])
def test_old_questions(name):
    def asked(lib):
        with pytest.warns(UserWarning) as caught:
            assert isinstance(getattr(lib, name), bool)
        return str(caught[0].message), caught[0].filename

    assert asked(torchlite) == asked(torch)


def test_ranks_of_groups():
    for lib in BOTH:
        outside = lib.distributed.distributed_c10d._rank_not_in_group
        assert not outside(None)
        assert outside(lib.distributed.GroupMember.NON_GROUP_MEMBER)


# ---- graphs


def test_marks_of_compatibility():
    def marked(lib):
        mark = module(lib, "fx._compatibility").compatibility

        @mark(is_backward_compatible=True)
        def kept():
            """What it does.

            And more.
            """

        @mark(is_backward_compatible=False)
        def tried():
            pass

        return kept.__doc__, tried.__doc__

    assert marked(torchlite) == marked(torch)


QUESTIONS = """
    optimization_hint(3) ; optimization_hint(True) ; guarding_hint_or_throw(3) ; guard_or_false(True) ;
    guard_or_false(1) ; guard_or_true(False) ; has_symbolic_sizes_strides(lib.ones(2)) ; create_contiguous((2,3,4)) ;
    create_contiguous(()) ; create_contiguous((2,0,4)) ; is_concrete_int(3) ; is_concrete_int(3.) ;
    is_concrete_float(3.) ; is_concrete_bool(1) ; has_static_value(2) ; has_static_value("s") ; guard_int(3) ;
    guard_int(3.) ; guard_float(2.) ; guard_float(2) ; guard_scalar(2.5) ; guard_scalar("a") ;
    canonicalize_bool_expr(True) ; list(free_symbols((1,lib.ones(2)))) ; has_free_symbols(3) ;
    has_free_unbacked_symbols(3) ; is_nested_int(3) ; sym_and(True,False) ; sym_and(True) ; sym_and(1,2) ;
    sym_or(False,True) ; sym_eq(1,1) ; sym_eq((1,2),(1,2)) ; sym_eq((1,2),(1,)) ; sym_eq([1],(1,)) ; sym_eq("a","a") ;
    statically_known_true(1) ; statically_known_false(False) ; check_consistent(1,1) ; check_consistent(1,2) ;
    check_consistent(lib.ones(2),lib.ones(2,1)) ; expect_true(False) ; is_symbolic(3) ;
    resolve_unbacked_bindings(None,{}) ; [d.name for d in DimDynamic]
"""


@pytest.mark.parametrize("question", [q.strip() for q in QUESTIONS.replace("\n", " ").split(" ;")])
def test_questions_about_shapes(question):
    ours, theirs = (
        told(lambda lib=lib: eval(question, {**vars(module(lib, "fx.experimental.symbolic_shapes")), "lib": lib}))
        for lib in BOTH
    )
    assert ours == theirs


# ---- what asks, waits and tells


def checkpoints_valid(lib):
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    valid = lib.autograd._is_checkpoint_valid
    found = [valid()]
    y.register_hook(lambda grad: found.append(valid()))
    y.sum().backward(retain_graph=True)
    lib.autograd.grad(y.sum(), x, retain_graph=True)
    y.sum().backward(inputs=[x])
    return [*found, valid()]


def test_whether_a_pass_may_run_checkpointed_regions():
    assert checkpoints_valid(torchlite) == checkpoints_valid(torch) == [True, True, False, False, True]


@pytest.mark.parametrize("device", [0, "cuda:1", "cuda", None])
def test_numbers_of_devices(device):
    assert told(torchlite.cuda._get_device_index, device) == told(torch.cuda._get_device_index, device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what there is where CUDA is not")
@pytest.mark.usefixtures("without_cuda")
def test_cuda_that_is_not_there_is_left_for_later():
    for lib in BOTH:
        done = []
        assert lib.cuda._lazy_call(lambda: done.append(1)) is None  # noqa: B023
        assert not done
        assert not lib.cuda._is_in_bad_fork()
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            lib.cuda._lazy_init()
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torchlite.cuda._sleep(10)


def test_what_a_compiler_raises_can_be_caught():
    for name in module(torchlite, "_dynamo.exc").__all__:
        ours, theirs = (getattr(module(lib, "_dynamo.exc"), name) for lib in BOTH)
        assert [c.__name__ for c in ours.__mro__] == [c.__name__ for c in theirs.__mro__]


def test_the_limit_of_compilations_is_put_back():
    for lib in BOTH:
        config = module(lib, "_dynamo.config")
        before = config.recompile_limit
        with module(lib, "_dynamo.utils").disable_cache_limit():
            assert config.recompile_limit > 1 << 60
        assert config.recompile_limit == before


def test_scripts_may_tune_a_compiler_of_kernels():
    for lib in BOTH:
        config = module(lib, "_inductor.config")
        assert (config.fx_graph_cache, config.epilogue_fusion, config.coordinate_descent_tuning) == (True, True, False)
        with config.patch(coordinate_descent_tuning=True):
            assert config.coordinate_descent_tuning
        before = getattr(config.triton, "unique_kernel_names", True)
        config.triton.unique_kernel_names = not before
        assert config.triton.unique_kernel_names is not before
        config.triton.unique_kernel_names = before


def test_what_was_built_is_told():
    for lib in BOTH:
        assert lib._C._show_config() == lib.__config__.show()
        assert lib._C._parallel_info() == lib.__config__.parallel_info()


def test_older_names_of_ranks():
    import torchlite.distributed.distributed_c10d as ours

    with pytest.warns(FutureWarning, match="please use `torch.distributed.distributed_c10d.get_global_rank` instead"):
        assert ours._get_global_rank(ours._world.default_pg, 3) == 3
    assert torchlite.distributed._broadcast_coalesced is module(torchlite, "distributed.utils")._broadcast_coalesced


def test_scripting_is_turned_off_and_on():
    for lib in BOTH:
        state = module(lib, "jit._state")
        assert bool(state._enabled)
        state.disable()
        assert not state._enabled
        state.enable()
        assert bool(state._enabled)
