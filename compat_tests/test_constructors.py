"""Tensors from sizes, values, arrays and buffers: the legacy constructors, and what each refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import torchlite

from .side_by_side import same, same_story, story


class Telling:
    """A sequence that says it has so many items, which may not be what it has."""

    def __init__(self, items: list[Any], *told: int) -> None:
        self.items, self.told = items, list(told)

    def __len__(self) -> int:
        return self.told.pop(0) if len(self.told) > 1 else self.told[0]

    def __getitem__(self, at: int) -> Any:
        return self.items[at]


class Given(list[Any]):
    """A list that gives other items than it has."""

    def __iter__(self) -> Iterator[Any]:
        return iter((7, 8, 9))


class Clearing:
    """A number that takes away the items of a list when it is asked which."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __index__(self) -> int:
        self.items.clear()
        return 3


def with_itself(items: list[Any]) -> list[Any]:
    items.append(items)
    return items


def cleared() -> list[Any]:
    items: list[Any] = [1, 2]
    items.insert(0, Clearing(items))
    return items


LEGACY = """
torch.Tensor(2, 3).shape
torch.Tensor(size=(2,)).shape
torch.Tensor(torch.tensor(2), torch.tensor(3)).shape
torch.Tensor(np.int64(3)).shape
torch.Tensor([1, 2])
torch.Tensor(data=[1.0])
torch.Tensor(other=torch.ones(2))
torch.Tensor(torch.ones(2, dtype=torch.double))
torch.Tensor(torch.ones(2, requires_grad=True))
torch.Tensor(True)
torch.Tensor({})
torch.Tensor(3.5)
torch.Tensor(2, 3.5)
torch.Tensor(-1)
torch.Tensor(2, device="meta")
torch.Tensor(np.float32(3))
torch.FloatTensor(torch.ones(2, dtype=torch.double))
torch.FloatTensor(torch.ones(2)._typed_storage())
torch.FloatTensor(torch.ones(2).double()._typed_storage())
torch.FloatTensor.is_cuda, torch.FloatTensor.layout, torch.FloatTensor.dtype, str(torch.FloatTensor)
torch.ByteTensor(b"abc")
torch.IntTensor([2**31])
torch.cuda.FloatTensor(2)
torch.ones(3).new(size=(2,)).shape
torch.ones(3).new(torch.ones(2).double())
torch.ones(3).new(2, device="meta")
torch.ones(2).type(int)
torch.ones(2).type(torch.Tensor)
torch.ones(2).type(3)
"""
VALUES = """
torch.tensor([1, [2]])
torch.tensor([1.0, [2]])
torch.tensor([[1], 2])
torch.tensor(b"ab")
torch.tensor(128, dtype=torch.int8)
torch.tensor(-200, dtype=torch.uint8)
torch.tensor(-300, dtype=torch.uint8)
torch.tensor(1e40)
torch.tensor([torch.tensor([1.0]), torch.tensor([[2.0]])])
torch.tensor([torch.ones(2), torch.ones(2)])
torch.tensor(torch.device("cpu"))
torch.tensor(np.ones((2, 3)).T).stride()
torch.tensor(np.arange(4)[::-1])
torch.tensor(np.array([1, 2], dtype=">i4"))
torch.ones(3).new_tensor(torch.ones(2))
"""
SEQUENCES = """
torch.tensor(Telling([1, 2], 5))
torch.tensor(Telling([1, 2], 5), dtype=torch.int64)
torch.tensor(Telling([1.5, 2], 5), dtype=torch.float32)
torch.tensor([Telling([1, 2], 5), Telling([1, 2], 5)], dtype=torch.int64)
torch.tensor([[1, 2], Telling([1, 2, 3], 2)])
torch.tensor(Telling([1, 2, 3], 2))
torch.tensor(Telling([1, 2], 2, 4), dtype=torch.int64)
torch.tensor(Telling([1, 2, 3], 3, 2))
torch.tensor(Telling([1, 2], 0))
torch.tensor(Telling([1, 2], -1))
torch.tensor(Given([1, 2]))
torch.tensor(Given([1, 2, 3]))
torch.tensor(cleared(), dtype=torch.int64)
torch.tensor(with_itself([]))
torch.tensor(with_itself([]), dtype=torch.float32)
torch.tensor(with_itself([1]))
torch.tensor([[], [1]])
torch.tensor([[], ""], dtype=torch.float32)
torch.tensor([b"ab"], dtype=torch.int64)
torch.tensor([1, "a"], dtype=torch.float32)
torch.tensor([[1], "a"], dtype=torch.bool)
torch.tensor([np.array(1.5)])
torch.tensor([[1.0], [np.float64(2.0)]])
torch.tensor([[1.0], [torch.tensor(2.0, dtype=torch.float64)]])
torch.tensor([-1, 2**63])
torch.tensor([np.int64(300)], dtype=torch.uint8)
torch.tensor([np.array([np.nan, 2])], dtype=torch.int64)
torch.tensor([np.array([2**63], dtype=np.uint64)], dtype=torch.int64)
torch.tensor([np.array([True]), [2]])
torch.tensor([np.float32(1.5)], dtype=torch.bool)
torch.tensor([torch.tensor(1.5)], dtype=torch.int64)
torch.tensor([torch.tensor(2j)], dtype=torch.float32)
torch.tensor([torch.tensor(1.5, requires_grad=True)])
torch.tensor(-1, dtype=torch.uint64)
torch.tensor([2**64], dtype=torch.uint64)
torch.tensor([2**64 - 1], dtype=torch.uint64)
torch.tensor([1.5], dtype=torch.uint64)
torch.tensor(np.ma.array([1, 2, 3], mask=[0, 1, 0]))
torch.tensor(np.ma.array([1, 2, 3], mask=[0, 1, 0])).numpy().__class__.__name__
torch.tensor(np.ma.masked)
torch.tensor(np.matrix([[1, 2]])).shape
torch.tensor([np.matrix([[1, 2]])])
torch.tensor(np.broadcast_to(np.arange(3), (2, 3))).stride()
torch.tensor(np.broadcast_to(np.arange(3), (2, 3)), dtype=torch.float32).stride()
torch.tensor(np.lib.stride_tricks.sliding_window_view(np.arange(5), 3)).stride()
torch.tensor(np.zeros((3, 0, 2))).stride()
torch.tensor(np.array([np.nan, 1e30]), dtype=torch.int64)
torch.tensor(np.array([1e300]), dtype=torch.float16)
torch.tensor(np.array([1j]), dtype=torch.float32)
"""
SHARING = """
torch.asarray(torch.ones(2, requires_grad=True))
torch.asarray(torch.ones(2, requires_grad=True) * 2).grad_fn.name()
torch.asarray(torch.ones(2, requires_grad=True), requires_grad=False).requires_grad
torch.asarray(torch.ones(2), dtype=torch.int, copy=False)
torch.asarray(torch.ones(2), device="meta", copy=False)
torch.asarray(bytearray(8), dtype=torch.int32)
torch.from_dlpack(3)
torch.from_dlpack(torch.ones(2, requires_grad=True))
torch.from_dlpack(torch.ones(3)[1:]).storage_offset()
torch.from_dlpack(torch.to_dlpack(torch.ones(2, dtype=torch.bfloat16)))
torch.from_dlpack(torch.ones(2, dtype=torch.float8_e5m2)).dtype
torch.from_dlpack(torch.ones(2, device="meta"))
torch.ones(2).__dlpack__(stream=1)
torch.ones(2).__dlpack__(stream="a")
torch.ones(2, device="meta").__dlpack_device__()
torch.ones(2) == np.array([1.0, 2.0])
torch.zeros(torch.tensor([2, 3]))
torch.zeros(torch.tensor(2))
torch.zeros(True)
torch.zeros((True,))
torch.ones(True)
torch.empty(np.array([2, 3]))
torch.zeros(np.array(2))
torch.zeros(2.0)
torch.zeros(2**63)
torch.randn(torch.tensor([2, 3]))
torch.rand(True)
np.array([1.0, 2.0]) == torch.ones(2)
"""
FORMS = """
torch.empty(2, 3, memory_format=torch.channels_last)
torch.empty(2, 3, memory_format=torch.preserve_format)
torch.zeros_like(torch.ones(2, 3), memory_format=torch.channels_last)
torch.ones(2).contiguous(memory_format=torch.preserve_format)
torch.ones(2, 3).t().contiguous(memory_format=torch.preserve_format)
torch.ones(2, 3).t().is_contiguous(memory_format=torch.preserve_format)
torch.empty_strided((2,), (1, 1))
torch.ones(3).new_zeros(-1)
torch.ones(3).new_zeros("a")
torch.full((-1,), 3)
torch.zeros(3, out=torch.ones(3), device="meta")
torch.arange(3, out=torch.ones(2))
torch.arange(0.25, 2, 0.3, dtype=torch.uint8)
torch.triu_indices(3, 3, dtype=torch.float)
torch.add(torch.ones(2), np.ones(2))
torch.set_default_tensor_type("torch.FooTensor")
torch.set_default_tensor_type(3)
torch.set_default_tensor_type(torch.cuda.FloatTensor)
torch.set_default_dtype(torch.float8_e4m3fn)
torch.can_cast(1, torch.float)
torch.promote_types(torch.int, 3)
torch.promote_types(float, int)
torch.can_cast(float, int)
torch.ones(2).to(bool)
torch.ones(2).to(float, copy=True)
torch.ones(2).to(dtype=complex)
torch.as_tensor(True, float)
torch.as_tensor(True, dtype=float)
torch.is_floating_point(3)
torch.get_device_module(3)
torch.get_device_module("meta")
torch.device("")
torch.device("cuda", -1)
torch.device("cuda", "1")
torch.device("cpu") < torch.device("cuda")
torch.Size([2]) + (1.5,)
torch.int.to_complex()
torch.Size, torch.device, torch.dtype, torch.layout, torch.memory_format, torch.finfo
torch.ones(2).values()
torch.ones(2).is_coalesced()
torch.ones(2).map2_(torch.ones(2), torch.ones(2), lambda a, b, c: a + b + c)
torch.ones(2).bool()._is_all_true()
torch.ones(2).__delitem__(0)
"""


