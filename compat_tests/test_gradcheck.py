"""`gradcheck` and `gradgradcheck` give PyTorch's verdicts, in its words, on right derivatives and on wrong ones."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import torchlite

from .side_by_side import same_story


def real(torch: Any, *values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def complex_(torch: Any, *values: complex) -> Any:
    return torch.tensor(values, dtype=torch.complex128, requires_grad=True)


def wrong(function: Callable[..., Any], factor: complex = 2) -> Callable[..., Any]:
    """The function, with gradients that are too large."""

    def changed(*inputs: Any) -> Any:
        copies = [x * 1 for x in inputs]
        for copy in copies:
            copy.register_hook(lambda gradient: None if gradient is None else gradient * factor)
        return function(*copies)

    return changed


def verdict(tell: Callable[..., None], check: Callable[..., bool], *args: Any, **options: Any) -> None:
    """Tell what a check says, and what it answers when it may not raise."""
    try:
        tell(check(*args, **options))
    except Exception as error:
        tell([kind.__name__ for kind in type(error).__mro__], str(error).split("\n\nNOTE")[0])
    try:
        tell(check(*args, raise_exception=False, **options))
    except Exception as error:
        tell(type(error).__name__)


FUNCTIONS: dict[str, tuple[Callable[[Any], Callable[..., Any]], Callable[[Any], tuple[Any, ...]]]] = {
    "real to real": (lambda torch: torch.sin, lambda torch: (real(torch, 1.0, 2.0),)),
    "two inputs": (lambda torch: lambda a, b: a * b.sum(), lambda torch: (real(torch, 1.0, 2.0), real(torch, 3.0))),
    "two outputs": (lambda torch: lambda a: (a * 2, a.exp()), lambda torch: (real(torch, 1.0, 2.0),)),
    "matrices": (
        lambda torch: torch.mm,
        lambda torch: (real(torch, 1, 2, 3, 4).reshape(2, 2), real(torch, 1, 2)[:, None]),
    ),
    "complex to complex": (lambda torch: torch.sin, lambda torch: (complex_(torch, 1 + 1j, 2 - 1j),)),
    "real to complex": (lambda torch: lambda x: torch.complex(x, x * x), lambda torch: (real(torch, 1.0, 2.0),)),
    "complex to real": (lambda torch: torch.abs, lambda torch: (complex_(torch, 1 + 1j, 2 - 1j),)),
    "mixed": (
        lambda torch: lambda z, x: (z * x, z.abs() + x),
        lambda torch: (complex_(torch, 1 + 1j, 2 - 1j), real(torch, 2.0, 3.0)),
    ),
    "a number and a mask": (
        lambda torch: lambda x, s, m: x * s * m,
        lambda torch: (real(torch, 1.0, 2.0), 3.0, torch.tensor([True, False])),
    ),
    "nothing": (lambda torch: lambda x: x * 2, lambda torch: (real(torch),)),
    "one number": (lambda torch: lambda x: x**3, lambda torch: (real(torch, 2.0)[0].detach().requires_grad_(),)),
}  # fmt: skip


@pytest.mark.parametrize("fast", [False, True], ids=["whole", "projected"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_verdicts(name: str, fast: bool) -> None:
    function, inputs = FUNCTIONS[name]

    @same_story
    def compared(torch: Any, tell: Callable[..., None]) -> None:
        right, given = function(torch), inputs(torch)
        check, again = torch.autograd.gradcheck, torch.autograd.gradgradcheck
        for options in ({}, {"check_forward_ad": True}, {"check_batched_grad": True}, {"check_grad_dtypes": True}):
            tell(check(right, given, fast_mode=fast, **options))
        tell(check(right, given, fast_mode=fast, check_forward_ad=True, check_batched_forward_grad=True))
        tell(check(right, given, fast_mode=fast, check_forward_ad=True, check_backward_ad=False))
        tell(again(right, given, fast_mode=fast))
        tell(again(right, given, fast_mode=fast, gen_non_contig_grad_outputs=True))
        tell(again(right, given, fast_mode=fast, check_fwd_over_rev=True))
        numbers = [x for x in given if isinstance(x, torch.Tensor) and x.requires_grad]
        if len(numbers) == len(given) and numbers[0].numel():
            text = summary(check, wrong(right), given, fast)
            tell(text if name != "complex to real" else text[:60])  # rounding shows in the last digits

    compared()


def summary(check: Callable[..., bool], function: Callable[..., Any], inputs: Any, fast: bool) -> str:
    """What a wrong derivative is told, without the digits that rounding decides."""
    with pytest.raises(RuntimeError) as told:
        check(function, inputs, fast_mode=fast)
    assert type(told.value).__name__ == "GradcheckError"
    text = str(told.value).split("The max per-element difference")[0]
    return re.sub(r"(\d\.\d{6})\d+", r"\1", text)


@pytest.fixture(autouse=True, scope="module")
def forward_mode_has_been_used() -> None:
    """PyTorch warns when it loads the formulas of forward mode."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.autograd.gradcheck(torch.sin, (real(torch, 1.0),), check_forward_ad=True)


