"""`torch._foreach_*`: an op on each tensor of a list.

The forms of each function are in the table below. In all of them an argument that is a list has one item for each
tensor, and any other serves for all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Composite, publish, publish_python, published, seen_whole
from ...core.machine import Tensor, functions, public
from ..reductions.vector_norms import vector_norm

_SCALAR = "Scalar(Tensor[] self, Scalar scalar)"
_LIST = "List(Tensor[] self, Tensor[] other)"
_SCALARS = "ScalarList(Tensor[] self, Scalar[] scalars)"
_TENSOR = "Tensor(Tensor[] self, Tensor other)"
_LIST_ALPHA = "List(Tensor[] self, Tensor[] other, *, Scalar alpha=1)"
_TENSOR_ALPHA = "Tensor(Tensor[] self, Tensor other, *, Scalar alpha=1)"
_WITH_VALUE = (
    "ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars)",
    "Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars)",
    "Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1)",
)

# The names of the functions -> their forms. Where `self` is a list, there is a twin that works in place.
_FORMS: dict[str, Sequence[str]] = {
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc": ("(Tensor[] self)",),
    "add": (_TENSOR_ALPHA, _SCALAR, _SCALARS, _LIST_ALPHA),
    "sub": (_SCALAR, _SCALARS, _LIST_ALPHA),
    "mul div": (_TENSOR, _SCALAR, _SCALARS, _LIST),
    "clamp_max clamp_min maximum minimum": (_SCALAR, _SCALARS, _LIST),
    "addcdiv addcmul": _WITH_VALUE,
    "lerp": (
        "Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight)",
        "ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight)",
        "List(Tensor[] self, Tensor[] tensors1, Tensor[] weights)",
    ),
    "pow": (
        "ScalarAndTensor(Scalar self, Tensor[] exponent)",
        "Scalar(Tensor[] self, Scalar exponent)",
        "ScalarList(Tensor[] self, Scalar[] exponent)",
        "List(Tensor[] self, Tensor[] exponent)",
    ),
}

# Methods that go by another name where an operand may be a number.
_METHODS = {"maximum": "clamp_min", "minimum": "clamp_max"}


def _spread(self: Sequence[Tensor], values: Sequence[Any]) -> list[Sequence[Any]]:
    """The arguments for each tensor in turn."""
    if not self:
        raise RuntimeError("Tensor list must have at least one tensor.")
    count, spread = len(self), []
    for v in values:
        if not isinstance(v, (list, tuple)):
            v = [v] * count
        elif len(v) != count:
            if v and isinstance(v[0], Tensor):
                raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(v)}")
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        spread.append(v)
    return list(zip(self, *spread))


def _scalar_tensor(t: Tensor) -> Tensor:
    if t.dim():
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {t.dim()} dimensions and {t.numel()} elements."
        )
    return t


def _scalars(packed: Tensor, count: int) -> list[Any]:
    """The numbers of a tensor of one for each tensor."""
    if packed.dim() != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {packed.dim()} instead.")
    if len(packed) != count:
        found = len(packed)
        raise RuntimeError(f"Expected length of scalars to match input of length {count} but got {found} instead.")
    return packed.tolist()


def _method(name: str) -> Callable[..., Any]:
    """What calls a method; it may be declared later than the functions here."""
    return lambda t, *args, **kwargs: getattr(t, name)(*args, **kwargs)


def _caller(form: str, method: Callable[..., Any]) -> Callable[..., list[Any]]:
    """What calls `method` on each tensor, with the arguments of this form."""
    if "alpha" in form:
        single = form.startswith("Tensor")

        def with_alpha(self: Any, other: Any, alpha: Any) -> list[Any]:
            other = _scalar_tensor(other) if single else other
            return [method(t, o, alpha=alpha) for t, o in _spread(self, (other,))]

        return with_alpha
    if "tensor2" in form:

        def with_value(self: Any, tensor1: Any, tensor2: Any, value: Any) -> list[Any]:
            for tensors in (tensor1, tensor2):
                if len(tensors) != len(self):
                    raise RuntimeError(
                        f"Tensor lists must have the same number of tensors, got {len(self)} and {len(tensors)}"
                    )
            value = _scalars(value, len(self)) if isinstance(value, Tensor) else value
            return [method(t, a, b, value=v) for t, a, b, v in _spread(self, (tensor1, tensor2, value))]

        return with_value
    if form.startswith("ScalarAnd"):
        return lambda self, exponents: [functions["pow"](self, e) for (e,) in _spread(exponents, ())]
    if form.startswith("Tensor"):
        return lambda self, other: [method(*each) for each in _spread(self, (_scalar_tensor(other),))]
    return lambda *lists: [method(*each) for each in _spread(lists[0], lists[1:])]


def _published(name: str, forms: Sequence[str], call: Callable[[str], Callable[..., Any]]) -> None:
    """Publish the forms of one function; `call(form)` is what a form does."""
    if len(forms) == 1:
        publish_python(name + forms[0], seen_whole(name + forms[0])(call(forms[0])), method=False)
    else:
        texts = [f"{name}.{form}" for form in forms]
        shown = [seen_whole(text)(call(form)) for text, form in zip(texts, forms)]
        publish(*map(Composite, texts, shown), names=name, method=False)
    if name.endswith("_"):
        functions[name] = _giving_back(functions[name])


def _giving_back(change: Callable[..., Any]) -> Callable[..., Any]:
    """A function that changes tensors gives back the very list it got."""

    @functools.wraps(change)
    def call(*args: Any, **kwargs: Any) -> Sequence[Tensor]:
        change(*args, **kwargs)
        return args[0] if args else kwargs["self"]

    public[change] = call
    return call


def _publish_each(name: str, forms: Sequence[str]) -> None:
    method = _METHODS.get(name, name)

    def results(form: str) -> Callable[..., tuple[Tensor, ...]]:
        call = _caller(form, _method(method))
        return lambda *values: tuple(call(*values))

    in_place = [form for form in forms if "[] self" in form]
    _published(f"_foreach_{name}", forms, results)
    _published(f"_foreach_{name}_", in_place, lambda form: _caller(form, _method(method + "_")))


for _names, _forms in _FORMS.items():
    for _name in _names.split():
        _publish_each(_name, _forms)


# ---- those of a form of their own


def _of_each(schema: str, f: Callable[..., Any], overload: str = "default") -> None:
    """Publish a function that gives the results of `f` on each tensor."""

    def each(self: Any, *more: Any) -> tuple[Any, ...]:
        return tuple([f(t, *more) for (t,) in _spread(self, ())])

    publish_python(schema, seen_whole(schema, overload)(each), method=False)


_of_each(
    "_foreach_norm(Tensor[] self, Scalar ord=2, *, ScalarType? dtype=None)",
    lambda t, ord, dtype: vector_norm.apply(t, ord, None, False, dtype),
    "Scalar",
)
_of_each(
    "_foreach_powsum(Tensor[] self, Scalar ord=2, *, ScalarType? dtype=None)",
    lambda t, ord, dtype: ((t if dtype is None else t.to(dtype)).abs() ** ord).sum(),
    "Scalar",
)
_of_each("_foreach_max(Tensor[] self)", lambda t: t.max())
_of_each(
    "_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None)",
    lambda t, memory_format: t.clone() if memory_format is None else t.clone(memory_format=memory_format),
)
publish_python(
    "_foreach_mm(Tensor[] self, Tensor[] mat2)",
    lambda self, mat2: tuple([a.mm(b) for a, b in _spread(self, (mat2,))]),
    method=False,
)


def _copy(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool) -> None:
    for t, source in _spread(self, (src,)):
        t.copy_(source)


_published("_foreach_zero_", ["(Tensor[] self)"], lambda form: _caller(form, _method("zero_")))
_published("_foreach_copy_", ["(Tensor[] self, Tensor[] src, bool non_blocking=False)"], lambda form: _copy)


@published(
    "_amp_foreach_non_finite_check_and_unscale_(Tensor[] self, Tensor found_inf, Tensor inv_scale)", method=False
)
def _unscale(self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply gradients by the inverse of their scale, and note where one of them is not finite."""
    for grad in self:
        if not bool(grad.isfinite().all()):
            found_inf.fill_(1)
        grad.mul_(inv_scale)
