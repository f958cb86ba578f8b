"""Names that packages made for PyTorch import, and what is behind them."""

from __future__ import annotations

import importlib
import io
import warnings

import pytest

import torchlite

pytestmark = pytest.mark.any_build

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [torch, torchlite], ids=["torch", "torchlite"])


def told(call):
    """What a call gives, or how it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return call()
        except Exception as error:
            return type(error).__name__, str(error)


CHECKS = {
    "holds": lambda lib: lib._check(True, lambda: "never"),
    "says": lambda lib: lib._check(False, lambda: "said"),
    "says nothing": lambda lib: lib._check(False),
    "number": lambda lib: lib._check(1),
    "tensor": lambda lib: lib._check(lib.tensor(True)),
    "text": lambda lib: lib._check(False, "text"),
    "size": lambda lib: lib._check_is_size(-1),
    "size below": lambda lib: lib._check_is_size(5, max=3),
    "index": lambda lib: lib._check_index(False),
    "value": lambda lib: lib._check_value(False, lambda: 3),
    "type": lambda lib: lib._check_type(False),
    "not implemented": lambda lib: lib._check_not_implemented(False),
    "all": lambda lib: lib._check_tensor_all(lib.tensor([True, False]), lambda: "some"),
    "all of numbers": lambda lib: lib._check_tensor_all(lib.tensor([1, 0])),
    "all of a number": lambda lib: lib._check_tensor_all(5),
    "with": lambda lib: lib._check_with(KeyError, False, lambda: "key"),
    "assert": lambda lib: lib._assert_async(lib.tensor(0)),
    "assert says": lambda lib: lib._assert_async(lib.tensor(0.0), "why"),
    "assert holds": lambda lib: lib._assert_async(lib.tensor(2)),
    "assert of two": lambda lib: lib._assert_async(lib.tensor([1, 2])),
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_checks(check):
    assert told(lambda: check(torchlite)) == told(lambda: check(torch))


@pytest.mark.parametrize("dimension", [1, 2, 7, 60, 1111])
@pytest.mark.parametrize("options", [{}, {"scramble": True, "seed": 3}])
def test_sobol_points_are_pytorchs(dimension, options):
    pytest.importorskip("scipy")
    ours, theirs = (lib.quasirandom.SobolEngine(dimension, **options) for lib in (torchlite, torch))
    assert repr(ours) == repr(theirs)
    for step in (
        lambda engine, lib: engine.draw(),
        lambda engine, lib: engine.draw(7, dtype=lib.float64),
        lambda engine, lib: engine.draw_base2(3),
        lambda engine, lib: engine.fast_forward(50).draw(3),
        lambda engine, lib: engine.reset().fast_forward(2).draw(2, out=lib.empty(0)),
    ):
        a, b = step(ours, torchlite), step(theirs, torch)
        assert str(a.dtype) == str(b.dtype)
        assert a.tolist() == b.tolist()
    assert ours.num_generated == theirs.num_generated
    assert told(lambda: ours.draw_base2(3)) == told(lambda: theirs.draw_base2(3))


def test_sobol_draws_what_scrambles_from_the_default_generator():
    pytest.importorskip("scipy")
    drawn = []
    for lib in (torchlite, torch):
        lib.manual_seed(5)
        drawn.append((lib.quasirandom.SobolEngine(4, scramble=True).draw(5).tolist(), lib.rand(1).item()))
    assert drawn[0] == drawn[1]
    assert told(lambda: torchlite.quasirandom.SobolEngine(0)) == told(lambda: torch.quasirandom.SobolEngine(0))


def test_placeholders_can_be_named_but_not_called():
    reference = torchlite.distributed.rpc.RRef
    assert torchlite.distributed.tensor.Shard is torchlite.distributed.tensor.placement_types.Shard
    assert reference.to_here is reference.to_here
    assert not hasattr(reference, "to_here")  # a question is not a use
    assert not isinstance(torchlite.nn.Linear(1, 1), reference)
    assert not isinstance(3, torchlite.SymInt)
    derived = type("Derived", (reference,), {})
    for cls in (reference, derived):
        with pytest.raises(NotImplementedError, match=r"rpc\..*: it has no remote calls"):
            cls()


@BOTH
def test_groups_of_processes_without_any(lib):
    distributed = lib.distributed
    assert not distributed.is_initialized()
    assert distributed.Backend("GLOO") == distributed.Backend.GLOO == "gloo"
    assert distributed.ReduceOp.SUM != distributed.ReduceOp.MAX
    assert distributed.get_node_local_rank(fallback_rank=3) == 3
    for call in (distributed.get_rank, distributed.barrier, lambda: distributed.all_reduce(lib.ones(1))):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()


@BOTH
def test_the_registrys_own_ways_of_taking_apart(lib):
    tree = importlib.import_module(f"{lib.__name__}.utils._pytree")
    assert tree._list_flatten([1, 2]) == ([1, 2], None)
    assert tree._dict_flatten({"a": 1}) == ([1], ["a"])
    assert tree._dict_unflatten([3], ["a"]) == {"a": 3}
    keyed, context = tree._tuple_flatten_with_keys((4,))
    assert [(str(key), value) for key, value in keyed] == [("[0]", 4)]
    assert context is None


@BOTH
def test_small_names(lib):
    assert lib.torch is lib  # as `from torch import torch` says
    assert lib.serialization.MAP_LOCATION is not None
    assert lib._C._get_tracing_state() is None
    assert lib.hub.tqdm is importlib.import_module(f"{lib.__name__}.utils.model_zoo").tqdm
    assert lib.backends.cuda.SDPBackend is not None
    assert isinstance(lib._C._get_accelerator(), lib.device)
    assert lib.distributions.utils._sum_rightmost(lib.ones(2, 3), 1).tolist() == [3, 3]
    assert lib.distributions.utils._standard_normal((2,), dtype=lib.float64, device="cpu").dtype is lib.float64
    choose = lib._jit_internal.boolean_dispatch("flag", 1, False, lambda x, flag=False: "yes", lambda x: "no", "m", "f")
    assert [choose(1), choose(1, flag=True), choose(1, True)] == ["no", "yes", "yes"]
    assert choose.__name__ == "f"


@BOTH
def test_a_transform_that_does_not_call_its_base(lib):
    class Double(lib.distributions.transforms.Transform):
        _cache_size = 0

        def __init__(self):
            pass

        def _call(self, x):
            return 2 * x

    assert Double()(lib.ones(2)).tolist() == [2, 2]


def test_hparams_takes_pytorchs_names():
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard.summary import hparams as theirs

    from torchlite.utils.tensorboard.summary import hparams as ours

    given = {"hparam_dict": {"lr": 0.1}, "metric_dict": {"acc": 1.0}, "hparam_domain_discrete": {"lr": [0.1, 0.2]}}
    kept = [[part.SerializeToString() for part in made(**given)] for made in (ours, theirs)]
    assert kept[0][0] == kept[1][0]
    assert told(ours) == told(theirs)


def test_modules_whole_can_be_pickled_by_both():
    saved = io.BytesIO()
    torchlite.save(torchlite.nn.Linear(2, 2), saved)
    saved.seek(0)
    assert isinstance(torch.load(saved, weights_only=False), torch.nn.Linear)


@BOTH
def test_a_subclass_with_properties_of_a_tensors_own_names(lib):
    class Boxes(lib.Tensor):
        @property
        def dtype(self):
            with lib._C.DisableTorchFunctionSubclass():
                return super().dtype

    boxes = lib.ones(2, 3).as_subclass(Boxes)
    assert boxes.dtype is lib.float32
    assert type(boxes.sum(1)) is Boxes
    assert (boxes * 2).sum(1).tolist() == [6, 6]
    assert boxes.to(lib.float64).dtype is lib.float64


@BOTH
def test_a_modules_tensors_are_swapped(lib):
    accessor = importlib.import_module(f"{lib.__name__}.nn.utils._named_member_accessor")
    layer = lib.nn.Linear(2, 1)
    before, mine = layer.weight, lib.ones(1, 2)
    assert accessor.swap_tensor(layer, "weight", mine) is before
    assert layer.weight is mine
    for name in ("a.b", "", "nothing"):
        with pytest.raises((KeyError, AttributeError)):
            accessor.swap_tensor(layer, name, mine)


@BOTH
def test_the_fake_mode_that_is_meant(lib):
    guards = importlib.import_module(f"{lib.__name__}._guards")
    mode, other = (importlib.import_module(f"{lib.__name__}._subclasses").FakeTensorMode() for _ in range(2))
    assert guards.detect_fake_mode() is guards.active_fake_mode() is None
    with mode:
        assert guards.detect_fake_mode() is guards.active_fake_mode() is mode
        fake = lib.ones(2)
    with other:
        foreign = lib.ones(2)
    assert guards.detect_fake_mode([3, {"x": fake}]) is mode
    with pytest.raises(AssertionError, match=r"fake mode .* from fake tensor input 0 doesn't match mode"):
        guards.detect_fake_mode([fake, foreign])


def test_sigmoids_that_are_never_0_or_1():
    def of(lib):
        clipped = importlib.import_module(f"{lib.__name__}.distributions.transforms")._clipped_sigmoid
        return [clipped(lib.tensor([-1e3, 0, 1e3], dtype=getattr(lib, d))).tolist() for d in ("float32", "float64")]

    assert of(torchlite) == of(torch)


def test_types_of_torchscript_can_be_named():
    assert all(isinstance(each, type) for each in (torchlite.TensorType, torchlite.DeviceObjType, torchlite._C.Type))
    with pytest.raises(NotImplementedError, match=r"torchlite has no torch\._C\.TensorType"):
        torchlite.TensorType()


def test_what_asks_whether_cuda_is_in_use_and_whether_a_trace_is_written():
    assert torchlite.cuda._initialized is torchlite.cuda.is_initialized()
    assert torchlite._C._is_tracing() is torch._C._is_tracing() is False
    x = torchlite.arange(3.0)
    assert importlib.import_module("torchlite._vmap_internals")._vmap(lambda t: t * 2)(x).tolist() == [0, 2, 4]


def test_products_in_groups_by_their_inner_name():
    def of(lib):
        a, b = (lib.arange(96.0).reshape(shape).bfloat16() / 50 for shape in ((6, 16), (2, 16, 3)))
        ends = lib.tensor([2, 6], dtype=lib.int32)
        return lib._grouped_mm(a, b.repeat(1, 1, 8), offs=ends).float().tolist()

    assert str(of(torchlite))[:200] == str(of(torch))[:200]
