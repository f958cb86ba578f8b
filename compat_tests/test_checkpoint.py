"""`torch.utils.checkpoint`: the same steps in the same order as PyTorch, the same errors, and less memory."""

from __future__ import annotations

import functools
import gc
import importlib
import weakref

import pytest

import torchlite
from torchlite.utils import checkpoint as lite

from .side_by_side import same_story


def of(torch):
    """`torch.utils.checkpoint` of this library."""
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


def start(torch):
    return torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)


def steps(tell, name="f"):
    """A function of three steps that tells when it has done each."""

    def run(x):
        tell(name, "begins")
        y = x.sin()
        tell(name, "sin")
        z = (y * y).exp()
        tell(name, "exp")
        return z * 2

    return run


@same_story
def test_what_runs_when(torch, tell):
    module, x = of(torch), start(torch)
    for options in ({"use_reentrant": False}, {"use_reentrant": True}, {"use_reentrant": False, "early_stop": False}):
        y = module.checkpoint(steps(tell), x, **options)
        tell(options, y, "backward")
        y.sum().backward()
        tell(x.grad)


@same_story
def test_each_backward_recomputes_once(torch, tell):
    module, x = of(torch), start(torch)
    y = module.checkpoint(steps(tell), x, use_reentrant=False)
    y.sum().backward(retain_graph=True)
    tell(x.grad)
    y.sum().backward()
    tell(x.grad)
    y.sum().backward()


@same_story
def test_gradients_of_gradients(torch, tell):
    x = start(torch)
    y = of(torch).checkpoint(steps(tell), x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    tell(g, torch.autograd.grad(g.sum(), x))


@same_story
def test_backward_inside(torch, tell):
    def run(x):
        tell("begins")
        y = x.sin().exp()
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return g * 2

    x = start(torch)
    of(torch).checkpoint(run, x, use_reentrant=False).sum().backward()
    tell(x.grad)


@same_story
def test_nested(torch, tell):
    module, x = of(torch), start(torch)

    def outer(x):
        tell("outer")
        y = module.checkpoint(steps(tell, "first"), x, use_reentrant=False)
        y = module.checkpoint(steps(tell, "second"), y * y, use_reentrant=False)
        tell("outer ends")
        return y.cos()

    y = module.checkpoint(outer, x, use_reentrant=False)
    tell("backward")
    y.sum().backward()
    tell(x.grad)


@same_story
def test_hooks_around_pack_the_arguments(torch, tell):
    x = start(torch)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: tell("pack", t) or t.detach(), lambda t: tell("unpack", t) or t
    ):
        y = of(torch).checkpoint(lambda a, n, b: (a * b * n).sin().exp(), x, 3, x.detach() * 2, use_reentrant=False)
    tell("backward")
    y.sum().backward()
    tell(x.grad)


@same_story
def test_keyword_arguments_and_results_of_any_kind(torch, tell):
    module, x = of(torch), start(torch)
    y, label, (z,) = module.checkpoint(
        lambda a, *, b, c=1.0: (a * b, "label", [a.exp() * c]), x, b=x * 2, c=3.0, use_reentrant=False
    )
    tell(y, label, z)
    (y.sum() + z.sum()).backward()
    tell(x.grad)
    y, label = module.checkpoint(lambda a, n: (a.exp() * n, n), x, 2, use_reentrant=True)
    y.sum().backward()
    tell(label, x.grad)


@same_story
def test_random_numbers_are_drawn_again(torch, tell):
    module, x = of(torch), start(torch)
    torch.manual_seed(3)
    for options in ({"use_reentrant": False}, {"use_reentrant": True}, {"use_reentrant": False, "early_stop": False}):
        y = module.checkpoint(lambda a: a * torch.rand(2), x, **options)
        before = torch.get_rng_state()
        x.grad = None
        y.sum().backward()
        tell(torch.equal(before, torch.get_rng_state()), torch.equal(x.grad * x.detach(), y.detach()))
    y = module.checkpoint(lambda a: a * torch.rand(2), x, use_reentrant=False, preserve_rng_state=False)
    x.grad = None
    y.sum().backward()
    tell(torch.equal(x.grad * x.detach(), y.detach()))


def changing(*runs):
    """A function that is another each time it is called."""
    turns = iter(runs)
    return lambda x: next(turns)(x)


