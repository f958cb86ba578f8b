"""Names that few programs use, and what they do: rules for classes, keys of optimizers' states, refusals for GPUs."""

from __future__ import annotations

import importlib
import itertools

import pytest

import torchlite

pytestmark = pytest.mark.any_build

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [torch, torchlite], ids=["torch", "torchlite"])
_numbers = itertools.count()


def of(lib, name):
    return importlib.import_module(f"{lib.__name__}.{name}")


def _doubling(lib):
    @lib.library.custom_op(f"few_names::double{next(_numbers)}", mutates_args=(), schema="(Tensor x) -> Tensor")
    def double(x):
        return x * 2

    return double


@BOTH
def test_a_rule_for_a_mode_and_an_operator(lib):
    double = _doubling(lib)

    class Mode(of(lib, "utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    told = []

    @lib.library.register_torch_dispatch(double, Mode)
    def rule(mode, func, types, args, kwargs):
        told.append((type(mode) is Mode, str(func) == str(double._opoverload), len(args), kwargs))
        return func(*args, **kwargs) + 1

    x = lib.ones(2)
    assert double(x).tolist() == [2, 2]
    with Mode():
        made = double(x)
    assert made.tolist() == [3, 3]
    assert told == [(True, True, 1, {})]


@BOTH
def test_states_of_optimizers_are_called_by_names_or_numbers(lib):
    fsdp = of(lib, "distributed.fsdp")
    model = lib.nn.Linear(2, 2)
    optimizer = lib.optim.Adam(model.parameters())
    model(lib.ones(1, 2)).sum().backward()
    optimizer.step()
    rekey, kinds = fsdp.FullyShardedDataParallel.rekey_optim_state_dict, fsdp.OptimStateKeyType
    named = rekey(optimizer.state_dict(), kinds.PARAM_NAME, model)
    assert list(named["state"]) == ["weight", "bias"]
    assert named["param_groups"][0]["params"] == ["bias", "weight"]
    numbered = rekey(named, kinds.PARAM_ID, model)
    assert list(numbered["state"]) == numbered["param_groups"][0]["params"] == [0, 1]
    assert numbered["state"][0]["exp_avg"] is named["state"]["weight"]["exp_avg"]


def _said(call):
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("name", ["CUTLASS", "CUSPARSELT", ""])
def test_semi_structured_tensors_are_refused_on_the_host(name):
    found = []
    for lib in (torchlite, torch):
        sparse = of(lib, "sparse")
        kind = getattr(sparse, f"SparseSemiStructuredTensor{name}")
        x = lib.ones(64, 64)
        found.append([
            _said(lambda kind=kind, x=x: kind.from_dense(x)),
            _said(lambda sparse=sparse, x=x: sparse.to_sparse_semi_structured(x)),
            _said(lambda kind=kind, x=x: kind(x.shape, None, None, None, None, None)),
        ])  # fmt: skip
    assert found[0] == found[1]


@BOTH
def test_names_of_groups(lib):
    distributed = of(lib, "distributed")
    assert distributed.GroupName("a") == "a"
    assert of(lib, "distributed.nn.functional").group is distributed.group
    with pytest.raises(ValueError, match="has not been initialized"):
        distributed.breakpoint()
