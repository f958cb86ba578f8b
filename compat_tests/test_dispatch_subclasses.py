"""Classes with a `__torch_dispatch__`: what they are asked, in which words and order, and what comes of it."""

from __future__ import annotations

import copy
import gc
import importlib
import weakref

import pytest

import torchlite

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [torch, torchlite], ids=["torch", "torchlite"])


def of(lib, name):
    return importlib.import_module(f"{lib.__name__}.{name}")


def pair_class(lib, log, slots=()):
    """Tensors that are made of two others; `log` is told what is asked of them."""
    tree, dispatch = of(lib, "utils._pytree"), of(lib, "utils._python_dispatch")

    def told(value):
        return type(value).__name__ + str(list(value.shape)) if isinstance(value, lib.Tensor) else repr(value)

    class Pair(lib.Tensor):
        __slots__ = slots
        __torch_function__ = lib._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, a, b):
            return lib.Tensor._make_wrapper_subclass(
                cls, a.shape, strides=a.stride(), dtype=a.dtype, device=a.device, requires_grad=a.requires_grad
            )

        def __init__(self, a, b):
            self.a, self.b = a, b

        def __repr__(self):
            return f"Pair({self.a.shape})"

        def __tensor_flatten__(self):
            return ["a", "b"], None

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            return Pair(inner["a"], inner["b"])

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            log.append((str(func), [t.__name__ for t in types], tree.tree_map(told, (args, {**kwargs}))))

            def run(part):
                return func(
                    *tree.tree_map_only(Pair, lambda t: getattr(t, part), args),
                    **tree.tree_map_only(Pair, lambda t: getattr(t, part), kwargs),
                )

            first, spec = tree.tree_flatten(run("a"))
            made = [
                Pair(x, y) if isinstance(x, lib.Tensor) else x
                for x, y in zip(first, tree.tree_leaves(run("b")), strict=True)
            ]
            return dispatch.return_and_correct_aliasing(func, args, kwargs, tree.tree_unflatten(made, spec))

    return Pair


def parts(lib, value):
    if isinstance(value, lib.Tensor):
        return (type(value).__name__, value.a.tolist(), value.b.tolist()) if hasattr(value, "a") else value.tolist()
    return [parts(lib, v) for v in value] if isinstance(value, list | tuple) else value


def _backward(loss):
    def run(lib, x, w, Pair):
        w = lib.nn.Parameter(w)
        loss(lib, x, w).backward()
        assert isinstance(w, lib.nn.Parameter) and type(w) is Pair
        return w.grad

    return run


PROGRAMS = {
    "arithmetic": lambda lib, x, w, _: (x + 1, x * x, 2 - x, x / w[0], x**2, -x),
    "functions": lambda lib, x, w, _: (x.exp().tanh(), x.sigmoid(), x.relu().sqrt(), x.softmax(1)),
    "sums": lambda lib, x, w, _: (x.sum(), x.mean(1), x.max(1)[0], x.argmax(1), x.var(0)),
    "views": lambda lib, x, w, _: (x.view(3, 2), x.t(), x[0], x[:, 1:], x.unsqueeze(0), x.split(1), x.flatten()),
    "products": lambda lib, x, w, _: (x @ x.t(), lib.mm(x, w.t()), lib.bmm(x[None], x.t()[None])),
    "layers": lambda lib, x, w, _: (
        lib.nn.functional.linear(x, w), lib.nn.functional.linear(x, w, w[:, 0]),
        lib.nn.functional.layer_norm(x, (3,)), lib.nn.functional.embedding(lib.tensor([0, 1]), x),
        lib.nn.functional.conv1d(x[None], lib.ones(1, 2, 1)),
    ),
    "losses": lambda lib, x, w, _: (
        lib.nn.functional.mse_loss(x, x), lib.nn.functional.cross_entropy(x, lib.tensor([0, 1])),
    ),
    "in place": lambda lib, x, w, _: (x.add_(1).mul_(x), lib.ones(2, 3).copy_(x), x.copy_(lib.ones(2, 3))),
    "writing": lambda lib, x, w, _: x.__setitem__(0, 1.0) or x,
    "likes": lambda lib, x, w, _: (lib.zeros_like(x), x.new_zeros(3), lib.ones_like(x, dtype=lib.int64)),
    "conversions": lambda lib, x, w, _: (x.double(), x.to(lib.int64), x.t().contiguous(), x.clone(), x.detach()),
    "values": lambda lib, x, w, _: (x.sum().item(), bool((x > 0).any()), float(x[0, 1])),
    "joining": lambda lib, x, w, _: (lib.cat([x, x]), lib.stack([x, lib.ones(2, 3)]), lib.where(x > 1, x, x)),
    "copies": lambda lib, x, w, _: copy.deepcopy(x),
    "backward of a layer": _backward(lambda lib, x, w: lib.nn.functional.linear(x, w).relu().sum()),
    "backward of tanh": _backward(lambda lib, x, w: (x @ w.t()).tanh().sigmoid().mean()),
    "backward of products": _backward(lambda lib, x, w: ((w * x.sum(0)).exp() / 4 + w).sum()),
    "backward of softmax": _backward(lambda lib, x, w: (w.softmax(1) * w.log_softmax(0)).sum()),
}  # fmt: skip


