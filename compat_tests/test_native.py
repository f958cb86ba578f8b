"""Every callable of the native build beside `general`, the function in Python whose plain cases it takes over."""

from __future__ import annotations

import copy
import gc
import itertools
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import torchlite
import torchlite.nn.functional as F
from torchlite.core.machine.registry import functions
from torchlite.core.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the pure package")


class Tagged(torchlite.Tensor):
    """A subclass whose results keep their type."""


# ---- what calls are given

SPECIAL = (1.5, -2.0, 0.0, -0.0, math.nan, math.inf, -math.inf, 1e-40, 3e38, 0.75, 2.0, -1.0, 5.0, 1e-3, -7.25)
SHAPES = ((), (1,), (0,), (3,), (2, 3), (3, 1), (1, 1, 2), (0, 3))
DTYPES = (torchlite.float32, torchlite.float64, torchlite.int64, torchlite.bool, torchlite.float16, torchlite.complex64)


def filled(shape: tuple[int, ...], dtype: torchlite.dtype) -> torchlite.Tensor:
    values = list(itertools.islice(itertools.cycle(SPECIAL), math.prod(shape)))
    with np.errstate(all="ignore"):
        array = np.array([v if dtype.is_floating_point or dtype.is_complex else int(v == v) for v in values])
        return torchlite.from_numpy(array.astype(dtype.numpy).reshape(shape))


def _expanded(t: torchlite.Tensor) -> torchlite.Tensor:
    return t[:1].expand(t.shape) if t.dim() and t.shape[0] else t


def _spaced(t: torchlite.Tensor) -> torchlite.Tensor:
    return torchlite.stack([t, t], -1)[..., 1] if t.dim() else t


LAYOUTS: dict[str, Callable[[torchlite.Tensor], torchlite.Tensor]] = {
    "fresh": lambda t: t.clone(),
    "borrowed": lambda t: t,
    "view": lambda t: torchlite.stack([t, t])[1],
    "turned": lambda t: t.clone().mT if t.dim() > 1 else t,
    "spaced": _spaced,
    "expanded": _expanded,
    "flat": lambda t: t.clone().view(-1).view(t.shape) if t.numel() else t,
    "spread": lambda t: t.reshape(-1)[0].clone().expand(t.shape) if t.numel() else t,
    "parameter": lambda t: torchlite.nn.Parameter(t.clone(), t.dtype.is_floating_point),
    "subclass": lambda t: t.clone().as_subclass(Tagged),
    "inference": lambda t: _in_inference(t),
    "conjugate": lambda t: t.clone().conj() if t.is_complex() else t._neg_view() if t.is_floating_point() else t,
}
RECORDED = {"fresh", "view", "turned", "spaced", "expanded", "flat", "spread"}


def _in_inference(t: torchlite.Tensor) -> torchlite.Tensor:
    with torchlite.inference_mode():
        return t.clone()


def made(shape: Any, dtype: Any, layout: str, history: str) -> torchlite.Tensor:
    t = filled(shape, dtype)
    if history == "leaf" and layout in RECORDED and dtype.is_floating_point:
        return LAYOUTS[layout](t).detach().requires_grad_()
    if history == "node" and layout in RECORDED and dtype.is_floating_point:
        return LAYOUTS[layout](t.clone().requires_grad_() * 1)
    return LAYOUTS[layout](t)


def ones() -> Iterator[tuple[Any, ...]]:
    """Lists of arguments of functions of one tensor."""
    for dtype, shape in itertools.product(DTYPES, SHAPES):
        yield ((shape, dtype, "fresh", "none"),)
    for layout, history in itertools.product(LAYOUTS, ("none", "leaf", "node")):
        for shape in ((2, 3), (3,), (), (3, 1)):
            yield ((shape, torchlite.float32, layout, history),)
    yield ((40, 40), torchlite.float64, "fresh", "node"),


NUMBERS = (2, 0, -3, 2.5, -0.0, math.nan, 1e300, True, 1 << 40, 1 << 62, 1 << 70, 1j)


