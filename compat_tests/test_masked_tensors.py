"""MaskedTensor beside PyTorch's: what calls give, how it is printed, what is refused, and gradients."""

from __future__ import annotations

import copy
import io
import pickle
import re
import warnings
from typing import Any

import pytest

import torchlite

from .side_by_side import same_story

UNARY = """
    abs acos acosh angle asin asinh atan atanh bitwise_not ceil conj_physical cos cosh deg2rad digamma erf erfc erfinv
    exp exp2 fix floor frac isfinite isnan isreal lgamma log log10 log1p log2 logit nan_to_num neg positive
    rad2deg reciprocal round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc relu max nonzero
    sum mean amin amax argmin argmax prod all any std var clone detach t flatten ravel unbind is_contiguous
    to_sparse_coo to_sparse_csr half long bool item tolist numpy
"""
BINARY = """
    add atan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift div floor_divide fmod logaddexp logaddexp2 mul
    nextafter remainder sub eq ne le ge gt lt maximum minimum fmax fmin pow hypot logical_and
"""
CALLS = """
m-1; 2*m; m/2; 2/m; m**2; -m; ~b; m==n; m<2; m&n; i&i; i//2; m.add(1).mul(2); torch.add(m, n, alpha=2); m.sum(1);
m.sum(0, keepdim=True); torch.sum(m, dim=-1); m.mean(0); m.amin((0, 1)); m.prod(1); m.argmax(1); b.all(1); m.var(0);
m.std(1); i.sum(); i.mean(1); m.sum(5); m.max(1); m.softmax(1); torch.softmax(m, 0); m.log_softmax(1); m.clamp(0, 2);
m.clamp_(0, 2); torch.where(mask, m, n); m[0]; m[:, 1]; m[mask]; m[..., None]; m.view(3, 2); m.reshape(-1);
m.transpose(0, 1); m.permute(1, 0); m.unsqueeze(0); m.squeeze(); m.expand(2, 2, 3); torch.broadcast_tensors(m, n);
torch.cat([m, n]); torch.cat([m, data]); torch.stack([m, n]); torch.hstack([m, n]); torch.column_stack([m, n]);
torch.chunk(m, 2); m.split(1); torch.hsplit(m, 3); m.narrow(0, 0, 1); m.select(0, 1); m.unfold(1, 2, 1);
len(m); bool(m[0, 0]); m[0, 0].item(); m[0, 1].item(); m[0, 1]; m.to(torch.float64); m.to_tensor(-1.5); m.get_data();
m.get_mask(); type(m).__name__; masked.is_masked_tensor(m); masked.is_masked_tensor(data); MT(m, mask); MT(data, m);
MT(data, mask[0]); MT(data, mask.t()); MT(data, mask.float()); MT([1.0], [True]); MT(data.half(), mask);
MT(data, mask, True); MT(data.to_sparse(), mask); MT(data.to_sparse(), mask.to_sparse()); MT(data > 2, mask);
MT(data * 1j, mask); MT(data.bfloat16(), mask); MT(torch.zeros(0, 3), torch.zeros(0, 3).bool());
MT(torch.arange(24.0).reshape(2, 3, 4), torch.arange(24).reshape(2, 3, 4) % 3 == 0);
MT(torch.tensor([1e10, 2.5, float("nan")]), torch.tensor([True, False, True])); str(m); f"{m[0, 0]}";
torch.ones_like(m); torch.zeros_like(m); m.copy_(n); m.masked_fill(mask, 0); m.to_sparse_coo().to_dense();
m.to_sparse_coo() * 2;
m.to_sparse_csr().sin(); m.to_sparse_coo().sum(); m.to_sparse_coo() * m.to_sparse_coo(); m.is_sparse_coo();
m.to_sparse_csr().is_sparse_csr(); copy.deepcopy(m); pickle.loads(pickle.dumps(m)); torch.isclose(m, n); m.data_ptr();
torch.expm1(m / 2); torch.expm1(i - 2)
"""
GRADIENTS = """
r.sum(); (r * r).sum(); (r * n).sum(); (r + n).sum(); r.mean(); r.amax(); r.prod(); r.exp().sum(); (r**2).sum();
r.sqrt().mean(); (r / n).sum(); r.sum(1).sum(); r.log().sum(); r.std(); r.var(); r.transpose(0, 1).sum();
r.view(6).sum(); r[0].sum(); r.sin().cos().sum(); r.get_data().sum(); r.to_tensor(0).sum()
"""


