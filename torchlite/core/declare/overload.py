"""Functions that are several ops, of which a call means the first that it fits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..machine import ALONG_DIMS, dispatch, needs_dispatch, planned, public, refuse_out
from ..state import local
from .in_place import InPlaceForm
from .op import Op
from .schema import refusal
from .told import tell


def overloaded(name: str, *ops: Any, inplace: bool = False) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A function and a method (or their in-place forms) that choose among ops by what the call fits, in order."""

    # By how many arguments are given, and which by name: the ops that may be meant.
    candidates: dict[tuple[Any, ...], tuple[Op, ...]] = {}

    def choose(args: tuple[Any, ...], kwargs: dict[str, Any], method: bool) -> Any:
        if "out" in kwargs:
            refuse_out(name, method)
        out = kwargs.pop("out", None)
        form = (method, len(args), *kwargs)
        fitting = candidates.get(form)
        if fitting is None:
            fitting = tuple([op for op in ops if op.signature.fits(args, kwargs, method)])
            if fitting:
                candidates[form] = fitting
        for op in fitting:
            if out is not None and name in ALONG_DIMS and not op.signature.overload:
                continue
            values = op.signature.bind(args, kwargs, method, must=False)
            if values is None:
                continue
            if inplace:
                return op.apply_in_place(values)
            return op.apply(*values) if out is None else op.given_out(out, values)
        given = kwargs if out is None else {**kwargs, "out": out}
        raise refusal(name, [op.signature for op in ops], args, given, method)

    def caller(method: bool) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if local.state.mode.direct:
                fitting = candidates.get((method, len(args), *kwargs))
                if fitting is not None and len(fitting) == 1:
                    op = fitting[0]
                    values = op.signature.at_once(args, kwargs)
                    if values is not None:
                        return op.apply_in_place(values) if inplace else op.apply(*values)
            if needs_dispatch(args, kwargs):
                return dispatch(call, args, kwargs)
            return choose(args, kwargs, method)

        made = call
        if any([op.in_place_by_form if inplace else op.by_form for op in ops]):
            made = planned(functools.partial(found, method), call, in_place=inplace)
            public[call] = made
        return tell(made, name, [op.signature for op in ops], method, out=False if inplace else None)

    def found(method: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op that a call comes to, and its bound arguments; None where it comes to no single one."""
        for op in candidates.get((method, len(args), *kwargs), ()):
            values = op.signature.bind(args, kwargs, method, must=False)
            if values is not None and inplace:
                return (InPlaceForm(op), values) if op.in_place_by_form else None
            if values is not None:
                return op.comes_to(*values) if op.by_form else None
        return None

    return caller(False), caller(True)
