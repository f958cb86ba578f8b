"""Softmax and its logarithm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.declare import ITSELF, Along, Op, describe, publish, refused
from ...core.machine import LEADING, Made, Tensor
from ...core.state import Mode, State
from ...core.values import Array, Backend, Namespace, dt, wrap_dim
from ...kernels.summing import add_reduce
from ..gradient_kernels import by_kernel_of
from ..making.copy import cast

NOT_FLOAT = (dt.bool_, *dt.INTEGERS, *dt.UNSIGNED, *dt.COMPLEXES, *dt.EIGHT_BITS)


def _shifted(xp: Namespace, array: Array, axis: int) -> Any:
    """The array less its largest element along `axis`, in fresh memory laid out row by row."""
    largest = array.max(axis, keepdims=True)
    if array.flags.c_contiguous:
        return array - largest
    return xp.subtract(array, largest, xp.empty(array.shape, array.dtype))


def _softmax(xp: Namespace, array: Array, axis: int) -> Any:
    if not array.size:
        return array.copy()
    result = _shifted(xp, array, axis)
    xp.exp(result, result)
    result /= add_reduce(xp, result, axis, True)
    return result


def _log_softmax(xp: Namespace, array: Array, axis: int) -> Any:
    if not array.size:
        return array.copy()
    result = _shifted(xp, array, axis)
    result -= xp.log(add_reduce(xp, xp.exp(result), axis, True))
    return result


def _both_wide(op: Op, values: Any, backend: Backend) -> tuple[Any, ...]:
    """Halves are computed in float32, which some kernels do by themselves."""
    g, output, dim, d = values
    wide = output.dtype in dt.HALVES and (d is not output.dtype or not backend.takes_halves(op))
    compute = dt.float32 if wide else output.dtype
    arrays = [t._array if t.dtype is compute else backend.cast(t._array, compute.numpy) for t in (g, output)]
    axis = wrap_dim(dim, arrays[0].ndim)
    return [*[a if a.ndim else a.reshape(1) for a in arrays], axis], d


# What the gradients of softmaxes from those of their results have in common.
_BACK: dict[str, Any] = {
    "prepare": _both_wide, "by_form": True, "batch": LEADING,
    "arranged": lambda op, outputs, values: outputs if values[0].dim() else outputs.reshape(()),
}  # fmt: skip


def _softmax_backward(xp: Namespace, g: Array, output: Any, axis: int, input_dtype: Any = None) -> Any:
    weighted = xp.multiply(g, output, xp.empty(g.shape, g.dtype))
    weighted -= output * add_reduce(xp, weighted, axis, True)
    return weighted


softmax_backward = Op(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype)",
    _softmax_backward,
    {
        "grad_output": ITSELF,
        "output": lambda g, grad_output, output, dim: (
            g * (grad_output - (grad_output * output).sum(dim, True)) - grad_output * (g * output).sum(dim, True)
        ),
    },
    **_BACK,
    shows="dim",
)
publish(softmax_backward, method=False)


def _log_softmax_backward(xp: Namespace, g: Array, output: Array, axis: int, input_dtype: Any = None) -> Any:
    result = xp.exp(output, xp.empty(output.shape, output.dtype))
    result *= -add_reduce(xp, g, axis, True)
    result += g
    return result


log_softmax_backward = Op(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype)",
    _log_softmax_backward,
    {
        "grad_output": lambda g, output, dim: g - (g * output.exp()).sum(dim, True),
        "output": lambda g, grad_output, output, dim: -g * output.exp() * grad_output.sum(dim, True),
    },
    **_BACK,
)
publish(log_softmax_backward, method=False)


class _Softmax(Along):
    """The operand is converted to the dtype that is asked for by a step of its own."""

    by_form = True

    def comes_to(self, *values: Any) -> Any:
        t, dim, d = values
        return (self, values) if d in (None, t.dtype) else [(cast, (t, d, None)), (self, (Made(0), dim, None))]

    def run_generally(self, state: State, mode: Mode, values: Sequence[Any]) -> Any:
        t, dim, d = values
        if d not in (None, t.dtype) and mode.seer is None:  # modes are shown the steps in their own words
            return self.apply(t.to(d), dim, None)
        return super().run_generally(state, mode, values)


def _declare(name: str, kernel: Any, back: Op, label: str) -> Along:
    """The public op, and the one with an underscore, which other ops' gradients are written with."""
    refuse, refuse_last = refused(label, *NOT_FLOAT), refused(label.replace("_kernel", "_lastdim_kernel"), *NOT_FLOAT)

    def vjp(g: Tensor, result: Tensor, dim: int, self_dtype: dt.dtype) -> Tensor:
        return back.apply(g, result, dim, result.dtype if self_dtype.is_complex else self_dtype)

    def check(self: Tensor, dim: int, d: dt.dtype | None) -> None:
        if self._array.size and dim in (-1, max(self.dim() - 1, 0)) and (error := refuse_last(self.dtype)):
            raise error

    inner = Along(
        f"_{name}(Tensor self, int dim, bool half_to_float)",
        lambda xp, array, axis, half_to_float: kernel(xp, array, axis),
        vjp,
        refuse=refuse,
        complex_gradients=False,
    )
    publish(inner, method=False)
    schema = f"{name}.int(Tensor self, int dim, ScalarType? dtype=None)"
    op = _Softmax(
        schema, kernel, vjp, check_form=check, refuse=refuse, exact_out=True,
        on_arrays=by_kernel_of(back, renamed={"output": "result"}),
        seen_as=lambda self, dim, dtype=None: (f"_{name}", (self, dim, False)),
    )  # fmt: skip
    publish(op)
    return op


softmax = _declare("softmax", _softmax, softmax_backward, "softmax_kernel_impl")
log_softmax = _declare("log_softmax", _log_softmax, log_softmax_backward, "log_softmax_kernel_impl")


describe(
    log_softmax="The logarithm of `softmax` along a dimension, computed stably.",
    softmax="""Exponentials along a dimension, divided by their sum: positive numbers that add up to 1.

    >>> torch.softmax(torch.tensor([0.0, 0.0, 0.0, 0.0]), dim=0)
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """,
)
