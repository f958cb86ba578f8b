"""What every backend must do, as checks: functions that take a `Bench` and raise where the backend falls short."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import torchlite as torch

from ..backends.base import get_backend
from ..core.values import Array, dt

if TYPE_CHECKING:
    from ..backends.base import Backend

CHECKS: dict[str, Callable[[Bench], None]] = {}


def check(f: Callable[[Bench], None]) -> Callable[[Bench], None]:
    CHECKS[f.__name__] = f
    return f


@dataclass(frozen=True)
class Bench:
    """A backend on trial."""

    backend: Backend

    @property
    def device(self) -> Any:
        return self.backend.device

    def put(self, values: Any, dtype: Any = np.float32) -> Any:
        """An array of the backend."""
        return self.backend.from_host(np.asarray(values, dtype))

    def holds(self, array: Array, values: Any) -> None:
        """Check an array's form and, where the backend has them, its values."""
        wanted = np.asarray(values)
        assert array.__class__ is self.backend.Array, f"{type(array)} is not the backend's Array"
        assert tuple(array.shape) == wanted.shape, f"shape {tuple(array.shape)} instead of {wanted.shape}"
        if self.backend.values:
            np.testing.assert_array_equal(self.backend.to_host(array).astype(wanted.dtype), wanted)

    def shows(self, t: Any, values: Any) -> None:
        """Check a tensor likewise."""
        assert t.device == self.device, f"on {t.device}"
        self.holds(t._array, values)


def raises(kind: type[Exception] | tuple[type[Exception], ...], f: Callable[[], Any], *words: str) -> None:
    try:
        f()
    except kind as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in {str(error)!r}"
    else:
        raise AssertionError("nothing was raised")


# ---- arrays


@check
def every_dtype_goes_there_and_back(bench: Bench) -> None:
    for d in dt.DTYPES:
        host = np.array([[1, 2], [4, 8]]).astype(d.numpy)
        try:
            array = bench.backend.from_host(host)
        except NotImplementedError as error:  # a backend may lack a dtype, if it says which
            assert d.numpy.name in str(error), f"{d}: {error}"
            continue
        assert array.dtype == d.numpy, f"{d}: dtype {array.dtype}"
        bench.holds(array, host)


@check
def from_host_copies(bench: Bench) -> None:
    host = np.arange(3.0)
    array = bench.backend.from_host(host)
    host[0] = 7
    bench.holds(array, [0.0, 1.0, 2.0])


@check
def makes_arrays(bench: Bench) -> None:
    backend = bench.backend
    assert tuple(backend.empty((2, 0, 3), np.dtype("i4")).shape) == (2, 0, 3)
    for shape in ((), (0,), (2, 3)):
        bench.holds(backend.full(shape, 7, np.dtype("i8")), np.full(shape, 7))
    bench.holds(backend.asarray(3, np.dtype("f4")), np.float32(3))
    bench.holds(backend.asarray(True), np.True_)
    array = bench.put([1, 2])
    assert backend.asarray(array) is array, "asarray copied an array"


@check
def results_are_arrays(bench: Bench) -> None:
    xp, array = bench.backend.xp, bench.put([[1, 2], [3, 4]])
    for result, wanted in ((xp.add(array, array), [[2, 4], [6, 8]]), (array[0], [1, 2]), (array.sum(), 10)):
        bench.holds(bench.backend.asarray(result), wanted)


@check
def casts_as_c_does(bench: Bench) -> None:
    cases: tuple[tuple[list[Any], Any, Any, list[Any]], ...] = (
        ([1.7, -1.7, 300.0], np.float32, dt.int64, [1, -1, 300]),
        ([300, -1], np.int64, dt.uint8, [44, 255]),
        ([0.0, 0.5], np.float32, dt.bool_, [False, True]),
        ([1 + 2j], np.complex64, dt.float32, [1.0]),
        ([1.0, 3.0], np.float32, dt.bfloat16, [1.0, 3.0]),
    )
    for values, source, to, wanted in cases:
        made = bench.backend.cast(bench.put(values, source), to.numpy)
        assert made.dtype == to.numpy, f"{to}: dtype {made.dtype}"
        bench.holds(made, np.array(wanted).astype(to.numpy))


@check
def copies_are_apart(bench: Bench) -> None:
    backend = bench.backend
    array = bench.put([[1, 2, 3], [4, 5, 6]])
    turned = array.transpose(1, 0)
    assert backend.strides(backend.copy(turned, "C")) == (2, 1)
    assert backend.strides(backend.copy(turned, "K")) == (1, 3)
    copied = backend.copy(array)
    backend.write(array, bench.put(0))
    bench.holds(copied, [[1, 2, 3], [4, 5, 6]])


