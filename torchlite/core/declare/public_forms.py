"""The public forms of an op: the function, the method, the operator, the in-place method, `out=`."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Container, Sequence
from typing import Any, Self

from ..machine.operands import tensors_in
from ..machine.out_dtypes import BEFORE_DIMS, KEEPS_DTYPE, check_out_dtype
from ..machine.out_forms import refuse_out
from ..machine.out_history import refuse_history
from ..machine.overrides import dispatch, needs_dispatch, public
from ..machine.plan import Plans, planned
from ..machine.tensor import Tensor
from ..machine.tensor_base import TensorBase
from ..machine.write import into
from ..state import is_watched, local
from ..values import dt
from .in_place import InPlace, InPlaceForm
from .schema import Signature
from .told import tell


def left_to_other(call: Callable[..., Any]) -> Callable[..., Any]:
    """`call` as an operator: what it cannot take is left to the other operand's method."""

    @functools.wraps(call)
    def call_or_leave(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except TypeError:
            return NotImplemented

    return call_or_leave


def _told_of_write(out: Any, values: Sequence[Any]) -> Any:
    """Who is told of a write to a tensor given, if anybody: a dispatch mode, or the classes of tensors."""
    if is_watched():
        return local.state.mode.seer
    return next((t._backend.real for v in (out, *values) for t in tensors_in(v) if t._backend.handed), None)


class PublicForms(InPlace):
    """An op as users call it."""

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], method: bool) -> Any:
        """A call as the user wrote it."""
        if needs_dispatch(args, kwargs):
            return dispatch(function, args, kwargs)
        if "out" in kwargs and "out" not in self.signature.by_name:
            refuse_out(self.signature.name, method)
            out = kwargs.pop("out")
            if out is not None:
                return self.given_out(out, self.bind(args, kwargs, method))
        return self.apply(*self.bind(args, kwargs, method))

    def given_out(self, out: Any, values: Sequence[Any]) -> Any:
        """The `out=` form. What has no derivative may write into whatever there is."""
        if self.recorded:
            refuse_history(self.signature.name, out, values)
        if self.check_out is not None:
            self.check_out(out, values)
        told = _told_of_write(out, values) if isinstance(out, TensorBase) else None
        if told is not None:
            told.out(self, out, values)
            return out
        return self.into(out, values)

    def into(self, out: Any, values: Sequence[Any]) -> Any:
        """Compute, and write the results to where they are wanted. What is refused may be `out` before all else."""
        try:
            at_once = self.written_at_once(values)
            return into(out, self.apply, values, self.signature.name, self.exact_out, self.elementwise, at_once)
        except (IndexError, NotImplementedError) as error:
            name = self.signature.name
            if isinstance(out, TensorBase) and name in (BEFORE_DIMS if isinstance(error, IndexError) else KEEPS_DTYPE):
                check_out_dtype(name, values[0].dtype, out.dtype, exact=self.exact_out)
            raise

    def written_at_once(self, values: Sequence[Any]) -> Container[dt.dtype]:
        """The dtypes of `out=` that PyTorch's kernel writes to without a cast, beside that of the results."""
        return ()

    def function(self, method: bool = False) -> Callable[..., Any]:
        """The public function, or a method that is called just like it."""
        if self.fast is None:
            return self.general_function(method)
        return self.told(self.fast(self, True), True) if method else self.quick

    @functools.cached_property
    def quick(self) -> Callable[..., Any]:
        """The public function of an op that has a fast path."""
        assert self.fast is not None
        return self.told(self.fast(self), False)

    def _copied(self) -> Self:
        """A twin to be changed, whose function is still to be made."""
        twin = copy.copy(self)
        vars(twin).pop("quick", None)
        return twin

    def general_function(self, method: bool = False) -> Callable[..., Any]:
        """The function where there is no faster way; calls have plans where they are alike."""
        op, at_once = self, self.signature.at_once

        def call(*args: Any, **kwargs: Any) -> Any:
            if local.state.mode.direct:
                values = at_once(args, kwargs)
                if values is not None:
                    return op.apply(*values)
            return op.call(call, args, kwargs, method)

        return self.told(self.by_plan(call, method), method)

    def by_plan(self, general: Callable[..., Any], method: bool) -> Callable[..., Any]:
        """`general`, or a way around it where calls can be planned."""
        if not self.by_form:
            return general
        op = self
        call = planned(lambda args, kwargs: op.comes_to(*op.bind(args, kwargs, method)), general, Plans(op.levels))
        public[general] = call
        return call

    def method(self) -> Callable[..., Any]:
        """The method: as the function, but a lone list of ints may be spread over its arguments."""
        if self.fast is not None or not self.signature.variadic:
            return self.function(True)
        op = self

        def call(*args: Any, **kwargs: Any) -> Any:
            return op.call(call, args, kwargs, True)

        return self.told(self.by_plan(call, True), True)

    def operator(self, name: str = "") -> Callable[..., Any]:
        """The method as an operator calls it: operands that do not fit are left to the other one's reflected method."""
        twin = self._copied()

        def call_or_leave(function: Callable[..., Any], args: tuple[Any, ...], *more: Any) -> Any:
            if name and not isinstance(args[0], Tensor):
                kind = type(args[0]).__name__
                raise TypeError(
                    f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a '{kind}' object"
                )
            if self.operand_from is not None:
                args = (args[0], self.operand_from(args[1]))
            return left_to_other(self.call)(function, args, *more)

        vars(twin)["call"] = call_or_leave
        return twin.function(method=True)

    def call_in_place(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], method: bool = True
    ) -> Any:
        """A call of the in-place form as the user wrote it."""
        if needs_dispatch(args, kwargs):
            return dispatch(function, args, kwargs)
        return self.apply_in_place(self.signature_in_place.bind(args, kwargs, method))

    @functools.cached_property
    def signature_in_place(self) -> Signature:
        return self.signature.called(self.signature.name + "_")

    def operator_in_place(self) -> Callable[..., Any]:
        """The in-place method as an operator calls it."""
        twin = self._copied()
        vars(twin)["call_in_place"] = left_to_other(self.call_in_place)
        return twin.inplace()

    def inplace(self, method: bool = True) -> Callable[..., Any]:
        """The in-place method, or the function that does the same."""
        if self.fast_in_place is not None and method:
            return self.told(self.fast_in_place(self), True, "_")
        op, at_once = self, self.signature.at_once

        def call(*args: Any, **kwargs: Any) -> Any:
            if local.state.mode.direct:
                values = at_once(args, kwargs)
                if values is not None:
                    return op.apply_in_place(values)
            return op.call_in_place(call, args, kwargs, method)

        made = call
        if self.in_place_by_form:
            bind = self.signature_in_place.bind
            made = planned(lambda args, kwargs: (InPlaceForm(op), bind(args, kwargs, method)), call, in_place=True)
            public[call] = made
        return self.told(made, method, "_")

    def called(self, name: str) -> Self:
        """The op under another name, by which it refuses what it cannot bind; what is bound, this one runs."""
        if name == self.signature.name:
            return self
        twin = self._copied()
        in_place = self.signature.called(name + "_")
        vars(twin).update(signature=self.signature.called(name), signature_in_place=in_place)
        ways = "apply", "apply_in_place", "as_step", "comes_to", "given_out"
        vars(twin).update({way: getattr(self, way) for way in ways})
        return twin

    def told(self, call: Callable[..., Any], method: bool, suffix: str = "") -> Callable[..., Any]:
        return tell(call, self.signature.name + suffix, [self.signature], method, out=False if suffix else None)
