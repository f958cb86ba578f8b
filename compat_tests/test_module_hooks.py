"""Hooks of modules: which run, in which order, with what, and what they may change."""

from __future__ import annotations

import collections
import copy

import pytest

import torchlite
from compat_tests.side_by_side import same_story, uncollected


def hook(tell, name, result=None):
    """A hook that tells what it gets, but for the module, which it tells the class of."""

    def called(module, *args):
        tell(name, type(module).__name__, args)
        return result

    return called


def leaf(torch, *shape):
    return torch.ones(*shape or (2,), requires_grad=True)


class Every:
    """Registers a hook of every sort on a module, or on all, and removes them in the end."""

    def __init__(self, torch, tell, module=None, name=""):
        common = torch.nn.modules.module
        if module is None:
            self.handles = [
                common.register_module_forward_pre_hook(hook(tell, "global before forward")),
                common.register_module_forward_hook(hook(tell, "global after forward")),
                common.register_module_forward_hook(hook(tell, "global with kwargs"), with_kwargs=True),
                common.register_module_full_backward_pre_hook(hook(tell, "global before backward")),
                common.register_module_full_backward_hook(hook(tell, "global after backward")),
            ]
        else:
            self.handles = [
                module.register_forward_pre_hook(hook(tell, f"{name} before forward")),
                module.register_forward_pre_hook(hook(tell, f"{name} first before forward"), prepend=True),
                module.register_forward_pre_hook(hook(tell, f"{name} with kwargs"), with_kwargs=True),
                module.register_forward_hook(hook(tell, f"{name} after forward")),
                module.register_forward_hook(hook(tell, f"{name} first after forward"), prepend=True),
                module.register_forward_hook(hook(tell, f"{name} after, with kwargs"), with_kwargs=True),
                module.register_forward_hook(hook(tell, f"{name} always"), always_call=True),
                module.register_full_backward_pre_hook(hook(tell, f"{name} before backward")),
                module.register_full_backward_pre_hook(hook(tell, f"{name} first before backward"), prepend=True),
                module.register_full_backward_hook(hook(tell, f"{name} after backward")),
                module.register_full_backward_hook(hook(tell, f"{name} first after backward"), prepend=True),
            ]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()


@pytest.mark.parametrize("inputs", [True, False])
@pytest.mark.parametrize("everywhere", [True, False])
def test_order(everywhere, inputs):
    @same_story
    def program(torch, tell):
        torch.manual_seed(0)
        m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
        x = leaf(torch, 3, 2) if inputs else torch.ones(3, 2)
        with Every(torch, tell, m, "outer"), Every(torch, tell, m[0], "inner"):
            if everywhere:
                with Every(torch, tell):
                    y = m(x)
            else:
                y = m(x)
            tell("backward")
            y.sum().backward()
        tell(x.grad, [p.grad for p in m.parameters()])
        tell("without")
        m(x).sum().backward()
        tell([len(getattr(m, name)) for name in vars(m) if "hooks" in name])

    program()


@same_story
def test_what_forward_hooks_change(torch, tell):
    nn = torch.nn
    for options in ({}, {"with_kwargs": True}):
        for result in (None, torch.zeros(1), (torch.zeros(1),), (torch.zeros(1), {}), ((torch.zeros(1),), {}), 3):
            for register in ("register_forward_pre_hook", "register_forward_hook"):
                m = nn.Identity()
                getattr(m, register)(hook(tell, register, result), **options)
                try:
                    tell(m(torch.ones(1)))
                except (RuntimeError, TypeError) as error:
                    tell(error)


class Makes:
    """Modules whose `forward` is the function given."""

    def __init__(self, torch, forward):
        class Made(torch.nn.Module):
            pass

        Made.forward = staticmethod(forward)
        self.cls = Made

    def __call__(self):
        return self.cls()


def fails(*args, **kwargs):
    raise ValueError("forward failed")


FAILURES = {
    "forward fails": lambda torch, m, tell: setattr(type(m), "forward", fails),
    "a hook fails": lambda torch, m, tell: m.register_forward_hook(lambda *a: 1 / 0),
    "a hook before fails": lambda torch, m, tell: m.register_forward_pre_hook(lambda *a: 1 / 0),
    "nothing fails": lambda torch, m, tell: None,
}