def story(lib, program, slots=()):
    log = []
    Pair = pair_class(lib, log, slots)
    x = Pair(lib.arange(6.0).reshape(2, 3) / 4, lib.ones(2, 3))
    w = Pair(lib.ones(4, 3), lib.full((4, 3), 0.5))
    results = parts(lib, program(lib, x, w, Pair))
    return log, results


def close(a, b):
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(close, a, b))
    return a == pytest.approx(b, rel=1e-5) if isinstance(a, float) else a == b


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_class_is_asked_what_it_is_asked_in_pytorch(program):
    wanted_log, wanted = story(torch, program)
    log, results = story(torchlite, program)
    assert log == wanted_log
    assert close(results, wanted)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_attributes_may_be_in_slots(program):
    assert close(story(torchlite, program, ("a", "b"))[1], story(torch, program)[1])


@BOTH
def test_classes_over_memory_of_their_own(lib):
    told = []

    class Counted(lib.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            told.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = lib.arange(3.0).as_subclass(Counted)
    y = lib.Tensor._make_subclass(Counted, lib.ones(3))
    assert (x.add(y)).tolist() == [1, 2, 3]
    assert x.add_(1) is x
    assert x.sum().item() == 6
    assert told[:2] == ["aten.add.Tensor", "aten.add_.Tensor"]
    assert "aten.sum.default" in told


@BOTH
def test_who_declines_leaves_a_call_to_others(lib):
    class Base(lib.Tensor):
        __torch_function__ = lib._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented

    class Derived(Base):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return lib.zeros(2) if answers else NotImplemented

    order, answers = [], True
    a, b = lib.ones(2).as_subclass(Base), lib.ones(2).as_subclass(Derived)
    assert (a + b).tolist() == [0, 0]
    assert order == ["Derived"]
    answers = False
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch._ops.aten.add.Tensor'"):
        lib.add(a, b)
    assert order == ["Derived", "Derived", "Base"]


@BOTH
def test_modes_are_asked_before_classes(lib):
    log, order = [], []
    Pair = pair_class(lib, log)

    class Mode(of(lib, "utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((str(func), [t.__name__ for t in types], len(log)))
            return func(*args, **(kwargs or {}))

    x = Pair(lib.ones(2), lib.zeros(2))
    with Mode():
        y = x + 1
    assert type(y) is Pair
    assert order[0] == ("aten.add.Tensor", ["Pair"], 0)


@BOTH
def test_tensors_are_taken_apart_and_put_together(lib):
    dispatch = of(lib, "utils._python_dispatch")
    Pair = pair_class(lib, [])
    x = Pair(lib.ones(2), lib.zeros(2))
    assert dispatch.is_traceable_wrapper_subclass(x)
    assert not dispatch.is_traceable_wrapper_subclass(lib.ones(2))
    made = dispatch.transform_subclass(x, lambda name, t: t + (name == "b"))
    assert parts(lib, made) == ("Pair", [1, 1], [1, 1])
    assert x.view(1, 2).untyped_storage()._cdata == x.untyped_storage()._cdata or lib is torchlite


def test_instances_end_with_their_last_name():
    Pair = pair_class(torchlite, [])
    x = Pair(torchlite.ones(2), torchlite.zeros(2))
    gone = weakref.ref(x)
    gc.disable()
    try:
        del x
        assert gone() is None
    finally:
        gc.enable()


def test_overloads_tell_their_schemas():
    for name in ("add.Tensor", "add_.Tensor", "t.default", "view.default", "mm.default", "split.Tensor"):
        packet, overload = name.split(".")
        mine = getattr(getattr(torchlite.ops.aten, packet), overload)._schema
        real = getattr(getattr(torch.ops.aten, packet), overload)._schema
        assert mine.name == real.name
        assert mine.is_mutable == real.is_mutable
        assert [a.name for a in mine.arguments] == [a.name for a in real.arguments]
        for mine_, real_ in zip(mine.arguments, real.arguments, strict=True):
            assert (mine_.alias_info is None) == (real_.alias_info is None)
            assert mine_.alias_info is None or mine_.alias_info.is_write == real_.alias_info.is_write


# ---- fakes


def _fake(lib, program):
    fake = of(lib, "_subclasses.fake_tensor")
    with fake.FakeTensorMode() as mode:
        return program(lib, mode, fake)


def _layers(lib, mode, fake):
    net = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.ReLU(), lib.nn.Linear(4, 2))
    net(lib.randn(5, 3)).sum().backward()
    return [repr(net(lib.randn(5, 3))), repr(net[0].weight.grad), type(net[0].weight).__name__]


FAKES = {
    "making": lambda lib, mode, fake: [lib.randn(2, 3), lib.tensor([1, 2]), lib.empty(2, device="cuda") + 1],
    "computing": lambda lib, mode, fake: [
        lib.ones(2, 3) @ lib.ones(3, 4), lib.cat([lib.ones(2), lib.ones(1)]).long(), lib.ones(4).view(2, 2).t(),
        lib.ones(2, 3).softmax(1).argmax(1), lib.nn.functional.conv2d(lib.ones(1, 3, 8, 8), lib.ones(4, 3, 3, 3)),
    ],
    "values": lambda lib, mode, fake: lib.ones(2).sum().item(),
    "forms that follow from values": lambda lib, mode, fake: lib.ones(2).nonzero(),
    "training": _layers,
    "writing": lambda lib, mode, fake: [lib.ones(2).add_(1), (x := lib.zeros(2)).mul_(2) is x],
}  # fmt: skip


@pytest.mark.parametrize("program", FAKES.values(), ids=FAKES)
def test_fakes_have_the_forms_of_results(program):
    told = []
    for lib in (torch, torchlite):
        try:
            told.append(repr(_fake(lib, program)))
        except RuntimeError as error:
            told.append(f"{type(error).__name__}: {error}")
    assert told[0] == told[1]


@BOTH
def test_fakes_are_made_of_tensors_and_do_not_mix_with_them(lib):
    fake = of(lib, "_subclasses.fake_tensor")
    real, mode = lib.ones(5, 2, requires_grad=True), fake.FakeTensorMode()
    made = mode.from_tensor(real)
    assert made is mode.from_tensor(real)
    assert fake.is_fake(made) and made.requires_grad and made.fake_mode is mode
    assert repr((made * 2).detach()) == "FakeTensor(..., size=(5, 2))"
    with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
        made * real


def test_attributes_may_be_called_as_parts_of_tensors_are():
    class Told(torchlite.Tensor):
        @property
        def array(self):
            return self.detach().as_subclass(torchlite.Tensor).numpy()

        @property
        def edge(self):
            return "an edge"

    x = torchlite.ones(2, requires_grad=True).as_subclass(Told)
    y = (x * 2).exp()
    y.backward(torchlite.ones(2))
    assert x.edge == "an edge"
    assert x.array.tolist() == [1, 1]
    assert type(y) is Told


@BOTH
def test_attributes_of_any_name_are_kept_and_change_nothing(lib):
    x = lib.nn.Parameter(lib.ones(2, 2))
    names = ("array", "backend", "edge", "counter", "extra", "base", "node", "level", "bytes")
    for name in names:
        assert not hasattr(x, name)
        setattr(x, name, "mine")
    y = x.t() * 2
    y.sum().backward()
    with lib.no_grad():
        x.add_(1)
    assert x.grad.tolist() == [[2, 2], [2, 2]]
    assert all(getattr(x, name) == "mine" for name in names)
    assert not any(hasattr(y, name) for name in names)


@BOTH
def test_state_may_be_replaced(lib):
    class Kept(lib.Tensor):
        pass

    x = lib.ones(2).as_subclass(Kept)
    x.__dict__ = {"label": "a"}
    assert (x + 1).tolist() == [2, 2]
    assert x.label == "a"


def handing_on(lib):
    """A class that takes operations over, and calls them."""

    class HandingOn(lib.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    return HandingOn


@BOTH
def test_wrappers_without_elements_keep_strides(lib):
    wrapper = handing_on(lib)
    assert lib.Tensor._make_wrapper_subclass(wrapper, (0, 3), strides=(9, 5)).stride() == (9, 5)


@BOTH
def test_classes_that_take_operations_over_leave_functions_alone(lib):
    taken = handing_on(lib)

    class Inherits(taken):
        pass

    class Asked(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

        __torch_dispatch__ = taken.__dict__["__torch_dispatch__"]

    x = lib.ones(2)
    for cls, asked in ((taken, False), (Inherits, False), (Asked, True)):
        assert (cls.__torch_function__ is not lib._C._disabled_torch_function_impl) is asked
        assert type(x.view_as(lib.ones(2).as_subclass(cls))) is (cls if asked else lib.Tensor)
