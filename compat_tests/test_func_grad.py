"""`torch.func`: `grad`, `vjp` and what is built on them, alone and in each other to any depth, beside real PyTorch."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch")
hypothesis = pytest.importorskip("hypothesis")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import torchlite  # noqa: E402

from .side_by_side import same_story, uncollected  # noqa: E402
from .test_func import FUNCTIONS, agree, numbers, same_error  # noqa: E402

# ---- random compositions
#
# A function takes a vector (or a matrix, under vmap) and gives one of the same shape, so that transforms of such
# functions are such functions. Each step may use what the levels around it are working on.


def _plain(torch, x, outer):
    return x.sin() * x + x.cumsum(-1) * outer


def _indexed(torch, x, outer):
    return torch.stack([x[0], *x[1:].unbind()]).exp().clamp(max=3.0) * outer[: x.shape[0]]


def _products(torch, x, outer):
    return torch.outer(x, outer) @ x.tanh() + x.softmax(-1)


def _in_place(torch, x, outer):
    made = x * 2
    made[1:] += x[:-1] ** 2
    made.mul_(outer)
    made[0].sin_()
    return made


def _branches(torch, x, outer):
    with torch.no_grad():
        scale = x * outer
    return torch.where(x > 0, x**3, x * scale) + x.detach() * x


def _written(torch, x, outer):
    made = torch.zeros(x.shape[0], dtype=torch.float64) + x[0] * 0
    made[: x.shape[0] - 1] = x[1:] * outer[1:]
    return made.view(1, -1).t().reshape(-1) + x.sort().values


OUT_OF_PLACE = [_plain, _indexed, _products, _branches]
BODIES = [*OUT_OF_PLACE, _in_place, _written]


def _grad(torch, f):
    return lambda x, outer: torch.func.grad(lambda x: f(x, outer).sum())(x)


def _grad_and_value(torch, f):
    def transformed(x, outer):
        gradient, (value, out) = torch.func.grad_and_value(lambda x: (f(x, outer * x).prod(), x * 2), has_aux=True)(x)
        return gradient + value * out[0] + out[1]

    return transformed


def _vjp(torch, f):
    def transformed(x, outer):
        out, pull = torch.func.vjp(lambda x, y: f(x, y), x, outer)
        first, second = pull(out * outer)
        return first + pull(x)[1] * second

    return transformed


def _jvp(torch, f):
    def transformed(x, outer):
        out, moved = torch.func.jvp(lambda x, y: f(x, y), (x, outer), (outer, x.cos()))
        return out * 0.5 + moved

    return transformed


def _vmap(torch, f):
    def transformed(x, outer):
        rows = x.unsqueeze(0) * outer.unsqueeze(-1)
        return torch.func.vmap(lambda row: f(row, outer))(rows).sum(0)

    return transformed


def _vmap_of_both(torch, f):
    def transformed(x, outer):
        columns = torch.stack([x, outer, x * outer], -1)
        return torch.func.vmap(f, in_dims=(1, None), out_dims=-1)(columns, x)[:, 1]

    return transformed


def _jacrev(torch, f):
    return lambda x, outer: torch.func.jacrev(lambda x: f(x, outer))(x) @ x


def _jacfwd(torch, f):
    return lambda x, outer: torch.func.jacfwd(lambda x: f(x, outer))(x).t() @ outer


def _linearize(torch, f):
    def transformed(x, outer):
        out, push = torch.func.linearize(lambda x: f(x, outer), x)
        return out + push(outer)

    return transformed


def _without_grad(torch, f):
    def transformed(x, outer):
        with torch.no_grad():
            fixed = torch.func.grad(lambda x: f(x, outer).sum())(x)
        return f(x, outer) * fixed

    return transformed


TRANSFORMS = [_grad, _grad_and_value, _vjp, _jvp, _vmap, _vmap_of_both, _jacrev, _jacfwd, _without_grad]


def composed(torch, body, transforms):
    def f(x, outer):
        return body(torch, x, outer)

    for transform in transforms:
        f = transform(torch, f)
    return f


def run_composed(torch, body, transforms):
    x = numbers(torch, (3,), 1).requires_grad_()
    outer = numbers(torch, (3,), 2).requires_grad_()
    out = composed(torch, body, transforms)(x * 0.5, outer)
    if not out.requires_grad:  # PyTorch may have zeros in place of what does not depend on anything
        out = out + 0 * (x + outer)
    return out.detach(), *torch.autograd.grad(out.tanh().sum(), (x, outer), materialize_grads=True)


def compose_and_agree(body, transforms, rtol):
    try:
        wanted = run_composed(torch, body, transforms)
    except RuntimeError as error:
        assert f"{error}".startswith("ZeroTensors are immutable")  # PyTorch cannot write to tangents that are zero
        hypothesis.reject()
    hypothesis.assume(all(t.isfinite().all() for t in wanted))
    agree(lambda torch: run_composed(torch, body, transforms), rtol=rtol)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(BODIES), st.lists(st.sampled_from(TRANSFORMS), min_size=1, max_size=2))
def test_compositions(body, transforms):
    compose_and_agree(body, transforms, 1e-6)


@settings(deadline=None, max_examples=10)
@given(st.sampled_from(OUT_OF_PLACE), st.lists(st.sampled_from(TRANSFORMS), min_size=3, max_size=5))
def test_deep_compositions(body, transforms):
    compose_and_agree(body, transforms, 1e-5)


@pytest.mark.parametrize("body", OUT_OF_PLACE)
@pytest.mark.parametrize("transforms", [[], [_grad], [_vmap], [_vmap, _grad]])
def test_linearize(body, transforms):
    def program(torch):
        f = _linearize(torch, composed(torch, body, transforms))
        return f(numbers(torch, (3,), 1), numbers(torch, (3,), 2))

    agree(program, rtol=1e-6)


@pytest.mark.parametrize("transform", [_jacrev, _jvp, _jacfwd])
def test_linearize_where_pytorch_cannot(transform):
    f = composed(torchlite, _plain, [transform])
    x, y = numbers(torchlite, (3,), 1), numbers(torchlite, (3,), 2)
    _, push = torchlite.func.linearize(lambda x: f(x, y), x)
    _, moved = torchlite.func.jvp(lambda x: f(x, y), (x,), (y,))
    assert torchlite.allclose(push(y), moved)


def test_functions_of_a_matrix():
    """Every kind of op under vmap of grad, grad of vmap, and reverse over reverse."""

    def programs(torch, f):
        x = numbers(torch, (2, 3, 4))
        yield torch.func.grad(lambda x: f(torch, x).sum())(x[0])
        yield torch.func.vmap(torch.func.grad(lambda x: f(torch, x).sum()))(x)
        yield torch.func.grad(lambda x: torch.func.vmap(lambda x: f(torch, x))(x).sum())(x)
        yield torch.func.jacrev(torch.func.grad(lambda x: f(torch, x).sum()))(x[0])

    for f in FUNCTIONS.values():
        agree(lambda torch, f=f: list(programs(torch, f)))


# ---- arguments, results, modes


@same_story
def test_arguments(torch, tell):
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

    def f(x, y, scale=1.0):
        return (x * y * scale).sum()

    func = torch.func
    tell(func.grad(f)(x, y), func.grad(f, argnums=1)(x, y), func.grad(f, argnums=-1)(x, y, scale=2.0))
    tell(func.grad(f, argnums=(0, 1))(x, y), func.grad(f, argnums=(-1,))(x, y))
    tell(func.grad_and_value(f, argnums=(0, 1))(x, y))
    tell(func.grad(lambda d: (d["a"][0] * d["b"]).sum())({"a": (x, y), "b": y}))
    tell(func.grad_and_value(lambda x: ((x * x).sum(), {"twice": 2 * x, "all": [x, y]}), has_aux=True)(x))
    tell(func.vjp(lambda x: ((x * x, {"s": x.sum()}), x + 1), x, has_aux=True)[::2])
    tell(func.jacrev(lambda x, y: {"p": x * y, "s": (x.sum(), y)}, argnums=(0, 1))(x, y))
    tell(func.jacfwd(lambda x, y: {"p": x * y, "s": (x.sum(), y)}, argnums=(1,))(x, y))
    tell(func.jacrev(lambda x: (x * x, x), has_aux=True)(x), func.jacfwd(lambda x: (x * x, x), has_aux=True)(x))
    for size in (1, 2, 3, 10):
        tell(func.jacrev(lambda x: (x**3, x.sum()), chunk_size=size)(x))
    tell(func.jacrev(lambda x: (x**3, x.sum()), chunk_size=2, _preallocate_and_copy=True)(x))
    tell(func.hessian(lambda x, y: (x * x * y).sum(), argnums=(0, 1))(x, y))


@same_story
def test_pullbacks(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    out, pull = torch.func.vjp(lambda x: x**3, x)
    tell(out, pull(x)[0], pull(torch.ones(2))[0], pull(torch.ones(2), create_graph=False)[0])
    with torch.no_grad():
        tell(pull(torch.ones(2))[0])
        _, quiet = torch.func.vjp(lambda x: x**3, x)
    tell(torch.func.vmap(pull)(torch.eye(2)))
    pull(torch.ones(2), retain_graph=False)
    tell(quiet(torch.ones(2))[0].sum())
    pull(torch.ones(2))


@same_story
def test_modes(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)

    def f(x):
        with torch.no_grad():
            fixed = x * w
        return (x * fixed * w).sum()

    tell(torch.func.grad(f)(x), torch.is_grad_enabled())
    with torch.no_grad():
        tell(torch.func.grad(f)(x), torch.func.vjp(f, x)[0], torch.func.jvp(f, (x,), (x,)), torch.is_grad_enabled())
    with torch.inference_mode():
        tell(torch.func.grad(f)(x).tolist(), torch.is_inference_mode_enabled())
    tell(torch.func.grad(lambda x: x.detach().sum())(x), torch.func.grad(lambda x: w.sum())(x))


@same_story
def test_what_the_function_sees(torch, tell):
    x, w = torch.ones(2), torch.full((2,), 2.0, requires_grad=True)

    def look(x):
        y = x * w
        tell(repr(x), repr(y), x.requires_grad, x.is_leaf, y.requires_grad, x.detach().requires_grad, w.requires_grad)
        tell(x.tolist(), x[0].item(), bool(x[0] > 0), len(x), x.shape, torch.func.debug_unwrap(x))
        tell(torch.autograd.grad(y.sum(), x)[0].tolist())
        return y.sum()

    torch.func.grad(look)(x)
    torch.func.vmap(lambda x: tell(x.requires_grad, x.shape) or x)(w)
    torch.func.jvp(lambda x: tell(x.requires_grad, x.shape) or x, (w,), (x,))


@same_story
def test_what_escapes(torch, tell):
    kept = []

    def keep(x):
        kept.append(x * 2)
        return kept[-1].sum()

    torch.func.grad(keep)(torch.ones(2))
    tell(repr(kept[0]), kept[0] + 1, (kept[0] * torch.ones(2)).sum(), kept[0].requires_grad, kept[0].tolist())
    torch.func.vmap(keep)(torch.ones(2, 3))
    tell(repr(kept[1]), kept[1].shape)
    tell(kept[1] + 1)


@same_story
def test_random_numbers(torch, tell):
    x = torch.arange(3.0)
    torch.manual_seed(0)
    for kind in ("different", "same"):

        def vmap(f, kind=kind):
            return torch.func.vmap(f, randomness=kind)(x + 1)

        tell(vmap(lambda x: x * torch.rand(2)), vmap(torch.rand_like), vmap(lambda x: torch.randn(2, 3)))
        tell(vmap(lambda x: torch.randint(0, 9, (2,))), vmap(lambda x: torch.randperm(4)))
        tell(vmap(lambda x: torch.dropout(x, 0.5, True)), vmap(lambda x: x.new_zeros(2) + torch.normal(0.0, 1.0, (2,))))
        tell(torch.func.vmap(lambda x: torch.rand(2), randomness=kind, chunk_size=2)(x))
        for other in ("different", "same"):
            inner = torch.func.vmap(lambda x: torch.rand(2), randomness=other)
            tell(torch.func.vmap(inner, randomness=kind)(torch.ones(2, 3)))
    tell(torch.func.jacfwd(lambda x: x * torch.rand(3), randomness="same")(x))
    tell(torch.func.grad(lambda x: (x * torch.rand(3)).sum())(x), torch.rand(2))


@same_story
def test_chunks(torch, tell):
    x, y = torch.arange(10.0).reshape(5, 2), torch.ones(2)

    def f(x, y):
        return x * y, {"first": x}

    for size in (1, 2, 5, 9):
        tell(torch.func.vmap(f, in_dims=(0, None), out_dims=(0, {"first": -1}), chunk_size=size)(x, y))
    tell(torch.func.vmap(f, in_dims=(-1, None), chunk_size=1)(x, y[0]))


PATTERNS = {
    "a b c -> c (a b)": {}, "... c -> c ...": {}, "a b (c d) -> a b d c": {"c": 2}, "a b c -> a b c 1": {},
    "a b c -> a b": {}, "a b -> a b": {}, "a b c -> a b c d": {}, "a a c -> a c": {}, "a b c a": {},
    "a b c -> a (b c": {}, "a b c -> a b c": {"q": 3}, "a b 2c -> a b c": {}, "... b c-> (...) b c": {},
}  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rearrange(pattern):
    @same_story
    def program(torch, tell):
        tell(torch.func.rearrange(torch.arange(24).reshape(2, 3, 4), pattern, **PATTERNS[pattern]))

    program()


BAD = {
    "not a scalar": lambda torch, x: torch.func.grad(lambda x: x)(x),
    "one element": lambda torch, x: torch.func.grad(lambda x: x.sum().reshape(1))(x),
    "not a tensor": lambda torch, x: torch.func.grad(lambda x: 3)(x),
    "no aux": lambda torch, x: torch.func.grad(lambda x: x.sum(), has_aux=True)(x),
    "odd aux": lambda torch, x: torch.func.grad(lambda x: (x.sum(), {"a": 3}), has_aux=True)(x),
    "argnum": lambda torch, x: torch.func.grad(lambda x: x.sum(), argnums=1)(x),
    "negative argnum": lambda torch, x: torch.func.grad(lambda x: x.sum(), argnums=-2)(x),
    "argnums twice": lambda torch, x: torch.func.grad(lambda x: x.sum(), argnums=(0, 0))(x),
    "no argnums": lambda torch, x: torch.func.grad(lambda x: x.sum(), argnums=())(x),
    "odd argnums": lambda torch, x: torch.func.grad(lambda x: x.sum(), argnums="x")(x),
    "odd argnum": lambda torch, x: torch.func.grad(lambda x: x.sum(), argnums=(0, "x"))(x),
    "integers": lambda torch, x: torch.func.grad(lambda x: x.sum())(x.long()),
    "number": lambda torch, x: torch.func.grad(lambda x: x)(3.0),
    "complex result": lambda torch, x: torch.func.grad(lambda x: (x * 1j).sum())(x),
    "vjp of a number": lambda torch, x: torch.func.vjp(lambda x: 3, x),
    "vjp of nothing": lambda torch, x: torch.func.vjp(lambda x: (), x),
    "vjp of integers": lambda torch, x: torch.func.vjp(lambda x: x.argmax(), x),
    "vjp aux": lambda torch, x: torch.func.vjp(lambda x: x, x, has_aux=True),
    "cotangents": lambda torch, x: torch.func.vjp(lambda x: (x, x), x)[1]((x,)),
    "cotangent's shape": lambda torch, x: torch.func.vjp(lambda x: x, x)[1](x[:1]),
    "no cotangent": lambda torch, x: torch.func.vjp(lambda x: x, x)[1](3),
    "chunk size": lambda torch, x: torch.func.jacrev(lambda x: x, chunk_size=0),
    "vmap's chunk size": lambda torch, x: torch.func.vmap(lambda x: x, chunk_size=-1),
    "complex in": lambda torch, x: torch.func.jacrev(lambda x: x * x)(x * 1j),
    "complex out": lambda torch, x: torch.func.jacfwd(lambda x: x * 1j)(x),
    "random": lambda torch, x: torch.func.jacfwd(lambda x: x * torch.rand(3))(x),
    "tangents": lambda torch, x: torch.func.linearize(lambda x: x * x, x)[1](x, x),
    "tangent's shape": lambda torch, x: torch.func.linearize(lambda x: x * x, x)[1](x[:1]),
    "leaf": lambda torch, x: torch.func.grad(lambda x: x.mul_(2).sum())(x),
    "backward": lambda torch, x: torch.func.grad(lambda x: (x.sum().backward(), x.sum())[1])(x),
    "requires_grad_": lambda torch, x: torch.func.vmap(lambda x: x.requires_grad_())(x),
    "no history": lambda torch, x: torch.func.vmap(lambda x: torch.autograd.grad(x.sum(), x))(x.requires_grad_()),
    "numpy": lambda torch, x: torch.func.grad(lambda x: (x.detach().numpy(), x.sum())[1])(x),
    "in-place draw": lambda torch, x: torch.func.vmap(lambda x: torch.zeros(2).normal_(), randomness="different")(x),
    "same of a batch": lambda torch, x: torch.func.vmap(torch.bernoulli, randomness="same")(x),
    "remove": lambda torch, x: torch.func.functionalize(lambda x: x, remove="x"),
}


@pytest.mark.parametrize("program", BAD.values(), ids=BAD)
def test_errors(program):
    same_error(lambda torch: program(torch, numbers(torch, (3,))))
    assert torchlite.is_grad_enabled()
    found = []
    torchlite.func.grad(lambda x: (found.append(repr(x)), x.sum())[1])(torchlite.ones(2))
    assert found[0].startswith("GradTrackingTensor(lvl=1,")


# ---- functions of modules


class Part:
    """What `functional_call` and `stack_module_state` need of a module."""

    def __init__(self, **parts):
        self._parameters = {n: p for n, p in parts.items() if hasattr(p, "grad_fn") and p.requires_grad}
        self._buffers = {n: p for n, p in parts.items() if hasattr(p, "grad_fn") and not p.requires_grad}
        self.parts = {n: p for n, p in parts.items() if isinstance(p, Part)}
        self.training = True

    def __getattr__(self, name):
        for place in (self._parameters, self._buffers, self.parts):
            if name in place:
                return place[name]
        raise AttributeError(name)

    def get_submodule(self, path):
        first, _, rest = path.partition(".")
        return self.parts[first].get_submodule(rest) if first else self

    def _named(self, what, prefix=""):
        for name, part in getattr(self, what).items():
            yield prefix + name, part
        for name, part in self.parts.items():
            yield from part._named(what, f"{prefix}{name}.")

    def named_parameters(self, remove_duplicate=True):
        return _once(self._named("_parameters"), remove_duplicate)

    def named_buffers(self, remove_duplicate=True):
        return _once(self._named("_buffers"), remove_duplicate)

    def __call__(self, x):
        self._buffers["count"].add_(1)
        return x * self.scale + self.inner.shift * self.count


def _once(named, wanted):
    seen = set()
    for name, part in named:
        if not wanted or id(part) not in seen:
            seen.add(id(part))
            yield name, part


def module(value=2.0):
    shared = torchlite.full((2,), value, requires_grad=True)
    inner = Part(shift=shared)
    return Part(scale=shared, count=torchlite.zeros(()), inner=inner)


def test_functional_call():
    made, x = module(), torchlite.ones(2)
    call = torchlite.func.functional_call
    given = {"scale": torchlite.full((2,), 5.0), "count": torchlite.zeros(())}
    assert call(made, given, x).tolist() == [10.0, 10.0]
    assert given["count"] == 1
    assert call(made, (given, {}), (x,), tie_weights=False).tolist() == [9.0, 9.0]
    assert made.scale.tolist() == [2.0, 2.0] and made.count == 0
    gradient = torchlite.func.grad(lambda p, q: call(made, (p, {"count": q + 0}), x).sum())(
        {"scale": torchlite.full((2,), 5.0)}, torchlite.zeros(())
    )
    assert gradient["scale"].tolist() == [2.0, 2.0]
    assert call(made, {"other": x, "count": torchlite.zeros(())}, x).tolist() == [4.0, 4.0]
    assert not hasattr(made, "other")
    with pytest.raises(TypeError, match="attribute `training`: True is not an instance"):
        call(made, {"training": x}, x)
    with pytest.raises(RuntimeError, match="Missing key"):
        call(made, {"count": x}, x, strict=True)
    with pytest.raises(ValueError, match=r"\['scale', 'count'\] appeared in multiple dictionaries"):
        call(made, (given, given), x)


def test_stacking_modules():
    models = [module(1.0), module(2.0)]
    params, buffers = torchlite.func.stack_module_state(models)
    assert params["scale"].tolist() == [[1.0, 1.0], [2.0, 2.0]] and params["scale"].requires_grad
    out = torchlite.vmap(lambda p, b, x: torchlite.func.functional_call(models[0], (p, b), x), in_dims=(0, 0, None))(
        params, buffers, torchlite.ones(2)
    )
    assert out.tolist() == [[2.0, 2.0], [4.0, 4.0]]


# ---- memory


def test_no_reference_cycles():
    x = numbers(torchlite, (3,))

    def program():
        for transform in TRANSFORMS:
            composed(torchlite, _in_place, [transform, _grad])(x, x * 2)
        kept = []
        out, pull = torchlite.func.vjp(lambda x: (kept.append(x.sin()), kept[0] * x)[1], x)
        pull(out)
        return [weakref.ref(t) for t in (kept[0], out)]

    gc.disable()
    try:
        assert [r() for r in program()] == [None, None]
    finally:
        gc.enable()
    assert uncollected(program) == []


# ---- threads and errors


def test_threads_do_not_see_each_other():
    x = numbers(torchlite, (3,))
    wanted = composed(torchlite, _plain, [_vmap, _grad, _jvp])(x, x * 2).tolist()

    def work(_):
        return [composed(torchlite, _plain, [_vmap, _grad, _jvp])(x, x * 2).tolist() for _ in range(5)]

    with ThreadPoolExecutor(4) as pool:
        assert all(found == [wanted] * 5 for found in pool.map(work, range(8)))


def test_an_error_leaves_nothing_behind():
    x = numbers(torchlite, (3,))

    def broken(x):
        with torchlite.no_grad():
            raise KeyError

    for transform in TRANSFORMS:
        with pytest.raises(KeyError):
            composed(torchlite, lambda torch, x, outer: broken(x), [_grad, transform])(x, x)
        assert torchlite.is_grad_enabled()
        x.clone().requires_grad_().sum().backward()
