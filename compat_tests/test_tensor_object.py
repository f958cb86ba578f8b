"""A tensor as a Python object: memory, copies, pickles, attributes, subclasses, exchange with NumPy and others."""

import copy
import gc
import io
import pickle
import threading
import warnings
import weakref
from typing import ClassVar

import numpy as np
import pytest

import torchlite as tl
from compat_tests.side_by_side import same_story
from torchlite.core.values import errors
from torchlite.nn import Parameter

native_only = pytest.mark.skipif(tl.core.native.native is None, reason="the pure package lets a slot be written to")
_ASKED = "H T shape ndim nbytes device layout is_leaf grad_fn is_cpu is_mps is_nested is_quantized _version _base"


@pytest.mark.parametrize("name", [*_ASKED.split(), pytest.param("dtype", marks=native_only)])
def test_what_is_only_asked_for_is_not_set(name):
    pytest.importorskip("torch")
    import torch

    def told(library, change):
        with pytest.raises(AttributeError) as refused:
            change(library.ones(2))
        return str(refused.value)

    for change in (lambda t: setattr(t, name, 5), lambda t: delattr(t, name)):
        assert told(tl, change) == told(torch, change)


def test_from_numpy_and_numpy_share_memory():
    array = np.arange(6.0).reshape(2, 3)
    t = tl.from_numpy(array)
    t[0, 0] = 10
    assert array[0, 0] == 10
    array[1, 2] = 20
    assert t[1, 2].item() == 20
    assert t.numpy().ctypes.data == array.ctypes.data
    assert t.t().stride() == (1, 3)
    assert np.asarray(t).dtype == np.float64
    assert np.array(t, dtype=np.float32).dtype == np.float32


def test_numpy_refuses_what_it_cannot_show():
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        tl.ones(2, requires_grad=True).numpy()
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        tl.ones(2, dtype=tl.bfloat16).numpy()
    with pytest.raises(ValueError, match="negative"):
        tl.from_numpy(np.arange(3)[::-1])
    with pytest.raises(TypeError, match=r"expected np\.ndarray"):
        tl.from_numpy([1, 2])
    with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type"):
        tl.from_numpy(np.array(["a"]))


def test_read_only_arrays_warn_once():
    array = np.ones(2)
    array.flags.writeable = False
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        tl.from_numpy(array)
        tl.from_numpy(array)
    assert len(seen) <= 1


def test_views_share_their_storage():
    t = tl.zeros(3, 4, dtype=tl.int64)
    t.copy_(tl.arange(12).view(3, 4))
    part = t[1:, ::2]
    assert part.untyped_storage().data_ptr() == t.untyped_storage().data_ptr()
    assert part.untyped_storage().nbytes() == 96
    assert part.storage_offset() == 4
    assert part.stride() == (4, 2)
    assert part._base is t
    assert t.storage().tolist() == list(range(12))
    again = tl.empty(0, dtype=tl.int64).set_(t.untyped_storage(), 2, (2, 2), (4, 1))
    assert again.tolist() == [[2, 3], [6, 7]]
    again.fill_(0)
    assert t.sum().item() == sum(range(12)) - 18


def test_versions_count_writes_to_shared_memory():
    t = tl.ones(4)
    view, detached = t[:2], t.detach()
    view.add_(1)
    assert t._version == view._version == detached._version == 1
    detached.zero_()
    assert t._version == 2
    t.data.add_(1)
    assert t._version == 2


def test_deepcopy_keeps_sharing_gradients_and_attributes():
    t = tl.arange(6.0).requires_grad_()
    t.tag = ["kept"]
    (t * 2).sum().backward()
    with tl.no_grad():
        view = t[2:4]
    a, b, c = copy.deepcopy([t, view, t])
    assert a is c
    assert a.grad.tolist() == [2.0] * 6
    assert a.tag == ["kept"]
    assert a.tag is not t.tag
    assert a.requires_grad
    with tl.no_grad():
        a[2] = 100
    assert b[0].item() == 100
    assert t[2].item() == 2
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(t * 2)