@check
def writes_cast_and_broadcast(bench: Bench) -> None:
    array = bench.put(np.zeros((2, 3)))
    bench.backend.write(array, bench.put([1, 2, 3], np.int64))
    bench.holds(array, [[1, 2, 3], [1, 2, 3]])
    bench.backend.write(array[:, 1:], bench.put(9))
    bench.holds(array, [[1, 9, 9], [1, 9, 9]])


# ---- layout


@check
def strides_and_offsets_count_elements(bench: Bench) -> None:
    backend = bench.backend
    array = bench.put(np.arange(24).reshape(2, 3, 4))
    part = array[1, 1:, ::2]
    assert backend.strides(array) == (12, 4, 1)
    assert (backend.strides(part), backend.offset(part)) == ((4, 2), 16)
    assert backend.strides(backend.empty((2, 0, 3), np.dtype("f4"))) == (3, 3, 1)
    if backend.values:
        assert backend.pointer(part) - backend.pointer(array) == 16 * array.itemsize
    assert backend.storage(part).size == array.nbytes


@check
def views_share_memory(bench: Bench) -> None:
    array = bench.put(np.arange(6).reshape(2, 3))
    for part in (array[1:, 1:2], array.transpose(1, 0)[1:2, 1:], array.reshape(6)[4:5].reshape(1, 1)):
        bench.backend.write(part, bench.put(0))
        bench.holds(array, [[0, 1, 2], [3, 0, 5]])
        bench.backend.write(part, bench.put(4))


@check
def as_strided_spans_the_storage(bench: Bench) -> None:
    backend = bench.backend
    array = bench.put(np.arange(12).reshape(3, 4))
    view = backend.as_strided(array[2], (2, 3), (5, 1), 1)
    bench.holds(view, [[1, 2, 3], [6, 7, 8]])
    backend.write(view, bench.put(0))
    bench.holds(array, [[0, 0, 0, 0], [4, 5, 0, 0], [0, 9, 10, 11]])
    bench.holds(backend.as_strided(array, (2, 2), (0, 1), 9), [[9, 10], [9, 10]])
    bench.holds(backend.as_strided(array, (0, 3), (3, 1), 0), np.zeros((0, 3)))
    raises(ValueError, lambda: backend.as_strided(array, (3, 4), (4, 1), 1))
    bench.holds(backend.lay(array[1:], (2,), (1,), 3), [0, 0])


@check
def bits_can_be_read_as_another_dtype(bench: Bench) -> None:
    array = bench.put([1.0, -2.0])
    bench.holds(array.view(np.dtype("i4")), np.array([1.0, -2.0], np.float32).view(np.int32))
    assert tuple(array.view(np.dtype("u1")).shape) == (8,)


# ---- devices


@check
def there_is_one_backend_a_device(bench: Bench) -> None:
    assert get_backend(bench.device) is get_backend(str(bench.device)) is bench.backend
    assert get_backend(bench.device.type).device.type == bench.device.type
    assert bench.backend.guarded.real is bench.backend is bench.backend.real


@check
def tensors_are_made_here(bench: Bench) -> None:
    where = str(bench.device)
    bench.shows(torch.zeros(2, 3, device=where), np.zeros((2, 3)))
    bench.shows(torch.tensor([1, 2], device=where), [1, 2])
    bench.shows(torch.arange(4, device=bench.device), [0, 1, 2, 3])
    bench.shows(torch.full((2,), 1.5, device=where), [1.5, 1.5])
    with torch.device(where):
        bench.shows(torch.ones(2), [1, 1])
        bench.shows(torch.eye(2), [[1, 0], [0, 1]])
    torch.set_default_device(where)
    try:
        bench.shows(torch.ones(2), [1, 1])
    finally:
        torch.set_default_device(None)
    assert torch.ones(2).device == torch.device("cpu")


@check
def tensors_move(bench: Bench) -> None:
    source = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    there = source.to(bench.device)
    bench.shows(there, [[1, 2], [3, 4]])
    assert there.to(bench.device) is there
    bench.shows(there.t().to(torch.float64), [[1, 3], [2, 4]])
    bench.shows(torch.zeros(2, 2, device=bench.device).copy_(source), [[1, 2], [3, 4]])
    if not bench.backend.values:
        raises(NotImplementedError, there.cpu, "Cannot copy out of meta tensor; no data!")
        return
    assert there.cpu().device.type == "cpu"
    assert there.tolist() == [[1, 2], [3, 4]]
    assert torch.zeros(2, 2).copy_(there).tolist() == [[1, 2], [3, 4]]
    assert (there[1, 0].item(), bool(there[0, 0]), int(there[1, 1])) == (3, True, 4)
    assert "3." in repr(there)
    assert pickle.loads(pickle.dumps(bench.device)) == bench.device


