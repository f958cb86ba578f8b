"""Every backend keeps the contract and computes what the CPU does; `strict` is as narrow as CuPy, `meta` is free."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchlite as torch
from torchlite.backends.base import get_backend
from torchlite.core.machine.registry import registry
from torchlite.testing import contract
from torchlite.testing.backend import family, main, run_op
from torchlite.testing.strict import StrictArray, xp
from torchlite.testing.surface import listed, of_cupy

from .side_by_side import same_story

FAMILIES = sorted({family(op) for op in registry.values()})


def device_or_skip(name: str) -> Any:
    try:
        return get_backend(name)
    except AssertionError as error:
        pytest.skip(f"no {name} device: {error}")


@pytest.fixture(params=["cpu", "strict", "strict:1", "meta", "cuda"])
def backend(request: pytest.FixtureRequest) -> Any:
    return device_or_skip(request.param)


@pytest.mark.parametrize("check", contract.CHECKS.values(), ids=contract.CHECKS)
def test_contract(backend: Any, check: Callable[[contract.Bench], None]) -> None:
    check(contract.Bench(backend))


@pytest.mark.parametrize("device", ["strict", "meta", "cuda"])
@pytest.mark.parametrize("kind", FAMILIES)
def test_ops(device: str, kind: str) -> None:
    ops = [op for op in registry.values() if family(op) == kind and op.of_arrays]
    outcomes = [run_op(device_or_skip(device), op) for op in ops]
    assert not {outcome.name: outcome.failures for outcome in outcomes if outcome.failures}
    assert sum(bool(outcome.calls) for outcome in outcomes) > 0.85 * len(outcomes)


# ---- devices that are not there, or come with a package


def test_unknown_devices_are_refused_as_pytorch_does() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"^Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, "
        r"vulkan, mps, meta, hpu, mtia, privateuseone.* device type at start of device string: nowhere$",
    ):
        torch.device("nowhere")
    with pytest.raises(NotImplementedError, match=r"^Could not run 'aten::empty\.memory_format' with"):
        torch.zeros(2, device="mps")


def test_cuda_without_a_device_is_refused_as_pytorch_does() -> None:
    try:
        get_backend("cuda")
    except AssertionError as error:
        assert str(error) == "Torch not compiled with CUDA enabled"
    else:
        pytest.skip("there is a CUDA device")
    assert torch.device("cuda:1").index == 1
    for make in (lambda: torch.zeros(1).cuda(), lambda: torch.zeros(1).to("cuda:1"), lambda: torch.ones(1).to("cuda")):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            make()


@pytest.mark.parametrize("index", [0, 3, -1])
@pytest.mark.parametrize(
    "asked", ["device(i)", "ones(1, device=i)", "ones(1).to(i)", "nn.Linear(1, 1).to(i)", "set_default_device(i)"]
)
def test_a_number_alone_is_a_device_of_an_accelerator(asked: str, index: int) -> None:
    if torch.accelerator.is_available():
        pytest.skip("there is a CUDA device")
    same_story(lambda torch, tell: eval(f"torch.{asked}", {"torch": torch, "i": index}))()


def documented_example() -> str:
    text = (Path(__file__).parent.parent / "docs" / "backends.md").read_text()
    return re.search(r"```python\n(.*?)```", text, re.S)[1]


def test_the_documented_example(capsys: pytest.CaptureFixture[str]) -> None:
    exec(documented_example(), {"__name__": "example"})
    assert main(["board", "--ops", "m*"]) == 0
    assert "FAILED" not in capsys.readouterr().out


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package that offers the documented example as the device `slate`."""
    (tmp_path / "slate_package.py").write_text(documented_example().partition("\n\n\nregister_backend")[0])
    metadata = tmp_path / "slate_package-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: slate-package\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[torchlite.backends]\nslate = slate_package:Board\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("slate_package", None)


def test_a_package_brings_its_device(package: None) -> None:
    t = torch.arange(3, device="slate") + 1
    assert (str(t.device), t.tolist()) == ("slate:0", [1, 2, 3])
    assert torch.zeros(1, device="slate:3").device.index == 3


# ---- strict


