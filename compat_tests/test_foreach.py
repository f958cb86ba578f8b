"""`torch._foreach_*`, and the functions that treat all gradients or parameters together, beside PyTorch's."""

from __future__ import annotations

import math
from typing import Any

import pytest

from .side_by_side import same, same_story, story, text

UNARY = [
    "abs",
    "acos",
    "asin",
    "atan",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "clone",
    "max",
    "norm",
    "powsum",
    "zero_",
]


def agree(program: Any) -> None:
    torch = pytest.importorskip("torch")
    import torchlite

    wanted, found = story(program, torch), story(program, torchlite)
    for a, b in zip(wanted, found):
        assert same(a, b), f"torch {a}\ntorchlite {b}"
    assert len(wanted) == len(found)


def lists(torch: Any) -> tuple[list[Any], list[Any], list[Any]]:
    def made(start: float) -> list[Any]:
        return [torch.arange(n, dtype=torch.float32).add_(start).div_(n + 2).reshape(shape)
                for n, shape in ((4, (2, 2)), (3, (3,)), (1, ()))]  # fmt: skip

    return made(0.5), made(0.25), made(1.0)


def attempt(tell: Any, call: Any) -> Any:
    """Tell the results of a call, or which error it raises."""
    try:
        tell(call())
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        tell(type(error).__name__, text(error).split("\n")[0].split(" - got")[0])


@pytest.mark.parametrize("name", UNARY)
def test_of_each(name: str) -> None:
    def program(torch: Any, tell: Any) -> None:
        a, _, _ = lists(torch)
        f = getattr(torch, "_foreach_" + name)
        attempt(tell, lambda: f(a))
        tell(a)
        attempt(tell, lambda: f([]))
        attempt(tell, lambda: f(tuple(a)))
        if name not in ("norm", "powsum", "max", "clone", "zero_"):
            tell(getattr(torch, f"_foreach_{name}_")(a) is a, a, [t._version for t in a])

    agree(program)


CALLS: dict[str, list[Any]] = {
    "add": [
        lambda f, a, b, c: f(a, 2),
        lambda f, a, b, c: f(a, b),
        lambda f, a, b, c: f(a, b, alpha=0.5),
        lambda f, a, b, c: f(a, [1, 2.5, 3]),
        lambda f, a, b, c: f(a, b[2]),
        lambda f, a, b, c: f(a, b[2], alpha=3),
        lambda f, a, b, c: f(a, b[:1]),
        lambda f, a, b, c: f(a, [1]),
        lambda f, a, b, c: f(a, b[0]),
        lambda f, a, b, c: f(a, "x"),
        lambda f, a, b, c: f([], 1),
        lambda f, a, b, c: f(a, [b[1], b[0], b[2]]),
        lambda f, a, b, c: f(a, scalar=2),
    ],
    "sub": [lambda f, a, b, c: f(a, 2), lambda f, a, b, c: f(a, b, alpha=0.5), lambda f, a, b, c: f(a, [1, 2.5, 3])],
    "mul": [
        lambda f, a, b, c: f(a, 2),
        lambda f, a, b, c: f(a, b),
        lambda f, a, b, c: f(a, [1, 2.5, 3]),
        lambda f, a, b, c: f(a, b[2]),
        lambda f, a, b, c: f(a, None),
    ],
    "div": [
        lambda f, a, b, c: f(a, 2),
        lambda f, a, b, c: f(a, b),
        lambda f, a, b, c: f(a, [1, 2.5, 3]),
        lambda f, a, b, c: f(a, c[2]),
    ],
    "clamp_max": [lambda f, a, b, c: f(a, 0.4), lambda f, a, b, c: f(a, b), lambda f, a, b, c: f(a, [0.1, 0.2, 0.3])],
    "clamp_min": [lambda f, a, b, c: f(a, 0.4), lambda f, a, b, c: f(a, b), lambda f, a, b, c: f(a, [0.1, 0.2, 0.3])],
    "maximum": [lambda f, a, b, c: f(a, 0.4), lambda f, a, b, c: f(a, b), lambda f, a, b, c: f(a, [0.1, 0.2, 0.3])],
    "minimum": [lambda f, a, b, c: f(a, 0.4), lambda f, a, b, c: f(a, b), lambda f, a, b, c: f(a, [0.1, 0.2, 0.3])],
    "pow": [lambda f, a, b, c: f(a, 2), lambda f, a, b, c: f(a, b), lambda f, a, b, c: f(a, [1, 2.5, 3])],
    "lerp": [
        lambda f, a, b, c: f(a, b, 0.3),
        lambda f, a, b, c: f(a, b, c),
        lambda f, a, b, c: f(a, b, [0.1, 0.2, 0.3]),
    ],
    "addcmul": [
        lambda f, a, b, c: f(a, b, c),
        lambda f, a, b, c: f(a, b, c, 2),
        lambda f, a, b, c: f(a, b, c, value=0.5),
        lambda f, a, b, c: f(a, b, c, [1.0, 2, 3]),
        lambda f, a, b, c: f(a, b, c, [1.0, 2]),
    ],
    "addcdiv": [
        lambda f, a, b, c: f(a, b, c),
        lambda f, a, b, c: f(a, b, c, value=0.5),
        lambda f, a, b, c: f(a, b, c, [1.0, 2, 3]),
    ],
}


