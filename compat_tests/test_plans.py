"""A call by plan gives what the general way gives: values, strides, history, what nodes keep, gradients."""

import gc
import math
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import torchlite
from compat_tests.parity.library import Library, Missing, differentiable
from compat_tests.side_by_side import same_story, uncollected, warning_always
from torchlite.core.declare import publishing
from torchlite.core.declare.op import Op
from torchlite.core.machine import noted, plan
from torchlite.core.machine.registry import registry
from torchlite.core.structs import renew_defaults
from torchlite.core.values.size import SIZES
from torchlite.operations.making import factory

pytest.importorskip("torch")
from compat_tests.parity import catalog, samples

LIBRARY = Library(torchlite)
DTYPES = ("float32", "int64")
SAMPLES = 3


def observed(value: Any, depth: int = 4) -> Any:
    """All that can be seen of a value, for comparison."""
    if isinstance(value, torchlite.Tensor):
        node = value.grad_fn
        return [
            str(value.dtype), tuple(value.shape), value.stride(), value.storage_offset(), value._version,
            value._is_view(), value.is_leaf, value.requires_grad, LIBRARY.to_numpy(value).tobytes(),
            None if node is None or not depth else observed_node(node, depth - 1),
        ]  # fmt: skip
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *[observed(item, depth) for item in value]]
    return value if value is None or isinstance(value, (bool, int, str)) else repr(value)


def observed_node(node: Any, depth: int) -> Any:
    """A node's name, what it leads to and what it shows of what it keeps."""
    shown = [name for name in dir(node) if name.startswith("_saved_")]
    following = [(None if n is None else observed_node(n, depth - 1), nr) for n, nr in node.next_functions if depth]
    kept = []
    for name in shown:
        try:
            kept.append((name, observed(getattr(node, name), 0)))
        except RuntimeError as error:  # of a view that may not be followed
            kept.append((name, str(error)))
    return [node.name(), kept, following]


def outcome(function: Any, case: Any, grad: bool) -> Any:
    """What one call with fresh arguments, and its backward pass, come to."""
    made: dict[int, Any] = {}
    arguments, keywords = LIBRARY.build(case.arguments, made), LIBRARY.build(case.keywords, made)
    torchlite.manual_seed(1)
    try:
        with torchlite.set_grad_enabled(grad):
            results = function(*arguments, **keywords)
            seen = [observed(results), observed(arguments), torchlite.get_rng_state().sum().item()]
            outputs = differentiable(LIBRARY.tensors_in(results)) if grad else []
            leaves = [t for t in made.values() if t.requires_grad]
            if outputs and leaves:
                gradients = torchlite.autograd.grad(
                    outputs, leaves, [torchlite.ones_like(t) for t in outputs], allow_unused=True
                )
                seen = [seen, observed(gradients)]
    except (RuntimeError, NotImplementedError, IndexError, TypeError, ValueError, AssertionError) as error:
        return [type(error).__name__, str(error)]
    return seen


def names() -> list[str]:
    return sorted(name for name in samples.op_infos() if catalog.has_values(name) and _present(name))