def strict(values: Any) -> StrictArray:
    return get_backend("strict").from_host(np.asarray(values))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.asarray(a), lambda a: np.add(a, 1), lambda a: np.sum(a), lambda a: a + np.ones(3),
        lambda a: np.ones(3) * a, lambda a: xp.concatenate([a, np.ones(3)]), lambda a: xp.add(a, [1, 2, 3]),
        lambda a: a[np.array([0])], lambda a: a.__setitem__(0, np.ones(())), lambda a: range(a[0]),
        lambda a: xp.sum(a, where=a > 1), lambda a: a.max(initial=0), lambda a: xp.add(a, a, where=a > 1),
        lambda a: xp.multiply(a, a, order="C"), lambda a: a.copy("C", 1), lambda a: xp.logical_and(a * 1j, a),
        lambda a: xp.sort(a.astype(torch.bfloat16.numpy)), lambda a: xp.add.at(a.astype(np.int16), a, a),
    ],
)  # fmt: skip
def test_strict_refuses_what_cupy_has_not(call: Callable[[StrictArray], Any]) -> None:
    with pytest.raises(TypeError):
        call(strict([1, 2, 3]))


def test_strict_has_only_names_that_cupy_has() -> None:
    for name in ("block", "insert", "errstate", "vecdot", "frompyfunc", "no_such_name"):
        assert not hasattr(xp, name)
    for name in ("itemset", "tostring", "newbyteorder", "setflags", "__index__", "__array_interface__"):
        assert not hasattr(StrictArray, name)
    with pytest.raises(NotImplementedError):
        xp.maximum.reduce(strict([1, 2]))


def test_strict_behaves_as_cupy_does() -> None:
    a = strict([[1.0, 2.0], [3.0, 4.0]])
    for whole in (a.sum(), xp.max(a), a[0, 1], next(iter(a[0])), xp.array_equal(a, a)):
        assert isinstance(whole, StrictArray)
        assert whole.shape == ()
    far = strict([2, -3])
    for picked in (a[far], a.take(far, 0), xp.take(a, far, axis=0), a[far, :]):
        assert picked.get().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert xp.take_along_axis(a, strict([[2, 3]]), 0).get().tolist() == [[1.0, 4.0]]
    with pytest.raises(IndexError):
        a[2]
    assert a[1:].base is a
    assert a.T[0].base is a
    assert (bool(a[0, 0]), int(a[1, 1]), float(a[0, 1]), a.tolist()) == (True, 4, 2.0, [[1.0, 2.0], [3.0, 4.0]])


def test_the_list_is_what_cupy_offers() -> None:
    cupy = pytest.importorskip("cupy")
    if cupy.__version__ != listed().version:
        pytest.skip(f"the list is of CuPy {listed().version}, and {cupy.__version__} is installed")
    assert listed() == of_cupy()


# ---- cuda, as far as it goes without a GPU


@pytest.mark.parametrize("part", [np.s_[:], np.s_[1:, ::2], np.s_[:, 2], np.s_[:0], np.s_[3, 4, ...]])
def test_memory_geometry_of_cupy_arrays(part: Any) -> None:
    """Arrays over imagined memory have the strides, offsets and storages that those of the CPU have."""
    cupy = pytest.importorskip("cupy")
    from torchlite.backends.cupy import CuPyBackend

    memory = cupy.cuda.UnownedMemory(4096, 512, None, 0)
    there = CuPyBackend(torch.device("cuda", 0))
    ours = cupy.ndarray((4, 5), np.float32, cupy.cuda.MemoryPointer(memory, 0))
    cpu = get_backend("cpu")

    def seen(backend: Any, array: Any) -> list[Any]:
        again = backend.as_strided(array, (2, 3), (5, 1), 4)
        laid = backend.lay(array, (2, 1), (0, 1), 0) if array.size else again
        return [(a.shape, backend.strides(a), backend.offset(a), backend.storage(a).size) for a in (array, again, laid)]

    assert seen(there, ours[part]) == seen(cpu, np.zeros((4, 5), np.float32)[part])
    with pytest.raises(ValueError):
        there.as_strided(ours, (4, 6), (5, 1), 0)


