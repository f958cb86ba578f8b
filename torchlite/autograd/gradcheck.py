"""Checks that derivatives are right: `gradcheck` and `gradgradcheck` compare them with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..core.machine import Tensor
from ..core.machine.registry import functions as F
from ..core.values import complex128, float64, warn
from .backward import grad
from .differentiable import GradcheckError, differentiable, requiring_grad, tensors_of

__all__ = [
    "gradcheck", "gradgradcheck", "GradcheckError", "get_numerical_jacobian", "get_analytical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
]  # fmt: skip


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Whether the gradients of `func` at `inputs` are those that central differences with step `eps` give.

    Inputs that require grad are varied, and should be of double precision. Gradients agree within `atol` and `rtol`,
    and two backward passes may differ by `nondet_tol`. `fast_mode` compares random projections of the Jacobians. What
    disagrees is told in a `GradcheckError`, or, without `raise_exception`, by the answer False.
    """
    from .derivative_check import Check

    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    given = tensors_of(inputs)
    try:
        _check_inputs(given)
        check = Check(func, given, eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
        if not check.outputs:
            check.flat()
            return True
        if check_backward_ad:
            for part in check.by_output_parts():
                part.backward_jacobians()
        if check_forward_ad:
            for part in check.by_input_parts():
                part.forward_jacobians()
            if check_undefined_grad:
                check.undefined_tangents()
            if check_batched_forward_grad:
                check.batched_tangents()
        if check_backward_ad:
            if check_batched_grad:
                check.batched_gradients()
            check.multiplied()
            if check_undefined_grad:
                check.undefined_gradients()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
    fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """`gradcheck` of the gradients of `func`, as functions of its inputs and of `grad_outputs`, or else random ones."""
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    given = tensors_of(inputs)
    if grad_outputs is None:
        weights = tuple([_weight(y, gen_non_contig_grad_outputs) for y in differentiable(func(*given))])
    else:
        weights = tensors_of(grad_outputs)

    def gradient(*args: Any) -> tuple[Tensor, ...]:
        xs, weights = args[: len(given)], args[len(given) :]
        wanted = [xs[at] for at in requiring_grad(xs)]
        found = grad(differentiable(func(*xs)), wanted, weights, create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradient, given + weights, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev, masked=masked,
    )  # fmt: skip


def _weight(y: Tensor, with_gaps: bool) -> Tensor:
    """A random gradient for an output, with elements between -1 and 1."""
    shape = (*y.shape, 2) if with_gaps else y.shape
    weight = F["view_as_complex"](_uniform(y, (*shape, 2))) if y.is_complex() else _uniform(y, shape)
    return (weight[..., 0] if with_gaps else weight).requires_grad_()


def _uniform(y: Tensor, shape: Sequence[int]) -> Tensor:
    return F["empty"](shape, dtype=y.dtype.to_real(), device=y.device).uniform_(-1, 1)


def _check_inputs(inputs: Sequence[Any]) -> None:
    varied = requiring_grad(inputs)
    for at in varied:
        x = inputs[at]
        if x.dtype not in (float64, complex128):
            warn(
                f"Input #{at} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. ",
            )
        if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape)):
            raise RuntimeError(
                f"The {at}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    if not varied:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


# ---- the Jacobians themselves


def _retired(name: str, grad_out: float) -> None:
    warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
        "removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be "
        "a stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def _check_real(name: str, outputs: Sequence[Tensor]) -> None:
    if any(y.is_complex() for y in outputs):
        raise ValueError(
            f"Expected output to be non-complex. {name} no longer supports functions that return complex outputs."
        )


def _iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[Tensor]:
    """The tensors in nested sequences."""
    if isinstance(x, Tensor):
        if x.requires_grad or not only_requiring_grad:
            yield x
    elif isinstance(x, Iterable) and not isinstance(x, str):
        for each in x:
            yield from _iter_tensors(each, only_requiring_grad)


def _get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, outputs: Any = None, target: Any = None, eps: float = 1e-3,
    is_forward_ad: bool = False,
) -> list[tuple[Tensor, ...]]:  # fmt: skip
    """For each tensor of `target`, or of the inputs, the Jacobians of all outputs of `fn(*inputs)`, by differences."""
    from .jacobians import numerical

    given = tensors_of(inputs)
    outputs = tensors_of(fn(*given)) if outputs is None else outputs
    if not is_forward_ad:
        _check_real("get_numerical_jacobian", outputs)
    xs = given if target is None else tensors_of(target)
    return [tuple(numerical(lambda: tensors_of(fn(*given)), xs[at], outputs, eps)) for at in requiring_grad(xs)]


def get_numerical_jacobian(
    fn: Callable[[Any], Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """The Jacobians of `fn(inputs)` with respect to `target`, or to all inputs, by finite differences."""
    _retired("get_numerical_jacobian", grad_out)
    return tuple([found[0] for found in _get_numerical_jacobian(lambda *xs: fn(xs), inputs, None, target, eps)])


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any], input_idx: int, inputs: Any, outputs: Any, eps: float, input: Tensor | None = None,
    is_forward_ad: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The Jacobians of all outputs of `fn(*inputs)` with respect to one input, by finite differences."""
    from .jacobians import numerical

    x = inputs[input_idx] if input is None else input
    return tuple(numerical(lambda: tensors_of(fn(*inputs)), x, tensors_of(outputs), eps))


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobians of `output` by backward passes; whether passes repeat, and whether sizes and dtypes are right."""
    from .jacobians import basis, matrix, pulled

    _retired("get_analytical_jacobian", grad_out)
    _check_real("get_analytical_jacobian", (output,))
    given = tensors_of(inputs)
    xs = [given[at] for at in requiring_grad(given)]
    once, again = ([pulled(output, xs, e) for e in basis(output)] for _ in range(2))
    found, repeats = [], True
    for x, first, second in zip(xs, zip(*once), zip(*again)):
        found.append(matrix(first, x, output, 1))
        difference = (found[-1] - matrix(second, x, output, 1)).abs()
        repeats = repeats and bool((difference <= nondet_tol).all())
    present = [(x, g) for gradients in once for x, g in zip(xs, gradients) if g is not None]
    sizes = all(g.shape == x.shape for x, g in present)
    return tuple(found), repeats, sizes, all(g.dtype == x.dtype for x, g in present)