def pairs() -> Iterator[tuple[Any, ...]]:
    """Lists of arguments of functions of two operands."""
    f32 = torchlite.float32
    for dtype in DTYPES:
        for number in NUMBERS:
            yield ((2, 3), dtype, "fresh", "none"), number
        for other in DTYPES:
            yield ((2, 3), dtype, "fresh", "none"), ((2, 3), other, "fresh", "none")
    for one, other in itertools.product(SHAPES, SHAPES):
        yield (one, f32, "fresh", "leaf"), (other, f32, "fresh", "node")
        yield (one, f32, "fresh", "none"), (other, f32, "view", "none")
    for at, (layout, other) in enumerate(itertools.product(LAYOUTS, LAYOUTS)):
        yield ((2, 3), f32, layout, "leaf" if at % 2 else "none"), ((2, 3), f32, other, "none")
        if at % 3 == 0:
            yield ((3, 3), f32, layout, "none"), ((3,), f32, other, "node")
    for history in ("none", "leaf", "node"):
        yield ((2, 3), f32, "fresh", history), 2.5
        yield ((2, 3), f32, "view", history), 3
    yield ((2, 3), f32, "fresh", "none"), "text"
    yield (((2, 3), f32, "fresh", "none"),)


# ---- what a call comes to


def bits(t: torchlite.Tensor) -> Any:
    if type(t) is Tagged:
        return t.tolist().__repr__()
    t = t.detach().resolve_conj().resolve_neg()
    return (torchlite.view_as_real(t) if t.is_complex() else t).numpy().tobytes()  # NumPy has no complex32


def history(node: Any, depth: int = 3) -> Any:
    if node is None or not depth:
        return None
    saved = [(name, described(getattr(node, name), 0)) for name in dir(node) if name.startswith("_saved")]
    edges = [(history(to, depth - 1), nr) for to, nr in node.next_functions]
    return node.name(), saved, edges, [(m.shape, m.dtype) for m in node._input_metadata]


def described(value: Any, depth: int = 3) -> Any:
    """All that can be told of a result."""
    if isinstance(value, (tuple, list)):
        return type(value), [described(v, depth) for v in value]
    if not isinstance(value, torchlite.Tensor):
        return type(value), repr(value)
    told = [type(value), value.dtype, value.shape, value.stride(), value.storage_offset(), bits(value)]
    told += [value.requires_grad, value.is_leaf, value.output_nr, value.is_inference(), value.is_conj(), value.is_neg()]
    told += [value._backend is value._backend.real, None if value.is_inference() else value._version]
    told += [value._is_view(), None if value._base is None else tuple(value._base.shape)]
    if depth and value.requires_grad:
        told.append(history(value.grad_fn, depth))
    return told


def outcome(call: Callable[..., Any], forms: Any) -> Any:
    args = [made(*form) if isinstance(form, tuple) else form for form in forms]
    try:
        result = call(*args)
    except Exception as error:
        return type(error), str(error), described(args)
    shared = [result is a or (isinstance(a, torchlite.Tensor) and isinstance(result, torchlite.Tensor)
              and result.numel() > 0 and result.data_ptr() == a.data_ptr()) for a in args]  # fmt: skip
    return described(result), shared, described(args)


def callables() -> dict[str, Any]:
    found = {name: f for name, f in functions.items() if type(f) is native.function}
    for name, f in vars(torchlite.Tensor).items():
        if type(f) is native.function:
            found[f"Tensor.{name}"] = f
    return found


def arguments(call: Any) -> Iterator[tuple[Any, ...]]:
    return ones() if call.operands == 1 else pairs()


CALLS = callables() if native is not None else {}


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if call.operands])
@pytest.mark.filterwarnings("ignore")
def test_twins(name: str) -> None:
    call, step = CALLS[name], 6 if "." in name else 1  # methods and operators are what the functions are
    for forms in itertools.islice(arguments(call), 0, None, step):
        assert outcome(call, forms) == outcome(call.general, forms), forms
    for mode in (torchlite.no_grad, torchlite.inference_mode):
        with mode():
            for forms in itertools.islice(arguments(call), 0, None, 7 * step):
                assert outcome(call, forms) == outcome(call.general, forms), forms