@same_story
def test_recomputations_that_differ(torch, tell):
    module, x = of(torch), start(torch)

    def short(a):
        return a.sin().exp()

    def long(a):
        return a.sin().cos().exp()

    def single(a):
        return a.float().sin().exp()

    for runs, options in (
        ((short, long), {}),
        ((short, long), {"early_stop": False}),
        ((long, short), {}),
        ((short, single), {}),
        ((short, single), {"determinism_check": "none"}),
        ((lambda a: a.sin(), lambda a: (a * 1)[:1].sin()), {"early_stop": False}),
    ):
        try:
            module.checkpoint(changing(*runs), x, use_reentrant=False, **options).sum().backward()
            tell("passed")
        except module.CheckpointError as error:
            tell(str(error).split("\nTip")[0])


@same_story
def test_refused_arguments(torch, tell):
    module, x = of(torch), start(torch)
    for options in (
        {"use_reentrant": True, "extra": 1},
        {"use_reentrant": True, "debug": True},
        {"use_reentrant": False, "determinism_check": "strict"},
        {"use_reentrant": False, "debug": True, "context_fn": lambda: None},
    ):
        try:
            module.checkpoint(steps(tell), x, **options)
        except ValueError as error:
            tell(error)
    module.checkpoint_sequential([torch.sin], 1, x, use_reentrant=False, extra=1)


@same_story
def test_the_way_must_be_named(torch, tell):
    module, x = of(torch), start(torch)
    tell(module.checkpoint(torch.sin, x))
    tell(module.checkpoint_sequential([torch.sin, torch.cos], 2, x))
    tell(module.checkpoint(torch.sin, x.detach(), use_reentrant=True))


@same_story
def test_what_reentrant_cannot(torch, tell):
    module, x = of(torch), start(torch)
    for run in (
        lambda: torch.autograd.grad(module.checkpoint(torch.sin, x, use_reentrant=True).sum(), x),
        lambda: module.checkpoint(lambda a: a.detach(), x, use_reentrant=True).sum().backward(),
    ):
        try:
            run()
        except RuntimeError as error:
            tell(error)


@same_story
def test_a_changed_argument_is_noticed(torch, tell):
    x = start(torch)
    a = x.clone()
    y = of(torch).checkpoint(lambda a: a.sin().exp(), a, use_reentrant=False)
    a.add_(1)
    y.sum().backward()


@same_story
def test_errors_leave_all_as_it_was(torch, tell):
    module, x = of(torch), start(torch)
    try:
        module.checkpoint(lambda a: a.sin() / 0 if a is None else int("no number"), x, use_reentrant=False)
    except ValueError as error:
        tell(error)
    y = module.checkpoint(changing(torch.sin, lambda a: a.nothing()), x, use_reentrant=False)
    try:
        y.sum().backward()
    except AttributeError:
        tell("failed again")
    tell(torch.is_grad_enabled(), x.exp().grad_fn._raw_saved_result.unpack_hook)
    with torch.no_grad():
        tell(module.checkpoint(torch.sin, x, use_reentrant=False).requires_grad)


@same_story
def test_settings_for_all_calls(torch, tell):
    module, x = of(torch), start(torch)
    with module.set_checkpoint_early_stop(False):
        y = module.checkpoint(steps(tell), x, use_reentrant=False)
    y.sum().backward()
    with module.set_checkpoint_debug_enabled(False):
        module.checkpoint(torch.sin, x, use_reentrant=False, debug=True, context_fn=module.noop_context_fn)


@same_story
def test_in_sequence(torch, tell):
    module, x = of(torch), start(torch)
    functions = [torch.sin, torch.cos, torch.exp, torch.tanh, torch.sin]
    for segments in (1, 2, 3, 5):
        y = module.checkpoint_sequential(functions, segments, x, use_reentrant=False)
        y.sum().backward()
        tell(y, x.grad)


@same_story
def test_groups_of_backward_passes(torch, tell):
    module, x = of(torch), start(torch)
    with module.GraphExecGroup():
        y, z = module.checkpoint(lambda a: (steps(tell)(a), a.cos().exp()), x, use_reentrant=False, early_stop=False)
        y.sum().backward()
        z.sum().backward()
        tell(x.grad)
        y = module.checkpoint(steps(tell), x, use_reentrant=False)
        y.sum().backward(retain_graph=True)
        y.sum().backward()


