"""`torch.library.opcheck`: whether an operator does what its schema and its registrations say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._ops import Operator, OpOverload
from .._subclasses.fake_tensor import FakeTensorMode, MetadataMismatchError
from ..autograd.backward import grad
from ..core.machine import Tensor, functions
from ..core.state import local, silent
from ..fx.experimental.proxy_tensor import make_fx
from ..random import default_generator
from ..testing import assert_close
from ..utils._pytree import tree_flatten, tree_leaves, tree_map_only, tree_unflatten


class OpCheckError(Exception):
    """A check of an operator failed."""


def _copied(values: Any) -> Any:
    """The arguments over memory of their own, as leaves."""
    return tree_map_only(Tensor, lambda t: t.detach().clone().requires_grad_(t.requires_grad), values)


def _same(a: Tensor, b: Tensor, **tolerances: Any) -> bool:
    try:
        assert_close(a, b, equal_nan=True, **tolerances)
    except AssertionError:
        return False
    return True


def _equal(a: Any, b: Any, **tolerances: Any) -> bool:
    return _same(a.detach(), b.detach(), **tolerances) if isinstance(a, Tensor) else a == b


def _memory(values: Any) -> set[int]:
    return {t.untyped_storage().data_ptr() for t in tree_leaves(values) if isinstance(t, Tensor) and t.numel()}


def _named(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """The arguments of the schema that the call gives, each with its value."""
    said = op._schema.arguments
    yield from zip(said, args, strict=False)
    yield from [(a, kwargs[a.name]) for a in said[len(args) :] if a.name in kwargs]


# ---- the checks


def _schema(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **_: Any) -> None:
    """Whether the call writes to, and shares memory with, just the arguments that the schema marks."""
    args, kwargs = _copied((args, kwargs))
    before = dict(enumerate([_copied(value) for _, value in _named(op, args, kwargs)]))
    made = op(*args, **kwargs)
    results = list(made) if isinstance(made, tuple | list) else [made]
    shared: set[str] = set().union(*[r.alias_info.before_set for r in op._schema.returns if r.alias_info is not None])
    for at, (said, value) in enumerate(_named(op, args, kwargs)):
        was = [t for t in tree_leaves(before[at]) if isinstance(t, Tensor)]
        now = [t for t in tree_leaves(value) if isinstance(t, Tensor)]
        if not said.is_write and not all(map(_unwritten, now, was)):
            raise RuntimeError(f"Argument {said.name} is not defined as mutable but was mutated")
        marked = said.alias_info is not None and said.alias_info.before_set & shared
        if not marked and _memory(value) & _memory(results):
            raise RuntimeError(f"Argument {said.name} is not defined to alias output but was aliasing")
    for at, first in enumerate(results):
        for other in range(at + 1, len(results)):
            if _memory(first) & _memory(results[other]):
                raise RuntimeError(f"Outputs {at} and {other} alias unexpectedly")


def _unwritten(now: Tensor, was: Tensor) -> bool:
    return now.shape == was.shape and _same(now.detach(), was.detach(), rtol=0, atol=0)


def _autograd(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **_: Any) -> None:
    """Whether a kernel of a device records what it does by itself."""
    if not isinstance(op, Operator) or op.recorded or op.above is not None or op.whole is not None:
        return
    made = op(*_copied(args), **_copied(kwargs))
    if any(isinstance(t, Tensor) and t.requires_grad for t in tree_leaves(made)):
        raise AssertionError(
            f"{op.name()}: at least one output of this operator has requires_grad=True but the operator does not have "
            "an autograd kernel defined at an autograd key (e.g. DispatchKey::Autograd). This could mean that you have "
            "incorrectly registered an autograd kernel to a non-Autograd DispatchKey, which may lead to silently "
            "incorrect results. If your operator consists of regular PyTorch operations, consider not using an "
            "operator at all or registering your operator as CompositeImplicitAutograd. If you have an "
            "autograd.Function registered to a backend (CPU/CUDA/XPU) key, the correct location for it is the Autograd "
            "key."
        )


def _fake(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **_: Any) -> None:
    """Whether the results on fakes have the shapes, dtypes, devices and strides of those on tensors."""
    mode = FakeTensorMode()
    fakes = tree_map_only(Tensor, mode.from_tensor, (args, kwargs))
    with mode:
        made = local.state.within(silent(local.state.mode), op, *fakes[0], **fakes[1])
    real = local.state.within(silent(local.state.mode), op, *_copied(args), **_copied(kwargs))
    ours, theirs = [[t for t in tree_leaves(v) if isinstance(t, Tensor)] for v in (made, real)]
    said = f"When comparing the output of {op} on FakeTensor and concrete Tensors, found mismatch"
    if len(ours) != len(theirs):
        raise MetadataMismatchError(f"{said} in number of returns {len(ours)} != {len(theirs)}")
    for fake, t in zip(ours, theirs, strict=True):
        for what, a, b in (("Shapes", t.shape, fake.shape), ("Dtypes", t.dtype, fake.dtype),
                           ("Devices", t.device, fake.device)):  # fmt: skip
            if a != b:
                raise MetadataMismatchError(f"{said}ed tensor metadata: {what} {a} and {b} are not equal!")
        a, b = t.stride(), fake.stride()
        unlike = [at for at, n in enumerate(t.shape) if n > 1 and a[at] != b[at]] if t.numel() else []
        if unlike:
            raise MetadataMismatchError(
                f"{said}ed tensor metadata: Stride mismatch! Strides are {a} and {b} (mismatched at {unlike[0]})!"
            )


def _graph(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **tolerances: Any) -> None:
    """Whether a graph of the call and its gradients, traced with fakes, gives the same values as the call."""
    if isinstance(op, Operator) and any(r.alias_info is not None for r in op._schema.returns):
        raise RuntimeError(
            f"Found a custom (non-ATen) operator whose output has alias annotations: {op._schema}. We only support "
            "functionalizing operators whose outputs do not have alias annotations (e.g. 'Tensor(a)' is a Tensor with "
            "an alias annotation whereas 'Tensor' is a Tensor without. The '(a)' is the alias annotation). The alias "
            "annotation specifies that the output Tensor shares storage with an input that has the same annotation. "
            "Please check if (1) the output needs to be an output (if not, don't return it), (2) if the output doesn't "
            "share storage with any inputs, then delete the alias annotation. (3) if the output indeed shares storage "
            "with an input, then add a .clone() before returning it to prevent storage sharing and then delete the "
            "alias annotation. Otherwise, please file an issue on GitHub."
        )
    leaves, spec = tree_flatten((list(args), kwargs))
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    random_state = default_generator.get_state()

    def call(*tensors: Tensor) -> list[Any]:
        default_generator.set_state(random_state)
        for i, t in zip(at, tensors, strict=True):
            leaves[i] = t
        given, named = tree_unflatten(leaves, spec)
        made = tree_leaves(op(*given, **named))
        outputs = [t for t in made if isinstance(t, Tensor) and t.requires_grad]
        wanted = [t for t in tensors if t.requires_grad and t.is_leaf] if outputs else []
        found = grad([functions["sum"](t) for t in outputs], wanted, allow_unused=True) if wanted else ()
        return [*made, *[g for g in found if g is not None]]

    given = [leaves[i] for i in at]
    eager = call(*_copied(given))
    graph = make_fx(call, tracing_mode="fake")(*_copied(given))
    default_generator.set_state(random_state)
    traced = tree_leaves(graph(*[t.detach() for t in _copied(given)]))
    if len(eager) != len(traced) or not all(_equal(a, b, **tolerances) for a, b in zip(eager, traced)):
        raise RuntimeError(
            "Outputs of the operator are different in eager-mode PyTorch vs AOTDispatcher tracing. This means the "
            "operator will have incorrect output underneath torch.compile. This could be because the operator's "
            "implementation not traceable."
        )


_CHECKS: dict[str, Callable[..., None]] = {
    "test_schema": _schema,
    "test_autograd_registration": _autograd,
    "test_faketensor": _fake,
    "test_aot_dispatch_static": _graph,
    "test_aot_dispatch_dynamic": _graph,
}


def checked(op: Any, args: Any, kwargs: Any, names: Sequence[str], raises: bool, **tolerances: Any) -> dict[str, Any]:
    """The results of the checks of these names: "SUCCESS", or the error."""
    if not isinstance(op, OpOverload):
        raise ValueError(
            "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
            f"{type(op)}"
        )
    if not {*names} <= {*_CHECKS}:
        raise ValueError(
            f"opcheck(op, ..., test_utils={tuple(names)}), expected test_utils to be subset of {tuple(_CHECKS)} but it "
            "was not"
        )
    found: dict[str, Any] = {}
    for name in names:
        try:
            _CHECKS[name](op, args, kwargs, **tolerances)
            found[name] = "SUCCESS"
        except Exception as error:
            if raises:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            found[name] = error
    return found