@check
def operands_stay_on_one_device(bench: Bench) -> None:
    here = torch.ones(2, device=bench.device)
    bench.shows(here + torch.tensor(2.0), [3, 3])
    bench.shows(torch.tensor(2.0) * here, [2, 2])
    if bench.device.type != "cpu":
        for f in (lambda: here + torch.ones(2), lambda: torch.ones(2) + here, lambda: torch.cat([here, torch.ones(2)])):
            raises(RuntimeError, f, "device", bench.device.type)


@check
def what_it_lacks_is_named(bench: Bench) -> None:
    for kernel in (None, "no_function_of_this_name"):
        op: Any = SimpleNamespace(name="imaginary", kernel=kernel)
        raises(NotImplementedError, functools.partial(bench.backend.kernel, op), "imaginary", str(bench.device))


@check
def synchronises(bench: Bench) -> None:
    bench.backend.synchronize()


# ---- tensors


@check
def bad_indices_are_refused(bench: Bench) -> None:
    if not bench.backend.values:
        return
    t = torch.arange(6.0, device=bench.device).reshape(2, 3)
    far = torch.tensor([0, 5], device=bench.device)
    for f in (
        lambda: t[2], lambda: t[far], lambda: t.index_select(0, far), lambda: t.take(far + 5),
        lambda: t.gather(0, far.reshape(1, 2)), lambda: t.index_put((far,), t[0, 0]), lambda: t.index_add(0, far, t),
        lambda: t.scatter(0, far.reshape(1, 2), 1.0),
    ):  # fmt: skip

        def wait(f: Callable[[], Any] = f) -> None:
            f()
            bench.backend.synchronize()

        raises((IndexError, RuntimeError), wait)


@check
def changes_reach_the_base(bench: Bench) -> None:
    t = torch.arange(6.0, device=bench.device).reshape(2, 3)
    t.t()[1].add_(10)
    t[0].mul_(2)
    t[:, 2:] = 7
    bench.shows(t, [[0, 22, 7], [3, 14, 7]])


@check
def memory_is_shared_as_pytorch_does(bench: Bench) -> None:
    t = torch.arange(12.0, device=bench.device).reshape(3, 4)
    view = t[1:, ::2].unsqueeze(0).expand(2, 2, 2)
    assert (view.stride(), view.storage_offset()) == ((0, 4, 2), 4)
    assert t.t().contiguous().stride() == (3, 1)
    again = torch.as_strided(t, (2, 2), (1, 4), 5)
    again.zero_()
    bench.shows(t, [[0, 1, 2, 3], [4, 0, 0, 7], [8, 0, 0, 11]])


@check
def equal_seeds_draw_equal_numbers(bench: Bench) -> None:
    """Those of the CPU's generators, but where a backend has its own."""
    stream = bench.device if bench.backend.values else "cpu"  # what has no values has no generators
    own = bench.backend.random_stream(1).__class__ is not get_backend().random_stream(1).__class__
    first, second = [
        torch.randn(3, 4, device=where, generator=torch.Generator(of).manual_seed(1))
        for where, of in ((bench.device, stream), (bench.device, stream) if own else ("cpu", "cpu"))
    ]
    bench.shows(first, second.cpu().numpy())


@check
def a_model_trains(bench: Bench) -> None:
    """Two layers by hand, trained a few steps on the CPU and here."""

    def losses(where: Any) -> list[Any]:
        stream = torch.Generator().manual_seed(0)
        x, y, *weights = (torch.randn(n, m, generator=stream).to(where) for n, m in ((8, 3), (8, 1), (3, 5), (5, 1)))
        weights = [w.requires_grad_() for w in weights]
        seen = []
        for _ in range(3):
            loss = (((x @ weights[0]).tanh() @ weights[1] - y) ** 2).mean()
            loss.backward()
            seen.append(loss.detach())
            with torch.no_grad():
                for w in weights:
                    assert w.grad is not None
                    w -= 0.1 * w.grad
                    w.grad = None
        return seen

    for here, wanted in zip(losses(bench.device), losses("cpu")):
        assert here.device == bench.device
        if bench.backend.values:
            np.testing.assert_allclose(here.item(), wanted.item(), rtol=1e-4)