@pytest.mark.parametrize("dtype", [tl.float32, tl.bfloat16, tl.bool, tl.complex64, tl.int8, tl.float8_e5m2])
def test_pickle_keeps_everything(dtype):
    t = tl.ones(2, 3, dtype=tl.float32).to(dtype).t()
    t.note = 1
    again = pickle.loads(pickle.dumps(t))
    assert (again.dtype, again.stride(), again.shape, again.note) == (t.dtype, t.stride(), t.shape, 1)
    assert again.to(tl.complex64).equal(t.to(tl.complex64))


def test_pickle_keeps_sharing():
    t = tl.arange(4.0)
    a, b = pickle.loads(pickle.dumps((t, t[1:3])))
    a[1] = 50
    assert b[0].item() == 50


def test_parameters():
    p = Parameter(tl.ones(2))
    assert p.requires_grad
    assert p.is_leaf
    assert type(p * 2) is tl.Tensor
    assert type(copy.deepcopy(p)) is Parameter
    assert type(pickle.loads(pickle.dumps(p))) is Parameter
    assert repr(p).startswith("Parameter containing:\ntensor([1., 1.], requires_grad=True)")
    p.data.add_(1)
    assert p.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError):
        Parameter(tl.ones(2, dtype=tl.int64))


class Tagged(tl.Tensor):
    """A subclass without a __torch_function__ of its own: results keep the type."""


class Logged(tl.Tensor):
    """A subclass that sees every call."""

    calls: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(getattr(func, "__name__", "?"))
        return super().__torch_function__(func, types, args, kwargs)


def test_subclasses_keep_their_type():
    t = tl.arange(4.0).as_subclass(Tagged)
    assert isinstance(t + 1, Tagged)
    assert isinstance(1 + t, Tagged)
    assert isinstance(t[0], Tagged)
    assert isinstance(t.max(0).values, Tagged)
    assert isinstance(tl.stack([t, t]), Tagged)
    assert all(isinstance(p, Tagged) for p in t.split(2))
    assert isinstance(t.T, Tagged)
    assert type(t.shape) is tl.Size
    assert repr(t) == "Tagged([0., 1., 2., 3.])"
    t.requires_grad_()
    (t * t).sum().backward()
    assert t.grad.tolist() == [0.0, 2.0, 4.0, 6.0]


def test_torch_function_sees_calls():
    Logged.calls.clear()
    t = tl.ones(3).as_subclass(Logged)
    tl.add(t, 1)
    t.mul(2)
    t @ t
    t[0]
    assert Logged.calls == ["add", "mul", "matmul", "__getitem__"]


