"""`__torch_function__`: who is asked, in which order, and about which function."""

import contextlib
import warnings
from importlib import import_module
from typing import ClassVar

import pytest

import torchlite as torch
from torchlite.core.machine.overrides import DisableTorchFunctionSubclass, _disabled_torch_function_impl
from torchlite.core.machine.registry import functions
from torchlite.core.state import local
from torchlite.overrides import TorchFunctionMode

from .side_by_side import same_story

# Functions of no tensor, one that stands behind another, and those that PyTorch took away.
UNASKED = {
    "eig", "lstsq", "matrix_rank", "solve", "symeig",
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
    "IntTensor", "LongTensor", "ShortTensor", "_randint", "asarray", "broadcast_shapes", "from_dlpack", "from_numpy",
    "from_file", "frombuffer", "is_storage", "normal",
}  # fmt: skip


class Duck:
    """Passes for a tensor by taking every call over."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, types, args, kwargs or {}


class Declines:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Base(torch.Tensor):
    """Writes down what it is asked."""

    asked: ClassVar[list] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Base.asked.append((cls, types))
        return super().__torch_function__(func, types, args, kwargs)


class Derived(Base):
    pass


@pytest.mark.parametrize("name", sorted(functions.keys() - UNASKED))
def test_a_handler_is_told_the_public_function(name):
    function, duck = getattr(torch, name, functions[name]), Duck()
    for args in ((duck,), (duck, duck), (1, duck), ([duck],), ("i", duck)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                answer = function(*args)
        except TypeError:
            continue
        assert answer[:3] == (function, (Duck,), args)
        return
    pytest.fail(f"torch.{name} asks no handler")


@pytest.mark.parametrize(
    "call",
    [
        lambda t, duck: torch.add(t, duck),
        lambda t, duck: torch.add(duck, t),
        lambda t, duck: torch.stack([t, duck]),
        lambda t, duck: torch.where(t > 0, t, duck),
        lambda t, duck: torch.clamp(t, min=duck),
        lambda t, duck: torch.sum(duck, 0),
        lambda t, duck: t.add_(duck),
        lambda t, duck: t.sub(other=duck),
    ],
)
def test_an_operand_in_any_place_is_asked(call):
    assert call(torch.ones(2), Duck())[1] == (Duck,)


def test_keywords_reach_the_handler():
    duck = Duck()
    assert torch.div(duck, 2, rounding_mode="floor") == (torch.div, (Duck,), (duck, 2), {"rounding_mode": "floor"})
    assert torch.sum(duck, dim=0, keepdim=True) == (torch.sum, (Duck,), (duck,), {"dim": 0, "keepdim": True})


def test_subclasses_are_asked_before_their_bases():
    base, derived = torch.ones(2).as_subclass(Base), torch.ones(2).as_subclass(Derived)
    Base.asked.clear()
    result = torch.add(base, derived)
    assert Base.asked[0] == (Derived, (Derived, Base))
    assert type(result) is Derived


def test_results_keep_the_subclass():
    t = torch.ones(2, 2).as_subclass(Base)
    for result in (t + 1, 1 - t, t.sum(0), t[0], t.to(torch.float64), t.double(), t.pow(2), torch.relu(t), -t, t @ t):
        assert type(result) is Base
    values, indices = t.max(0)
    assert type(values) is type(indices) is Base


def test_who_declines_leaves_the_call_to_others():
    duck, declines = Duck(), Declines()
    assert torch.add(declines, duck)[1] == (Declines, Duck)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for '.*add'.*returned NotImplemented"):
        torch.add(declines, torch.ones(2))


def test_modes_are_asked_first_and_the_innermost_of_them():
    class Mode(TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append((self.name, func, types))
            return func(*args, **(kwargs or {}))

    asked: list = []
    t, duck = torch.ones(2), Duck()
    with Mode("outer"), Mode("inner"):
        assert torch.equal(torch.square(t), t)
        assert torch.add(duck, t)[1] == (Duck,)
    assert asked[:2] == [("inner", torch.square, ()), ("outer", torch.square, ())]
    assert ("inner", torch.add, (Duck,)) in asked
    before = len(asked)
    torch.square(t)
    assert len(asked) == before


def test_a_mode_that_is_kept_somewhere_changes_nothing():
    """As the frames of an exception do that was raised inside: tensors ask as long as there is one."""

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Mode():
        kept = local.state.mode
        assert torch.nn.LazyLinear(3)(torch.ones(2, 4)).shape == (2, 3)
    assert kept.functions
    test_subclasses_are_asked_before_their_bases()
    test_results_keep_the_subclass()
    assert torch.nn.LazyLinear(3)(torch.ones(2, 4)).shape == (2, 3)


def test_subclasses_can_be_left_unasked():
    t = torch.ones(2).as_subclass(Base)
    with DisableTorchFunctionSubclass():
        result = t + 1
    assert type(result) is torch.Tensor
    assert type(t + 1) is Base


def test_a_class_may_leave_every_call_alone():
    class Plain(torch.Tensor):
        __torch_function__ = _disabled_torch_function_impl

    assert type(torch.ones(2).as_subclass(Plain) + 1) is torch.Tensor


def test_everything_said_to_be_overridable_asks_a_duck():
    """What only a tensor's own class offers is asked of it by name, as `t.size()`."""
    stand_ins = torch.overrides.get_testing_overrides()
    assert stand_ins[torch.add](1, 2) == -1
    for function in torch.overrides.get_overridable_functions()[torch]:
        assert function in stand_ins
        with contextlib.suppress(TypeError):  # of more arguments than there are
            assert function(Duck(), Duck())[1] == (Duck,)
        assert not torch.overrides.is_tensor_method_or_property(function)
    ignored = torch.overrides.get_ignored_functions()
    assert torch.zeros in ignored and torch.save in ignored and torch.add not in ignored


