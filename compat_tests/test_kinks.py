"""Gradients where a function has none, or more than one: PyTorch's conventions, point by point.

Where a gradient exists it is used; a convex function has the subgradient of least norm; what is continuous may have an
infinite one; elsewhere any value will do. Every operation with a kink, a tie, a pole or an edge of its domain is
differentiated there, once and twice, in both libraries.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import torchlite

inf, nan = math.inf, math.nan


def words(text: str) -> list[str]:
    return text.split()


# Where one-place functions are looked at; two-place functions at all pairs of the shorter list.
POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, 3.0, -3.0, 6.0, -2.0, 20.0, inf, -inf, nan]
PAIRED = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, inf, -inf, nan]
COMPLEX = [0j, 1 + 0j, -1 + 0j, 1j, -1j, 0.5 + 0.5j, -2 + 0j]
# What reductions are given: ties, zeros, infinities, NaN, one element.
LISTS: list[list[float]] = [
    [0.0, 0.0, 0.0], [0.0, -0.0, 1.0], [1.0, 1.0, 0.0], [2.0, 1.0, 2.0, 1.0], [0.0, 2.0, 3.0], [0.0, 2.0, 0.0],
    [3.0, 4.0], [5.0], [0.0], [-1.0, 1.0, -1.0, 1.0], [inf, inf, 1.0], [-inf, -inf], [-inf, inf], [-inf, 1.0, -inf],
    [nan, 1.0, nan], [nan, nan], [1.0, nan, 1.0], [nan], [-inf], [inf], [0.0, inf],
]  # fmt: skip

UNARY = words("""
    abs neg relu sign sgn round floor ceil trunc frac sqrt rsqrt square reciprocal exp exp2 expm1 log log2 log10 log1p
    sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid logit sinc erf erfc erfinv lgamma digamma
    nan_to_num angle deg2rad positive i0 special.entr special.ndtri special.log_ndtr special.i0e special.i1 special.i1e
    special.ndtr special.erfcx special.log_softmax nn.functional.relu6 nn.functional.leaky_relu nn.functional.elu
    nn.functional.selu nn.functional.celu nn.functional.softshrink nn.functional.hardshrink nn.functional.hardtanh
    nn.functional.hardsigmoid nn.functional.hardswish nn.functional.softplus nn.functional.logsigmoid
    nn.functional.tanhshrink nn.functional.softsign nn.functional.gelu nn.functional.silu nn.functional.mish real
""")
OF_COMPLEX = words("""
    abs sgn angle sqrt rsqrt log log2 log10 log1p reciprocal square exp sin cos tan asin acos atan sinh cosh tanh asinh
    acosh atanh sigmoid sinc real imag conj
""")
BINARY = words("""
    maximum minimum fmax fmin add sub mul div pow float_power atan2 hypot fmod remainder xlogy special.xlog1py logaddexp
    logaddexp2 copysign ldexp floor_divide true_divide nextafter heaviside dist nn.functional.l1_loss
    nn.functional.smooth_l1_loss nn.functional.huber_loss nn.functional.prelu special.zeta
""")
REDUCTIONS = words("""
    max min amax amin aminmax sum mean nansum nanmean prod cumsum cumprod cummax cummin logsumexp logcumsumexp std var
    std_mean var_mean median nanmedian mode sort msort norm softmax log_softmax diff argsort quantile nanquantile