@same_story
def test_outputs_without_a_gradient_are_passed_over(torch, tell):
    x = real(torch, 1.0, 2.0)
    tell(torch.autograd.gradcheck(lambda x: (x * 2, x.detach(), x.exp(), x.argmax()), (x,)))
    tell(torch.autograd.gradgradcheck(lambda x: (x * 2, x.detach(), x.exp(), x.argmax()), (x,)))
    verdict(tell, torch.autograd.gradcheck, wrong(lambda x: (x.detach(), x.exp())), (x,))


@same_story
def test_a_wrong_derivative_is_shown_beside_the_right_one(torch, tell):
    x, z = real(torch, 1.0, 2.0), complex_(torch, 1 + 1j, 2 - 1j)
    verdict(tell, torch.autograd.gradcheck, wrong(torch.sin), (x,))
    verdict(tell, torch.autograd.gradcheck, wrong(torch.abs), (z,))
    verdict(tell, torch.autograd.gradcheck, wrong(lambda z: z * z, 2j), (z,))
    verdict(tell, torch.autograd.gradcheck, wrong(lambda a, b: (b * 2, a * b)), (x, real(torch, 3.0, 4.0)))


@same_story
def test_a_derivative_nearly_right_passes_within_the_tolerances(torch, tell):
    x = real(torch, 1.0, 2.0)
    for factor in (1 + 1e-6, 1.0009, 1.002, 1.1):
        for options in ({}, {"rtol": 0.0}, {"rtol": 0.0, "atol": 0.01}, {"rtol": 0.0, "atol": 0.001}):
            for fast in (False, True):
                check = torch.autograd.gradcheck
                tell(check(wrong(torch.exp, factor), (x,), raise_exception=False, fast_mode=fast, **options))


@same_story
def test_inputs_that_cannot_be_checked(torch, tell):
    x = real(torch, 1.0, 2.0)
    check = torch.autograd.gradcheck
    verdict(tell, check, torch.sin, (x.detach(),))
    verdict(tell, check, torch.sin, (real(torch, 1.0).expand(3),))
    verdict(tell, check, torch.sin, (torch.tensor([1.0, 2.0], requires_grad=True),))
    verdict(tell, check, lambda x: x.float() * 2, (x,))
    verdict(tell, check, lambda x: x[x > 1.0000005] * 2, (x,))
    verdict(tell, check, lambda x: x.float() * 2, (x,), fast_mode=True)
    verdict(tell, check, lambda x: 3.0, (x,))
    verdict(tell, check, lambda x: 1 / 0, (x,))
    verdict(tell, check, torch.sin, x)
    verdict(tell, check, torch.sin, [x])


@same_story
def test_functions_without_a_gradient_must_be_flat(torch, tell):
    x = real(torch, 1.0, 2.0)
    for fast in (False, True):
        verdict(tell, torch.autograd.gradcheck, lambda x: x.long(), (x,), fast_mode=fast)
        verdict(tell, torch.autograd.gradcheck, lambda x: x.detach(), (x,), fast_mode=fast)
        verdict(tell, torch.autograd.gradcheck, lambda x: torch.ones(2), (x,), fast_mode=fast)