def test_methods_and_properties_said_to_be_overridable_ask_a_subclass():
    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func if func in overridable else NotImplemented

    overridable = {f for found in torch.overrides.get_overridable_functions().values() for f in found}
    t = Told([5.0])
    for name in ("dim", "tolist", "values", "coalesce", "cuda", "record_stream", "lu", "_nnz", "map_", "float_power_"):
        method = next(f for f in overridable if f == getattr(torch.Tensor, name))
        assert method(t) == getattr(torch.Tensor, name), name
    for name in ("shape", "dtype", "H", "T", "is_leaf", "grad_fn", "itemsize"):
        read = next(f for f in overridable if f == getattr(torch.Tensor, name).__get__)
        assert read(t) == getattr(torch.Tensor, name).__get__, name
        assert read.__self__.__qualname__ == f"TensorBase.{name}"
    for gone in (torch.sparse_coo_tensor, torch.Tensor.to_sparse_csr, torch.Tensor.__copy__):
        assert gone not in overridable


def test_attributes_that_nobody_takes_over_are_named():
    class Declining(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    t = Declining([5.0])
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.Tensor\.shape\.__get__'"):
        t.shape  # noqa: B018
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.Tensor\.H\.__get__'"):
        t.H  # noqa: B018
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.Tensor\.requires_grad\.__set__'"):
        t.requires_grad = True


def test_public_functions_have_names():
    resolve = torch.overrides.resolve_name
    assert resolve(torch.add) == "torch.add"
    assert resolve(torch.nn.functional.cross_entropy) == "torch.nn.functional.cross_entropy"
    assert resolve(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert resolve(len) is None


def test_what_is_at_hand_of_a_tensor_asks_its_subclass():
    t = torch.ones(2).as_subclass(Base)
    for call in (t.size, t.dim, t.tolist, t.is_contiguous, t.requires_grad_, t.contiguous, lambda: len(t)):
        Base.asked.clear()
        call()
        assert Base.asked
    assert torch.ones(1).as_subclass(Base).item() == 1


def test_modes_can_be_looked_at():
    overrides = torch.overrides
    assert overrides._get_current_function_mode() is None
    with overrides.BaseTorchFunctionMode() as outer, overrides.BaseTorchFunctionMode() as inner:
        assert overrides._get_current_function_mode_stack() == [outer, inner]
        assert overrides._get_current_function_mode() is inner
        assert torch._C._len_torch_function_stack() == 2
        assert torch.equal(torch.ones(2), torch.ones(2))
        with overrides._pop_mode_temporarily():
            assert overrides._get_current_function_mode() is outer


def test_only_the_relevant_arguments_are_asked():
    def public(a, b):
        return torch.overrides.handle_torch_function(public, (a,), a, b)

    duck, other = Duck(), Declines()
    assert public(duck, other) == (public, (Duck,), (duck, other), {})
    with pytest.raises(TypeError, match=r"no implementation found for '.*public' on types that implement"):
        public(Declines(), duck)


@same_story
def test_functions_and_methods_of_one_name_are_told_apart(torch, tell):
    modes = import_module(f"{torch.__name__}.overrides")
    F, Tensor = import_module(f"{torch.__name__}.nn.functional"), torch.Tensor

    class Asked(modes.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            known = {torch.abs_: "function", Tensor.abs_: "method", torch.pow: "function", Tensor.pow: "method",
                     F.elu_: "of layers", F.relu_: "function", Tensor.relu_: "method"}  # fmt: skip
            tell(known.get(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Asked():
        torch.abs_(x)
        x.abs_()
        F.elu_(x)
        F.relu_(x)
        x.relu_()
        torch.pow(x, 2)
        x.pow(2)
        torch.pow(x, x)
        x.pow(x)
        F.relu(x, inplace=True)


class _Noting:
    """Makes function modes that note what they are told of: a name, how many arguments, and keywords."""

    def __init__(self, torch):
        self.resolve = import_module(f"{torch.__name__}.overrides").resolve_name
        self.base = import_module(f"{torch.__name__}.overrides").TorchFunctionMode
        self.seen = []

    def mode(self):
        noting = self

        class Mode(self.base):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                noting.seen.append((noting.resolve(func), len(args), sorted(kwargs or {})))
                return func(*args, **(kwargs or {}))

        return Mode()


QUERIES = """
x.shape; x.shape[0]; x.size(); x.size(-1); x.stride(); x.stride(0); x.dim(); x.ndim; x.ndimension(); x.numel()
x.nelement(); x.dtype; x.device; x.layout; x.requires_grad; x.grad; x.grad_fn; x.is_leaf; x.data; x.T; x.mT
x.real; x._version; x._base; x.is_cuda; x.is_cpu; x.is_meta; x.is_sparse; x.is_nested; x.is_xpu; x.is_quantized
x.retains_grad; x.output_nr; x.itemsize; x.nbytes; x.element_size(); x.data_ptr(); x.storage_offset()
x.get_device(); x.is_contiguous(); x.contiguous(); x.is_floating_point(); x.is_complex(); x.is_signed()
x.is_inference(); x.is_shared(); x.untyped_storage(); x.dim_order(); x.requires_grad_()
setattr(x, "requires_grad", True); setattr(x, "grad", None); setattr(x, "data", x[:1]); x.retain_grad()
bool(x[0, 0]); float(x[0, 0]); int(x[0, 0]); complex(x[0, 0]); len(x); 1.0 in x; f"{x[0, 0]:.2f}"; format(x)
x.tolist(); 1 / x; 2**x; x**2; 7 // x; 7 % x; +x; ~(x > 0); 1 << i; 1 >> i; 1 & i; i.__iand__(1)
i.__ilshift__(1); x.__ipow__(2); x.numpy(); torch.is_floating_point(x); torch.is_complex(x)
torch.nn.functional.linear(x, x); (x * 2).sum(0).shape
""".replace("\n", ";").split(";")  # fmt: skip


@pytest.mark.parametrize("name", ["shape", "dtype", "grad_fn"])
def test_modes_are_not_told_of_attempts_to_write_to_what_is_only_asked_for(name):
    @same_story
    def asked(torch, tell):
        noting, x = _Noting(torch), torch.ones(2, 3)
        with noting.mode():
            for change in (lambda: setattr(x, name, 5), lambda: delattr(x, name)):
                with pytest.raises(AttributeError) as refused:
                    change()
                tell(str(refused.value), noting.seen)
        tell(x.dtype, x.shape)

    asked()


@pytest.mark.parametrize("query", [query.strip() for query in QUERIES if query.strip()])
def test_modes_are_told_what_is_asked_of_tensors(query):
    code = compile(query, query, "eval")

    @same_story
    def asked(torch, tell):
        for modes in (1, 2):
            noting, names = _Noting(torch), {"torch": torch, "x": torch.ones(2, 3), "i": torch.arange(2)}
            with contextlib.ExitStack() as stack:
                for _ in range(modes):
                    stack.enter_context(noting.mode())
                with contextlib.suppress(RuntimeError, ValueError):
                    eval(code, names)
            tell(noting.seen)
        names["x"].dim()
        tell(noting.seen)

    asked()


@same_story
def test_functions_that_modes_are_told_are_those_of_the_class(torch, tell):
    Tensor = torch.Tensor
    shape, dtype, set_grad = Tensor.shape.__get__, Tensor.dtype.__get__, Tensor.grad.__set__
    before = {Tensor.dim: "dim", shape: "shape", dtype: "dtype", set_grad: "set"}

    class Mode(import_module(f"{torch.__name__}.overrides").TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            tell(before.get(func), func is Tensor.dim, func == Tensor.shape.__get__, func.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    for _ in range(2):
        with Mode():
            tell(x.dim(), x.shape, x.dtype, torch.nn.Parameter(x).dim())
            x.grad = None
    tell(Tensor.dim in before, Tensor.shape.__get__ in before)


@same_story
def test_a_mode_is_told_of_subclasses_before_they_are(torch, tell):
    overrides = import_module(f"{torch.__name__}.overrides")

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            tell("class", overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            tell("mode", overrides.resolve_name(func), [t.__name__ for t in types])
            return func(*args, **(kwargs or {}))

    own = torch.ones(2).as_subclass(Own)
    for context in (Mode(), contextlib.nullcontext()):
        with context:
            tell(own.shape, own.dim(), own.is_leaf, own.numel(), (2**own) is None)

    with Mode():

        class Later(Own):
            pass

    tell(torch.ones(2).as_subclass(Later).shape)


@same_story
def test_functions_in_python_tell_of_all_that_has_a_default(torch, tell):
    overrides = import_module(f"{torch.__name__}.overrides")
    F = torch.nn.functional

    class Log(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func.__name__ not in ("__get__", "__getitem__"):
                tell(func.__name__, len(args), {name: str(value) for name, value in (kwargs or {}).items()})
            return func(*args, **(kwargs or {}))

    x, labels = torch.arange(16.0).reshape(1, 1, 4, 4), torch.arange(4)
    with Log():
        F.relu(x), F.relu(x, True), F.softmax(x, 1), F.dropout(x, p=0.0), F.layer_norm(x, (4,)), F.gelu(x)
        F.max_pool2d(x, 2), F.adaptive_avg_pool2d(x, 2), F.interpolate(x, scale_factor=2), F.normalize(x, dim=2)
        F.cross_entropy(x[0, 0], labels), F.mse_loss(x, target=x), F.embedding(labels, x[0, 0]), F.one_hot(labels)
        torch.norm(x), x.norm(), torch.split(x, 2, 3), x.split(2), torch.unique(x), torch.tensordot(x, x, 4)
        torch.nn.ReLU()(x), torch.add(x, x), x.sum(0)


@same_story
def test_handlers_are_told_of_powers_by_the_name_of_the_method(torch, tell):
    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            tell(func.__name__, func is torch.Tensor.__pow__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Named)
    x**2
    2**x


def test_operands_in_lists_by_name_are_asked():
    duck, one = Duck(), torch.ones(1)
    assert torch.cat(tensors=[one, duck]) == (torch.cat, (Duck,), (), {"tensors": [one, duck]})
    assert torch.stack(tensors=(duck,), dim=0) == (torch.stack, (Duck,), (), {"tensors": (duck,), "dim": 0})