@pytest.mark.parametrize("name", CALLS)
def test_of_several(name: str) -> None:
    def program(torch: Any, tell: Any) -> None:
        for call in CALLS[name]:
            attempt(tell, lambda call=call: call(getattr(torch, "_foreach_" + name), *lists(torch)))
            attempt(tell, lambda call=call: call(getattr(torch, f"_foreach_{name}_"), *lists(torch)))

    agree(program)


@same_story
def test_other_forms(torch: Any, tell: Any) -> None:
    a, b, c = lists(torch)
    tell(torch._foreach_pow(2, a))
    tell(torch._foreach_addcdiv(a, b, c, torch.tensor([1.0, 2.0, 3.0])))
    tell(torch._foreach_norm(a, 1), torch._foreach_norm(a, float("inf"), dtype=torch.float64))
    tell(torch._foreach_mm([torch.ones(2, 3)], [torch.ones(3, 2)]))
    torch._foreach_copy_(a, b)
    tell(a, [t._version for t in a])
    tell(torch._foreach_add([torch.ones(2), torch.ones(2, dtype=torch.int32)], 1.5))
    x = [torch.ones(2, requires_grad=True)]
    (torch._foreach_mul(x, 3)[0] * torch._foreach_exp(x)[0]).sum().backward()
    tell(x[0].grad)
    y = [torch.ones(2)]
    torch._foreach_add_(y, torch._foreach_mul(x, 2))
    y[0].sum().backward()
    tell(x[0].grad)


MISFITS = {
    "nothing": lambda f, t: f(),
    "a tensor": lambda f, t: f(t),
    "input=": lambda f, t: f(input=[t]),
    "another keyword": lambda f, t: f([t], foo=1),
    "a number": lambda f, t: f(3),
    "a word": lambda f, t: f([t], "a"),
    "too many": lambda f, t: f([t], [t], [t], [t], [t]),
    "a number among tensors": lambda f, t: f([t, 1], 2.0),
    "a list among tensors": lambda f, t: f((t, [t])),
    "numbers for tensors": lambda f, t: f([t], [2.0, 3.0]),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_misfits(misfit: str) -> None:
    def program(torch: Any, tell: Any) -> None:
        for name in ("exp", "exp_", "sub", "sub_", "copy_", "addcmul", "lerp", "zero_", "pow", "clamp_max_"):
            with pytest.raises((TypeError, RuntimeError)) as caught:
                MISFITS[misfit](getattr(torch, f"_foreach_{name}"), torch.ones(2))
            tell(caught.type.__name__, str(caught.value))

    agree(program)


# ---- torch.nn.utils


def parameters(torch: Any) -> list[Any]:
    params = [torch.nn.Parameter(t) for t in lists(torch)[0]]
    for i, p in enumerate(params[:2]):
        p.grad = torch.full_like(p, i + 1.0)
    return params


@same_story
def test_clipping_by_norm(torch: Any, tell: Any) -> None:
    U = torch.nn.utils
    for norm_type in (2.0, 1, float("inf"), 3, 0.5):
        for max_norm in (0.5, 100):
            p = parameters(torch)
            tell(U.clip_grad_norm_(p, max_norm, norm_type), [q.grad for q in p])
    p = parameters(torch)
    tell(U.clip_grad_norm_(p[0], 1.0), p[0].grad)
    tell(U.clip_grad_norm_((q for q in p), 0.1), U.clip_grad_norm_([], 1.0), U.clip_grad_norm_((q for q in []), 1.0))
    tell(U.get_total_norm([q.grad for q in p[:2]]), U.get_total_norm([]), U.get_total_norm(p[1], 1))
    tell(U.clip_grads_with_norm_(p, 0.01, torch.tensor(5.0)), [q.grad for q in p])
    tell(U.clip_grad_norm(p, 1.0))
    p[0].grad[0, 0] = float("nan")
    tell(U.clip_grad_norm_(p, 1.0))
    U.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)


@same_story
def test_clipping_by_value(torch: Any, tell: Any) -> None:
    p = parameters(torch)
    tell(torch.nn.utils.clip_grad_value_(p, 1.5), [q.grad for q in p], [q.grad is None or q.grad._version for q in p])
    torch.nn.utils.clip_grad_value_(p[0], 0.5)
    tell(p[0].grad)
    for dtype, limit in ((torch.float64, 1e300), (torch.bfloat16, 1.0), (torch.float32, -1), (torch.float32, math.nan)):
        p = torch.tensor([5.0, math.nan, math.inf, -5.0], dtype=dtype, requires_grad=True)
        p.grad = p.detach().clone()
        torch.nn.utils.clip_grad_value_([p], limit)
        tell(p.grad, p.grad._version)
    torch.nn.utils.clip_grad_value_(parameters(torch), 1e300)


@same_story
def test_parameters_as_a_vector(torch: Any, tell: Any) -> None:
    U = torch.nn.utils
    p = parameters(torch)
    v = U.parameters_to_vector(p)
    tell(v)
    new = v.detach() * 2
    U.vector_to_parameters(new, p)
    tell(p, p[0].data_ptr() == new.data_ptr())
    attempt(tell, lambda: U.parameters_to_vector([]))
    attempt(tell, lambda: U.parameters_to_vector([torch.ones(1), torch.ones(1, device="meta")]))
    attempt(tell, lambda: U.vector_to_parameters([1], p))
    U.vector_to_parameters(torch.ones(2), p)