def test_modes_see_calls_inside_only():
    seen = []

    class Spy(tl.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = tl.ones(2)
    with Spy():
        y = tl.zeros(2) + x
        y.exp_()
    x + x
    assert seen == ["zeros", "add", "exp_"]


def test_dlpack_both_ways():
    t = tl.arange(3.0)
    assert np.from_dlpack(t).ctypes.data == t.data_ptr()
    array = np.ones(3)
    assert tl.from_dlpack(array).data_ptr() == array.ctypes.data
    with pytest.raises(BufferError):
        tl.ones(2, requires_grad=True).__dlpack__()


def test_attributes_and_weak_references():
    t = tl.ones(2)
    t.anything = 3
    reference = weakref.ref(t)
    assert t.__dict__ == {"anything": 3}
    del t
    assert reference() is None


def test_graphs_are_freed_without_the_collector():
    gc.disable()
    try:
        x = tl.ones(3, requires_grad=True)
        y = x.exp()
        z = (y * y.tanh()).view(3)[1:].mul_(2)
        references = [weakref.ref(node) for node in (y.grad_fn, z.grad_fn)]
        z.sum().backward()
        del y, z
        assert all(reference() is None for reference in references)
    finally:
        gc.enable()


def test_long_and_wide_graphs():
    x = tl.ones(2, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    del y
    x.grad = None
    sum((x * i for i in range(1000)), tl.zeros(2)).sum().backward()
    assert x.grad.tolist() == [499500.0, 499500.0]


def test_modes_belong_to_their_thread():
    inside = []
    with tl.no_grad():
        thread = threading.Thread(target=lambda: inside.append((tl.ones(1, requires_grad=True) * 2).requires_grad))
        thread.start()
        thread.join()
        assert not (tl.ones(1, requires_grad=True) * 2).requires_grad
    assert inside == [True]


def test_no_numpy_warning_reaches_the_user_and_errstate_is_left_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="raise"):
            assert (tl.ones(2) / 0).tolist() == [float("inf")] * 2
            assert tl.tensor([-1.0]).log().isnan().all()
            assert (tl.full((2,), 3e38) * 10).isinf().all()
            t = tl.zeros(2, requires_grad=True)
            t.log().sum().backward()
            assert np.geterr()["divide"] == "raise"
            with pytest.raises(FloatingPointError):
                np.ones(1) / np.zeros(1)


def test_item_and_python_numbers():
    assert isinstance(tl.tensor(2, dtype=tl.int8).item(), int)
    assert isinstance(tl.tensor(2.5, dtype=tl.bfloat16).item(), float)
    assert [10, 20, 30][tl.tensor(1)] == 20
    assert float(tl.tensor([1.5])) == 1.5
    assert bool(tl.tensor([0])) is False
    assert f"{tl.tensor(1.25):.1f}" == "1.2"
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted to Scalar"):
        tl.ones(2).item()


def test_print_to_a_stream():
    buffer = io.StringIO()
    print(tl.ones(2, requires_grad=True) * 2, file=buffer)
    assert buffer.getvalue() == "tensor([2., 2.], grad_fn=<MulBackward0>)\n"


def test_a_number_that_loses_its_history_is_warned_of_once():
    errors.said_once.clear()
    x = tl.tensor(2.0, requires_grad=True)
    double = x * 2
    with warnings.catch_warnings(), tl.no_grad():
        warnings.simplefilter("error")
        float(double)  # no history is being made that it could be lost from
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        float(double)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        float(x), complex(x), int(x), x.item(), bool(x)


@same_story
def test_what_has_another_class_is_a_view(torch, tell):
    class Own(torch.Tensor):
        pass

    x = torch.ones(3, requires_grad=True)
    y = x.as_subclass(Own)
    tell(y.is_leaf, y._base is x, y.grad_fn)
    y.retain_grad()
    (y * 2).sum().backward()
    tell(x.grad, type(y.grad).__name__)
    (again,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    tell(type(again).__name__, again, torch.autograd.grad(again.sum(), x))
    bare = torch.zeros(3)
    own = bare.as_subclass(Own)
    own.add_(1)
    tell(bare, bare._version, own._base is bare, type(own[1:]._base).__name__)
    made = y * 2
    tell(made, type(made._base).__name__, [type(t).__name__ for t in made.split(2)])
    tell(x.as_subclass(torch.Tensor) is x)
    own.requires_grad_()
    (own * 2).sum().backward(create_graph=True)
    tell(type(own.grad).__name__, own.grad)
    own.grad = torch.ones(3).as_subclass(Own)
    tell(type(own.grad).__name__)
    for wrong in (3, int):
        try:
            x.as_subclass(wrong)
        except TypeError as error:
            tell(error)
    y.add_(1)


@same_story
def test_classes_say_whether_they_are_copied(torch, tell):
    class Plain(torch.Tensor):
        pass

    class Making(torch.Tensor):
        def new_empty(self, *args, **kwargs):
            return super().new_empty(*args, **kwargs).as_subclass(type(self))

    x = torch.ones(3).as_subclass(Making).requires_grad_()
    x.note = [1]
    (x * 3).sum().backward()
    made = copy.deepcopy(x)
    tell(type(made).__name__, made, type(made.grad).__name__, made.grad, made.note, made.note is x.note)
    for t in (torch.ones(3), torch.ones(3, device="meta"), torch.eye(2).to_sparse()):
        try:
            copy.deepcopy(torch.Tensor._make_subclass(Plain, t))
        except RuntimeError as error:
            tell(error)


def test_what_the_library_calls_tensors_for_leaves_their_names_to_classes():
    class Own(tl.Tensor):
        alias = more = host_array = None

    x = tl.ones(3, requires_grad=True).as_subclass(Own)
    (x.detach() * x).sum().backward(inputs=[x])
    assert repr(x.grad) == "tensor([1., 1., 1.])"
