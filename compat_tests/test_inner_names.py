"""What libraries take from PyTorch's inner modules: classes of nodes, weak references, masks, bounds of storages."""

import gc
import importlib
import pickle
import traceback
import warnings

import pytest

from .side_by_side import same_story

pytestmark = pytest.mark.any_build


def said(call):
    """The value, or the error, of a call, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = call()
        except Exception as error:
            value = type(error).__name__, str(error).split("\n")[0]
    return value, [str(warning.message).split(" (Triggered")[0] for warning in caught]


@same_story
def test_classes_of_nodes_are_found_by_their_names(torch, tell):
    x = torch.ones(2, requires_grad=True)
    for y in (x * 2, x.exp(), x.sum(), x[0], x @ x):
        tell(getattr(torch._C._functions, type(y.grad_fn).__name__) is type(y.grad_fn))
    tell(isinstance(x.view_as(x).grad_fn.next_functions[0][0], torch._C._functions.AccumulateGrad))
    tell(hasattr(torch._C._functions, "NoSuchBackward0"), "SinBackward0" in dir(torch._C._functions))


@same_story
def test_functions_that_leave_faults_in_a_graph(torch, tell):
    x = torch.ones(2, requires_grad=True)
    tell(torch._C._functions.UndefinedGrad()(x * 2).sum().backward(), x.grad)
    first, second = torch._C._functions.DelayedError(b"not twice", 2)(x, x * 2)
    tell(first.detach(), second.detach(), first.requires_grad)
    tell(said(lambda: first.sum().backward()), x.grad)


@same_story
def test_weak_references_to_tensors(torch, tell):
    x = torch.ones(2)
    reference = torch._C._WeakTensorRef(x)
    tell(reference.expired(), torch._C._data_address(x) == x.data_ptr())
    del x
    gc.collect()
    tell(reference.expired())


@pytest.mark.parametrize("layout", ["to_dense", "to_sparse"])
def test_masks_in_full_and_of_results(layout):
    @same_story
    def story(torch, tell):
        masked = torch.masked
        x = torch.arange(6.0).reshape(2, 3)
        mask = x > 1
        for given in (None, torch.ones(3), torch.ones(1, 2, 3), getattr(mask, layout)()):
            tell(said(lambda given=given: masked._input_mask(x, mask=given)))
        tell(masked._input_mask(getattr(x, layout)(), mask=mask).to_dense())
        for op, *args in (
            (masked.sum,), (masked.sum, 0), (masked.amax, (0, 1)), (masked.norm, 2, 0), (masked.norm, 2),
            (masked.softmax, 1), (masked.cumsum, 0), (masked.median, 1), (masked.argmin, -1),
        ):  # fmt: skip
            tell(masked._output_mask(op, x, *args, mask=mask))
        tell(masked._output_mask(masked.var, x, dim=1, keepdim=True, mask=mask))
        tell(said(lambda: masked._output_mask(masked.softmax, x, 0)))
        tell(said(lambda: masked._output_mask(masked.logaddexp, x, x, mask=mask))[0][0])

    story()


def laid(t):
    return t.shape, t.stride(), t.storage_offset(), t.untyped_storage().nbytes()


@same_story
def test_geometries_beyond_a_storage(torch, tell):
    whole = torch.arange(8.0)
    for source, *geometry in (
        (whole.untyped_storage(), 3, (2,), (1,)), (whole.untyped_storage(), 7, (2,), (1,)),
        (whole.untyped_storage(), 7, (2,)), (whole.untyped_storage(), 0, (0,), (1,)),
        (whole.untyped_storage(), 9, (0,), (1,)), (whole.untyped_storage(), -1, (1,), (1,)),
        (whole.untyped_storage(), 0, (2, 2), (1,)), (whole.untyped_storage(), 0, (2,), (-1,)),
        (whole[2:], 1, (2,), (1,)), (whole[2:], 5, (2,), (1,)), (whole[2:], 0, (2, 3)), (whole[2:],),
        (whole, 0, (3, 2), (2, 3)),
    ):  # fmt: skip
        for before in (torch.ones(2), torch.ones(3, 1)):
            tell(said(lambda before=before, source=source, geometry=geometry: laid(before.set_(source, *geometry))))
    tell(torch.ones(2).set_(whole[2:], 1, (3,), (2,)), torch.ones(2).set_(whole[2:]))


@same_story
def test_capsules_of_sparse_tensors_are_refused(torch, tell):
    t = torch.eye(2).to_sparse()
    tell(said(t.__dlpack__)[0], said(lambda: torch.from_dlpack(t))[0])


@same_story
def test_names_of_inner_modules(torch, tell):
    tell(sorted(n for n in dir(torch.nn.functional.grad) if n.startswith("conv") and n[4:6] in ("1d", "2d", "3d")))
    tell(torch._C.FileCheck().check("a").check_not("d").run("abc"))
    tell(torch._C._LegacyVariableBase.__name__, issubclass(torch.autograd.Variable, torch._C._LegacyVariableBase))


@same_story
def test_storages_with_a_dtype_may_be_warned_of_each_time(torch, tell):
    storage = torch.storage
    before = storage._get_always_warn_typed_storage_removal()
    try:
        storage._set_always_warn_typed_storage_removal(True)
        tell(before, storage._get_always_warn_typed_storage_removal())
        for _ in range(2):
            tell(bool(said(lambda: torch.ones(2).storage()[0])[1]))
        tell(said(lambda: storage._set_always_warn_typed_storage_removal(1)))
    finally:
        storage._set_always_warn_typed_storage_removal(before)


@same_story
def test_the_core_tells_of_memory_and_warns_for_tests(torch, tell):
    core, x = torch._C, torch.ones(4)
    tell(core._is_alias_of(x[:2], x[2:]), core._overlaps(x, x[1:]), core._overlaps(x[::2], x[1::2]))
    tell(core._is_alias_of(x, x.clone()), core._overlaps(x, x.clone()), core._len_torch_dispatch_stack())
    tell(said(core._warn), said(core._warn_deprecation))


@same_story
def test_memory_can_be_known_without_being_kept(torch, tell):
    known = torch.multiprocessing.reductions.StorageWeakRef
    for device in ("cpu", "meta"):
        x = torch.ones(3, device=device)
        first, same = known(x.untyped_storage()), known(x[1:].untyped_storage())
        tell(first == same, hash(first) == hash(same), first.expired())
        tell(first == known(torch.ones(3, device=device).untyped_storage()))
        del x
        gc.collect()
        tell(first.expired())


@same_story
def test_settings_of_a_compiler_can_be_patched(torch, tell):
    config = torch._dynamo.config

    @config.patch(verbose=True)
    def look():
        return config.verbose

    tell(look(), config.verbose)
    with config.patch({"verbose": True}):
        tell(config.verbose)
    with config.patch("verbose", True):
        tell(config.verbose)
    tell(config.verbose)


@same_story
def test_errors_of_compiled_texts_show_their_lines(torch, tell):
    module = importlib.import_module(f"{torch.__name__}.utils._traceback")
    text = "def f(x):\n    def g(x):\n        raise RuntimeError('boom')\n    return g(x * 3) + 1\n"
    made = {}
    exec(compile(text, "<string>", "exec"), {"__compile_source__": text}, made)
    with pytest.raises(RuntimeError, match="boom") as caught, module.report_compile_source_on_error():
        made["f"](1)
    shown = traceback.format_exception(caught.value)
    tell([line for part in shown for line in part.splitlines() if "File" not in line])
    tell([frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-2:])
    tell(module.format_traceback_short(caught.value.__traceback__).endswith(":3 in g"))


@same_story
def test_where_a_program_is_can_be_kept(torch, tell):
    captured = importlib.import_module(f"{torch.__name__}.utils._traceback").CapturedTraceback

    def here(**options):
        return captured.extract(**options)

    whole, outer = here(), here(skip=1)
    tell([frame.name for frame in whole.summary()][-1], "captured.extract(**options)" in whole.format()[-1])
    tell([frame.name for frame in outer.summary()][-1] == "here")
    tell(captured.format_all([outer])[0][-1].splitlines()[-1], len(pickle.loads(pickle.dumps(whole)).summary()))
