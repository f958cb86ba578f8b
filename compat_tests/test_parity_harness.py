"""The harness itself: real torch agrees with itself in every check, and a library that is wrong is found out."""
# ruff: noqa: E402 (without torch nothing here can be imported)

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the harness compares with real PyTorch")

from . import golden, op_parity
from .parity import catalog, gaps, samples
from .parity.checks import CHECKS
from .parity.library import Library
from .parity.neutral import Deferred
from .parity.pool import Settings
from .parity.result import Failure, Result, Task

_NATIVE = Library(torch, native=True)


class _Namespace(type):
    """``torch.Tensor`` for a broken library: instances are torch's, methods may be replaced."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, torch.Tensor)

    def __getattr__(cls, name: str) -> Any:
        return getattr(torch.Tensor, name)


class _Broken(types.ModuleType):
    """Real torch but for some functions, and some methods of its tensors."""

    def __init__(self, functions: dict[str, Any], methods: dict[str, Any] | None = None) -> None:
        super().__init__("broken")
        self.__dict__.update(functions)
        self.Tensor = _Namespace("Tensor", (), methods or {})

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def _run(operator: str, check: str, library: Any = torch) -> Result:
    return op_parity.run_one(Task(operator, *op_parity.parse_check(check)), Library(library), limit=6)


def test_every_operator_has_a_family() -> None:
    assert [name for name in op_parity.operators() if catalog.family_of(name) == "unassigned"] == []


_BASE = torch.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "tensor",
    [
        _BASE,
        _BASE.mT,
        _BASE[:, 1:, ::2],
        _BASE[0, 0, 0],
        _BASE[:0],
        torch.ones(3, 1).expand(3, 4),
        _BASE.to(torch.bfloat16).mT,
        _BASE.to(torch.complex64)[..., 1:].conj(),
        (_BASE > 3)[1:],
        torch.ones(3, requires_grad=True),
    ],
)
def test_a_tensor_is_rebuilt_as_it_was(tensor: torch.Tensor) -> None:
    rebuilt = _NATIVE.tensor(_NATIVE.input_of(tensor))
    assert torch.equal(rebuilt, tensor)
    for property_ in ("dtype", "shape", "requires_grad"):
        assert getattr(rebuilt, property_) == getattr(tensor, property_)
    assert (rebuilt.stride(), rebuilt.storage_offset()) == (tensor.stride(), tensor.storage_offset())
    assert rebuilt.is_conj() == tensor.is_conj()
    assert rebuilt.untyped_storage().nbytes() == tensor.untyped_storage().nbytes()
    assert rebuilt.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr() or not tensor.numel()


def test_transplanted_helpers_do_what_the_originals_do() -> None:
    names = [name for name in op_parity.operators() if isinstance(samples.operation(name).main.function, Deferred)]
    results = [_run(name, "forward_float32") for name in names if not name.startswith("jiterator")]
    assert len(results) > 60
    assert [(r.operator, r.failures) for r in results if r.status not in ("passed", "inapplicable") or r.raised] == []


@pytest.mark.parametrize("operator", ["add", "cat", "index_put", "max.reduction_with_dim", "matmul", "randn", "H"])
def test_torch_agrees_with_itself(operator: str) -> None:
    for check in CHECKS:
        result = _run(operator, check if CHECKS[check].dtype else f"{check}_float32")
        assert result.status in ("passed", "inapplicable"), result


def test_torch_agrees_with_its_golden_values() -> None:
    found = [(record.operator, record.check, record.differences(_NATIVE)) for record in golden.recorded()]
    assert len(found) > 2000
    assert [entry for entry in found if entry[2]] == []


def _wrong(name: str, change: Callable[[Any], Any]) -> dict[str, Any]:
    """A function of torch whose result is changed."""
    return {name: lambda *args, **kwargs: change(getattr(torch, name)(*args, **kwargs))}


def _noisily(result: Any) -> Any:
    warnings.warn("overflow encountered", RuntimeWarning, stacklevel=1)
    return result


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise ValueError("no")


class _DoubledGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return 2 * gradient


@pytest.mark.parametrize(
    "operator, check, functions, reason",
    [
        ("sin", "forward_float32", _wrong("sin", lambda result: result + 1e-3), "values differ"),
        ("sum", "forward_float32", _wrong("sum", torch.Tensor.double), "dtype float64 instead of float32"),
        ("sum", "forward_float32", _wrong("sum", lambda result: result[None]), "shape"),
        ("sum", "forward_int64", _wrong("sum", lambda result: result + 1), "values differ"),
        ("transpose", "forward_float32", _wrong("transpose", torch.clone), "sharing"),
        ("split", "forward_float32", _wrong("split", list), "is a list"),
        ("max.reduction_with_dim", "forward_float32", _wrong("max", tuple), "is a tuple"),
        ("neg", "forward_float32", {"neg": torch.neg_}, "inputs afterwards"),
        ("exp", "forward_float32", _wrong("exp", _noisily), "NumPy's warnings"),
        ("exp", "forward_float32", {"exp": _refuse}, "raised ValueError"),
        ("randn", "seeded_float32", {"randn": torch.rand}, "values differ"),
        ("mul", "grad_float32", _wrong("mul", torch.Tensor.detach), "requires_grad"),
        ("mul", "grad_float32", _wrong("mul", _DoubledGradient.apply), "gradients"),
        ("mul", "gradgrad", _wrong("mul", _DoubledGradient.apply), "second"),
        ("sin", "vmap_float32", _wrong("sin", lambda result: result + 1e-3), "values differ"),
        ("gather", "errors", {"gather": _refuse}, "raised ValueError (no) instead of RuntimeError"),
        ("cat", "errors", {"cat": lambda tensors, dim=0: tensors[0]}, "did not raise"),
        ("sin", "out_float32", {"sin": lambda x, out=None: torch.sin(x)}, "returned"),
        ("mul", "alias_float32", _wrong("multiply", torch.neg), "function multiply"),
    ],
)
def test_a_wrong_function_is_found_out(operator: str, check: str, functions: dict[str, Any], reason: str) -> None:
    result = _run(operator, check, _Broken(functions))
    found = [text for failure in result.failures for text in failure.reasons]
    assert any(reason in text for text in found), result


@pytest.mark.parametrize(
    "check, methods, reason",
    [
        ("method_float32", {"add": torch.Tensor.sub}, "values differ"),
        ("inplace_float32", {"add_": torch.Tensor.add}, "returns self"),
        ("inplace_float32", {"add_": lambda x, *rest, **more: x.data.add_(*rest, **more)}, "counts"),
    ],
)
def test_a_wrong_method_is_found_out(check: str, methods: dict[str, Any], reason: str) -> None:
    result = _run("add", check, _Broken({}, methods))
    assert any(reason in text for failure in result.failures for text in failure.reasons), result


def test_what_the_library_lacks_is_missing() -> None:
    empty = types.ModuleType("empty")
    assert _run("sin", "forward_float32", empty).status == "missing"
    without_transforms = types.ModuleType("bare")
    without_transforms.__dict__.update({name: getattr(torch, name) for name in ("sin", "Tensor", "Size")})
    assert _run("sin", "vmap_float32", without_transforms).status == "unsupported"


def test_a_crash_or_a_hang_costs_one_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
        import os, time
        from torch import *
        import torch
        __getattr__ = lambda name: getattr(torch, name)
        cos = lambda *args: os._exit(3)
        tan = lambda *args: time.sleep(1000)
    """
    (tmp_path / "fragile.py").write_text("\n".join(line.strip() for line in source.splitlines()))
    monkeypatch.syspath_prepend(tmp_path)
    work = op_parity.tasks(["sin", "cos", "tan", "exp"], ["forward_float32"])
    results = op_parity.run_all(work, Settings("fragile", limit=2, timeout=3), workers=1)
    assert [result.status for result in results] == ["passed", "crashed", "timeout", "passed"]


def test_the_list_of_gaps_follows_the_results(tmp_path: Path) -> None:
    failed = Result("sin", "forward_float32", "failed", failures=[Failure(0, ["wrong"])])
    passed = Result("cos", "forward_float32", "passed")
    before = {"forward_float32": frozenset({"cos", "tan"}), "grad_float32": frozenset({"cos"})}
    after = {"forward_float32": frozenset({"sin", "tan"}), "grad_float32": frozenset({"cos"})}
    gaps.write(gaps.updated(before, [failed, passed]), tmp_path / "gaps.toml")
    assert gaps.read(tmp_path / "gaps.toml") == after
    assert "wrong" in gaps.surprise(failed, before)
    assert "take it out" in gaps.surprise(passed, before)
    assert not gaps.surprise(failed, after) and not gaps.surprise(passed, after)


def test_a_reproduction_runs_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    result = _run("addcmul", "forward_float32", _Broken(_wrong("addcmul", lambda result: result + 1)))
    lines = op_parity.reproductions(result, "forward_float32", Settings("torch"))
    program = next(line for line in lines if line.startswith("for name in"))
    exec(program, {})
    assert capsys.readouterr().out.count("tensor(") == 2
