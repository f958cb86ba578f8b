"""`torch.library.opcheck` finds in operators what PyTorch's finds, and says it in the same words."""

from __future__ import annotations

import pytest

import torchlite

torch = pytest.importorskip("torch")
BOTH = (torch, torchlite)
SCHEMA, AUTOGRAD, FAKE = "test_schema", "test_autograd_registration", "test_faketensor"
GRAPH = "test_aot_dispatch_dynamic"


def declared(lib, schema, kernel, fake=None, backward=None, name="op"):
    """An operator of a library that lives as long as it is held."""
    library = lib.library.Library("checked", "FRAGMENT")
    library.define(name + schema)
    library.impl(name, kernel, "CPU")
    if fake is not None:
        library.impl(name, fake, "Meta")
    if backward is not None:
        lib.library.register_autograd(f"checked::{name}", backward, lib=library)
    return library, getattr(lib.ops.checked, name).default


def twice(x):
    y = x.sin()
    return y, y


def custom(lib, fake, backward=None, mutates=(), does=lambda x: x.sin()):
    def made(x):
        return does(x)

    made.__annotations__ = {"x": lib.Tensor, "return": lib.Tensor}
    op = lib.library.custom_op("checked::made", made, mutates_args=mutates)
    if fake is not None:
        op.register_fake(fake)
    if backward is not None:
        op.register_autograd(backward)
    return op, op


def writing(lib):
    def add_to(x, y, s=1.0):
        x.add_(y * s)

    add_to.__annotations__ = {"x": lib.Tensor, "y": lib.Tensor, "s": float, "return": None}
    op = lib.library.custom_op("checked::add_to", add_to, mutates_args={"x"})
    return op, op


def randoms(lib, x):
    return lib.randn(3)


# An operator of a library, its arguments, and whether these require gradients.
OPERATORS = {
    "as it should be": (lambda lib: custom(lib, lib.empty_like, lambda ctx, g: g), [(3,)], True),
    "of torch": (lambda lib: (None, lib.ops.aten.sin.default), [(3,)], True),
    "of torch, in place": (lambda lib: (None, lib.ops.aten.add_.Tensor), [(3,), (3,)], False),
    "no fake": (lambda lib: custom(lib, None), [(3,)], False),
    "a wrong shape": (lambda lib: custom(lib, lambda x: lib.empty(4)), [(3,)], False),
    "a wrong dtype": (lambda lib: custom(lib, lambda x: lib.empty_like(x, dtype=lib.float64)), [(3,)], False),
    "wrong strides": (
        lambda lib: custom(lib, lib.empty_like, does=lambda x: x.sin().t().contiguous().t()), [(3, 2)], False,
    ),
    "a hidden write": (lambda lib: custom(lib, lib.empty_like, does=lambda x: x.sin_().clone()), [(3,)], False),
    "a told write": (writing, [(3,), (3,)], False),
    "no formula": (lambda lib: custom(lib, lib.empty_like), [(3,)], True),
    "a gradient of another shape": (lambda lib: custom(lib, lib.empty_like, lambda ctx, g: g[:2]), [(3,)], True),
    "an alias": (lambda lib: declared(lib, "(Tensor x) -> Tensor", lambda x: x, lambda x: x), [(3,)], False),
    "two aliases": (lambda lib: declared(lib, "(Tensor x) -> (Tensor, Tensor)", twice, twice), [(3,)], False),
    "a told alias": (
        lambda lib: declared(lib, "(Tensor(a!) x) -> Tensor(a!)", lambda x: x.sin_(), lambda x: x), [(3,)], False,
    ),
    "recorded by a device": (
        lambda lib: declared(lib, "(Tensor x) -> Tensor", lambda x: x.sin(), lambda x: x.sin()), [(3,)], True,
    ),
    "no fake in a library": (lambda lib: declared(lib, "(Tensor x) -> Tensor", lambda x: x.sin()), [(3,)], False),
    "numbers": (lambda lib: declared(lib, "(Tensor x) -> int", lambda x: 3, lambda x: 4), [(3,)], False),
    "random numbers": (
        lambda lib: declared(
            lib, "(Tensor x) -> Tensor", lambda x: randoms(lib, x), lambda x: lib.empty(3, device="meta")
        ),
        [(3,)], False,
    ),
}  # fmt: skip


def found(lib, case, names):
    make, shapes, requires_grad = case
    held, op = make(lib)
    results = {}
    args = tuple([lib.ones(*shape) for shape in shapes])
    for t in args:
        t.requires_grad_(requires_grad)
    for name in names:
        try:
            results[name] = lib.library.opcheck(op, args, test_utils=name)
        except Exception as error:
            results[name] = type(error).__name__, str(error).replace("torchlite", "torch")
    del held
    return results


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    checks = (SCHEMA, AUTOGRAD, FAKE) if name == "recorded by a device" else (SCHEMA, AUTOGRAD, FAKE, GRAPH)
    ours, theirs = (found(lib, OPERATORS[name], checks) for lib in (torchlite, torch))
    assert ours == theirs


def test_all_results_are_given_where_nothing_is_raised():
    def asked(lib):
        _, op = custom(lib, lambda x: lib.empty(4))
        results = lib.library.opcheck(op, (lib.ones(3),), raise_exception=False)
        return {name: r if isinstance(r, str) else (type(r).__name__, str(r)) for name, r in results.items()}

    assert asked(torchlite) == asked(torch)


def test_what_is_asked_is_looked_at():
    for lib in BOTH:
        with pytest.raises(ValueError, match="expected test_utils to be subset of"):
            lib.library.opcheck(lib.ops.aten.sin.default, (lib.ones(2),), test_utils="test_nothing")
        with pytest.raises(ValueError, match="op must be instance of"):
            lib.library.opcheck("aten::sin", (lib.ones(2),))


def test_kernels_for_every_device():
    def called(lib):
        library = lib.library.Library("everywhere", "FRAGMENT")
        library.define("op(Tensor x) -> Tensor")
        lib.library.impl("everywhere::op", "CompositeExplicitAutograd", lambda x: x + 3, lib=library)
        return lib.ops.everywhere.op(lib.ones(2)).tolist()

    assert called(torchlite) == called(torch)


def test_classes_that_take_operations_over_are_handed_operators():
    def seen(lib):
        asked = []

        class Asked(lib.Tensor):
            @staticmethod
            def __new__(cls, inner):
                made = lib.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
                made.inner = inner
                return made

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                asked.append(str(func))
                return func(*[a.inner if isinstance(a, Asked) else a for a in args])

        _, op = custom(lib, lib.empty_like)
        return op(Asked(lib.zeros(2))).tolist(), asked

    assert seen(torchlite) == seen(torch)