OUTS: dict[str, Callable[[torchlite.Tensor], torchlite.Tensor]] = {
    "fitting": torchlite.zeros_like,
    "itself": lambda t: t,
    "shifted": lambda t: t.as_strided(t.shape, t.stride(), max(0, t.storage_offset() - 1)),
    "truths": lambda t: torchlite.zeros_like(t, dtype=torchlite.bool),
    "precise": lambda t: torchlite.zeros_like(t, dtype=torchlite.float64),
    "another shape": lambda t: torchlite.zeros(0, dtype=t.dtype),
    "a leaf": lambda t: torchlite.zeros(t.shape, requires_grad=True),
    "a view": lambda t: torchlite.zeros((2, *t.shape), dtype=t.dtype)[1],
    "turned": lambda t: torchlite.zeros((3, 2), dtype=t.dtype).t(),
    "expanded": lambda t: torchlite.zeros((), dtype=t.dtype).expand(t.shape),
    "of a subclass": lambda t: torchlite.zeros_like(t).as_subclass(Tagged),
}


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if call.operands and "." not in name])
@pytest.mark.filterwarnings("ignore")
def test_twins_that_write_to_a_tensor(name: str) -> None:
    """`out=` of every kind, also beside operands that require grad, or whose memory it shares."""
    call = CALLS[name]
    forms = [((2, 3), torchlite.float32, "view", "none"), ((), torchlite.float32, "fresh", "none")]
    forms += [((2, 3), torchlite.int64, "fresh", "none"), ((2, 3), torchlite.float32, "fresh", "leaf")]
    for form, kind in itertools.product(forms, OUTS):
        for other in [()] if call.operands == 1 else [(2,), (form,), (((3,), form[1], "fresh", "none"),)]:
            seen = []
            for f in (call, call.general):
                first = made(*form)
                out = OUTS[kind](first)
                with torchlite.set_grad_enabled(kind != "a leaf"):
                    seen.append(outcome(lambda *args, f=f, out=out: (f(*args, out=out), out), [first, *other]))
            assert seen[0] == seen[1], (form, kind)


def test_large_results_go_where_they_are_wanted() -> None:
    x, y, out = torchlite.randn(300, 301), torchlite.randn(300, 301), torchlite.empty(300, 301)
    at = out.data_ptr()
    for call in (torchlite.exp, torchlite.sigmoid, torchlite.sqrt, torchlite.erf, torchlite.tanh):
        assert call(x, out=out) is out and out.data_ptr() == at
        np.testing.assert_array_equal(out.numpy(), call(x).numpy())
    assert torchlite.add(x, y[0], out=out) is out and torchlite.equal(out, x + y[0]) and out._version == 6
    assert torchlite.mul(x, y, out=x) is x and not torchlite.equal(x, out)


def test_what_has_no_out_takes_none() -> None:
    x, out = torchlite.ones(3), torchlite.zeros(3)
    for call in (torchlite.relu, torchlite.Tensor.exp, torchlite.Tensor.add):
        operands = (x,) * call.operands
        call(*operands)
        with pytest.raises(TypeError):
            call(*operands, out=out)
    assert out.tolist() == [0.0] * 3


def test_large_halves_are_computed_in_floats_and_rounded_once() -> None:
    x, y = torchlite.randn(3, 70_001).half(), torchlite.randn(3, 70_001).half()
    for call in (torchlite.add, torchlite.sub, torchlite.mul, torchlite.div, torchlite.maximum, torchlite.lt):
        exact = call(x.float(), y.float())
        wanted = exact if exact.dtype is torchlite.bool else exact.half()
        assert torchlite.equal(call(x, y), wanted)
        rows = call(x.float(), y[0].float())
        assert torchlite.equal(call(x, y[0]), rows if rows.dtype is torchlite.bool else rows.half())
    z = x.clone()
    assert z.add_(y) is z and torchlite.equal(z, torchlite.add(x, y, out=torchlite.empty_like(x)))


def test_products_with_spread_gradients() -> None:
    threads = torchlite.get_num_threads()
    try:
        for count in (1, 2):
            torchlite.set_num_threads(count)
            x = torchlite.arange(90_000.0).reshape(300, 300)
            g = torchlite.tensor(0.5).expand(300, 300)
            assert torchlite.equal(g * x, x * 0.5) and torchlite.equal(x - g, x - 0.5)
            assert torchlite.equal(g * 2, torchlite.ones(300, 300)) and (g - 1).stride() == (300, 1)
            w = x.clone().requires_grad_()
            (slope,) = torchlite.autograd.grad((w * w).sum(), w, create_graph=True)
            assert torchlite.equal(slope, 2 * x) and slope.stride() == (300, 1)
            assert torchlite.equal(torchlite.autograd.grad(slope.sum(), w)[0], torchlite.full_like(x, 2))
    finally:
        torchlite.set_num_threads(threads)