def _present(name: str) -> bool:
    function = samples.operation(name).main.function
    if function is None:
        return False
    try:
        LIBRARY.build(function)
    except (Missing, NotImplementedError):
        return False
    return True


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", names())
def test_calls_of_one_form_are_alike(name: str, dtype: str) -> None:
    function = LIBRARY.build(samples.operation(name).main.function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in samples.cases(name, "samples", dtype, SAMPLES):
            if case.left_out:
                continue
            # The general way twice, the second making a plan; then by plan, which both modes share.
            first = [outcome(function, case, grad) for grad in (True, False)]
            again = [outcome(function, case, grad) for grad in (True, False, True)]
            assert again == [*first, first[0]], case.index


@pytest.mark.parametrize("times", range(3))
def test_calls_that_say_where_results_go_or_give_none(times):
    x, out = torchlite.arange(4.0).reshape(2, 2), torchlite.empty(0)
    assert torchlite.cumsum(x, 0, out=out) is out
    assert out.tolist() == [[0.0, 1.0], [2.0, 4.0]]
    assert torchlite.empty(0, 3).unbind(0) == ()


def test_calls_with_out_are_written_where_they_say_each_time() -> None:
    x, out = torchlite.ones(2, 3), torchlite.empty(0)
    for n in range(4):
        x.add_(1)
        assert torchlite.softmax(x, 1, out=out) is out
        assert torchlite.cat([x, x], out=out) is out
        assert torchlite.zeros(2, out=out) is out
        assert torchlite.sum(x, 1, out=out) is out
        assert out.tolist() == [3.0 * (n + 2)] * 2


STRUCTURES = {
    "tensors in a list": lambda t, x, y: t.cat([x, y], 1),
    "before and after a list": lambda t, x, y: x.index_put((t.tensor([0, 1]),), y[0], True),
    "numbers by name": lambda t, x, y: x.sum(dim=1, keepdim=True),
    "None": lambda t, x, y: t.clamp(x, None, 2.0),
    "what differs only in a number": lambda t, x, y: (x.sum(0, True), x.sum(1, True), x.sum(1, False)),
    "a size": lambda t, x, y: (x + y).permute((1, 0)).clone(),
    "several steps": lambda t, x, y: t.nn.functional.mse_loss(x, y, reduction="sum"),
    "what is made": lambda t, x, y: (t.zeros(2, 3), t.arange(1, 5), t.full((2,), 0.5)),
    "many by place": lambda t, x, y: (x.reshape(1, 2, 1, 3).permute(3, 2, 1, 0).clone(), x.permute(1, 0).clone()),
    "by place and by name": lambda t, x, y: (x.sum(1), x.sum(dim=0), x.sum(1, keepdim=True), x.sum(0, True)),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_calls_are_known_again_without_a_look_at_each_argument(name: str, monkeypatch) -> None:
    torch = pytest.importorskip("torch")
    renew_defaults()  # since no more than a few structures of a function are known at a time

    def found(t: Any) -> list[Any]:
        x = t.arange(6.0).reshape(2, 3).requires_grad_()
        results = STRUCTURES[name](t, x, t.ones(2, 3))
        listed = results if isinstance(results, (tuple, list)) else (results,)
        sum([r.sum() for r in listed if r.requires_grad], (x * x).sum()).backward()
        return [*[(str(r.dtype), r.tolist(), r.stride(), r.requires_grad) for r in listed], x.grad.tolist()]

    for _ in range(4):
        assert found(torchlite) == found(torch)

    def asked(*_: Any) -> Any:
        raise AssertionError("a call that is not known")

    monkeypatch.setattr(plan, "form_of_call", asked)
    monkeypatch.setattr(factory, "form_of_call", asked)
    assert found(torchlite) == found(torch)


def test_a_plan_keeps_no_tensor_and_no_history() -> None:
    w = torchlite.ones(3, 5, requires_grad=True)
    for _ in range(4):
        y = torchlite.cat([w, w * 2]).softmax(1).transpose(0, 1)
    kept = weakref.ref(w), weakref.ref(y)
    gc.disable()
    try:
        del w, y
        assert [r() for r in kept] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("zeros", [(0.0, -0.0), (complex(0, 0.0), complex(0, -0.0))])
def test_plans_tell_zeros_apart_by_their_signs(zeros: tuple[Any, Any]) -> None:
    mask, x = torchlite.tensor([True, False]), torchlite.ones(2, dtype=torchlite.complex64)
    calls = [
        lambda zero: torchlite.full((2,), zero),
        lambda zero: torchlite.where(mask, zero, x),
        lambda zero: torchlite.full_like(x, zero),
    ]
    for call in calls:
        wanted = [str(call(zero).tolist()) for zero in zeros]
        assert wanted[0] != wanted[1]
        for _ in range(3):
            assert [str(call(zero).tolist()) for zero in zeros] == wanted
        for zero, text in zip(zeros, wanted):
            for _ in range(3):
                assert str(call(zero).tolist()) == text


def test_plans_know_the_default_dtype() -> None:
    mask = torchlite.tensor([True, False])
    for _ in range(3):
        assert torchlite.where(mask, 1.0, 2.0).dtype is torchlite.float32
        assert torchlite.zeros(2).dtype is torchlite.float32
        assert torchlite.tensor([1, 2]).mul(1.5).softmax(0).dtype is torchlite.float32
    torchlite.set_default_dtype(torchlite.float64)
    try:
        assert torchlite.where(mask, 1.0, 2.0).dtype is torchlite.float64
        assert torchlite.zeros(2).dtype is torchlite.float64
        assert torchlite.tensor([1, 2]).mul(1.5).softmax(0).dtype is torchlite.float64
    finally:
        torchlite.set_default_dtype(torchlite.float32)


def test_composites_know_the_default_dtype_and_what_is_said_each_time() -> None:
    whole = torchlite.arange(4)
    for d, complex_ in ((torchlite.float32, torchlite.complex64), (torchlite.float64, torchlite.complex128)) * 2:
        before = torchlite.get_default_dtype()
        torchlite.set_default_dtype(d)
        try:
            assert {torchlite.fft.fft(whole).dtype for _ in range(4)} == {complex_}
        finally:
            torchlite.set_default_dtype(before)
    image, even = torchlite.ones(1, 1, 4, 4), torchlite.ones(1, 1, 2, 2)
    with warnings.catch_warnings(record=True) as said, warning_always(torchlite):
        warnings.simplefilter("always")
        for _ in range(4):
            torchlite.nn.functional.conv2d(image, even, padding="same")
    assert len(said) == 4


def test_modes_that_begin_later_are_not_passed_by() -> None:
    x = torchlite.ones(2, 3)
    seen = []

    class Watching(torchlite.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    for _ in range(3):
        torchlite.softmax(x, 1)
    with Watching():
        torchlite.softmax(x, 1)
    assert seen == ["softmax"]
    with torchlite.autocast("cpu", torchlite.bfloat16):
        assert torchlite.nn.functional.linear(x, x).dtype is torchlite.bfloat16
    with torchlite.inference_mode():
        made = torchlite.softmax(x, 1)
        assert made.is_inference() and torchlite.softmax(made, 1).is_inference()
    assert not torchlite.softmax(made, 1).is_inference()


def test_what_a_training_step_is_made_of_is_planned() -> None:
    x, w = torchlite.ones(3, 5), torchlite.ones(3, 5, requires_grad=True)
    target, scale = torchlite.zeros(3, dtype=torchlite.int64), torchlite.ones(5)
    for _ in range(3):
        torchlite.cat([x, w]).softmax(1)
        torchlite.nn.functional.layer_norm(w, (5,), scale, scale)
        torchlite.nn.functional.cross_entropy(w, target)
        torchlite.nn.functional.linear(w, x)
        torchlite.where(x > 0, w, x)
    for name in ("native_layer_norm", "log_softmax.int", "nll_loss_forward"):
        assert any(registry[name].plans.by_form.values()), name
    for name in ("cat", "where", "softmax.int", "_linear", "mm"):
        assert registry[name].by_form, name


def test_a_composite_of_two_ops_is_planned_however_its_operands_are_named():
    x, y, target = torchlite.randn(4, 4), torchlite.randn(4, 4), torchlite.tensor([0, 1, 2, 3])
    loss = torchlite.ops.aten.cross_entropy_loss
    for given in (x, y, x):
        expected = loss(given, target)
        assert loss(target=target, self=given).equal(expected)
        assert torchlite.nn.functional.cross_entropy(given, target).equal(expected)
        assert expected.allclose(-given.log_softmax(1)[range(4), range(4)].mean())


def test_composites_of_several_ops_stay_what_they_are_from_call_to_call():
    functional = torchlite.nn.functional
    x, target = torchlite.tensor([[1.0, 2.0, 3.0], [3.0, 1.0, 0.5]]), torchlite.tensor([2, 0])
    weight = torchlite.tensor([1.0, 2.0, 0.5])
    calls = {
        "cross_entropy": lambda x: functional.cross_entropy(x, target),
        "weighted": lambda x: functional.cross_entropy(x, target, weight, reduction="sum"),
        "by its old names": lambda x: functional.cross_entropy(x, target, None, False),
        "mse_loss": lambda x: functional.mse_loss(x, x.detach() * 2),
        "layer_norm": lambda x: functional.layer_norm(x, (3,), weight).sum(),
        "norm": lambda x: x.norm() + x.norm(1) + x.norm(2, 0).sum(),
        "flatten": lambda x: (x.flatten() * x.T.flatten(0, 1)).sum() + x.pow(3).sum() + x.var(),
    }
    for name, call in calls.items():
        seen = []
        for _ in range(4):
            leaf = x.clone().requires_grad_()
            result = call(leaf)
            result.backward()
            seen.append((result.item(), result.grad_fn.name(), leaf.grad.tolist(), call(x).requires_grad))
        assert seen[1:] == seen[:-1], name
    with pytest.raises(IndexError, match="out of bounds"):
        functional.cross_entropy(x, target + 1)
    with pytest.raises(ValueError, match="batch_size"):
        functional.cross_entropy(x, target[:1])


def test_plans_that_are_dropped_leave_nothing_to_the_collector(monkeypatch) -> None:
    monkeypatch.setattr(plan, "_MOST", 4)

    def program() -> None:
        for n in range(1, 40):
            x = torchlite.ones(n, 3, requires_grad=True)
            for _ in range(4):
                x.softmax(1), torchlite.cat([x, x]), x.reshape(-1)

    assert uncollected(program) == []


def test_what_lies_strangely_has_plans_too(monkeypatch):
    called: list[str] = []
    general = Op.run_generally
    monkeypatch.setattr(Op, "run_generally", lambda op, *rest: called.append(op.name) or general(op, *rest))
    spread, turned = torchlite.ones(()).expand(5, 1), torchlite.ones(1, 3).t()
    for call in (lambda: spread.sum([0], True), lambda: turned.mm(torchlite.ones(1, 2)), lambda: turned.softmax(0)):
        first = observed(call())
        call(), call()
        called.clear()
        assert observed(call()) == first
        assert not called


def test_what_comes_to_other_ops_is_planned_whichever_these_are(monkeypatch):
    x, row, image = torchlite.randn(3, 4), torchlite.randn(4), torchlite.randn(1, 2, 6, 6)
    leaf = torchlite.randn(3, 4, requires_grad=True)
    functional = torchlite.nn.functional
    calls: dict[str, Any] = {
        "a view like another": lambda: x.view_as(torchlite.ones(4, 3)),
        "a view of a leaf": lambda: leaf.view(-1),
        "several of a leaf": lambda: leaf.chunk(2, 1),
        "of two ops": lambda: torchlite.outer(row, row),
        "of many": lambda: torchlite.trapezoid(x, dx=0.5),
        "of a list": lambda: torchlite.hstack([x, x]),
        "one of several results": lambda: torchlite.msort(x),
        "all of them": lambda: torchlite.ops.aten.max_pool2d_with_indices(image, (2, 2)),
        "of a module": lambda: functional.avg_pool2d(image, 2),
        "between two numbers": lambda: functional.hardtanh(x, -0.5),
    }
    called: list[str] = []
    general, composed = Op.run_generally, noted.steps_of
    monkeypatch.setattr(Op, "run_generally", lambda op, *rest: called.append(op.name) or general(op, *rest))
    monkeypatch.setattr(publishing, "steps_of", lambda *given: called.append("noted") or composed(*given))
    for name, call in calls.items():
        with torchlite.no_grad():
            first = observed(call())
            call(), call()
            called.clear()
            assert observed(call()) == first, name
        assert not called, name
        recorded = observed(call())
        assert [observed(call()) for _ in range(3)] == [recorded] * 3, name
    assert leaf.view(-1).requires_grad


@pytest.mark.parametrize("draw", [
    lambda lib, x: lib.rand_like(x), lambda lib, x: lib.randn_like(x), lambda lib, x: lib.rand_like(x.double()),
    lambda lib, x: lib.randn_like(x.t()), lambda lib, x: lib.randint(3, 9, (5,)), lambda lib, x: lib.randperm(7),
    lambda lib, x: lib.randint_like(x, 9), lambda lib, x: lib.randint(2**40, (3,)), lambda lib, x: x.exponential_(2),
    lambda lib, x: lib.rand_like(x, generator=lib.default_generator),
    lambda lib, x: lib.randint(9, (2,), dtype=lib.int32), lambda lib, x: lib.randn_like(x + 1j),
    lambda lib, x: lib.randn(3, dtype=lib.complex128), lambda lib, x: lib.rand_like(x + 1j),
])  # fmt: skip
def test_draws_by_plan_are_those_of_pytorch(draw):
    import torch

    seen = []
    for lib in (torch, torchlite):
        lib.manual_seed(5)
        results = [draw(lib, lib.zeros(2, 9)) for _ in range(6)]
        seen.append([(str(t.dtype), t.stride(), t.requires_grad, t._version, t.tolist()) for t in results])
        seen[-1].append(lib.rand(1).item())
    assert seen[0] == seen[1]


def test_forms_that_take_turns_keep_their_own_plans():
    import torch

    seen: list = [[], []]
    for lib, results in zip((torch, torchlite), seen):
        x, y = lib.arange(6.0).view(2, 3), lib.arange(6).view(3, 2)
        for turn in range(30):
            some = (x, y, x.T, x.double())[turn % 4 if turn > 12 else turn // 4]
            made = [some.cumsum(turn % 2), some.max(turn % 2)[0], lib.zeros(turn % 3, 2)]
            made.append(lib.lerp(x, x + 1, (0.0, -0.0, 0.5)[turn % 3]))
            results.append([(str(t.dtype), t.stride(), t.double().tolist()) for t in made])
    assert seen[0] == seen[1]


def test_draws_of_several_laws_take_turns_in_numbers_that_are_made_ahead():
    import torch

    seen = []
    for lib in (torch, torchlite):
        lib.manual_seed(8)
        for turn in range(60):
            draws = [lib.randn(4, 4), lib.rand(2, turn % 4), lib.randn(2, 16), lib.rand(3), lib.randn(8, 64)]
            draws += [lib.rand(16) if turn % 3 else lib.randn(17), lib.randn(4, 4), lib.randn(0, 16)]
            seen.append([(t.shape, t.stride(), t._version, t.flatten().view(lib.int32).tolist()) for t in draws])
        seen.append(lib.get_rng_state().tolist())
    assert seen[:61] == seen[61:]


def test_draws_in_the_form_of_another_tensor_know_of_transforms():
    x = torchlite.ones(3)
    for _ in range(4):
        torchlite.rand_like(x)

    def drawn(t):  # a tensor of the gradient alone, among elements that are to be told apart
        many = torchlite.func.vmap(lambda _: torchlite.rand_like(t), randomness="different")(torchlite.zeros(4))
        return (many * t).sum(), many

    _, many = torchlite.func.grad(drawn, has_aux=True)(x)
    assert len(set(map(tuple, many.tolist()))) == 4


def test_a_composite_that_reads_numbers_or_writes_is_not_planned():
    x = torchlite.randn(3, 4)

    def written(t):
        return (t + 1).clamp_min_(0)

    def asked(t):
        return t * 2 if bool((t > 0).any()) else t * 3

    def handed_on(t):
        return t

    def made(t):
        return t + torchlite.ones(4)

    for f in (written, asked, handed_on, made):
        assert noted.steps_of(f, (x,)) is None, f.__name__
    assert noted.steps_of(lambda t: t.exp().sum(), (x,)) is not None


WRITES: dict[str, Any] = {  # the arguments of calls in place, of which some are made for a library
    "relu_": (), "sigmoid_": (), "neg_": (), "clamp_": (-0.5, 0.5), "pow_": (2,), "tril_": (), "cumsum_": (0,),
    "fmod_": (0.75,), "lerp_": lambda lib: (halves(lib), 0.25), "addcmul_": lambda lib: (halves(lib), halves(lib)),
    "masked_fill_": lambda lib: (lib.arange(12).reshape(3, 4) > 5, 0.25), "hypot_": lambda lib: (halves(lib),),
    "index_fill_": lambda lib: (0, lib.tensor([0, 2]), 3.0), "copysign_": lambda lib: (halves(lib),),
    "index_add_": lambda lib: (0, lib.tensor([1, 1]), halves(lib)[:2]), "uniform_": (-1, 2), "bernoulli_": (0.25,),
    "addmm_": lambda lib: (halves(lib), lib.full((4, 4), 0.25)), "normal_": (2.0, 3.0), "exponential_": (),
    "random_": (3, 9),
}  # fmt: skip


def halves(lib: Any) -> Any:
    return lib.full((3, 4), 0.5)


def numbers_in(value: Any) -> Iterator[Any]:
    for item in value if isinstance(value, (tuple, list)) else ():
        yield from numbers_in(item)
    if not isinstance(value, (tuple, list)):
        yield value


@pytest.mark.filterwarnings("ignore:Use of")
@pytest.mark.parametrize("name", WRITES)
def test_writes_by_plan_are_those_of_pytorch(name):
    import torch

    seen = []
    for lib in (torch, torchlite):
        lib.manual_seed(3)
        seen.append([])
        x, given = lib.linspace(-1, 1, 12).reshape(3, 4), WRITES[name]
        arguments = given(lib) if callable(given) else given
        call = lambda target: getattr(target, name)(*arguments)  # noqa: B023
        for make in [lambda t: t] * 4 + [lambda t: t.clone().t().contiguous().t(), lambda t: t.clone()[:]] * 3:
            target = make(x)
            assert call(target) is target
            seen[-1].append((target.tolist(), target.stride(), target._version, target.requires_grad))
        for _ in range(3):  # with a history
            leaf = lib.full((3, 4), 0.75, requires_grad=True)
            target = leaf * 1
            call(target)
            (target * 2).sum().backward()
            seen[-1].append((target.tolist(), target._version, type(target.grad_fn).__name__, leaf.grad.tolist()))
            with pytest.raises(RuntimeError, match="leaf"):
                call(leaf)
            with lib.no_grad():
                call(leaf)
            seen[-1].append((leaf.tolist(), leaf._version))
            try:
                call(lib.full((1, 4), 0.5).expand(3, 4))
                seen[-1].append("allowed")
            except RuntimeError as error:
                seen[-1].append(str(error))
    for a, b in zip(numbers_in(seen[0]), numbers_in(seen[1]), strict=True):
        assert a == b or a == pytest.approx(b, rel=1e-6)


def test_writes_by_plan_look_at_memory_each_time():
    for _ in range(4):
        x = torchlite.arange(12.0)
        with pytest.raises(RuntimeError, match="single memory location"):
            x[:6].addcmul_(x[3:9], x[6:])
        x[:6].addcmul_(torchlite.ones(6), x[6:])
        assert x._version == 1 and x[:2].tolist() == [6, 8]
        y = torchlite.arange(4.0)
        y.addcmul_(y, y)
        assert y.tolist() == [0, 2, 6, 12]


REFUSING = {
    "soft_margin_loss": lambda lib, g: lib.nn.functional.soft_margin_loss(lib.ones(3), g(3)),
    "nll_loss": lambda lib, g: lib.nn.functional.nll_loss(lib.ones(2, 3), lib.tensor([0, 1]), weight=g(3)),
    "cross_entropy": lambda lib, g: lib.nn.functional.cross_entropy(lib.ones(2, 3), lib.tensor([0, 1]), weight=g(3)),
    "entropy": lambda lib, g: lib.nn.functional.binary_cross_entropy(lib.ones(3), lib.ones(3), weight=g(3)),
    "with_logits": lambda lib, g: (
        lib.nn.functional.binary_cross_entropy_with_logits(lib.ones(3), lib.ones(3), pos_weight=g(3))
    ),
    "multi_margin_loss": lambda lib, g: (
        lib.nn.functional.multi_margin_loss(lib.ones(2, 3), lib.tensor([0, 1]), weight=g(3))
    ),
    "batch_norm": lambda lib, g: lib.nn.functional.batch_norm(lib.ones(2, 3), g(3), lib.ones(3)),
    "pinv": lambda lib, g: lib.linalg.pinv(lib.ones(2, 2), atol=g()),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSING)
def test_histories_are_refused_whatever_was_called_before(name):
    def told(lib):
        def call(requires_grad):
            try:
                REFUSING[name](lib, lambda *size: lib.ones(size, requires_grad=requires_grad))
            except RuntimeError as error:
                return str(error)
            return None

        with lib.no_grad():
            first = call(True)
        return [first, call(True), *[call(False) for _ in range(4)], call(True)]

    assert told(torchlite) == told(pytest.importorskip("torch"))


def test_numbers_that_tensors_hold_are_read_in_each_call():
    def told(lib):
        x = lib.arange(6.0).reshape(2, 3)
        sizes = [
            [lib.repeat_interleave(x, lib.tensor([n]), 0).shape, lib.repeat_interleave(x, lib.tensor(n)).shape]
            for n in (1, 1, 2, 2, 3)
        ]
        places = [lib.ones(3).to_sparse().index_select(0, lib.tensor(at)).to_dense() for at in ([0], [0], [1, 2], [1])]
        return [[tuple(size) for size in pair] for pair in sizes], [place.tolist() for place in places]

    assert told(torchlite) == told(pytest.importorskip("torch"))


@same_story
def test_numbers_beside_tensors_are_those_of_pytorch_however_often_they_come(torch, tell):
    floats, ints = torch.tensor([0.0, -0.0, 1.5, 3e38]), torch.tensor([1, -2, 2**62])
    with torch.no_grad():
        for number in (1, -1, 2**24 + 1, 2**53 + 1, 2**62, 0.1, -0.0, 1e-46, 3e38, math.inf, math.nan) * 3:
            tell(floats + number, floats * number, floats == number, floats.clone().mul_(number))
            tell(floats.double() - number)
        for number in (1, -3, 2**40, 2**62, -(2**63)) * 3:
            tell(ints + number, ints * number, ints < number, ints.clone().add_(number))


@same_story
def test_views_by_plan_show_the_places_that_pytorchs_show(torch, tell):
    for wants in (False, True, False):
        x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_(wants)
        for source in (x, x.mT, x.transpose(0, 2), x[:, :1], x[1], x.select(2, 1), x[:1].expand(2, 3, 4), x[0, 0]):
            for _ in range(4):
                views = (
                    source.unsqueeze(0), source.unsqueeze(-1), source.transpose(0, -1), source.narrow(0, 0, 1),
                    source.select(-1, 0), source.movedim(0, -1), source.squeeze(), *source.chunk(2), *source.unbind(-1),
                )  # fmt: skip
                for v in views:
                    tell(v, v.shape, v.stride(), v.storage_offset(), v._is_view(), v.requires_grad, v.grad_fn)
                if wants:
                    tell(torch.autograd.grad(sum([(v * v).sum() for v in views]), x))


def test_shapes_that_are_kept_are_sizes_of_ints():
    x = torchlite.ones(2, 3)
    assert x.shape is not None and type(x.shape) is torchlite.Size and x.shape == (2, 3) and x.shape.numel() == 6
    for n in range(5000):  # more than are kept
        assert torchlite.empty(n, 1).shape == (n, 1)
    assert len(SIZES) < 5000 and x.shape == torchlite.Size([2, 3])


def test_warnings_of_functions_that_know_calls_again_point_at_those_who_call():
    for _ in range(4):
        torchlite.tensor([1.0, 2.0]).sum(0)
        with pytest.warns(UserWarning, match="will be deprecated") as told:
            torchlite.nn.functional.mse_loss(torchlite.ones(2), torchlite.ones(2), size_average=False)
        assert told[0].filename == __file__
