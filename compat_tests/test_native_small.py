"""What stands around calls of ops, natively and in Python: questions to tensors, contexts, calls of modules."""

from __future__ import annotations

import copy
import gc
import inspect
import itertools
import pickle
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import torchlite
from compat_tests.test_native import DTYPES, LAYOUTS, SHAPES, Tagged, described, outcome
from torchlite import nn
from torchlite.core.machine.function_modes import TorchFunctionMode
from torchlite.core.machine.overrides import DisableTorchFunctionSubclass, needs_dispatch
from torchlite.core.native import native
from torchlite.core.state.mode import local

only_native = pytest.mark.skipif(native is None, reason="the pure package")
Tensor = torchlite.Tensor

PROPERTIES = ("shape", "ndim", "is_cpu", "is_cuda", "requires_grad", "is_leaf", "grad_fn", "grad", "_version", "data")
METHODS = (
    "size", "dim", "ndimension", "numel", "nelement", "stride", "data_ptr", "is_contiguous", "contiguous", "detach",
    "item", "tolist", "numpy", "__len__", "__float__", "__int__", "__index__", "__bool__",
)  # fmt: skip


# ---- questions


def asked() -> Iterator[tuple[Any, ...]]:
    """What tensors are made of, and how."""
    for dtype, shape in itertools.product(DTYPES, SHAPES):
        yield (shape, dtype, "fresh", "none")
    for layout, history in itertools.product(LAYOUTS, ("none", "leaf", "node")):
        for dtype, shape in itertools.product((torchlite.float32, torchlite.int64), ((2, 3), (1,), (), (0, 3))):
            yield (shape, dtype, layout, history)