BROADCAST = (
    ((5, 7), (5, 1)), ((5, 1), (5, 7)), ((5, 1), (7,)), ((1, 7), (5, 1)), ((2, 3, 4), (2, 1, 4)), ((2, 3, 4), (3, 1)),
    ((4,), (2, 3, 1)), ((2, 1, 3), (1, 4, 1)), ((2, 1, 3, 1), (4, 1, 5)), ((1, 1), (1,)), ((3, 1, 4), (1, 2, 1)),
    ((300, 70), (300, 1)), ((200, 1), (300,)), ((20, 30, 40), (20, 1, 40)), ((3, 0), (3, 1)), ((2, 3), (3, 2)),
)  # fmt: skip


@pytest.mark.parametrize("shapes", BROADCAST, ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "lt"])
def test_operands_of_other_shapes(name: str, shapes: Any) -> None:
    call, put = getattr(torchlite, name), getattr(torchlite.Tensor, f"{name}_")
    fresh = [torchlite.randn(shape) for shape in shapes]
    views = [t.reshape(-1).reshape(t.shape) for t in fresh]  # whose sizes of one lie as NumPy would lay them
    for operands in (fresh, views, [t.double() for t in fresh], [fresh[0], torchlite.ones(())]):
        leaves = [t.detach().requires_grad_(name != "lt") for t in operands]
        assert outcome(call, leaves) == outcome(call.general, leaves)
        if name == "lt":  # which writes in Python alone
            continue
        first, second = operands
        assert outcome(put, [first.clone(), second]) == outcome(put.general, [first.clone(), second])


def test_there_are_twins() -> None:
    assert {"add", "relu", "exp", "sum", "mean", "Tensor.add_", "Tensor.__mul__", "Tensor.backward"} <= set(CALLS)


# ---- backward

GRAPHS: dict[str, Callable[..., Any]] = {
    "products": lambda x, y: (x * y / (y * y + 2)) * x - y,
    "numbers": lambda x, y: (2 - x) * 3.0 + y / 4 - 1.5 * x,
    "of one": lambda x, y: torchlite.relu(x).exp() + y.tanh() * x.sigmoid() + (x * x + 1).sqrt().log(),
    "rows": lambda x, y: x * y[0] + y[:, :1] - x[1],
    "matrices": lambda x, y: x @ y.mT @ torchlite.relu(x @ y),
    "linear": lambda x, y: F.linear(x, y, y[0]) * F.linear(y, x),
    "views": lambda x, y: x.reshape(-1).view(4, 4).transpose(0, 1) * y.reshape(2, 8).reshape(4, 4) + x[1] + y[:, 2],
    "used often": lambda x, y: x * x * x + x + x * y + y + y,
    "used in vain": lambda x, y: x.detach() * y + torchlite.zeros_like(x) * x.detach(),
    "in place": lambda x, y: (x * 2).add_(y).mul_(y),
    "several results": lambda x, y: torchlite.cat([a * b for a, b in zip(x.unbind(0), y.chunk(4))]) + x.max(0).values,
    "losses": lambda x, y: F.mse_loss(x, y) + F.cross_entropy(x, y.softmax(1)),
    "a function": lambda x, y: Doubled.apply(x) * Doubled.apply(y),
    "number leaves": lambda x, y: x * x.sum() * y.mean(),
}  # fmt: skip


