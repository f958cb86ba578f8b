"""What handlers of operations may do: record again, leave classes unasked, write to tensors given."""

from __future__ import annotations

import importlib

import pytest

import torchlite

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [torch, torchlite], ids=["torch", "torchlite"])


def part(lib, name):
    return importlib.import_module(f"{lib.__name__}.{name}")


def wrapper(lib, told):
    """A class of tensors that hold another, and tell what is done to them."""
    dispatch, pytree = part(lib, "utils._python_dispatch"), part(lib, "utils._pytree")

    class Held(lib.Tensor):
        @staticmethod
        def __new__(cls, held):
            return lib.Tensor._make_wrapper_subclass(cls, held.size(), dtype=held.dtype, device=held.device)

        def __init__(self, held):
            self.held = held

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            told.append((str(func), sorted(kwargs)))
            out = func(*pytree.tree_map(bare, args), **pytree.tree_map(bare, kwargs))
            return dispatch.return_and_correct_aliasing(func, args, kwargs, pytree.tree_map(held, out))

    def bare(value):
        return value.held if isinstance(value, Held) else value

    def held(value):
        return Held(value) if isinstance(value, lib.Tensor) and not isinstance(value, Held) else value

    return Held


@BOTH
def test_results_are_written_to_tensors_of_a_class(lib):
    told = []
    held = wrapper(lib, told)
    a, out = held(lib.ones(2)), held(lib.zeros(2))
    assert lib.add(a, a, out=out) is out
    assert out.held.tolist() == [2, 2]
    assert lib.sum(held(lib.ones(3, 2)), 0, out=out) is out
    assert out.held.tolist() == [3, 3]
    lib.mul(a, 4, out=out)
    assert out.held.tolist() == [4, 4]
    lib.cat([a], out=out)
    square = held(lib.arange(6).reshape(2, 3))
    assert square.transpose_(0, 1).shape == square.held.shape == (3, 2)
    assert told == [
        ("aten.add.out", ["out"]), ("aten.sum.IntList_out", ["out"]), ("aten.mul.out", ["out"]),
        ("aten.cat.out", ["out"]), ("aten.transpose_.default", []),
    ]  # fmt: skip


@BOTH
def test_handlers_record_again_where_they_ask_for_it(lib):
    dispatch, overrides = part(lib, "utils._python_dispatch"), part(lib, "overrides")
    found = []

    class Again(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            found.append((lib.is_grad_enabled(), func(*args, **(kwargs or {})).requires_grad))
            with overrides.enable_reentrant_dispatch(), lib.enable_grad():
                found.append((args[0].detach().requires_grad_() * 3).requires_grad)
            return func(*args, **(kwargs or {}))

    x = lib.ones(2, requires_grad=True)
    with Again():
        y = x * 2
    with lib.no_grad(), Again():
        x * 2
    assert found == [(True, False), True, (False, False), True]
    assert y.requires_grad
    said = "Accessing torch dispatch state outside of '__torch_dispatch__' is not allowed."
    with pytest.raises(RuntimeError, match=said), overrides.enable_reentrant_dispatch():
        pass


@BOTH
def test_nobody_is_asked_where_dispatch_is_off(lib):
    no_dispatch = part(lib, "utils._mode_utils").no_dispatch
    told = []

    class Log(part(lib, "utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            told.append(str(func))
            return func(*args, **(kwargs or {}))

    with Log():
        with no_dispatch():
            assert (lib.ones(2) + 1).tolist() == [2, 2]
        lib.ones(2).add_(1)
    assert told == ["aten.ones.default", "aten.add_.Tensor"]
    held = wrapper(lib, told)(lib.ones(2, 3))
    with no_dispatch():
        assert held.t().shape == (3, 2)  # of which only the form is worked out
    assert len(told) == 2


@BOTH
def test_copies_that_are_lazy_and_conversions_by_name(lib):
    x = lib.ones(2, requires_grad=True)
    copy = lib._lazy_clone(x)
    with lib.no_grad():
        copy.add_(1)
    assert (x.tolist(), copy.tolist(), copy.requires_grad) == ([1, 1], [2, 2], True)
    names = {"Byte": "uint8", "Char": "int8", "Double": "float64", "Float": "float32", "Half": "float16",
             "Int": "int32", "Long": "int64", "Short": "int16"}  # fmt: skip
    for name, dtype in names.items():
        assert getattr(lib, f"_cast_{name}")(lib.ones(1)).dtype is getattr(lib, dtype)
