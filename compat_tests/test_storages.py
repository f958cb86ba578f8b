"""Storages: the memory behind tensors, resized, copied, indexed, and made from buffers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import torchlite

from .side_by_side import same_story

# Each is tried for itself: what it gives, or raises, is told.
BYTES = """
s[0]; s[3]; s[12]; s[0:4].tolist(); s[0:8:2]; s["a"]; s.fill_("a"); s.fill_(300).tolist(); s.copy_(t)
s.copy_(r); s.size(); s.nbytes(); len(s); s.element_size(); s.is_shared(); s.is_pinned(); s.is_cuda; s.is_hpu
s.is_sparse; s.get_device(); s.resizable(); s.device; s.type(); s.new().size(); s.untyped().nbytes()
s.clone().tolist(); s.to(device="cpu").tolist(); s.__setitem__(0, 300); s[0]; s.__setitem__(slice(1, 3), 9)
s.tolist(); s.__setitem__("a", 3); s.__setitem__(20, 3); s.__setitem__(0, 1.5); torch.UntypedStorage("a")
torch.UntypedStorage([1, 2]).tolist(); torch.UntypedStorage(b"ab").tolist()
torch.UntypedStorage(3, device="cpu").nbytes(); torch.is_storage(s)
"""
TYPED = """
f[0]; f[5]; f[-1]; f["a"]; f.__setitem__("a", 1); f.__setitem__(0, "a"); f._size(); f._nbytes()
f._element_size(); f._data_ptr() != 0; f._is_shared(); f._pickle_storage_type(); f.is_sparse; f.is_pinned()
f.get_device(); f.copy_(torch.FloatStorage([4, 5, 6])).tolist(); f.resize_(2); f.tolist()
f._resize_(4); f.fill_(3).size()
f.size(); f.float8_e5m2().dtype; f.to(device="cpu").tolist(); f.type(); f.fill_(2).tolist(); f._dtype
f._untyped_storage.nbytes(); f._share_memory_().is_shared(); torch.FloatStorage("a"); torch.FloatStorage(1, 2)
torch.FloatStorage(dtype=torch.int); torch.TypedStorage(1, 2)
torch.TypedStorage(wrap_storage=3, dtype=torch.int); torch.TypedStorage(dtype=3)
torch.FloatStorage(wrap_storage=s).size()
"""
BUFFERS = """
torch.IntStorage.from_buffer(bytearray(8)); torch.IntStorage.from_buffer(bytearray(7), "native")
torch.IntStorage.from_buffer(bytearray(8), "native", 1, 1).tolist()
torch.ByteStorage.from_buffer(b"abc").tolist()
torch.IntStorage.from_buffer(bytearray(8), "native", offset=-4)
torch.IntStorage.from_buffer(bytearray(8), "native", count=5)
torch.IntStorage.from_buffer(bytearray(8), "odd")
torch.IntStorage.from_buffer(bytearray(range(8)), "big").tolist()
"""


def _each(torch: Any, tell: Any, expressions: str) -> None:
    names = {
        "torch": torch,
        "s": torch.arange(3.0).untyped_storage(),
        "t": torch.zeros(3).untyped_storage(),
        "r": torch.zeros(2).untyped_storage(),
        "f": torch.arange(3.0)._typed_storage(),
    }
    for expression in expressions.replace("\n", ";").split(";"):
        if expression.strip():
            try:
                tell(expression, eval(expression, names))
            except Exception as error:
                tell(expression, error)


@same_story
def test_bytes(torch: Any, tell: Any) -> None:
    _each(torch, tell, BYTES)


@same_story
def test_elements(torch: Any, tell: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns once in a process, and other tests may have been the first
        torch.zeros(1).storage()
        torch.FloatStorage(1)
    _each(torch, tell, TYPED)


@same_story
def test_buffers(torch: Any, tell: Any) -> None:
    _each(torch, tell, BUFFERS)


@same_story
def test_a_resized_storage_stays_that_of_its_tensors(torch: Any, tell: Any) -> None:
    x = torch.arange(6.0)
    v = x.view(2, 3)[1:]
    storage = x.untyped_storage()
    storage.resize_(40)
    tell(x.untyped_storage().nbytes(), v.untyped_storage().nbytes(), x, v)
    x[4] = 9
    tell(v, v._base is x)
    part = storage[0:8]
    storage.resize_(24)
    tell(part.nbytes(), storage.size(), x, v.storage_offset(), v.stride())


@same_story
def test_memory_freed_and_had_again(torch: Any, tell: Any) -> None:
    weight = torch.nn.Parameter(torch.ones(2, 3))
    row = weight.detach()[1]
    size = weight.untyped_storage().size()
    weight.untyped_storage().resize_(0)
    tell(size, weight.untyped_storage().size(), weight.untyped_storage().data_ptr(), weight.shape, row.stride())
    weight.untyped_storage().resize_(size)
    with torch.no_grad():
        weight.copy_(torch.full((2, 3), 4.0))
    tell(weight, row)


def _by_method(torch: Any, view: Any) -> None:
    view.resize_(8)


def _by_out(torch: Any, view: Any) -> None:
    torch.index_select(torch.ones(9), 0, torch.arange(9), out=view)


def _by_setting(torch: Any, view: Any) -> None:
    view.set_(view.untyped_storage(), 3, (2, 4), (4, 1))


@same_story
def test_who_shares_memory_that_grows_still_does(torch: Any, tell: Any) -> None:
    for grow in (_by_method, _by_out, _by_setting):
        x = torch.arange(6.0)
        view, detached, typed, storage = x[2:4], x.detach(), x.view(torch.int32), x.untyped_storage()
        grow(torch, view)
        if grow is not _by_setting:
            view[4:] = 2
        tell(x, view.shape, detached, typed, storage.nbytes(), view._version)
        x.fill_(3)
        view.zero_()
        tell(x, view, detached, typed, view._version)
        tell({t.untyped_storage().data_ptr() for t in (x, view, detached, typed)} == {storage.data_ptr()})


@same_story
def test_memory_of_others_is_not_resized(torch: Any, tell: Any) -> None:
    x = torch.frombuffer(bytearray(8), dtype=torch.int32)
    tell(x.untyped_storage().resizable())
    x.untyped_storage().resize_(16)


@same_story
def test_set_refuses(torch: Any, tell: Any) -> None:
    x = torch.arange(6.0)
    for source in (
        (x, -1, (2, 2), (1, 2)), (x, 0, (2, 2), (1,)), (torch.ones(2).double()._typed_storage(),),
        (torch.ones(2, device="meta"),),
    ):  # fmt: skip
        try:
            tell(torch.empty(0).set_(*source))
        except RuntimeError as error:
            tell(error)


def test_typed_storages_say_that_they_go() -> None:
    from torchlite.core.values import errors

    errors.said_once.clear()
    with pytest.warns(UserWarning, match="TypedStorage is deprecated") as seen:
        torchlite.ones(2).storage()
    assert seen[0].filename == __file__


def test_who_else_holds_an_array_is_counted_alike_on_every_python() -> None:
    from torchlite.core.memory import is_alone

    t = torchlite.ones(3)
    array = t._array
    assert is_alone(t)
    held = [array]
    assert not is_alone(t)
    held.clear()
    assert is_alone(t)
    view = array[1:]
    assert not is_alone(t)
    del view


@same_story
def test_storages_of_arrays_reach_from_their_first_element_to_their_last(torch: Any, tell: Any) -> None:
    whole, table = np.arange(10), np.arange(24).reshape(4, 6)
    windows = np.lib.stride_tricks.sliding_window_view
    apart = np.lib.stride_tricks.as_strided(whole, (2, 2), (0, 24))  # as many bytes as it reaches over, and gaps
    for array in (
        whole, whole[3:], whole[3:7:2], table.T, table[1:, 2:], table[::2, ::3].T, table[:, 2], table[3, 5],
        windows(whole, 3), windows(whole[2:], 3), windows(table, (2, 2)), windows(whole[::-1], 3)[::-1, ::-1],
        whole[::-1][2:5][::-1], np.broadcast_to(whole[2:4], (3, 2)), apart, whole.view(np.int32)[3:],
    ):  # fmt: skip
        for make in (torch.from_numpy, torch.as_tensor, torch.asarray, torch.from_dlpack):
            t = make(array)
            tell(t.storage_offset(), t.stride(), t.untyped_storage().tolist(), t.as_strided((2,), (0,)))
        again = torch.from_numpy(t.numpy())
        tell(again.storage_offset(), again.untyped_storage().nbytes(), again.data_ptr() == t.data_ptr())
    part = torch.from_numpy(whole[3:])
    tell(part[2:].storage_offset(), part.as_strided((2,), (1,), 1), torch.empty(0, dtype=torch.int64).set_(part))
    part.add_(10)
    tell(whole.tolist())
    del whole
    tell(part)