def listed(text: str) -> list[str]:
    return [" ".join(call.split()) for call in text.split(";")]


def names(torch: Any) -> dict[str, Any]:
    data, mask = torch.arange(6.0).reshape(2, 3), torch.tensor([[True, False, True], [False, True, False]])
    MT, whole = torch.masked.masked_tensor, torch.arange(6).reshape(2, 3)
    return {
        "torch": torch, "masked": torch.masked, "MT": MT, "data": data, "mask": mask, "copy": copy, "io": io,
        "pickle": pickle, "m": MT(data.clone(), mask.clone()), "n": MT(data + 1, mask.clone()), "o": MT(data, ~mask),
        "i": MT(whole, mask.clone()), "b": MT(whole > 2, mask.clone()),
        "r": MT(data.clone(), mask.clone(), requires_grad=True),
    }  # fmt: skip


def told(torch: Any, value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [told(torch, v) for v in value]
    if not isinstance(value, torch.Tensor):
        return value
    more = ()
    if torch.masked.is_masked_tensor(value):
        more = (str(value.get_data().layout), value.get_mask().to_dense().tolist())
    return (repr(value), str(value.dtype), tuple(value.shape), value.requires_grad, *more)


def outcome(torch: Any, call: str, of: str = "") -> Any:
    found = names(torch)
    try:
        result = eval(call, found)
        if of:
            result.backward()
            result = found[of].grad
        return told(torch, result)
    except Exception as error:
        return type(error).__name__, re.sub(r"torch\.(_ops|ops)\.", "", str(error).replace("torchlite.", "torch."))


def differing(calls: list[str], of: str = "") -> list[Any]:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = [(call, outcome(torch, call, of), outcome(torchlite, call, of)) for call in calls]
    return [(call, wanted, found) for call, wanted, found in both if str(wanted) != str(found)]


def test_functions_of_one() -> None:
    assert differing([f"{of}.{name}()" for name in UNARY.split() for of in ("m", "i")]) == []


def test_functions_in_place() -> None:
    assert differing([f"m.{name}_()" for name in ("abs", "exp", "neg", "sqrt", "round", "angle", "isnan", "sum")]) == []
    assert differing([f"m.{name}_(n)" for name in ("add", "mul", "sub", "div", "eq", "maximum", "fmin")]) == []


def test_functions_of_two() -> None:
    pairs = ("m, n", "m, o", "m, data", "data, m", "i, i", "m, 2")
    assert differing([f"torch.{name}({pair})" for name in BINARY.split() for pair in pairs]) == []


def test_calls() -> None:
    assert differing(listed(CALLS)) == []


def test_gradients() -> None:
    assert differing(listed(GRADIENTS), "r") == []


def test_gradients_of_data() -> None:
    """Where a branch that is not taken has no gradient, it does no harm."""
    torch = pytest.importorskip("torch")

    def program(torch: Any) -> Any:
        x = torch.tensor([-10.0, -5, 0, 5, 100], requires_grad=True)
        below = x < 0
        ones = torch.masked.as_masked_tensor(torch.ones_like(x), ~below)
        torch.where(below, torch.exp(torch.masked.as_masked_tensor(x, below)), ones).sum().backward()
        return repr(x.grad)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert program(torchlite) == program(torch)


@same_story
def test_layouts_are_those_of_the_data(torch, tell):
    warnings.simplefilter("ignore")  # of prototypes, once in a process
    data = torch.tensor([[1.0, 0, 2], [0, 3, 0]])
    dense = torch.masked.masked_tensor(data, data > 0)
    for sparse in (data.to_sparse(), data.to_sparse_csr()):
        masked = torch.masked.masked_tensor(sparse, sparse.bool())
        with pytest.raises(ValueError) as refused:
            masked + dense
        tell(str(masked.layout), str(masked.sin().layout), str(dense.layout), str(refused.value))