@same_story
def test_parts(torch, tell):
    module, x = of(torch), start(torch)
    detached = module.detach_variable((x, 1, x.detach()))
    tell(detached, detached[0] is x)
    tell(module.get_device_states(x, [x]), module.noop_context_fn()[0].__enter__())
    module.check_backward_validity((x.detach(), 2))
    module.check_backward_validity((x,))
    module.set_device_states([], [])
    tell(sorted(module.CheckpointPolicy.__members__))
    module.detach_variable([x])


# ---- contexts and selective checkpointing


@same_story
def test_contexts_of_both_runs(torch, tell):
    class Told:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            tell("enter", self.name)

        def __exit__(self, *error):
            tell("exit", self.name, error[0] and error[0].__name__.strip("_") not in ("ValueError",))

    y = of(torch).checkpoint(
        torch.sin,
        start(torch),
        use_reentrant=False,
        early_stop=False,
        context_fn=lambda: (Told("first"), Told("second")),
    )
    y.sum().backward()


def saving(torch, policy):
    return functools.partial(of(torch).create_selective_checkpoint_contexts, policy)


def mm_of(torch):
    return torch.ops.aten.mm.default


@same_story
def test_a_policy_says_what_is_kept(torch, tell):
    module, mm = of(torch), mm_of(torch)
    x = torch.ones(2, 2, requires_grad=True)
    w = torch.full((2, 2), 2.0, requires_grad=True)

    def policy(context, op, *args, **kwargs):
        tell(op is mm, context.op_output, context.is_recompute, len(args))
        return module.CheckpointPolicy.MUST_SAVE if op is mm else module.CheckpointPolicy.PREFER_RECOMPUTE

    for kept in (policy, [mm], lambda *_: True, lambda *_: module.CheckpointPolicy.MUST_CPU_OFFLOAD):
        y = module.checkpoint(
            lambda a, b: torch.mm(a.sin(), b).cos().exp(), x, w, use_reentrant=False, context_fn=saving(torch, kept)
        )
        y.sum().backward()
        tell(x.grad, w.grad)


@same_story
def test_selective_errors(torch, tell):
    module, mm = of(torch), mm_of(torch)
    x = torch.ones(2, 2, requires_grad=True)
    y = module.checkpoint(lambda a: torch.mm(a, a).exp(), x, use_reentrant=False, context_fn=saving(torch, [mm]))
    y.sum().backward(retain_graph=True)

    def overwrite(a):
        b = torch.mm(a, a)
        c = b.sin()
        b.detach().mul_(2)
        return c.exp()

    z = module.checkpoint(overwrite, x, use_reentrant=False, context_fn=saving(torch, [mm]))
    for run in (y.sum().backward, z.sum().backward, lambda: module.create_selective_checkpoint_contexts(3)):
        try:
            run()
        except (RuntimeError, TypeError) as error:
            tell(type(error).__name__, error)


def test_kept_results_are_not_computed_again():
    calls = []
    mm, backend = torchlite.core.machine.registry.registry["mm"], torchlite.backends.get_backend("cpu")
    plain = mm.find_kernel(backend)

    def counted(one, other):
        if one is other:  # of the function, and not of its gradients
            calls.append("mm")
        return plain(one, other)

    x = torchlite.ones(7, 7, requires_grad=True)  # calls of a form that is met nowhere else
    mm.kernels[backend] = counted
    try:
        for contexts, wanted in ((lite.noop_context_fn, 2), (saving(torchlite, [torchlite.ops.aten.mm.default]), 1)):
            calls.clear()
            y = lite.checkpoint(lambda a: torchlite.mm(a, a).exp(), x, use_reentrant=False, context_fn=contexts)
            y.backward(torchlite.ones(7, 7), inputs=[x])
            assert calls.count("mm") == wanted
    finally:
        mm.kernels[backend] = plain


def test_debug_tells_what_ran():
    x = start(torchlite)
    turns = changing(lambda a: a.sin().cos().exp(), lambda a: a.cos().exp())
    y = lite.checkpoint(turns, x, use_reentrant=False, debug=True)
    with pytest.raises(lite.CheckpointError, match=r"original forward:\s+double\[2\] = sin\(double\[2\]\)") as raised:
        y.sum().backward()
    assert "different number of tensors" in str(raised.value.__cause__)


# ---- memory


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


class Live:
    """Counts the bytes that kernels' results hold, and their peak."""

    everything = False

    def __init__(self):
        self.bytes = self.peak = 0

    def __call__(self, op, values, compute):
        results = compute()
        for t in results if isinstance(results, tuple) else (results,):
            if t._array.base is None:
                self.bytes += t.nbytes
                self.peak = max(self.peak, self.bytes)
                weakref.finalize(t, self.freed, t.nbytes)
        return results

    def freed(self, count):
        self.bytes -= count