""")
EXPONENTS = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2, 2.0, 3.0, inf, -inf, nan]
ORDERS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -1.0, -2.0, inf, -inf]

Function = Callable[..., Any]


def call(name: str, *more: Any, **named: Any) -> Function:
    """The function of that name in either library."""

    def function(torch: Any, *tensors: Any) -> Any:
        found = torch
        for part in name.split("."):
            found = getattr(found, part)
        return found(*tensors, *more, **named)

    return function


def dimensions(name: str) -> list[dict[str, Any]]:
    """How a reduction is called."""
    along = {"dim": 0}
    if name in ("aminmax", "msort"):
        return [{}]
    if name in ("quantile", "nanquantile"):
        return [{"q": 0.0}, {"q": 0.5}, {"q": 1.0}]
    if name in ("cumsum", "cumprod", "cummax", "cummin", "logsumexp", "logcumsumexp", "softmax", "log_softmax"):
        return [along]
    return [{}, along, along | {"keepdim": True}] if name in ("amax", "max", "norm") else [{}, along]


Case = tuple[Function, list[list[Any]]]
CASES: dict[str, Case] = {}
CASES |= {name: (call(name), [POINTS]) for name in UNARY}
CASES |= {f"{name} of complex": (call(name), [COMPLEX]) for name in OF_COMPLEX}
CASES |= {name: (call(name), [list(side) for side in zip(*itertools.product(PAIRED, repeat=2))]) for name in BINARY}
CASES |= {f"pow to {p}": (call("pow", p), [POINTS]) for p in EXPONENTS}
CASES |= {f"pow of complex to {p}": (call("pow", p), [COMPLEX]) for p in EXPONENTS if p == p and abs(p) != inf}
CASES |= {f"pow of {a}": (lambda t, x, a=a: t.pow(a, x), [POINTS]) for a in (0.0, 1.0, -1.0, 2.0, inf, -inf, nan)}
CASES |= {f"float_power to {p}": (call("float_power", p), [POINTS]) for p in EXPONENTS}
CASES |= {f"fmod by {b}": (call("fmod", b), [POINTS]) for b in (1.0, -1.0, 0.0, inf, nan)}
CASES |= {f"remainder by {b}": (call("remainder", b), [POINTS]) for b in (1.0, -1.0, 0.0, inf, nan)}
CASES |= {
    f"clamp to {low}, {high}": (call("clamp", low, high), [POINTS])
    for low, high in ((0.0, 1.0), (-1.0, None), (None, 1.0), (1.0, 0.0), (0.0, 0.0), (nan, 1.0), (-inf, inf))
}
CASES |= {f"logit, eps {eps}": (call("logit", eps), [POINTS]) for eps in (0.0, 0.25, 0.5)}
CASES |= {f"threshold {t}": (call("threshold", t, 7.0), [POINTS]) for t in (0.0, 1.0)}
CASES |= {f"div rounded by {mode}": (call("div", rounding_mode=mode), CASES["div"][1]) for mode in ("trunc", "floor")}
CASES |= {
    "clamp between tensors": (
        lambda t, x, low, high: t.clamp(x, low, high),
        [list(side) for side in zip(*itertools.product([0.0, 1.0, -1.0, nan, inf], repeat=3))],
    ),
    "clamp_min by tensor": (call("clamp_min"), CASES["maximum"][1]),
    "clamp_max by tensor": (call("clamp_max"), CASES["maximum"][1]),
    "where": (lambda t, a, b: t.where(a > 0, a.sqrt(), b.log()), CASES["maximum"][1]),
    "lerp": (call("lerp", 0.0), CASES["maximum"][1]),
    "lerp halfway": (call("lerp", 0.5), CASES["maximum"][1]),
    "lerp by tensor": (call("lerp"), [[0.0, 1.0, inf, 2.0, nan], [1.0, 1.0, 0.0, inf, 0.0], [0.5, 0.0, 0.5, 1.0, 0.0]]),
    "addcdiv": (call("addcdiv"), [[0.0, 1.0, inf, 2.0], [1.0, 0.0, 0.0, inf], [0.0, 0.0, 1.0, inf]]),
    "addcmul": (call("addcmul"), [[0.0, 1.0, inf, 2.0], [1.0, inf, 0.0, inf], [0.0, 0.0, 1.0, inf]]),
    "nan_to_num to numbers": (call("nan_to_num", 3.0, 4.0, 5.0), [POINTS]),
    "topk": (call("topk", 2), [[1.0, 2.0, 2.0, 2.0, nan]]),
    "kthvalue": (call("kthvalue", 2), [[1.0, 2.0, 2.0, 1.0]]),
    "sort descending": (call("sort", descending=True), [[1.0, 2.0, 2.0, 1.0, nan]]),
    "sort, stable": (lambda t, x: t.sort(x, stable=True), [[1.0, 2.0, 2.0, 1.0, nan]]),
    "masked_fill": (lambda t, x: (1 / x).masked_fill(x == 0, 0.0), [POINTS]),
    "mvlgamma": (call("mvlgamma", 2), [POINTS]),
    "polygamma": (lambda t, x: t.polygamma(1, x), [POINTS]),
    "corrcoef": (call("corrcoef"), [[1.0, 1.0, 1.0]]),
    "cov of one": (call("cov"), [[1.0]]),
}  # fmt: skip
for _name in REDUCTIONS:
    for _keywords in dimensions(_name):
        for _values in LISTS:
            _label = ", ".join([_name, *(f"{k}={v}" for k, v in _keywords.items())])
            CASES[f"{_label} of {_values}"] = (call(_name, **_keywords), [_values])
for _p in ORDERS:
    for _values in LISTS:
        CASES[f"norm {_p} of {_values}"] = (call("norm", _p), [_values])
        CASES[f"norm {_p} along of {_values}"] = (call("norm", _p, 0), [_values])
        CASES[f"renorm {_p} of {_values}"] = (lambda t, x, p=_p: t.renorm(x[None], p, 0, 1.0), [_values])
    CASES[f"dist {_p}"] = (call("dist", p=_p), [[1.0, 2.0, 3.0], [1.0, 0.0, 3.0]])
    CASES[f"dist {_p} of equals"] = (call("dist", p=_p), [[1.0, 2.0], [1.0, 2.0]])
    if _p >= 0:
        CASES[f"cdist {_p}"] = (
            lambda t, a, b, p=_p: t.cdist(a.reshape(3, 2), b.reshape(2, 2), p),
            [[1.0, 2.0, 1.0, 0.0, 3.0, 3.0], [1.0, 2.0, 3.0, 3.0]],
        )
for _correction in (0, 1, 2):
    for _values in ([5.0], [1.0, 1.0], [1.0, 2.0], [inf, 1.0], [nan, 1.0]):
        CASES[f"std with correction {_correction} of {_values}"] = (
            call("std", dim=0, correction=_correction),
            [_values],
        )
        CASES[f"var with correction {_correction} of {_values}"] = (
            call("var", dim=0, correction=_correction),
            [_values],
        )


def left_out(name: str) -> str:
    """Why PyTorch is no oracle in a case."""
    kind, _, point = name.partition(" of ")
    op = kind.split()[0].rstrip(",")
    if kind in ("topk", "kthvalue") or (op == "mode" and "nan" in point):
        return "any of several equals may be chosen"
    if name in ("i0", "special.i1", "special.i1e"):
        return "PyTorch's kernel takes NaN for a number"
    if op in ("prod", "cumprod") and ("inf" in point or "nan" in point):
        return "PyTorch divides the product by the factors, be they infinite or NaN; torchlite multiplies the others"
    if op in ("std_mean", "var_mean") and "inf" in point:
        return "PyTorch's running mean of infinities is NaN"
    if kind == "dist 0.0":
        return "PyTorch fails for want of a gradient"
    return "NumPy divides complex numbers by zero in another way" if name == "atanh of complex" else ""


def derivatives(torch: Any, function: Function, values: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """What a function gives, its gradients, and the gradients of these; what went wrong counts too."""
    dtype = torch.complex128 if isinstance(values[0][0], complex) else torch.float64
    xs = [torch.tensor(list(v), dtype=dtype, requires_grad=True) for v in values]
    told: dict[str, Any] = {}
    try:
        results = function(torch, *xs)
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        told["results"] = [listed(y) for y in results]
        outputs = [y for y in results if y.requires_grad]
        told["requires grad"] = len(outputs)
        if outputs:
            weights = [weight(torch, y).requires_grad_() for y in outputs]
            first = torch.autograd.grad(outputs, xs, weights, create_graph=True, allow_unused=True)
            told["gradients"] = [None if g is None else listed(g) for g in first]
            again = [g for g in first if g is not None and g.requires_grad]
            if again:
                second = torch.autograd.grad(
                    again, [*xs, *weights], [weight(torch, g) for g in again], allow_unused=True
                )
                told["second gradients"] = [
                    listed(torch.zeros_like(x) if g is None else g) for x, g in zip([*xs, *weights], second)
                ]
    except (RuntimeError, ValueError, IndexError, NotImplementedError, TypeError) as error:
        told["raised"] = type(error).__name__
    return told


def listed(tensor: Any) -> Any:
    """The elements; what PyTorch knows to be zero without having it written down can be read after an operation."""
    return (tensor + 0).tolist()


def weight(torch: Any, like: Any) -> Any:
    return torch.arange(1.0, like.numel() + 1, dtype=torch.float64).reshape(like.shape).to(like.dtype)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, complex):
        return isinstance(b, complex) and same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9)
    return bool(a == b)


def has(name: str) -> bool:
    found: Any = torchlite
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None


def groups() -> dict[str, list[str]]:
    """The cases by operation."""
    found: dict[str, list[str]] = {}
    for name in CASES:
        found.setdefault(name.split()[0].rstrip(","), []).append(name)
    return found


@pytest.mark.parametrize("operation", groups())
def test_gradients_follow_pytorchs_conventions(operation: str) -> None:
    torch = pytest.importorskip("torch")
    if not has(operation):
        pytest.skip(f"torchlite has no {operation}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in groups()[operation]:
            if left_out(name):
                continue
            function, values = CASES[name]
            wanted, found = (derivatives(library, function, values) for library in (torch, torchlite))
            lacking = wanted.get("raised") == "NotImplementedError"  # PyTorch has no such derivative
            for aspect in wanted if lacking else wanted | found:
                if lacking and aspect == "raised":
                    continue
                ours, theirs = found.get(aspect), wanted.get(aspect)
                assert same(theirs, ours), (
                    f"{aspect} of {name} at {values}:\n  torch      {theirs}\n  torchlite  {ours}"
                )