# ---- meta


def test_meta_costs_nothing() -> None:
    a = torch.randn(10**7, 10**6, device="meta", requires_grad=True)
    b = torch.empty(10**6, 10**5, device="meta")
    loss = torch.softmax((a @ b).tanh(), -1)[:, :5].sum(0).std()
    (g,) = torch.autograd.grad(loss, a)
    assert g.shape == a.shape
    assert torch.arange(10**13, device="meta").view(10**6, -1).t().stride() == (1, 10**7)


@pytest.mark.parametrize("source", [
    "m.cpu()", "m.item()", "m.sum().item()", "bool(m.sum())", "m.numpy()", "m.tolist()", "m[m > 0]", "m.unique()",
    "torch.zeros(2, 3).copy_(m)", "m + torch.zeros(2, 3)", "m + torch.tensor(2.0)", "torch.masked_select(m, m > 0)",
    "m.data_ptr()", "m.untyped_storage().nbytes()", "f'{m.sum()}'", "3 in m", "torch.zeros(3, 2).t().to('meta')",
    "torch.empty_like(torch.zeros(3, 2).t(), device='meta').stride()", "m[1:].storage_offset()", "m.max(1)",
    "m.expand(4, 2, 3).stride()", "torch.cat([m, m], 1)", "torch.where(m > 0, m, m)", "m.to(torch.float64)",
    "torch.device('meta:3')", "torch.zeros(1, device='meta:3').device", "m.mul_(2)", "m.type()", "m.nonzero()",
    "m.gather(0, torch.zeros(1, 3, dtype=torch.long, device='meta'))", "m.topk(2)", "m.t().contiguous().stride()",
])  # fmt: skip
def test_meta_answers_as_pytorch_does(source: str) -> None:
    real = pytest.importorskip("torch", reason="live comparisons need real PyTorch")

    def answer(library: Any) -> Any:
        try:
            return repr(eval(source, {"torch": library, "m": library.zeros(2, 3, device="meta")}))
        except Exception as error:
            return type(error).__name__, "" if isinstance(error, NotImplementedError) else str(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert answer(torch) == answer(real)


# Operators that need values, here or in PyTorch alone, and one of a dtype that torchlite has not.
DIFFERENT_ON_META = ("allclose", "equal", "cov", "corrcoef", "*space.tensor_overload", "chalf")


@pytest.mark.parametrize("kind", ["creation", "pointwise", "reduction", "shape", "indexing", "matmul", "sorting"])
def test_forms_on_meta_are_pytorchs(kind: str) -> None:
    real = pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    from . import op_parity
    from .parity.library import Library
    from .parity.run import run

    different = op_parity.operators(DIFFERENT_ON_META)
    names = [name for name in op_parity.operators(in_families=[kind]) if name not in different]
    libraries = Library(real, "meta", native=True), Library("torchlite", "meta")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [run(task, *libraries, limit=3) for task in op_parity.tasks(names, ["forward_float32"])]
    failed = {result.operator: result.failures[0].reasons for result in results if result.status == "failed"}
    assert not failed


def test_strict_computes_as_cupy_does_where_numpy_does_not() -> None:
    def on(values: list[Any], dtype: Any) -> StrictArray:
        return StrictArray(torch.tensor(values, dtype=dtype)._array)

    whole, half = on([1, 2, -1, 0], torch.int64), on([0.0, 1.0, -2.5], torch.bfloat16)
    assert (whole**-1).get().tolist() == [1, 0, -1, 0] == xp.reciprocal(whole).get().tolist()
    with pytest.raises(OverflowError):
        on([1], torch.uint8) + 300
    for count in (-1, 64):
        with pytest.raises(ValueError, match="knows no shifts"):
            whole << count
    infinite = on([complex(float("inf"), 0)], torch.complex64)
    assert np.isnan((infinite**1).get()).all()
    assert (half + 1.5).dtype == xp.where(half > 0, half, 0).dtype == xp.round(half).dtype == np.float32
    assert half.var().dtype == np.float64
    with pytest.raises(TypeError, match="does not take complex numbers"):
        xp.clip(on([1j], torch.complex64), 0, 1)