def held(forward):
    """The bytes that tensors hold after `forward` beside those before, and the peak until the end of backward."""
    from torchlite.core.state.mode import local

    x = torchlite.ones(1000, requires_grad=True)
    live, outer = Live(), local.state.mode
    local.state.mode = outer.but(kernels=live)
    try:
        y = forward(x)
        after = live.bytes
        y.sum().backward()
    finally:
        local.state.mode = outer
    return after, live.peak


def block(x):
    for _ in range(8):
        x = x.sin()
    return x


def blocks(x):
    for _ in range(4):
        x = block(x)
    return x


def checkpointed(x, **options):
    for _ in range(4):
        x = lite.checkpoint(block, x, **options)
    return x


@pytest.mark.parametrize("reentrant", [False, True])
def test_memory_is_saved(no_collector, reentrant):
    kept, peak = held(blocks)
    less, lower = held(functools.partial(checkpointed, use_reentrant=reentrant))
    assert less <= kept / 6
    assert lower <= peak / 2


@pytest.mark.parametrize("reentrant", [False, True])
def test_nothing_outlives_its_graph(no_collector, reentrant):
    x = torchlite.ones(2, requires_grad=True)
    seen = []

    def run(a):
        b = a.exp()
        seen.append(weakref.ref(b))
        return b.sin()

    y = lite.checkpoint(run, x, use_reentrant=reentrant)
    assert [b() for b in seen] == [None]
    y.sum().backward()
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None and [b() for b in seen] == [None, None]


def test_a_failed_recomputation_leaves_nothing(no_collector):
    x = torchlite.ones(2, requires_grad=True)
    a = x.clone()
    argument, node = weakref.ref(a), weakref.ref(a.grad_fn)
    y = lite.checkpoint(changing(lambda a: a.sin().exp(), lambda a: a.cos()), a, use_reentrant=False)
    with pytest.raises(lite.CheckpointError):
        y.sum().backward()
    del y, a
    assert argument() is None and node() is None


@pytest.mark.parametrize("reentrant", [False, True])
def test_another_devices_random_numbers_are_drawn_again(reentrant):
    pytest.importorskip("torchlite.testing.strict")
    x = torchlite.ones(3, device="strict", requires_grad=True)
    y = lite.checkpoint(lambda a: a * torchlite.rand(3, device="strict"), x, use_reentrant=reentrant)
    y.sum().backward()
    assert torchlite.equal(x.grad, y.detach())
    assert lite.get_device_states(x)[0] == [0]


def test_what_is_saved_goes_to_the_cpu_and_comes_back():
    pytest.importorskip("torchlite.testing.strict")
    x = torchlite.ones(3, device="strict", requires_grad=True)
    contexts = functools.partial(
        lite.create_selective_checkpoint_contexts, lambda *_: lite.CheckpointPolicy.MUST_CPU_OFFLOAD
    )
    y = lite.checkpoint(lambda a: a.sin().exp(), x, use_reentrant=False, context_fn=contexts)
    with torchlite.autograd.graph.save_on_cpu():
        z = y.exp()
    device, kept = z.grad_fn._raw_saved_result.data
    assert str(device) == "strict:0" and str(kept.device) == "cpu"
    z.sum().backward()
    assert str(x.grad.device) == "strict:0"


@same_story
def test_a_region_is_run_again_under_the_autocast_it_began_in(torch, tell):
    checkpoint = of(torch).checkpoint
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 3)

    def region(x):
        y = layer(x)
        tell(y.dtype, torch.is_autocast_enabled("cpu"))
        return y

    for reentrant in (False, True):
        x = torch.ones(2, 3, requires_grad=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = checkpoint(region, x, use_reentrant=reentrant)
        y.float().sum().backward()
        tell(x.grad.dtype, layer.weight.grad.dtype)
        y = checkpoint(region, x, use_reentrant=reentrant)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y.sum().backward()
        tell(torch.is_autocast_enabled("cpu"))


@same_story
def test_a_checkpoint_whose_input_was_written_to(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = torch.utils.checkpoint.checkpoint(lambda t: t.sin() * t, y, use_reentrant=False)
    y.mul_(3)
    try:
        z.sum().backward()
    except RuntimeError as error:
        tell(str(error))
