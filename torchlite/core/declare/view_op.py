"""Views: ops whose results share their operand's memory, version and history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..machine import LEADING, UNVERSIONED, Tensor
from ..machine.view import INFERENCE, MULTI_OUTPUT, NO_GRAD, ORDINARY, View, follow_bases, resolve, view_of
from ..machine.view_plan import plan_view
from ..state import Mode, State
from ..values import Backend, out_of_memory
from .op import Op


class ViewOp(Op):
    """The result is a view: it shares memory, version and history with its operand, the first argument.

    The kernel returns an array over the same memory, or a list of them.
    """

    linear = True
    batch = LEADING
    lays = True
    planner = staticmethod(plan_view)
    by_form = True

    def __init__(self, *args: Any, multi: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        self.kind = MULTI_OUTPUT if multi else ORDINARY

    @staticmethod
    def given(t: Any, source: Tensor) -> Any:
        """A tensor that a dispatch mode gave as a view, to be given its history here."""
        if not isinstance(t, Tensor) or t._backend.level:
            return t
        if t is source or t._edge.__class__ is not View:
            return t._alias()
        t._edge = None  # it was made where nothing is recorded
        return t

    def shown(self, backend: Backend, array: Any, values: Sequence[Any]) -> tuple[tuple[Tensor, ...], bool]:
        """The views that the kernel makes of an array, and whether it returned a list."""
        kernel = self.kernels.get(backend) or self.find_kernel(backend)
        try:
            made = kernel(array if array.size else backend.definite(array), *values[1:])
        except ValueError as error:
            raise out_of_memory(error) from None
        if made.__class__ is list or made.__class__ is tuple:
            return tuple([self.wrap_results(array, None, backend) for array in made]), True
        return (self.wrap_results(made, None, backend),), False

    def run_generally(self, state: State, mode: Mode, values: Sequence[Any]) -> Any:
        """Show, and give the view its history."""
        source: Tensor = values[0]
        if state.adopted:
            follow_bases((source,))
        backend = source._backend.real
        grad = mode.grad
        if grad and source._edge.__class__ is View:  # PyTorch asks for histories first, and some may not be asked for
            resolve(source)
        if self.check is not None:
            self.check(*values)
        kind = INFERENCE if mode.inference else self.kind if grad else NO_GRAD
        noted = mode.seer is not None and mode.seer.everywhere
        if not backend.strided and not noted:
            made = backend.run(self, values)
            if not backend.shows:
                return made
            several = isinstance(made, tuple)
            results = made if several else (made,)
        else:
            if mode.seer is not None:
                made = mode.seer(self, values)
                several = isinstance(made, (tuple, list))
                results = tuple([self.given(t, source) for t in (made if several else (made,))])
            else:
                results, several = self.shown(backend, source._array, values)
            if grad and source._edge is not None and self.rules:
                self.record(values, results)
            if mode.moving and self.rules:
                mode.moving[-1].follow(self, values, results)
        for r in results:
            if r._edge.__class__ is View or r._backend.handed:  # made by other views, as a batching rule may do
                continue
            if source._counter is UNVERSIONED:
                r._counter = UNVERSIONED
                continue
            view = r._edge = view_of(source, r._edge, kind, self, tuple(values[1:]))
            r._counter = view.base._counter
        return results if several else results[0]