class Exported:
    """What tells of its memory by DLPack alone."""

    def __init__(self, torch: Any, **more: Any) -> None:
        self.tensor = torch.arange(3)

    def __dlpack__(self, **_: Any) -> Any:
        return self.tensor.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class Both(Exported):
    """What is an array to NumPy, too."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.zeros(2)


@pytest.mark.parametrize("kind", [Exported, Both])
def test_what_dlpack_tells_of_is_data(kind: Any) -> None:
    @same_story
    def program(torch: Any, tell: Any) -> None:
        given = kind(torch)
        shared = torch.as_tensor(given)
        tell(shared, shared.data_ptr() == given.tensor.data_ptr(), torch.as_tensor(given, dtype=torch.float32))
        copied = torch.tensor(given)
        tell(copied, copied.data_ptr() == given.tensor.data_ptr())
        tell(torch.ones(2).new_tensor(given), torch.asarray(given))
        tell(torch.tensor(given, dtype=torch.float32, requires_grad=True), torch.tensor(given, device="meta"))
        torch.tensor(given, requires_grad=True)

    program()


@pytest.mark.parametrize("expression", (LEGACY + VALUES + SEQUENCES + SHARING + FORMS).strip().splitlines())
def test_what_is_made_or_refused(expression: str, request: pytest.FixtureRequest) -> None:
    torch = pytest.importorskip("torch")
    if "torch.cuda" in expression:
        request.getfixturevalue("without_cuda")
    known = {"np": np, "Telling": Telling, "Given": Given, "cleared": cleared, "with_itself": with_itself}
    wanted, found = [
        story(lambda torch, tell: eval(expression, {"torch": torch, **known}), each) for each in (torch, torchlite)
    ]
    assert same(wanted, _as_torch(found))


def _as_torch(told: Any) -> Any:
    if isinstance(told, str):
        return told.replace("torchlite", "torch")
    return type(told)(map(_as_torch, told)) if isinstance(told, (tuple, list)) else told


@same_story
def test_memory_that_nobody_wrote_to(torch: Any, tell: Any) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        tell(torch.empty(2), torch.empty(2, dtype=torch.int16), torch.empty(1, dtype=torch.bool), torch.Tensor(2))
        tell(torch.empty_like(torch.ones(2)), torch.ones(1).new_empty(2), torch.empty_strided((2,), (1,)))
        tell(torch.ones(2).resize_(4))
        torch.zeros(3).put_(torch.tensor([0]), torch.ones(1), accumulate=True)
        torch.zeros(3).put_(torch.tensor([0]), torch.ones(1))
    finally:
        torch.use_deterministic_algorithms(False)


@same_story
def test_expanded_tensors_are_still_written_to_by_indexing(torch: Any, tell: Any) -> None:
    x = torch.zeros(4).expand(2, 4)
    x[torch.tensor([0])] = 1.0
    x.masked_fill_(torch.ones(2, 4, dtype=torch.bool), 2.0)
    x.index_fill_(0, torch.tensor([0]), 3.0)
    tell(x)


@same_story
def test_a_capsule_is_taken_once(torch: Any, tell: Any) -> None:
    capsule = torch.utils.dlpack.to_dlpack(torch.ones(2))
    tell(torch.from_dlpack(capsule))
    torch.from_dlpack(capsule)


def test_arrays_in_lists_are_slow() -> None:
    from torchlite.core.values import errors

    errors.said_once.clear()
    with pytest.warns(UserWarning, match="extremely slow"):
        assert torchlite.tensor([np.ones(2), np.zeros(2)]).tolist() == [[1, 1], [0, 0]]


@same_story
def test_what_is_made_again_is_its_own(torch: Any, tell: Any) -> None:
    def made() -> list[Any]:
        x = torch.ones(2, 3)
        return [
            torch.arange(4), torch.arange(0.0, 1.0, 0.5), torch.zeros(2, 2), torch.linspace(0, 1, 3), torch.eye(2),
            torch.full((2,), 7), torch.ones_like(x.t()), x.new_zeros(2),
        ]  # fmt: skip

    before = torch.get_default_dtype()
    for _ in range(4):
        for t in made():
            t += 1  # which no later call sees
            tell(t, t.stride(), t.requires_grad)
    try:
        torch.set_default_dtype(torch.float64)
        for _ in range(3):
            tell(*made())
    finally:
        torch.set_default_dtype(before)
    tell(*made())
    with torch.device("meta"):
        tell(*[t.device for t in made()])
    with torch.inference_mode():
        tell(*[t.is_inference() for t in made()])
    tell(*[t.is_inference() for t in made()], torch.zeros(2, 2, requires_grad=True))


@same_story
def test_one_number_is_only_cast_to_halves(torch, tell):
    for size in ((), (1,), (2,)):
        for number in (1e300, 1j, 0.5):
            for make in (torch.full, torch.zeros(3).new_full):
                try:
                    tell(make(size, number, dtype=torch.float16))
                except RuntimeError as error:
                    tell(str(error))