@pytest.mark.parametrize("failure", FAILURES)
def test_always_called(failure):
    @same_story
    def program(torch, tell):
        m = Makes(torch, lambda x, k=1: x * k)()
        common = torch.nn.modules.module
        m.register_forward_hook(hook(tell, "first"), always_call=True)
        FAILURES[failure](torch, m, tell)
        m.register_forward_hook(lambda *a: 1 // 0, always_call=failure != "nothing fails")
        m.register_forward_hook(hook(tell, "with kwargs", 7), always_call=True, with_kwargs=True)
        m.register_forward_hook(hook(tell, "last"), always_call=True)
        m.register_forward_hook(hook(tell, "not always"))
        handle = common.register_module_forward_hook(hook(tell, "global"), always_call=True, with_kwargs=True)
        other = common.register_module_forward_hook(lambda *a: [][1], always_call=failure == "forward fails")
        try:
            m(torch.ones(1), k=2)
        finally:
            handle.remove()
            other.remove()

    program()


# ---- full backward hooks

FORWARDS = {
    "one": lambda x, y: x * y,
    "a tuple": lambda x, y: (x * 2, y * 3),
    "a named tuple": lambda x, y: Pair(x * 2, 3),
    "a list": lambda x, y: [x * y],
    "a dict": lambda x, y: {"a": x * y},
    "tensors among others": lambda x, y: (3, x * y, None, y),
    "the inputs": lambda x, y: (x, y),
    "no tensor": lambda x, y: 3,
    "detached": lambda x, y: x.detach() * y,
    "views": lambda x, y: tuple((x * y).unbind(0)),
}
Pair = collections.namedtuple("Pair", "a b")

GIVEN = {
    "both": lambda torch: (leaf(torch), leaf(torch)),
    "the first": lambda torch: (leaf(torch), torch.ones(2) * 2),
    "the second": lambda torch: (torch.ones(2) * 2, leaf(torch)),
    "a number": lambda torch: (leaf(torch), 2),
}


def first_tensor(torch, result):
    values = result.values() if isinstance(result, dict) else result if isinstance(result, (tuple, list)) else [result]
    return next((v for v in values if isinstance(v, torch.Tensor) and v.requires_grad), None)


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("forward", FORWARDS)
def test_full_backward_hooks(forward, given):
    @same_story
    def program(torch, tell):
        m = Makes(torch, FORWARDS[forward])()
        m.register_full_backward_pre_hook(hook(tell, "before"))
        m.register_full_backward_hook(hook(tell, "after"))
        inputs = GIVEN[given](torch)
        result = m(*inputs)
        tell(type(result).__name__, result)
        out = first_tensor(torch, result)
        if out is not None:
            out.sum().backward()
        tell([x.grad for x in inputs if isinstance(x, torch.Tensor)])

    program()


@pytest.mark.parametrize("forward", sorted(FORWARDS.keys() - {"a named tuple", "the inputs", "detached"}))
def test_backward_hooks_that_are_not_full(forward):
    @same_story
    def program(torch, tell):
        m = Makes(torch, FORWARDS[forward])()
        m.register_backward_hook(hook(tell, "hook"))
        inputs = leaf(torch), leaf(torch)
        first_tensor(torch, m(*inputs)).sum().backward()
        tell([x.grad for x in inputs])
        m(inputs[0], 2)

    program()


RETURNS = {
    "a tuple": lambda torch: (torch.ones(2) * 7,),
    "a tensor": lambda torch: torch.ones(1) * 7,
    "a longer tensor": lambda torch: torch.ones(2),
    "too much": lambda torch: (torch.ones(2),) * 2,
    "nothing": lambda torch: (),
    "None in a tuple": lambda torch: (None,),
}


@pytest.mark.parametrize("inputs", [True, False])
@pytest.mark.parametrize("returned", RETURNS)
@pytest.mark.parametrize("register", ["register_full_backward_hook", "register_full_backward_pre_hook"])
def test_what_backward_hooks_return(register, returned, inputs):
    @same_story
    def program(torch, tell):
        torch.manual_seed(0)
        m = torch.nn.Linear(2, 2)
        getattr(m, register)(hook(tell, "first", RETURNS[returned](torch)))
        getattr(m, register)(hook(tell, "second"))
        x = leaf(torch, 1, 2) if inputs else torch.ones(1, 2)
        y = m(x)
        y.sum().backward()
        tell(x.grad, m.weight.grad, m.bias.grad)

    program()


@same_story
def test_backward_hooks_where_nothing_is_recorded(torch, tell):
    m = torch.nn.ReLU()
    m.register_full_backward_hook(hook(tell, "after"))
    with torch.no_grad():
        tell(m(leaf(torch)))
    tell(m(torch.ones(2)), m(leaf(torch)).grad_fn.next_functions[0][0].name())


@pytest.mark.parametrize("inplace", [True, False])
def test_results_with_backward_hooks_are_not_written_to(inplace):
    @same_story
    def program(torch, tell):
        m = torch.nn.ReLU(inplace)
        m.register_full_backward_hook(hook(tell, "after"))
        m(leaf(torch) * 2).add_(1)

    program()


@same_story
def test_gradients_that_pass_the_outputs_by(torch, tell):
    kept = []
    m = Makes(torch, lambda x: (kept.append(x), x * 2)[1])()
    m.register_full_backward_hook(hook(tell, "after"))
    x = leaf(torch)
    m(x)
    kept[0].sum().backward()
    tell(x.grad)


@same_story
def test_backward_hooks_run_for_every_backward(torch, tell):
    m = torch.nn.ReLU()
    m.register_full_backward_hook(hook(tell, "after"))
    m.register_full_backward_pre_hook(hook(tell, "before"))
    x = leaf(torch)
    y = m(x).sum()
    y.backward(retain_graph=True)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    tell(g.requires_grad)
    g.sum().backward()
    tell(x.grad)


@same_story
def test_both_sorts_of_backward_hooks(torch, tell):
    common = torch.nn.modules.module
    full, other = torch.nn.ReLU(), torch.nn.ReLU()
    full.register_full_backward_hook(print)
    other.register_backward_hook(print)
    common._global_is_full_backward_hook = None
    for register in (
        full.register_backward_hook, other.register_full_backward_hook, other.register_full_backward_pre_hook,
        common.register_module_backward_hook, common.register_module_full_backward_hook,
        common.register_module_full_backward_pre_hook,
    ):  # fmt: skip
        try:
            register(print).remove()
            tell("registered")
        except RuntimeError as error:
            tell(error)
    common._global_is_full_backward_hook = None


@same_story
def test_hooks_of_all_modules_stand_in_the_module(torch, tell):
    common = torch.nn.modules.module
    handle = common.register_module_forward_hook(print)
    tell(bool(common._has_any_global_hook()), list(common._global_forward_hooks.values()) == [print])
    common._global_forward_hooks.clear()
    handle.remove()


# ---- registration hooks


@same_story
def test_registration_hooks(torch, tell):
    common, nn = torch.nn.modules.module, torch.nn
    told = [
        common.register_module_buffer_registration_hook(lambda m, name, b: tell("buffer", name, b)),
        common.register_module_parameter_registration_hook(lambda m, name, p: tell("parameter", name, p)),
        common.register_module_module_registration_hook(lambda m, name, c: tell("module", name, repr(c))),
    ]
    try:
        m = nn.Module()
        m.register_buffer("a", torch.ones(1))
        m.b = nn.Buffer(torch.ones(1))
        m.b = torch.zeros(1)
        m.b = None
        m.register_parameter("p", nn.Parameter(torch.ones(1)))
        m.p = nn.Parameter(torch.zeros(1))
        m.p = None
        m.add_module("c", nn.ReLU())
        m.c = nn.Tanh()
        m.c = None
        m.add_module("d", None)
    finally:
        for handle in told:
            handle.remove()
    replacing = common.register_module_module_registration_hook(lambda m, name, c: nn.Tanh())
    try:
        m.e = nn.ReLU()
    finally:
        replacing.remove()
    tell(repr(m))


# ---- hooks of state_dict


@same_story
def test_state_dict_hooks(torch, tell):
    inner = torch.nn.ReLU()
    inner.register_buffer("b", torch.ones(1))
    m = torch.nn.Sequential(inner)
    for module, name in ((m, "outer"), (inner, "inner")):
        module.register_state_dict_pre_hook(hook(tell, f"{name} before"))
        module.register_state_dict_post_hook(hook(tell, f"{name} after"))
        module._register_state_dict_hook(hook(tell, f"{name} private"))
        module.register_load_state_dict_pre_hook(hook(tell, f"{name} before loading"))
        module._register_load_state_dict_pre_hook(lambda *args: tell("private before loading", args))
        module._register_load_state_dict_pre_hook(hook(tell, f"{name} with module"), with_module=True)
        module.register_load_state_dict_post_hook(hook(tell, f"{name} loaded"))
    tell(m.state_dict(keep_vars=True))
    tell(m.load_state_dict({"0.b": torch.zeros(1), "x": 1}, strict=False), inner.b)


@same_story
def test_state_dict_hooks_that_return(torch, tell):
    for register in ("register_state_dict_post_hook", "_register_state_dict_hook", "register_state_dict_pre_hook"):
        m = torch.nn.ReLU()
        getattr(m, register)(lambda *a: {"mine": 1})
        try:
            tell(m.state_dict())
        except RuntimeError as error:
            tell(error)
    own = lambda *a: None
    m.register_state_dict_post_hook(own)
    try:
        m._register_state_dict_hook(own)
    except RuntimeError as error:
        tell(error)
    try:
        m.register_state_dict_post_hook(m.forward)
    except AttributeError as error:
        tell(error)
    m.register_load_state_dict_post_hook(lambda *a: 3)
    m.load_state_dict({})


@same_story
def test_load_hooks_may_mend(torch, tell):
    m = torch.nn.Linear(1, 1)

    def rename(module, state, prefix, *rest):
        if prefix + "w" in state:
            state[prefix + "weight"] = state.pop(prefix + "w")

    m.register_load_state_dict_pre_hook(rename)
    m.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    tell(torch.nn.Sequential(m).load_state_dict({"0.w": torch.ones(1, 1)}), m.weight)
    m.register_load_state_dict_pre_hook(lambda *a: a[-1].append("as I say"))
    m.load_state_dict({})


@same_story
def test_hooks_are_copied(torch, tell):
    m = torch.nn.ReLU()
    m.register_forward_hook(lambda module, *rest: tell("forward", module is m))
    m.register_load_state_dict_pre_hook(lambda module, *rest: tell("load", module is m))
    made = copy.deepcopy(m)
    made(torch.ones(1))
    made.load_state_dict({})
    m.load_state_dict({})


@same_story
def test_handles(torch, tell):
    m = torch.nn.ReLU()
    with m.register_forward_hook(hook(tell, "inside"), always_call=True, with_kwargs=True) as handle:
        m(torch.ones(1))
        tell(type(handle).__name__, len(m._forward_hooks_with_kwargs), len(m._forward_hooks_always_called))
    m(torch.ones(1))
    tell(len(m._forward_hooks), len(m._forward_hooks_with_kwargs), len(m._forward_hooks_always_called))
    handle.remove()


@same_story
def test_hooks_that_are_not_to_be_saved(torch, tell):
    hooks = torch.utils.hooks
    t = leaf(torch)
    hooks.warn_if_has_hooks(t)
    t.register_hook(hooks.unserializable_hook(lambda g: g))
    hooks.warn_if_has_hooks(t)
    t.register_hook(print)
    hooks.warn_if_has_hooks(t)


def test_modules_and_graphs_with_hooks_are_freed_at_once():
    def program():
        m = torchlite.nn.Linear(2, 2)
        m.register_full_backward_hook(lambda *a: None)
        m.register_full_backward_pre_hook(lambda *a: None)
        m.register_load_state_dict_pre_hook(lambda *a: None)
        m(torchlite.ones(1, 2, requires_grad=True)).sum().backward()
        m(torchlite.ones(1, 2, requires_grad=True))
        m.state_dict()
        m.double()
        m.lazy = torchlite.nn.LazyLinear(2)

    assert uncollected(program) == []
