"""Operations: one declaration each, and what happens when they are called.

A declaration says the signature, the kernel over an array namespace, and the derivatives. Everything else
(broadcasting, promotion, recording, the in-place and `out=` forms, methods) comes from the class of the op:

- `Op`           any signature; the kernel's results are taken as they are
- `Elementwise` (elementwise.py)  operands are promoted and broadcast together; gradients are reduced to each operand's
                 shape and dtype; `Unary` and `Binary` have a fast path for plain tensors of one dtype on one device
- `Along`, `Reduction` (reduction.py)  one tensor, along dimensions
- `ViewOp` (view_op.py)  the result shares the operand's memory

The kernel gets arrays and plain arguments in the order of the signature. What an op declares is in declaration.py, what
it records in recording.py, how it writes in place in in_place.py, how users call it in public_forms.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..machine.operands import (
    alike,
    array_of,
    common_backend,
    computed,
    converted,
    operands_in,
    result_type,
    tensors_in,
)
from ..machine.plan import one_backend, planned
from ..machine.rare import RARE, rare_arguments, refuse_rare
from ..machine.tensor import Tensor, wrap, wrap_shown
from ..machine.view import follow_bases
from ..state import Mode, State, local
from ..values import Array, Backend, dt, out_of_memory
from .public_forms import PublicForms


class Op(PublicForms):
    """An operation of any signature."""

    by_form = True

    @functools.cached_property
    def flat(self) -> Callable[..., Any]:
        """`apply`, with a fast path for plain tensors where there is one (fast.py)."""
        return self.apply if self.fast is None else self.quick

    def as_step(self, values: Sequence[Any]) -> tuple[Callable[..., Any], Sequence[Any]]:
        """What a plan calls, and on what, to run on bound arguments."""
        return (self.applied if self.fast is None else self.flat), values

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool = False) -> list[Any]:
        return self.signature.bind(args, kwargs, method)

    def comes_to(self, *values: Any) -> tuple[Op, Sequence[Any]]:
        """The op, with its arguments, that a call comes to."""
        return self, values

    def find_kernel(self, backend: Backend) -> Callable[..., Any]:
        kernel = self.kernels[backend] = backend.kernel(self)
        return kernel

    def kernel_on(self, backend: Backend) -> Callable[..., Any]:
        return self.kernels.get(backend) or self.find_kernel(backend)

    def apply(self, *values: Any) -> Any:
        """Run on bound arguments, by a plan where there is one for calls of this form."""
        return self.applied(*values)

    @functools.cached_property
    def applied(self) -> Callable[..., Any]:
        """What stands in the place of `apply` from its first call on."""
        made = self.run_bound
        if self.by_form:
            made = planned(lambda args, kwargs: self.comes_to(*args), made, self.plans)
        vars(self)["apply"] = made
        return made

    def run_bound(self, *values: Any) -> Any:
        """Run on bound arguments, without a plan."""
        state = local.state
        return self.run_generally(state, state.mode, values)

    def run_generally(self, state: State, mode: Mode, values: Sequence[Any]) -> Any:
        """Check, lift, compute, wrap, record."""
        if mode.autocast is not None:
            values = mode.autocast.cast(self.signature.name, values)
        if state.adopted:
            follow_bases([t for value in values for t in tensors_in(value)])
        if mode.seer is not None:
            parts = mode.seer.parts(self, values)
            if parts is not None:
                return parts()
        hooks = mode.saved_hooks
        try:
            if self.check is not None:
                self.check(*values)
            backend = common_backend(self, values)
            if backend.level:
                hooks = ()  # what runs on the tensors inside has told them
                results = backend.run(self, values)
            else:
                arguments, out_dtype = self.prepare(values, backend)
                kernel = self.kernels.get(backend) or self.find_kernel(backend)
                if mode.kernels is None:
                    results = self.wrap_results(self.run(state, kernel, arguments, values), out_dtype, backend)
                else:
                    results = self.asked(state, kernel, arguments, values, out_dtype, backend)
        except Exception as error:
            if (instead := out_of_memory(error)) is not error:
                raise instead from None
            for t in [t for value in values for t in tensors_in(value)]:
                if t._backend.level and (first := t._backend.real.lacks(self, values)) is not None:
                    raise first from None
            if mode.grad and self.asks:
                self.check_recordable(values, hooks)
            raise
        if not backend.level and self.recorded and mode.records:
            listed = results if results.__class__ is tuple or results.__class__ is list else (results,)
            if mode.grad:
                self.record(values, listed)
            if mode.moving:
                mode.moving[-1].follow(self, values, listed)
        if self.finish is not None:
            results = self.finish(results, values)
        return results if self.returns is None else self.returns(results)

    def asked(self, state: State, kernel: Any, arguments: Any, values: Any, out_dtype: Any, backend: Backend) -> Any:
        """The results from what the mode asks to run kernels, which may have them already."""

        def compute() -> Any:
            return self.wrap_results(self.run(state, kernel, arguments, values), out_dtype, backend)

        made = state.mode.kernels(self, values, compute)  # type: ignore[misc]  # which there are
        return tuple(made) if isinstance(made, (tuple, list)) else made

    def run(self, state: State, kernel: Callable[..., Any], arguments: Sequence[Any], values: Sequence[Any]) -> Any:
        return self.arranged(state.quiet(kernel, *arguments), values)

    def arranged(self, outputs: Any, values: Sequence[Any]) -> Any:
        """The results with the strides that follow from the operands."""
        return outputs

    def run_lazily(self, values: Sequence[Any]) -> Any:
        """The results where operands stand for the conjugates or negatives of what is in memory."""
        return self.apply(*map(computed, values))

    def prepare(self, values: Sequence[Any], backend: Backend) -> tuple[list[Any], dt.dtype | None]:
        """The kernel's arguments, and the result dtype when it is known beforehand."""
        for value in values:
            if value.__class__ is Tensor and value.dtype in RARE:
                refuse_rare(self.name, value.dtype, values)
                if value.dtype not in dt.UNSIGNED:  # which are promoted and computed in as others are
                    return rare_arguments(self.name, value.dtype, values, backend)
        if self.promote and not alike([values[i] for i in self.promote], backend):
            common = result_type(*[v for i in self.promote for v in operands_in(values[i])])
            values = list(values)
            for i in self.promote:
                values[i] = converted(values[i], common, backend)
        return [array_of(v) for v in values], None

    def wrap_results(self, outputs: Any, out_dtype: Any, backend: Backend) -> Any:
        """Tensors of the kernel's results, in the dtype that `prepare` said; for several, there may be one for each."""
        if outputs.__class__ is tuple or outputs.__class__ is list:
            dtypes = out_dtype if out_dtype.__class__ is tuple else (out_dtype,) * len(outputs)
            return tuple([self.wrap_results(o, d, backend) for o, d in zip(outputs, dtypes, strict=True)])
        if outputs.__class__ is not backend.Array:
            if outputs is None:
                return None
            outputs = backend.asarray(outputs)
        if out_dtype is None:
            out_dtype = dt.of_numpy(outputs.dtype)
        elif outputs.dtype != out_dtype.numpy:
            outputs = local.state.quiet(backend.cast, outputs, out_dtype.numpy)
            if backend.strided and outputs.base is None and not outputs.flags.c_contiguous:
                outputs = outputs[...]  # what is not row-major has a base
        if not backend.strided or outputs.base is None:
            return wrap(outputs, out_dtype, backend)
        if not (outputs.size or self.lays or any(outputs.strides)):  # shows fresh memory, of which NumPy says none
            outputs = self.empty(outputs, backend)
        return wrap_shown(outputs, out_dtype, backend)

    def empty(self, array: Array, backend: Backend) -> Any:
        """Fresh memory in place of an array without elements, row by row."""
        return backend.empty(array.shape, array.dtype)

    def ready(self, values: Sequence[Any], tensors: list[Tensor]) -> tuple[Backend, Any, list[Any], Any] | None:
        """For a plan: the backend, the kernel, its arguments, the result dtype if known; None where there is none."""
        backend = one_backend(self, values, tensors)
        if backend is None:
            return None
        arguments, out_dtype = self.prepare(values, backend)
        return backend, backend.fitted(self.kernel_on(backend), arguments), arguments, out_dtype

    def plan(self, values: Sequence[Any], tensors: list[Tensor], results: Any, which: int | None = None) -> Any:
        """The plan of calls of this form (core/machine/plan.py); None where they have none."""
        listed = (results,) if isinstance(results, Tensor) else tuple(results)
        if not self.by_form or not listed or not all([r is None or isinstance(r, Tensor) for r in listed]):
            return None
        results = results if listed[0] is results else listed
        return self.planner(self, values, tensors, results, *(() if which is None else (which,)))
