"""Modules: what they are made of, how they are saved and loaded, moved, copied and shown."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

import torchlite
from compat_tests.side_by_side import same_story


def module(torch, **parts):
    """A module with these attributes."""
    m = torch.nn.Module()
    for name, part in parts.items():
        setattr(m, name, part)
    return m


def net(torch):
    """A small network with weights of ones, a buffer, and a shared layer."""
    torch.manual_seed(0)
    nn = torch.nn
    shared = nn.Linear(2, 2)
    m = nn.Sequential(shared, nn.ReLU(), nn.Sequential(nn.Linear(2, 3, bias=False), shared))
    m.register_buffer("seen", torch.zeros(1))
    m.register_buffer("passing", torch.ones(1), persistent=False)
    return m


def with_module(torch, do):
    """What `do` makes of a fresh module."""
    m = torch.nn.Module()
    do(m)
    return list(m._parameters), list(m._buffers), list(m._modules), sorted(m._non_persistent_buffers_set)


def parameter(torch, *shape):
    return torch.nn.Parameter(torch.ones(*shape or (2,)))


REGISTRATIONS = {
    "buffer without a string": lambda torch, m: m.register_buffer(3, None),
    "buffer with a dot": lambda torch, m: m.register_buffer("a.b", None),
    "buffer without a name": lambda torch, m: m.register_buffer("", None),
    "buffer with a name taken": lambda torch, m: m.register_buffer("training", None),
    "buffer of a number": lambda torch, m: m.register_buffer("a", 3),
    "buffer of a module": lambda torch, m: m.register_buffer("a", torch.nn.ReLU()),
    "empty buffer": lambda torch, m: m.register_buffer("a", None),
    "buffer not to be saved": lambda torch, m: m.register_buffer("a", torch.ones(1), persistent=False),
    "buffer first not to be saved": lambda torch, m: [
        m.register_buffer("a", torch.ones(1), persistent=persistent) for persistent in (False, True)
    ],
    "parameter without a string": lambda torch, m: m.register_parameter(3, None),
    "parameter with a dot": lambda torch, m: m.register_parameter("a.b", None),
    "parameter without a name": lambda torch, m: m.register_parameter("", None),
    "parameter with a name taken": lambda torch, m: m.register_parameter("training", None),
    "parameter of a tensor": lambda torch, m: m.register_parameter("a", torch.ones(1)),
    "parameter of a double tensor": lambda torch, m: m.register_parameter("a", torch.ones(1).double()),
    "parameter over a buffer": lambda torch, m: (
        m.register_buffer("a", torch.ones(1)), m.register_parameter("a", parameter(torch))
    ),
    "parameter twice": lambda torch, m: [m.register_parameter("a", parameter(torch)) for _ in range(2)],
    "empty parameter": lambda torch, m: m.register_parameter("a", None),
    "module without a string": lambda torch, m: m.add_module(3, None),
    "module with a dot": lambda torch, m: m.add_module("a.b", None),
    "module without a name": lambda torch, m: m.register_module("", None),
    "module with a name taken": lambda torch, m: m.add_module("training", None),
    "module of a number": lambda torch, m: m.add_module("a", 3),
    "module of a tensor": lambda torch, m: m.add_module("a", torch.ones(2)),
    "empty module": lambda torch, m: m.add_module("a", None),
    "no such attribute": lambda torch, m: m.nothing,
    "delete no such attribute": lambda torch, m: delattr(m, "nothing"),
}  # fmt: skip


@pytest.mark.parametrize("what", REGISTRATIONS)
def test_registering(what):
    @same_story
    def program(torch, tell):
        tell(with_module(torch, lambda m: REGISTRATIONS[what](torch, m)))

    program()


PARTS = {
    "parameter": lambda torch: parameter(torch),
    "buffer": lambda torch: torch.nn.Buffer(torch.ones(2)),
    "passing buffer": lambda torch: torch.nn.Buffer(torch.ones(2), persistent=False),
    "module": lambda torch: torch.nn.ReLU(),
    "tensor": lambda torch: torch.ones(2),
    "number": lambda torch: 3,
    "None": lambda torch: None,
    "class": lambda torch: torch.nn.Linear,
}


@pytest.mark.parametrize("second", PARTS)
@pytest.mark.parametrize("first", PARTS)
def test_assigning_one_after_another(first, second):
    @same_story
    def program(torch, tell):
        m = torch.nn.Module()
        m.a = PARTS[first](torch)
        tell(list(m._parameters), list(m._buffers), list(m._modules), sorted(m._non_persistent_buffers_set))
        try:
            m.a = PARTS[second](torch)
        except TypeError as error:
            tell(error)
        tell(list(m._parameters), list(m._buffers), list(m._modules), sorted(m._non_persistent_buffers_set))
        tell("a" in m.__dict__, m.a, list(m.state_dict()))
        del m.a
        tell(list(m._parameters), list(m._buffers), list(m._modules), hasattr(m, "a"))

    program()


@pytest.mark.parametrize("part", ["parameter", "buffer", "module", "tensor"])
def test_assigning_before_init(part):
    @same_story
    def program(torch, tell):
        class Early(torch.nn.Module):
            def __init__(self):
                self.a = PARTS[part](torch)
                super().__init__()

        tell(Early().a)

    program()


@same_story
def test_registering_before_init(torch, tell):
    class Early(torch.nn.Module):
        def __init__(self):
            for register in (self.register_buffer, self.register_parameter, self.add_module):
                try:
                    register("a", None)
                except AttributeError as error:
                    tell(error)

    m = Early()
    for ask in (m, lambda: list(m.parameters()), m.__repr__, lambda: m.nothing, lambda: delattr(m, "a")):
        try:
            ask()
        except AttributeError as error:
            tell(error)


@same_story
def test_arguments_of_init(torch, tell):
    class Base:
        def __init__(self, x):
            self.x = x

    class Polite(torch.nn.Module, Base):
        call_super_init = True

        def __init__(self, x):
            super().__init__(x=x)

    class Rude(Polite):
        call_super_init = False

    tell(Polite(3).x)
    for make in (lambda: Rude(3), lambda: torch.nn.Module(1), lambda: torch.nn.Module(a=1)):
        try:
            make()
        except TypeError as error:
            tell(error)


@same_story
def test_a_parameter_with_history_is_refused(torch, tell):
    m = torch.nn.Module()
    p = parameter(torch)
    with torch.no_grad():
        p.mul_(2)
    m.register_parameter("fine", p)
    scaled = p * 2
    scaled._is_param = True
    tell(isinstance(scaled, torch.nn.Parameter))
    m.register_parameter("a", scaled)


@same_story
def test_names(torch, tell):
    m = net(torch)
    for again in (True, False):
        tell([n for n, _ in m.named_parameters(remove_duplicate=again)])
        tell([n for n, _ in m.named_buffers(prefix="p", remove_duplicate=again)])
        tell([(n, type(c).__name__) for n, c in m.named_modules(prefix="p", remove_duplicate=again)])
        tell([type(c).__name__ for c in m.modules(remove_duplicate=again)])
    tell([n for n, _ in m.named_children()], [type(c).__name__ for c in m.children()])
    tell([n for n, _ in m.named_parameters("p", recurse=False)], len(list(m.parameters())), len(list(m.buffers())))
    tell([name for name in ("seen", "training", "0", "forward") if name in dir(m)])
    seen = []
    tell(m.apply(lambda c: seen.append(type(c).__name__)) is m, seen)


DOTTED = ["", "0", "2.0", "2.1.weight", "3", "weight", "0.weight", "0.x", "seen", "0.in_features"]


@pytest.mark.parametrize("target", DOTTED)
def test_by_dotted_name(target):
    @same_story
    def program(torch, tell):
        m = net(torch)
        for ask in (m.get_submodule, m.get_parameter, m.get_buffer):
            try:
                tell(ask(target))
            except AttributeError as error:
                tell(error)

    program()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("target", ["", "0", "2.1", "new", "2.new", "seen", "0.weight", "x.y", "0.weight.x", "1.x.y"])
def test_setting_by_dotted_name(target, strict):
    @same_story
    def program(torch, tell):
        m = net(torch)
        try:
            m.set_submodule(target, torch.nn.Tanh(), strict)
        except (AttributeError, ValueError) as error:
            tell(error)
        tell(repr(m))
        m.set_submodule("0", 3)

    program()


# ---- training, gradients


@same_story
def test_switches(torch, tell):
    m = net(torch)
    tell(m.eval() is m, [c.training for c in m.modules()])
    tell(m.train() is m, [c.training for c in m.modules()])
    tell(m.requires_grad_(False) is m, [p.requires_grad for p in m.parameters()])
    m.requires_grad_()
    m[0](torch.ones(3, 2)).sum().backward()
    tell([p.grad for p in m.parameters()])
    tell(m.zero_grad(set_to_none=False), [p.grad for p in m.parameters()])
    tell(m.zero_grad(), [p.grad for p in m.parameters()])
    m.train(3)


# ---- conversions


CONVERSIONS = {
    "double": lambda torch, m: m.double(),
    "half": lambda torch, m: m.half(),
    "bfloat16": lambda torch, m: m.bfloat16(),
    "float": lambda torch, m: m.float(),
    "cpu": lambda torch, m: m.cpu(),
    "to nothing": lambda torch, m: m.to(),
    "to None": lambda torch, m: m.to(None),
    "to a dtype": lambda torch, m: m.to(torch.float64),
    "to a dtype by name": lambda torch, m: m.to(dtype=torch.float64, non_blocking=True),
    "to a device and a dtype": lambda torch, m: m.to("cpu", torch.float16),
    "to a tensor": lambda torch, m: m.to(torch.ones(1).double()),
    "to ints": lambda torch, m: m.to(torch.int32),
    "to complex": lambda torch, m: m.to(torch.complex64),
    "to too much": lambda torch, m: m.to(3, 4, 5, 6),
    "to a memory format": lambda torch, m: m.to(memory_format=torch.channels_last),
    "to meta": lambda torch, m: m.to("meta"),
    "to meta and back": lambda torch, m: m.to("meta").to("cpu"),
    "emptied": lambda torch, m: m.to_empty(device="meta"),
    "emptied at a place given wrongly": lambda torch, m: m.to_empty("meta"),
    "type": lambda torch, m: m.type(torch.float64),
    "type by name": lambda torch, m: m.type("torch.DoubleTensor"),
}


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_conversion(conversion):
    @same_story
    def program(torch, tell):
        m = module(torch, layer=torch.nn.Linear(2, 2), count=torch.nn.Buffer(torch.zeros(1, dtype=torch.int64)))
        m.average = torch.nn.Buffer(torch.zeros(1))
        with torch.no_grad():
            m.layer.weight.fill_(1.5)
        weight, average = m.layer.weight, m.average
        weight.grad = torch.ones(2, 2)
        grad, version = weight.grad, weight._version
        tell(CONVERSIONS[conversion](torch, m) is m)
        tell(m.layer.weight, m.layer.weight.grad, m.count, m.average.dtype)
        tell(m.layer.weight is weight, m.layer.weight.grad is grad, m.average is average)
        tell(weight._version - version, type(m.layer.weight).__name__)

    program()


@same_story
def test_new_parameters_on_conversion(torch, tell):
    m = torch.nn.Linear(2, 2)
    weight = m.weight
    future = torch.__future__
    tell(future.get_overwrite_module_params_on_conversion(), future.get_swap_module_params_on_conversion())
    future.set_overwrite_module_params_on_conversion(True)
    try:
        m.double()
    finally:
        future.set_overwrite_module_params_on_conversion(False)
    tell(m.weight is weight, weight.dtype, m.weight.dtype)


# ---- state_dict


@same_story
def test_state_dict(torch, tell):
    m = net(torch)
    state = m.state_dict()
    tell(type(state).__name__, state, type(state._metadata).__name__, state._metadata)
    tell([v.requires_grad for v in state.values()], [v.data_ptr() == p.data_ptr() for v, p in zip(
        m[0].state_dict().values(), m[0].parameters())])  # fmt: skip
    tell(list(m.state_dict(prefix="p.")), [v.requires_grad for v in m.state_dict(keep_vars=True).values()])
    tell(list(m.state_dict(destination={})), list(m.state_dict({}, "q.", True)), list(m.state_dict(None, "q.")))
    m.state_dict(1, 2, 3)


def _states(torch):
    ones = torch.ones
    good = {"weight": ones(3, 2), "bias": ones(3)}
    return {
        "good": good,
        "empty": {},
        "missing": {"bias": ones(3)},
        "unexpected": {**good, "x": ones(1), "x.y": ones(1), "weight.z": ones(1)},
        "sizes": {"weight": ones(2, 2), "bias": ones(2)},
        "all at once": {"weight": ones(2), "q": ones(1)},
        "numbers": {"weight": 3, "bias": "x"},
        "one number more": {"weight": ones(3, 2), "bias": ones(())},
        "extra state": {**good, "_extra_state": 3},
        "meta": {"weight": ones(3, 2).to("meta"), "bias": ones(3)},
        "ints": {"weight": ones(3, 2).int(), "bias": ones(3)},
        "doubles": {"weight": ones(3, 2).double(), "bias": ones(3).half()},
        "parameters": {"weight": torch.nn.Parameter(ones(3, 2), False), "bias": torch.nn.Parameter(ones(3))},
    }


@pytest.mark.parametrize("options", [(), (False,), (True, True), (False, True)], ids=str)
@pytest.mark.parametrize("state", _states(torchlite))
def test_loading(state, options):
    @same_story
    def program(torch, tell):
        torch.manual_seed(0)
        m = torch.nn.Linear(2, 3)
        given = _states(torch)[state]
        weight = m.weight
        try:
            found = m.load_state_dict(given, *options)
            tell(repr(found), str(found), found, found.missing_keys, found.unexpected_keys)
        except RuntimeError as error:
            tell(error)
        tell(m.weight, m.bias, m.weight is weight, m.weight is given.get("weight"), weight._version)

    program()


@same_story
def test_loading_nested(torch, tell):
    m = net(torch)
    state = m.state_dict()
    del state["2.0.weight"]
    state["2.0.x"] = state["2.7.x"] = state["y"] = torch.ones(1)
    for strict in (False, True):
        try:
            tell(m.load_state_dict(state, strict))
        except RuntimeError as error:
            tell(error)
    m.load_state_dict(3)


@same_story
def test_loading_what_was_saved_without_dimensions(torch, tell):
    m = module(torch, p=torch.nn.Parameter(torch.ones(())), q=torch.nn.Parameter(torch.ones(1)))
    tell(m.load_state_dict({"p": torch.zeros(1), "q": torch.zeros(1)}), m.p, m.q)


@same_story
def test_loading_into_meta(torch, tell):
    m = torch.nn.Linear(1, 2, device="meta")
    state = {"weight": torch.ones(2, 1), "bias": torch.ones(2)}
    tell(m.load_state_dict(state), m.weight)
    tell(m.load_state_dict(state, assign=True), m.weight)


@same_story
def test_extra_state(torch, tell):
    class Gives(torch.nn.Module):
        def get_extra_state(self):
            return {"k": 1}

    class Takes(Gives):
        def set_extra_state(self, state):
            tell("got", state)

    for m in (Gives(), Takes(), torch.nn.Sequential(Takes())):
        for state in (m.state_dict(), {}, {"_extra_state": 2}, {"_extra_state.x": 2}, {"0._extra_state": 3}):
            try:
                tell(state, m.load_state_dict(state))
            except RuntimeError as error:
                tell(error)
    for ask in (torch.nn.Module().get_extra_state, lambda: torch.nn.Module().set_extra_state(3)):
        try:
            ask()
        except RuntimeError as error:
            tell(error)


@same_story
def test_older_versions_are_upgraded(torch, tell):
    class Upgraded(torch.nn.Module):
        _version = 3

        def __init__(self):
            super().__init__()
            self.new = torch.nn.Parameter(torch.zeros(1))

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            tell(prefix, local_metadata, rest)
            if local_metadata.get("version", 1) < 3:
                state_dict[prefix + "new"] = state_dict.pop(prefix + "old")
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    m = torch.nn.Sequential(Upgraded())
    state = m.state_dict()
    tell(state._metadata)
    tell(m.load_state_dict(state))
    state._metadata["0"]["version"] = 2
    state["0.old"] = state.pop("0.new") + 1
    tell(m.load_state_dict(state), m[0].new, list(state))
    tell(m.load_state_dict({"0.old": torch.ones(1)}))


# ---- copies, pickles, repr


@same_story
def test_copies(torch, tell):
    m = net(torch)
    m.register_forward_hook(print)
    for made in (copy.deepcopy(m), copy.copy(m), m._replicate_for_data_parallel()):
        tell(repr(made), list(made.__dict__) == list(m.__dict__), [n for n, _ in made.named_parameters()])
        tell(made[0] is m[0], made[2][1] is made[0], len(made._forward_hooks), getattr(made, "_is_replica", False))
    made._former_parameters = {}
    tell(made.zero_grad())


@same_story
def test_deepcopy_keeps_what_is_shared(torch, tell):
    m = module(torch, a=torch.nn.Linear(1, 1))
    m.b = m.a
    m.w = m.a.weight
    made = copy.deepcopy(m)
    tell(made.a is made.b, made.w is made.a.weight, made.w is m.w)


def test_pickles_are_found_again_without_the_alias():
    m = net(torchlite)
    again = pickle.loads(pickle.dumps(m))
    assert type(again) is torchlite.nn.Sequential
    assert repr(again) == repr(m)
    assert again[0] is again[2][1]
    x = torchlite.ones(1, 2)
    assert again[0](x).equal(m[0](x))
    lazy = pickle.loads(pickle.dumps(torchlite.nn.LazyLinear(3)))
    assert lazy(torchlite.ones(1, 2)).shape == (1, 3)
    assert type(lazy) is torchlite.nn.Linear


def test_pickles_bear_pytorchs_names_under_the_alias():
    program = (
        "import torchlite.alias; torchlite.alias.enable()\n"
        "import pickle, pickletools, torch\n"
        "from torch import nn\n"
        "made = pickle.dumps(nn.Sequential(nn.Linear(1, 1), nn.ReLU()))\n"
        "assert b'torch.nn.modules.container' in made and b'torchlite.nn.modules' not in made\n"
        "print(pickle.loads(made))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Sequential(")


@same_story
def test_state_of_old_pickles(torch, tell):
    m = torch.nn.Linear(1, 1)
    state = m.__getstate__()
    tell(list(state))
    for name in ("_forward_hooks_with_kwargs", "_load_state_dict_post_hooks", "_non_persistent_buffers_set"):
        del state[name]
    made = torch.nn.Linear.__new__(torch.nn.Linear)
    made.__setstate__(state)
    tell(made, made(torch.ones(1)).shape, sorted(made.__dict__) == sorted(m.__dict__))


@same_story
def test_names_of_classes(torch, tell):
    nn = torch.nn
    classes = (nn.Module, nn.Sequential, nn.ParameterList, nn.Linear, nn.ReLU, nn.MSELoss, nn.Parameter, nn.Buffer,
               nn.modules.lazy.LazyModuleMixin, nn.Flatten)  # fmt: skip
    tell([f"{c.__module__}.{c.__qualname__}" for c in classes], repr(nn.Linear))
    tell(nn.modules.module.Module is nn.Module, nn.modules.container.ParameterDict is nn.ParameterDict)


@same_story
def test_repr(torch, tell):
    class Talks(torch.nn.Module):
        said = ""

        def extra_repr(self):
            return self.said

    inner = Talks()
    inner.said = "two\nlines"
    outer = Talks()
    tell(repr(outer), outer._get_name())
    for said in ("", "one", "two\nlines"):
        outer.said = said
        tell(repr(outer))
        outer.inner = inner
        tell(repr(outer))
        del outer.inner
    tell(torch.nn.modules.module._addindent("a\nb", 3))


@same_story
def test_forward(torch, tell):
    m = torch.nn.Module()
    m.forward = lambda x, y=1: (x, y)
    tell(m(2), m(2, y=3))
    del m.forward
    tell(torch.nn.Module.forward.__name__)
    try:
        m(1)
    except NotImplementedError as error:
        tell(error)
    torch.nn.Linear(1, 1)()


@same_story
def test_a_failing_property_names_itself(torch, tell):
    class Fails(torch.nn.Module):
        @property
        def p(self):
            return self.nothing

    tell(Fails().p)


def test_compile_is_inert():
    m = torchlite.nn.Linear(2, 2)
    assert m.compile(backend="eager") is None
    assert m(torchlite.ones(2)).shape == (2,)