def twins(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A question as the native build answers it, and as Python does."""
    member = vars(Tensor)[name]
    if isinstance(member, property):
        assert type(member) is not property
        return lambda t: member.__get__(t, type(t)), lambda t: member.fget(t)
    return member, member.general


@only_native
@pytest.mark.parametrize("name", PROPERTIES + METHODS)
@pytest.mark.filterwarnings("ignore")
def test_twins(name: str) -> None:
    quick, general = twins(name)
    same = (lambda told: told[:1]) if name in ("data_ptr", "numpy") else (lambda told: told)
    rest: tuple[Any, ...]
    for rest in ((), (0,), (-1,), (5,), (True,), ("text",)) if name in ("size", "stride") else ((),):
        for form in asked():
            one, other = outcome(quick, (form, *rest)), outcome(general, (form, *rest))
            if name in ("data_ptr", "grad_fn"):  # of tensors made anew
                one, other = (str(one[0])[:15], one[2:]), (str(other[0])[:15], other[2:])
            assert same(one) == same(other), (form, rest)
    for mode in (torchlite.no_grad, torchlite.inference_mode):
        with mode():
            for form in itertools.islice(asked(), 0, None, 5):
                one, other = outcome(quick, (form,)), outcome(general, (form,))
                assert str(one[0])[:15] == str(other[0])[:15] and one[2:] == other[2:], form


def test_nodes_and_addresses_are_the_same_ones() -> None:
    x = torchlite.ones(2, 3, requires_grad=True)
    y = x * 2
    assert y.grad_fn is y.grad_fn is not None
    assert y.t().grad_fn.next_functions[0][0] is y.grad_fn
    assert x.detach().data_ptr() == x.data_ptr() == x.detach().numpy().__array_interface__["data"][0]
    assert x[1].data_ptr() == x.data_ptr() + 12
    assert torchlite.empty(0).data_ptr() == 0


def test_the_history_of_views_is_made_anew() -> None:
    base = torchlite.zeros(4)
    view = base[:2]
    assert view.is_leaf and view.grad_fn is None and not view.requires_grad
    w = torchlite.ones(4, requires_grad=True)
    base.mul_(w)
    assert view.requires_grad and not view.is_leaf and view.grad_fn.name() == "AsStridedBackward0"


def test_gradients_are_forgotten() -> None:
    w = torchlite.ones(2, requires_grad=True)
    w.grad = torchlite.ones(2)
    gone = weakref.ref(w.grad)
    w.grad = None
    assert w.grad is None and gone() is None
    w.grad = torchlite.ones(2)
    del w.grad
    assert w.grad is None
    with pytest.raises(TypeError, match="expected to be a Tensor or None"):
        w.grad = 1
    with pytest.warns(UserWarning, match="not a leaf"):
        assert (w * 2).grad is None


def test_memory_that_is_lent_stays() -> None:
    x = torchlite.ones(3)
    array = x.numpy()
    x += 1
    assert array.tolist() == [2.0] * 3
    array[0] = 7
    assert x.tolist() == [7.0, 2.0, 2.0]
    lent = np.arange(6.0).reshape(2, 3)
    t = torchlite.from_numpy(lent)
    t.add_(1)
    assert lent[0, 0] == 1 and t.shape == (2, 3) and t.is_leaf


@pytest.mark.parametrize("array", [
    np.ones((2, 3), np.float32), np.ones(3)[::-1], np.ones((3, 2)).T, np.float64(2), np.array(1), np.ones(0), "text",
    np.ones(2, ">f4"), np.ones(2, np.float16), np.broadcast_to(np.ones(2), (2, 2)), np.ones(2).view(np.recarray),
    np.ones((4, 1), np.int64)[::2], np.array([True, False]), np.array(["a"]), np.ones(2, np.longlong),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
@only_native
def test_arrays_become_tensors(array: Any) -> None:
    for mode in (torchlite.enable_grad, torchlite.inference_mode):
        with mode():
            one, other = outcome(torchlite.from_numpy, (array,)), outcome(torchlite.from_numpy.general, (array,))
            assert one[0] == other[0]


NUMBERS = [
    1.5, 3, True, [1.5, 2], [2.0, 1e300, float("nan")], [1, 2], [1, True], [True, False], [1 << 63], [[1.0], [2.0]],
    [[1.0], [2.0, 3.0]], [[1], 2], [1, [2]], [], [[]], [(1.0, 2.0)], [None], ["a"], [1j], [np.float64(1)],
    [[[[[[[[[1.0]]]]]]]]], [torchlite.tensor(1.0)], [[True, True, False]] * 2,
]  # fmt: skip


@pytest.mark.parametrize("data", NUMBERS, ids=repr)
@pytest.mark.filterwarnings("ignore")
@only_native
def test_numbers_become_tensors(data: Any) -> None:
    tensor = torchlite.tensor
    for default in (torchlite.float32, torchlite.float64, torchlite.float16):
        torchlite.set_default_dtype(default)
        try:
            for mode in (torchlite.enable_grad(), torchlite.inference_mode()):
                with mode:
                    assert outcome(tensor, (data,))[0] == outcome(tensor.general, (data,))[0]
        finally:
            torchlite.set_default_dtype(torchlite.float32)
    with torchlite.device("meta"):
        assert tensor([1.0]).is_meta


def test_subclasses_are_asked() -> None:
    told: list[str] = []

    class Asked(torchlite.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            told.append(torchlite.overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    t = torchlite.ones(2, 3).as_subclass(Asked)
    assert t.shape == (2, 3) and t.size(1) == 3 and t.dim() == 2 and len(t) == 2 and t.requires_grad is False
    assert t.tolist() == [[1.0] * 3] * 2 and t[0, 0].item() == 1.0 and isinstance(t.detach(), Asked)
    assert {"torch.Tensor.shape.__get__", "torch.Tensor.size", "torch.Tensor.dim", "torch.Tensor.tolist"} <= set(told)


@pytest.mark.parametrize("dims", [
    (), (2, 3), [2, 3], range(3), torchlite.Size((1, 2)), (True, 2), (np.int64(2),), (torchlite.tensor(3),), (2.0,), 3,
    "ab", {2: 1}, (1 << 70,),
])  # fmt: skip
def test_sizes(dims: Any) -> None:
    def told(make: Callable[..., Any]) -> Any:
        try:
            size = make(torchlite.Size, dims)
        except TypeError as error:
            return str(error)
        return type(size), repr(size), [type(n) for n in size], size.numel(), size[-1:], size.__add__((1,))

    general = inspect.unwrap(torchlite.Size.__new__)
    assert told(torchlite.Size.__new__) == told(lambda cls, dims: cls(dims)) == told(general)


def test_places_in_sizes() -> None:
    size = torchlite.ones(2, 3).shape
    assert (size[0], size[-1], size[True], size[np.int64(1)], size[:1]) == (2, 3, 3, 3, torchlite.Size([2]))
    for index in (2, -3, 1 << 70):
        with pytest.raises(IndexError):
            size[index]
    with pytest.raises(TypeError):
        size["0"]


def test_who_asks_to_be_told() -> None:
    class Asking(torchlite.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs or {})

    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "quack"

    x, p = torchlite.ones(2), nn.Parameter(torchlite.ones(2))
    asking = x.as_subclass(Asking)
    general = inspect.unwrap(needs_dispatch)
    for args in (
        (x,),
        (x, p, 1, None, "a"),
        ([x, p],),
        ((x, asking),),
        (asking,),
        (Duck(),),
        ([[asking]],),
        [x],
        [Duck()],
    ):
        for kwargs in ({}, {"a": x, "b": 2}, {"a": asking}, {"a": [asking]}):
            for mode in (torchlite.enable_grad, torchlite.inference_mode, DisableTorchFunctionSubclass, Telling):
                with mode():
                    assert needs_dispatch(args, kwargs) is general(args, kwargs)
    assert nn.functional.relu(Duck()) == "quack"


class Telling(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def test_properties_are_properties() -> None:
    shape = inspect.getattr_static(Tensor, "shape")
    assert isinstance(shape, property) and Tensor.shape is shape
    assert (Tensor.grad.__doc__ is None, Tensor.grad.fdel is None) == (False, False)
    longer = Tensor.ndim.getter(lambda self: 1 + self.dim())
    assert longer.__get__(torchlite.ones(2, 2)) == 3
    with pytest.raises(AttributeError):
        torchlite.ones(2).shape = (1, 2)
    assert str(inspect.signature(Tensor.size)) == str(inspect.signature(inspect.unwrap(Tensor.size)))
    assert Tensor.item.__name__ == "item" and "Python number" in Tensor.item.__doc__
    assert pickle.loads(pickle.dumps(torchlite.ones(2).shape)) == (2,)


# ---- contexts

SWITCHES: dict[str, Callable[[], Any]] = {
    "no_grad": lambda: torchlite.no_grad(),
    "enable_grad": lambda: torchlite.enable_grad(),
    "set_grad_enabled": lambda: torchlite.set_grad_enabled(False),
    "inference_mode": lambda: torchlite.inference_mode(),
    "no inference_mode": lambda: torchlite.inference_mode(False),
    "anomalies": lambda: torchlite.autograd.set_detect_anomaly(False),
}


def failing() -> None:
    raise ZeroDivisionError


def switched() -> Any:
    return torchlite.is_grad_enabled(), torchlite.is_inference_mode_enabled(), local.state.entered


@pytest.mark.parametrize("inner", SWITCHES)
@pytest.mark.parametrize("outer", SWITCHES)
def test_contexts_inside_of_contexts(outer: str, inner: str) -> None:
    before = switched()
    for _ in range(2):
        with SWITCHES[outer]():
            between = switched()
            with pytest.raises(ZeroDivisionError), SWITCHES[inner]():
                failing()
            assert switched() == between
        assert switched() == before


def test_a_context_that_is_let_go_of_is_left() -> None:
    before = switched()
    off = torchlite.no_grad()
    leave = off.__exit__  # as a `with` has it
    off.__enter__()
    off.__enter__()
    assert not torchlite.is_grad_enabled()
    del leave
    assert switched() == before


def test_contexts_of_generators_that_are_dropped() -> None:
    def pausing() -> Iterator[bool]:
        with torchlite.no_grad():
            yield torchlite.is_grad_enabled()

    before = switched()
    paused = pausing()
    assert next(paused) is False
    holder: dict[str, Any] = {"paused": paused}
    holder["holder"] = holder
    del paused, holder
    gc.collect()
    assert switched() == before


def test_subclasses_of_switches() -> None:
    class Loud(torchlite.no_grad):
        def __enter__(self) -> Any:
            told.append("in")
            return super().__enter__()

        def __exit__(self, *error: Any) -> None:
            told.append("out")
            return super().__exit__(*error)

    told: list[str] = []
    with Loud():
        assert not torchlite.is_grad_enabled()
    assert torchlite.is_grad_enabled() and told == ["in", "out"]


def test_the_first_context_of_a_thread() -> None:
    seen: list[bool] = []

    def body() -> None:
        with torchlite.no_grad():
            seen.append(torchlite.is_grad_enabled())
        seen.append(torchlite.is_grad_enabled())

    for _ in range(3):
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
    assert seen == [False, True] * 3


# ---- modules


class Scaled(nn.Module):
    kind = "scaled"

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torchlite.ones(2))
        self.register_buffer("running", torchlite.zeros(2))
        self.inner = nn.Linear(2, 2)

    def forward(self, x: Any, times: int = 1) -> Any:
        return x * self.weight * times


def test_parts_are_looked_up() -> None:
    for _ in range(3):
        m = Scaled()
        for _ in range(3):
            assert m.weight is m._parameters["weight"] and m.running is m._buffers["running"]
            assert m.inner is m._modules["inner"] and m.inner.bias is m.inner._parameters["bias"]
            assert m.kind == "scaled" and m.training is True and hasattr(m, "forward")
            with pytest.raises(AttributeError, match="'Scaled' object has no attribute 'missing'"):
                _ = m.missing
        m.register_parameter("nothing", None)
        assert m.nothing is None
        del m.weight
        assert not hasattr(m, "weight")
        m.__dict__["weight"] = 5
        assert m.weight == 5
        with pytest.raises(TypeError):
            getattr(m, 3)
    assert not hasattr(object.__new__(Scaled), "weight")


def test_classes_may_look_up_otherwise_at_any_time() -> None:
    class Own(Scaled):
        pass

    class Below(Own):
        def __getattr__(self, name: str) -> Any:
            return "below" if name == "here" else super().__getattr__(name)

    m, below = Own(), Below()
    assert m.weight is not None and below.here == "below" and below.weight is below._parameters["weight"]
    Own.__getattr__ = lambda self, name: name.upper()
    assert m.weight == "WEIGHT" and below.weight == "WEIGHT"
    del Own.__getattr__
    assert m.weight is m._parameters["weight"]
    Own.__getattribute__ = lambda self, name: 1 if name == "weight" else object.__getattribute__(self, name)
    assert m.weight == 1
    del Own.__getattribute__
    assert m.weight is m._parameters["weight"]
    Own.weight = "of the class"
    assert m.weight == "of the class"
    del Own.weight
    general = nn.Module.__getattr__
    nn.Module.__getattr__ = lambda self, name: "everywhere"
    try:
        assert m.weight == "everywhere"
    finally:
        nn.Module.__getattr__ = general
    assert m.weight is m._parameters["weight"]


def test_calls_of_modules() -> None:
    m, x = Scaled(), torchlite.ones(2)
    assert m(x).tolist() == [1.0, 1.0] and m(x, times=3).tolist() == m(x, 3).tolist() == [3.0, 3.0]
    told: list[Any] = []
    handle = m.register_forward_hook(lambda module, args, result: told.append(args))
    m(x)
    handle.remove()
    common = nn.modules.module.register_module_forward_pre_hook(lambda module, args: told.append(args))
    m(x)
    common.remove()
    m(x)
    assert len(told) == 2
    m.forward = lambda x: "own"
    assert m(x) == "own" and copy.copy(m)(x) == "own"
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Scaled()()
    with pytest.raises(NotImplementedError):
        nn.Module()(x)
    general = nn.Module.__call__
    nn.Module.__call__ = lambda self, *args: "everywhere"
    try:
        assert Scaled()(x) == "everywhere"
    finally:
        nn.Module.__call__ = general
    assert Scaled()(x).tolist() == [1.0, 1.0]


def test_calls_of_modules_by_other_ways() -> None:
    class Static(nn.Module):
        @staticmethod
        def forward(x: Any) -> Any:
            return x

    class Called(Scaled):
        def __call__(self, x: Any) -> Any:
            return super().__call__(x, times=5)

    class Late(Scaled):
        def __getattribute__(self, name: str) -> Any:
            return (lambda x: "late") if name == "forward" else super().__getattribute__(name)

    x = torchlite.ones(2)
    assert Static()(x) is x and Called()(x).tolist() == [5.0, 5.0] and Late()(x) == "late"
    assert nn.Module.__call__(Scaled(), x, times=2).tolist() == [2.0, 2.0]
    assert [r.tolist() for r in map(Scaled(), [x])] == [[1.0, 1.0]]


# ---- nothing is left behind


def test_references() -> None:
    x, w = torchlite.ones(2, 3), torchlite.ones(3, requires_grad=True)
    y, one, module = x * w, torchlite.tensor(1.5), Scaled()
    off, array = torchlite.no_grad(), np.ones(3)
    tagged = x.as_subclass(Tagged)

    def step() -> None:
        for t in (x, w, y, one, tagged):
            _ = (
                described(t),
                t.shape,
                t.size(),
                t.stride(),
                t.dim(),
                t.numel(),
                t.is_leaf,
                t.grad_fn,
                t._version,
                t.data,
                t.detach(),
            )
            _ = t.detach().tolist(), t.detach().numpy(), t.data_ptr(), t.is_contiguous(), t.contiguous()
        w.grad = torchlite.ones(3)
        w.grad = None
        _ = torchlite.Size((2, 3))[1], x.shape[0], x.shape[:1], nn.functional.relu(x, inplace=False)
        _ = float(one), int(one), bool(one), len(x), torchlite.from_numpy(array), module.weight, module.inner
        _ = torchlite.tensor([[1.0, 2.0]]), torchlite.tensor([1, True])
        module(w[:2])
        with off, torchlite.enable_grad(), torchlite.set_grad_enabled(False), torchlite.inference_mode():
            pass
        for wrong in (lambda: float(x), lambda: len(one), lambda: y.numpy(), lambda: module.missing, lambda: module()):
            with pytest.raises((RuntimeError, TypeError, ValueError, AttributeError)):
                wrong()
        with pytest.raises(ZeroDivisionError), torchlite.no_grad():
            failing()

    kept = [
        x._array, w._array, x._counter, w._edge, y.grad_fn, torchlite.Size, torchlite.float32, off, local.state.mode,
        array, torchlite.no_grad, module.weight, module.__dict__, type(module), Tensor.shape, Tensor.size, local.state,
    ]  # fmt: skip

    def counts(times: int) -> tuple[list[int], int]:
        for _ in range(times):
            step()
        gc.collect()
        return [sys.getrefcount(value) for value in kept], len(gc.get_objects())

    counts(20)
    before, objects = counts(20)
    after, objects_then = counts(200)
    assert [b - a for a, b in zip(before, after)] == [0] * len(kept)
    assert objects_then - objects <= 5