class Doubled(torchlite.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def leaves(dtype: Any, layout: str) -> list[Any]:
    made = []
    for seed in (1, 2):
        torchlite.manual_seed(seed)
        t = torchlite.randn(4, 4, dtype=dtype)
        t = t.t() if layout == "turned" else torchlite.cat([t, t], 1)[:, ::2] if layout == "spaced" else t
        made.append(t.detach().requires_grad_())
    return made


@pytest.mark.parametrize("layout", ["fresh", "turned", "spaced"])
@pytest.mark.parametrize("dtype", [torchlite.float32, torchlite.float64], ids=str)
@pytest.mark.parametrize("graph", GRAPHS)
def test_backward_twins(graph: str, dtype: Any, layout: str) -> None:
    """Gradients, once and accumulated, are those of the loop in Python to the bit, and memory of their own."""
    seen = []
    for backward in (torchlite.Tensor.backward, torchlite.Tensor.backward.general):
        x, y = leaves(dtype, layout)
        told: list[Any] = []
        for times in range(3):
            loss = (GRAPHS[graph](x, y) * (1 + times)).sum()
            node = loss.grad_fn
            if times == 2:
                x.register_hook(lambda g, told=told: told.append((g.stride(), bits(g))))
                node.register_prehook(lambda grads, told=told: told.append(len(grads)))
            backward(loss)
            told += [(described(t.grad), t.grad is not None and t.grad._version) for t in (x, y)]
            with pytest.raises(RuntimeError) as error:
                backward(loss)
            told.append(str(error.value))
        arrays = [t.grad._array for t in (x, y) if t.grad is not None]
        assert len(arrays) < 2 or not np.shares_memory(*arrays)
        seen.append(told)
    assert seen[0] == seen[1]


def test_a_gradient_that_goes_two_ways_is_two() -> None:
    """What is passed on as it is, or as a view, must not become the `.grad` of two leaves."""
    for _ in range(2):
        v, w = torchlite.ones(2, 2, requires_grad=True), torchlite.ones(4, requires_grad=True)
        z = (v + w.view(2, 2)).view(4) * 2
        z.sum().backward()
        v.grad += 1
        assert w.grad.tolist() == [2.0] * 4


def test_what_is_raised_inside_leaves_everything_as_it_was() -> None:
    x = torchlite.ones(3, requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda g: 1 / 0)
    loss = (y * x).sum()
    with pytest.raises(ZeroDivisionError):
        loss.backward()
    assert torchlite.is_grad_enabled() and x.grad is None
    handle.remove()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0] * 3


def test_hooks_are_told_what_will_run() -> None:
    x = torchlite.ones(3, requires_grad=True)
    a = x * 2
    b = a * 3
    told, other = [], (x * 1).grad_fn
    b.register_hook(lambda g: told.append([torchlite._C._will_engine_execute_node(n) for n in (a.grad_fn, other)]))
    b.sum().backward()
    assert told == [[True, False]]


def test_a_pass_inside_of_a_pass() -> None:
    x = torchlite.ones(3, requires_grad=True)
    y = x * 2

    def inner(g: Any) -> Any:
        z = torchlite.ones(2, requires_grad=True)
        with torchlite.enable_grad():
            (z * z).sum().backward()
        return g * z.grad[0]

    y.register_hook(inner)
    y.sum().backward()
    assert x.grad.tolist() == [4.0] * 3


# ---- objects


def test_functions_are_functions() -> None:
    assert copy.deepcopy([torchlite.add])[0] is torchlite.add
    assert torchlite.add.__name__ == "add" and repr(torchlite.add) == "<built-in function add>"
    assert torchlite.Tensor.add(torchlite.ones(2), 1).tolist() == [2, 2]


def test_parts_are_not_taken_away() -> None:
    """What C reads is always there, whatever a program does to a tensor or a node."""
    t = torchlite.ones(2, requires_grad=True)
    node = (t * t).sum().grad_fn
    for owner in (t, node):
        for name in next(cls for cls in type(owner).__mro__ if cls.__name__.endswith("Parts")).__slots__:
            with pytest.raises(AttributeError, match=f"attribute '{name}' of .* (cannot be deleted|is not writable)"):
                delattr(owner, name)
    t.mine = 1
    del t.mine
    assert not hasattr(t, "mine")


def test_tensors_have_attributes_and_weak_references() -> None:
    import weakref

    class Named(torchlite.Tensor):
        def __del__(self) -> None:
            gone.append(self.name_)

    gone: list[str] = []
    t = torchlite.ones(2) + 1
    t.note = {"a": t}
    ref = weakref.ref(t)
    n = torchlite.ones(2).as_subclass(Named)
    n.name_ = "n"
    del t, n
    gc.collect()
    assert ref() is None and gone == ["n"]
    assert not (torchlite.ones(2) + 1).__dict__


def test_threads_have_states_of_their_own() -> None:
    seen: list[Any] = []

    def body() -> None:
        w = torchlite.ones(2, requires_grad=True)
        with torchlite.no_grad():
            seen.append((w * 2).requires_grad)
        seen.append((w * 2).requires_grad)

    with torchlite.no_grad():
        for _ in range(3):
            thread = threading.Thread(target=body)
            thread.start()
            thread.join()
        assert not (torchlite.ones(2, requires_grad=True) * 2).requires_grad
    assert seen == [False, True] * 3