@same_story
def test_options_that_exclude_each_other(torch, tell):
    x = real(torch, 1.0, 2.0)
    check, again = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    verdict(tell, check, torch.sin, (x,), check_backward_ad=False)
    verdict(tell, check, torch.sin, (x,), check_backward_ad=False, check_forward_ad=True, check_batched_grad=True)
    verdict(tell, check, torch.sin, (x,), check_batched_forward_grad=True)
    verdict(tell, again, torch.sin, (x,), check_rev_over_rev=False)
    verdict(tell, again, torch.sin, (x,), check_rev_over_rev=False, check_fwd_over_rev=True)
    options = {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_undefined_grad": False}
    verdict(tell, again, torch.sin, (x,), check_batched_grad=True, **options)
    verdict(tell, again, torch.sin, (x,), **options)


@same_story
def test_backward_must_repeat_itself(torch, tell):
    passes = itertools.count()

    def restless(x):
        y = x * 1
        y.register_hook(lambda gradient: None if gradient is None else gradient * (1 + 1e-7 * next(passes)))
        return y * y

    x = real(torch, 1.0, 2.0)
    verdict(tell, torch.autograd.gradcheck, restless, (x,))
    verdict(tell, torch.autograd.gradcheck, restless, (x,), fast_mode=True)
    verdict(tell, torch.autograd.gradcheck, restless, (x,), nondet_tol=1e-3)


@same_story
def test_points_without_a_derivative(torch, tell):
    for fast in (False, True):
        verdict(tell, torch.autograd.gradcheck, torch.relu, (real(torch, 0.0, 1.0),), fast_mode=fast)
        verdict(tell, torch.autograd.gradcheck, torch.abs, (real(torch, 0.0, 1.0),), fast_mode=fast)
        tell(torch.autograd.gradcheck(torch.sqrt, (real(torch, 0.0, 1.0),), fast_mode=fast, raise_exception=False))


@same_story
def test_second_derivatives(torch, tell):
    x = real(torch, 1.0, 2.0)
    weights = torch.tensor([0.5, 3.0], dtype=torch.float64, requires_grad=True)
    check = torch.autograd.gradgradcheck
    verdict(tell, check, lambda x: x**3, (x,), weights)
    verdict(tell, check, lambda x: x * 2, (x,), (weights,))
    verdict(tell, check, lambda x: x**3, (x,), weights.detach())
    verdict(tell, check, wrong(lambda x: x**3), (x,), weights)

    def only_once(x):
        y = x * 1
        y.register_hook(lambda gradient: gradient.detach() + 0 * gradient if gradient.requires_grad else None)
        return y.sin()

    verdict(tell, check, only_once, (x,), weights, check_undefined_grad=False)


@same_story
def test_inputs_are_left_as_they_were(torch, tell):
    x, still = real(torch, 1.0, 2.0), torch.tensor([3.0, 4.0], dtype=torch.float64)
    torch.autograd.gradcheck(lambda x, s: x * s, (x, still))
    torch.autograd.gradcheck(lambda x, s: x * s, (x, still), fast_mode=True)
    verdict(tell, torch.autograd.gradcheck, wrong(torch.sin), (x,))
    tell(x, x._version, still, still._version, x.grad)


@same_story
def test_the_function_may_close_over_its_input(torch, tell):
    x = real(torch, 1.0, 2.0)
    for fast in (False, True):
        tell(torch.autograd.gradcheck(lambda _: (x * x).exp(), (x,), fast_mode=fast))


@same_story
def test_inputs_that_lie_in_memory_in_any_way(torch, tell):
    base = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)
    for view in (base.t(), base[:, ::2], base[1], base[1, 2]):
        for fast in (False, True):
            tell(torch.autograd.gradcheck(torch.cos, (view.detach().clone().requires_grad_(),), fast_mode=fast))
            tell(torch.autograd.gradcheck(torch.cos, (view.requires_grad_() * 1,), fast_mode=fast))
        base = base.detach()


@same_story
def test_jacobians(torch, tell):
    from importlib import import_module

    told = import_module(f"{torch.__name__}.autograd.gradcheck")
    x, z, y = real(torch, 1.0, 2.0), complex_(torch, 1 + 1j, 2 - 1j), real(torch, 3.0)
    tell(rounded(told.get_numerical_jacobian(lambda xs: xs[0].sin(), (x,))))
    tell(rounded(told.get_numerical_jacobian(lambda xs: xs[0].sin() * xs[1], (x, y))))
    tell(rounded(told.get_numerical_jacobian(lambda xs: xs[0].sin() * xs[1], (x, y), target=y)))
    tell(rounded(told.get_numerical_jacobian(lambda xs: xs[0].abs(), (z,))))
    tell(rounded(told.get_numerical_jacobian_wrt_specific_input(torch.sin, 0, (x,), (x.sin(),), 1e-6)))
    tell(told.get_analytical_jacobian((x, y), x.sin() * y))
    tell(told.get_analytical_jacobian((z,), z.abs()))
    for call in (
        lambda: told.get_numerical_jacobian(lambda xs: xs[0] * 1j, (x,)),
        lambda: told.get_numerical_jacobian(lambda xs: xs[0], (x,), grad_out=2.0),
        lambda: told.get_analytical_jacobian((x,), x * 1j),
        lambda: told.get_analytical_jacobian((x,), x * 1, grad_out=2.0),
        lambda: told.get_numerical_jacobian_wrt_specific_input(torch.sin, 0, (z,), (z.sin(),), 1e-6),
    ):
        with pytest.raises((ValueError, AssertionError)) as error:
            call()
        tell(error.typename, str(error.value))


def rounded(jacobians: Any) -> list[Any]:
    """Finite differences without the digits that rounding decides."""
    return [
        [[complex(round(complex(v).real, 5), round(complex(v).imag, 5)) for v in row] for row in j.tolist()]
        for j in jacobians
    ]


def test_the_module_and_the_function_go_by_one_name() -> None:
    from torchlite.autograd.differentiable import GradcheckError
    from torchlite.autograd.gradcheck import gradcheck

    assert torchlite.autograd.gradcheck is gradcheck
    assert issubclass(GradcheckError, RuntimeError)