def test_denormals_survive_an_import() -> None:
    code = "import torchlite, numpy as np; assert np.float32(1e-40) * np.float32(1) != 0 and 5e-324 * 1.0 != 0"
    subprocess.run([sys.executable, "-c", code], check=True)


def mixed_steps() -> Callable[[], None]:
    """Steps of all that runs in C, with exceptions thrown inside."""
    x, y = torchlite.randn(4, 4, requires_grad=True), torchlite.randn(4, 4)
    linear, target, places = torchlite.nn.Linear(4, 4), torchlite.tensor([0, 1, 2, 3]), torchlite.tensor([[0, 1]])

    def step() -> None:
        z = torchlite.relu(x * y + x - y / 2) @ y
        w = linear(z.reshape(2, 8).reshape(4, 4)).exp().tanh() + y[1]
        loss = w.sum() + w.mean() + w.max(1).values.sum() + F.cross_entropy(w, target) + F.layer_norm(w, (4,)).sum()
        loss = loss + F.mse_loss(torchlite.cat([w, y]), torchlite.zeros(8, 4)) + w.to(torchlite.float64).sum().float()
        torchlite.autograd.grad(loss, [x], retain_graph=True)
        loss.backward()
        x.grad = None
        linear.zero_grad()
        y.add_(1e-9).mul_(1.0)
        torchlite.empty(3).fill_(2.0).zero_().copy_(torchlite.ones(3))
        wrongs = (lambda: x + "text", lambda: x.add_(1), lambda: y @ y[0, 0], lambda: x.fill_(1), lambda: y.clamp())
        for wrong in (*wrongs, lambda: torchlite.zeros(-1), lambda: y.gather(1, places + 9)):
            with pytest.raises((TypeError, RuntimeError)):
                wrong()
        with pytest.raises(IndexError):
            F.cross_entropy(x, target + 1)
        kept = (x * x).sum()
        kept.register_hook(lambda g: 1 / 0)
        for back in (lambda: torchlite.autograd.grad(kept, x), kept.backward):
            with pytest.raises(ZeroDivisionError):
                back()

    return step


def left_behind(first: int, then: int) -> tuple[int, int]:
    """How many objects, and kilobytes, more there are after some steps than after the first ones."""
    import resource

    step = mixed_steps()

    def measured(times: int) -> tuple[int, int]:
        for _ in range(times):
            step()
        gc.collect()
        return len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    objects, memory = measured(first)
    objects_then, memory_then = measured(then)
    return objects_then - objects, memory_then - memory


def test_nothing_is_left_behind() -> None:
    """`python -c "from compat_tests.test_native import *; print(left_behind(1000, 20000))"` takes more steps."""
    pytest.importorskip("resource")
    objects, memory = left_behind(300, 700)
    watched = "asan" in os.environ.get("LD_PRELOAD", "")  # then memory that is free is kept for a while
    assert objects <= 20 and (watched or memory < 2000)  # kilobytes


# ---- indexing, plans, modules

INDICES: tuple[Any, ...] = (
    0, -1, 2, 7, -9, 1 << 70, True, None, ..., slice(None), slice(1, None), slice(None, -1), slice(0, 0), slice(5, 2),
    slice(None, None, 2), slice(None, None, -1), slice(-9, 9), (0, 1), (-1, slice(1)), (slice(None), 1), (..., 0),
    (0, ...), (..., slice(None, None, 2)), (slice(1, 2), ..., 0), (0, 0, 0), (None, 0), (slice(None), None), (),
    (0, ..., ...), (1, True), [0], "text", 1.0, np.int64(1),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_twins_of_indexing() -> None:
    call = torchlite.Tensor.__getitem__
    for layout, history_ in itertools.product(LAYOUTS, ("none", "leaf", "node")):
        for index, shape in itertools.product(INDICES, ((2, 3), (3,), (), (3, 1, 4))):
            forms = ((shape, torchlite.float32, layout, history_),)
            for mode in (torchlite.enable_grad, torchlite.no_grad):
                with mode():
                    one, other = [outcome(lambda t, f=f, at=index: f(t, at), forms) for f in (call, call.general)]
                    assert one == other, (forms, index)


def test_paths_of_views_are_followed() -> None:
    x = torchlite.arange(12.0).reshape(3, 4)
    parts = x[1], x[1:], x[:, 1], x[1:][:, :2], x.transpose(0, 1)[1:3]
    x.requires_grad_()
    y = x * 2
    kept = y[1], y[1:], y[:, 1]
    y.mul_(3)
    for part in kept:
        assert part.grad_fn is not None
        part.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [[0, 6, 0, 0], [12, 18, 12, 12], [6, 12, 6, 6]]
    assert [p._base is not None for p in parts] == [True] * 5


PLANNED: dict[str, Callable[..., Any]] = {
    "softmax": lambda x, y: F.softmax(x, 1),
    "log_softmax": lambda x, y: x.log_softmax(-1),
    "cat": lambda x, y: torchlite.cat([x, y, x], dim=1),
    "stack": lambda x, y: torchlite.stack((x, y)),
    "where": lambda x, y: torchlite.where(x > y, x, y),
    "linear": lambda x, y: F.linear(x, y, y[0] if y.dim() == 2 else None),
    "sum of rows": lambda x, y: x.sum(1, keepdim=True),
    "extremes": lambda x, y: x.max(0),
    "layer_norm": lambda x, y: F.layer_norm(x, x.shape[-1:], None, None, 1e-3),
    "turned": lambda x, y: x.mT,
    "transposed": lambda x, y: x.transpose(0, -1),
    "reshaped": lambda x, y: x.reshape(2, -1),
    "viewed": lambda x, y: x.view(-1),
    "unsqueezed": lambda x, y: x.unsqueeze(1),
    "expanded": lambda x, y: x.unsqueeze(0).expand(3, -1, -1),
    "clamped": lambda x, y: x.clamp(min=-0.0, max=0.5),
    "product": lambda x, y: x @ y.mT,
    "loss": lambda x, y: F.cross_entropy(x, y.softmax(1)),
    "cut": lambda x, y: x.chunk(2),
    "cut unevenly": lambda x, y: torchlite.split(x, [1, 3], 1) + x.split(3),
    "unbound": lambda x, y: x.unbind(1),
    "picked": lambda x, y: (x[torchlite.tensor([3, -1, 0])], x[torchlite.tensor([[1], [2]])], x[torchlite.tensor(1)]),
    "masked": lambda x, y: (x[x > 0], x[torchlite.tensor([True, False] * 2)], x[0][y[0] == y[0]]),
    "gathered": lambda x, y: x.gather(1, torchlite.tensor([[0, 3]] * 4)),
    "mean of columns": lambda x, y: x.mean(0),
    "spread": lambda x, y: (x.var(), x.std(1, keepdim=True), x.norm(), x.norm(dim=0)),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANNED)
@pytest.mark.filterwarnings("ignore")
def test_plans_give_each_time_what_they_gave_first(name: str) -> None:
    """The first call goes the general way, the second makes a plan, which the third runs and the fourth in C."""
    for layout, history_ in itertools.product(LAYOUTS, ("none", "leaf", "node")):
        for dtype, other in ((torchlite.float32, "fresh"), (torchlite.float64, "turned")):
            forms = ((4, 4), dtype, layout, history_), ((4, 4), dtype, other, "none")
            for mode in (torchlite.enable_grad, torchlite.no_grad):
                with mode():
                    first, *rest = [outcome(PLANNED[name], forms) for _ in range(5)]
                    assert [one == first for one in rest] == [True] * 4, (layout, history_, dtype, other)


def test_forms_are_told_apart_by_what_counts() -> None:
    x = torchlite.arange(6.0).reshape(2, 3) - 2
    for _ in range(4):
        assert torchlite.clamp(x, min=0.0).signbit().any().item() is False
        assert torchlite.clamp(x, min=-1).dtype is torchlite.float32
        assert [torchlite.full_like(x[:1], v)[0, 0].signbit().item() for v in (0.0, -0.0)] == [False, True]
        assert x.sum(1).shape == (2,) and x.sum(0).shape == (3,)
        assert torchlite.cat([x, x]).shape == (4, 3) and torchlite.cat((x, x), 1).shape == (2, 6)
        assert x.reshape(3, 2).shape == x.reshape((3, 2)).shape == x.reshape([3, 2]).shape == (3, 2)
        for n in range(1, 14):  # more forms than a function keeps
            assert torchlite.ones(n, 2).softmax(0)[0, 0].item() == pytest.approx(1 / n)


def test_modules_are_called_with_their_hooks() -> None:
    m = torchlite.nn.Linear(2, 2)
    x = torchlite.ones(1, 2)
    plain = m(x).tolist()
    told: list[Any] = []
    handles = [
        m.register_forward_hook(lambda *_: told.append("after")),
        torchlite.nn.modules.module.register_module_forward_pre_hook(lambda *_: told.append("before")),
    ]
    assert m(input=x).tolist() == plain and told == ["before", "after"]
    for handle in handles:
        handle.remove()
    m.forward = lambda x: "mine"
    assert m(x) == "mine" and told == ["before", "after"]
    assert m.weight is m._parameters["weight"]
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'wight'"):
        m.wight  # noqa: B018
    bare = torchlite.nn.Linear.__new__(torchlite.nn.Linear)
    with pytest.raises(AttributeError):
        bare(x)


# ---- constants


def test_what_is_made_again_is_new_memory_and_follows_the_defaults() -> None:
    def all_made(size: tuple[int, ...], like: torchlite.Tensor) -> list[Any]:
        made = [f(size) for f in (torchlite.zeros, torchlite.ones)] + [torchlite.full(size, 2.5), torchlite.eye(3)]
        made += [torchlite.arange(3), torchlite.linspace(0, 1, 4), torchlite.zeros_like(like), like.new_ones(2)]
        return made

    like = torchlite.ones(2, 3).t()
    first = [described(t) for t in all_made((2, 3), like)]
    for _ in range(3):
        made = all_made((2, 3), like)
        assert [described(t) for t in made] == first
        for t in made:
            t.add_(1)
    torchlite.set_default_dtype(torchlite.float64)
    try:
        assert [t.dtype for t in all_made((2, 3), like)[:3]] == [torchlite.float64] * 3
    finally:
        torchlite.set_default_dtype(torchlite.float32)
    with torchlite.device("meta"):
        assert all(t.is_meta for t in all_made((2, 3), like)[:6])
    assert [described(t) for t in all_made((2, 3), like)] == first


def test_memory_that_nobody_wrote_to_is_filled_once_that_is_asked_for() -> None:
    for _ in range(3):
        torchlite.empty(3)
    torchlite.use_deterministic_algorithms(True)
    try:
        assert all(torchlite.empty(3).isnan().all() for _ in range(3))
    finally:
        torchlite.use_deterministic_algorithms(False)
    for _ in range(3):
        with pytest.warns(UserWarning, match="deprecated"):
            torchlite.range(0, 2)


def test_results_beside_others_are_recorded_alike() -> None:
    """Plans of several results, of which some have no history."""
    for call in (lambda x: x.max(1), lambda x: torchlite.frexp(x), lambda x: torchlite.var_mean(x, 1), torchlite.sort):
        seen = []
        for _ in range(4):
            x = torchlite.tensor([[1.0, 3.0], [4.0, 2.0]], requires_grad=True)
            results = call(x)
            told = described(tuple(results))
            results[0].sum().backward()
            seen.append((told, None if x.grad is None else x.grad.tolist()))
        assert seen[1:] == seen[:-1]


# ---- gradients of some leaves


@pytest.mark.parametrize("layout", ["fresh", "turned"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_gradients_of_some_leaves_are_those_of_the_loop_in_python(graph: str, layout: str, monkeypatch: Any) -> None:
    from torchlite.autograd import engine

    seen = []
    for by in (engine.native, None):
        monkeypatch.setattr(engine, "native", by)
        x, y = leaves(torchlite.float32, layout)
        told: list[Any] = []
        for goals in ([x, y], [y], [x, x]):
            loss = (GRAPHS[graph](x, y) * 2).sum()
            told.append(described(torchlite.autograd.grad(loss, goals, retain_graph=True, allow_unused=True)))
            loss.grad_fn.register_prehook(lambda grads, told=told: told.append(bits(grads[0])))
            told.append(described(torchlite.autograd.grad(loss, goals[:1], allow_unused=True)))
            told.append((x.grad, y.grad))
            try:  # once more, which graphs bear that kept nothing
                told.append(described(torchlite.autograd.grad(loss, goals, allow_unused=True)))
            except RuntimeError as error:
                told.append(str(error))
        seen.append(told)
    assert seen[0] == seen[1]


def test_a_leaf_that_is_asked_for_may_not_be_asked_about() -> None:
    x = torchlite.ones(3, requires_grad=True)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    y.register_hook(lambda g: torchlite._C._will_engine_execute_node(accumulator))
    with pytest.raises(RuntimeError, match="currently running autograd"):
        torchlite.autograd.grad(y.sum(), x)
