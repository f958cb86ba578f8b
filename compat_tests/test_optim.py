"""`torch.optim` beside PyTorch's: every algorithm with every option, and the base class."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import torchlite

from .side_by_side import same, same_story, story, text

torch = pytest.importorskip("torch")
optim_db = pytest.importorskip("torch.testing._internal.common_optimizers").optim_db

INFOS = {info.name: info for info in optim_db}
OPTIONS = [(name, inputs.kwargs) for name, info in INFOS.items() for inputs in info.optim_inputs_func("cpu")]
SHAPES: tuple[tuple[int, ...], ...] = ((4, 5), (5,), (150, 130), (1,), (), (0, 3), (3, 2, 2))
MATRICES: tuple[tuple[int, ...], ...] = ((3, 4), (5, 2), (6, 6))


def agree(program: Any) -> None:
    wanted, found = story(program, torch), story(program, torchlite)
    for a, b in zip(wanted, found):
        assert same(a, b), f"torch {a}\ntorchlite {b}"
    assert len(wanted) == len(found)


def of_library(library: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Options whose tensors are those of the library."""

    def moved(v: Any) -> Any:
        if isinstance(v, torch.Tensor):
            return library.tensor(v.item())
        return tuple(map(moved, v)) if isinstance(v, tuple) else v

    return {k: moved(v) for k, v in options.items()}


def numbers(dtype: str, shape: tuple[int, ...], rng: Any) -> Any:
    values = rng.standard_normal(shape)
    return values + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else values


def tensor(library: Any, values: Any, dtype: str) -> Any:
    return library.from_numpy(np.array(values)).to(getattr(library, dtype))


class Training:
    """Some parameters and their optimizer, fed with gradients at random, which some parameters miss now and then."""

    def __init__(self, library: Any, name: str, options: dict[str, Any], dtype: str = "float32") -> None:
        self.library, self.dtype, self.rng = library, dtype, np.random.default_rng(0)
        shapes = MATRICES if name == "Muon" else SHAPES[:5] if name == "Adafactor" else SHAPES
        self.params = [tensor(library, numbers(dtype, s, self.rng), dtype).requires_grad_() for s in shapes]
        self.optimizer = getattr(library.optim, name)(self.params, **of_library(library, options))

    def steps(self, count: int, skip: bool = True) -> None:
        for i in range(count):
            for j, p in enumerate(self.params):
                grad = tensor(self.library, numbers(self.dtype, tuple(p.shape), self.rng), self.dtype)
                p.grad = None if skip and (i + j) % 7 == 6 else grad
            self.optimizer.step()


def as_array(t: Any) -> np.ndarray:
    t = t.detach()
    return (t.float() if str(t.dtype).endswith("float16") else t).numpy()


def assert_close(wanted: Any, found: Any, tolerance: float) -> None:
    a, b = as_array(wanted), as_array(found)
    assert a.shape == b.shape
    assert str(wanted.dtype) == str(found.dtype)
    if a.size:
        size = np.abs(a) + np.sqrt(np.mean(np.abs(a) ** 2)) + 0.05  # where terms cancel, nothing is exact
        assert np.max(np.abs(a - b) / size) <= tolerance


TOLERANCES = {"float32": 3e-6, "float64": 1e-10, "complex64": 3e-6, "bfloat16": 6e-2}


def assert_same_training(wanted: Training, found: Training) -> None:
    tolerance = TOLERANCES[wanted.dtype]
    if type(wanted.optimizer).__name__ == "Muon":
        tolerance = max(tolerance, 1e-3)  # its iteration runs in bfloat16
    for a, b in zip(wanted.params, found.params):
        assert_close(a, b, tolerance)
    a, b = wanted.optimizer.state_dict(), found.optimizer.state_dict()
    assert repr(a["param_groups"]) == repr(b["param_groups"])
    assert list(a["state"]) == list(b["state"])
    for key, state in a["state"].items():
        assert list(state) == list(b["state"][key])
        for name, value in state.items():
            assert_close(value, b["state"][key][name], tolerance)


ELEMENTWISE = [(n, o) for n, o in OPTIONS if n not in ("LBFGS", "SparseAdam")]


def supported(name: str, dtype: str) -> bool:
    return not (dtype.startswith("complex") and name in ("Adafactor", "Muon"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name, options", ELEMENTWISE, ids=str)
def test_twenty_steps(name: str, options: dict[str, Any], dtype: str) -> None:
    if not supported(name, dtype):
        agree(lambda library, tell: Training(library, name, options, dtype).steps(1))
        return
    pair = [Training(library, name, options, dtype) for library in (torch, torchlite)]
    for training in pair:
        training.steps(20)
    assert_same_training(*pair)


@pytest.mark.parametrize("name", [n for n in INFOS if n not in ("LBFGS", "SparseAdam", "Rprop", "Adadelta")])
def test_bfloat16(name: str) -> None:
    pair = [Training(library, name, {}, "bfloat16") for library in (torch, torchlite)]
    for training in pair:
        training.steps(10)
    assert_same_training(*pair)


@pytest.mark.parametrize("how", ["foreach", "fused"])
@pytest.mark.parametrize("name", [n for n, info in INFOS.items() if "foreach" in info.supported_impls])
def test_flags_lead_to_the_same_step(name: str, how: str) -> None:
    if how not in INFOS[name].supported_impls:
        agree(lambda library, tell: Training(library, name, {how: True}).steps(1))
        return
    pair = [Training(library, name, {how: True}) for library in (torch, torchlite)]
    for training in pair:
        training.steps(10)
    assert_same_training(*pair)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_a_hundred_steps_stay_close(name: str) -> None:
    options = {"momentum": 0.9} if name == "SGD" else {}
    pair = [Training(library, name, {"lr": 1e-2, **options}) for library in (torch, torchlite)]
    for training in pair:
        training.steps(100, skip=False)
    for a, b in zip(*[t.params for t in pair]):
        assert_close(a, b, 1e-6)


# ---- checkpoints


def translated(value: Any, library: Any) -> Any:
    """A state dict of the other library as one of this, through arrays."""
    if isinstance(value, (torch.Tensor, torchlite.Tensor)):
        return library.from_numpy(value.detach().numpy().copy())
    if isinstance(value, dict):
        return {k: translated(v, library) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([translated(v, library) for v in value])
    return value


@pytest.mark.parametrize("name", [n for n in INFOS if n not in ("LBFGS", "SparseAdam")])
def test_checkpoints_of_either_load_in_the_other(name: str) -> None:
    options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    wanted, found = [Training(library, name, options) for library in (torch, torchlite)]
    wanted.steps(5)
    found.steps(5)
    for source, library in ((wanted, torchlite), (found, torch)):
        again = Training(library, name, {})
        for p, q in zip(again.params, source.params):
            p.data = translated(q, library)
        again.optimizer.load_state_dict(translated(source.optimizer.state_dict(), library))
        again.rng = np.random.default_rng(7)
        going_on = copy.deepcopy(source)
        going_on.library = source.library
        going_on.rng = np.random.default_rng(7)
        again.steps(6)
        going_on.steps(6)
        assert_same_training(*((going_on, again) if library is torchlite else (again, going_on)))


def __deepcopy_library(self: Training, memo: Any) -> Training:
    made = object.__new__(Training)
    made.library, made.dtype, made.rng = self.library, self.dtype, copy.deepcopy(self.rng)
    made.params, made.optimizer = copy.deepcopy((self.params, self.optimizer), memo)
    return made


Training.__deepcopy__ = __deepcopy_library  # type: ignore[attr-defined]


@same_story
def test_loading_casts_state(torch: Any, tell: Any) -> None:
    def one(dtype: Any, **options: Any) -> Any:
        p = torch.ones(2, dtype=dtype, requires_grad=True)
        p.grad = torch.ones_like(p)
        return torch.optim.Adam([p], **options)

    source = one(torch.float32, lr=0.5)
    source.step()
    for options in ({}, {"fused": True}):
        target = one(torch.float64, **options)
        target.load_state_dict(source.state_dict())
        (state,) = target.state.values()
        tell(state, target.param_groups[0]["lr"], state["step"] is source.state_dict()["state"][0]["step"])
        target.step()
        tell(state, target.param_groups[0]["params"])
    one_state = {"l": [torch.ones(1)], "d": {"step": torch.ones(1)}, "n": None, "t": (1, torch.ones(1))}
    odd = {"state": {0: one_state, "x": 3}, "param_groups": target.state_dict()["param_groups"]}
    target = torch.optim.SGD([torch.ones(2, dtype=torch.float64, requires_grad=True)])
    target.load_state_dict(odd)
    tell(target.state_dict())
    tell(sorted(target.__getstate__()))


@same_story
def test_old_checkpoints(torch: Any, tell: Any) -> None:
    for name in ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta", "ASGD", "Rprop", "SGD"):
        p = torch.ones(2, requires_grad=True)
        p.grad = torch.ones(2)
        o = getattr(torch.optim, name)([p])
        o.step()
        state = o.state_dict()
        for s in state["state"].values():
            for key in ("step", "mu_product", "eta", "mu"):
                if key in s:
                    s[key] = s[key].item()
        for group in state["param_groups"]:
            for key in ("foreach", "maximize", "capturable", "differentiable", "fused", "amsgrad", "centered",
                        "nesterov", "decoupled_weight_decay"):  # fmt: skip
                group.pop(key, None)
        o.load_state_dict(state)
        o.step()
        tell(name, p, o.state_dict()["state"], sorted(o.param_groups[0]))


# ---- closures and LBFGS


@pytest.mark.parametrize("options", [o for n, o in OPTIONS if n == "LBFGS"], ids=str)
@pytest.mark.parametrize("line_search_fn", [None, "strong_wolfe"])
def test_lbfgs(options: dict[str, Any], line_search_fn: str | None) -> None:
    def program(torch: Any, tell: Any) -> None:
        p = torch.tensor([1.5, -0.5, 2.0], dtype=torch.float64, requires_grad=True)
        q = torch.tensor([[0.1, 0.2]], dtype=torch.float64, requires_grad=True)
        r = torch.zeros(2, dtype=torch.float64, requires_grad=True)
        given = {**of_library(torch, options), "line_search_fn": line_search_fn}
        o = torch.optim.LBFGS([p, q, r], max_iter=7, **given)

        def closure() -> Any:
            o.zero_grad()
            loss = (1 - p[0]) ** 2 + 9 * (p[1] - p[0] ** 2) ** 2 + (q**4).sum() + ((q - p[1:]) ** 2).sum()
            loss.backward()
            return loss

        for _ in range(3):
            tell(o.step(closure))
        (state,) = o.state_dict()["state"].values()
        tell(p, q, r, {k: v for k, v in state.items() if k not in ("old_dirs", "old_stps", "ro", "al")}, list(state))
        tell(len(state["old_dirs"]))

    agree(program)


@same_story
def test_closures(torch: Any, tell: Any) -> None:
    for name in ("SGD", "Adam", "Adafactor", "SparseAdam"):
        p = torch.ones(2, requires_grad=True)
        o = getattr(torch.optim, name)([p])

        def closure(p: Any = p, o: Any = o) -> Any:
            o.zero_grad()
            tell(torch.is_grad_enabled())
            loss = (p**2).sum()
            loss.backward()
            return loss

        with torch.no_grad():
            try:
                tell(name, o.step(closure), p)
            except RuntimeError as error:
                tell(str(error))


# ---- differentiable steps


def assert_same_gradients(program: Any) -> None:
    """PyTorch keeps the number of steps in float32 here, whatever the parameters are."""
    wanted, found = [program(library) for library in (torch, torchlite)]
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", [n for n, info in INFOS.items() if "differentiable" in info.supported_impls])
def test_differentiable_steps(name: str) -> None:
    def program(torch: Any) -> Any:
        w = torch.tensor([0.5, -1.5], dtype=torch.float64, requires_grad=True)
        options = {"momentum": 0.9} if name == "RMSprop" else {}
        x = w.clone()
        o = getattr(torch.optim, name)([x], lr=0.1, differentiable=True, **options)
        x.grad = w * w
        o.step()
        x.sum().backward()
        return x, w.grad

    assert_same_gradients(program)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_several_differentiable_steps(name: str) -> None:
    def program(torch: Any) -> Any:
        w = torch.tensor([0.5, -1.5], dtype=torch.float64, requires_grad=True)
        x = w.clone()
        o = getattr(torch.optim, name)([x], lr=0.1, differentiable=True, weight_decay=0.1)
        for i in range(3):
            x.grad = torch.sin(w * (i + 1))
            o.step()
        x.sum().backward()
        return x, w.grad

    assert_same_gradients(program)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_gradients_of_the_learning_rate(name: str) -> None:
    def program(torch: Any) -> Any:
        w = torch.tensor([0.5, -1.5], dtype=torch.float64, requires_grad=True)
        lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
        x = w.clone()
        o = getattr(torch.optim, name)([x], lr=lr, differentiable=True)
        x.grad = w * w
        o.step()
        x.sum().backward()
        return w.grad, lr.grad

    assert_same_gradients(program)


# ---- what parameters may be


@same_story
def test_layouts_and_views(torch: Any, tell: Any) -> None:
    for name in ("SGD", "Adam"):
        base = torch.arange(24.0)
        pictures = torch.ones(2, 3, 2, 2).to(memory_format=torch.channels_last)
        params = [base[:6].view(2, 3), base[6:12].view(2, 3).t(), base[12:24:2], pictures]
        for p in params:
            p.requires_grad_()
        before = base.data_ptr()
        o = getattr(torch.optim, name)(params, lr=0.5)
        for _ in range(3):
            for p in params:
                p.grad = torch.ones(p.shape[::-1]).permute(*reversed(range(p.dim()))) * 2
            o.step()
        tell(base, params, before == base.data_ptr(), [p._version for p in params])
        tell([{k: v.stride() for k, v in s.items()} for s in o.state.values()])


@same_story
def test_steps_count_as_writes(torch: Any, tell: Any) -> None:
    p = torch.ones(2, requires_grad=True)
    o = torch.optim.SGD([p], lr=0.1)
    loss = (p * p).sum()
    loss.backward(retain_graph=True)
    o.step()
    tell(p._version)
    loss.backward()


@same_story
def test_parameters_and_state_may_be_replaced(torch: Any, tell: Any) -> None:
    p, q = [torch.ones(2, requires_grad=True) for _ in range(2)]
    o = torch.optim.Adam([p, q], lr=0.1)

    def step() -> None:
        for x in (p, q):
            x.grad = torch.full_like(x, 0.5)
        o.step()
        tell(p, q, [list(s.values()) for s in o.state.values()])

    step()
    step()
    o.state[p]["exp_avg"] = torch.ones(2)
    step()
    o.state[q]["step"].fill_(7)
    step()
    o.state[q]["exp_avg_sq"].zero_()
    step()
    p.data = torch.full((2,), 3.0)
    step()
    with torch.no_grad():
        q.zero_()
    step()
    o.state[p] = {}
    step()
    o.state.clear()
    step()
    o.param_groups[0]["lr"] = 0.5
    step()
    o.param_groups[0]["betas"] = (0.5, 0.9)
    step()
    o.param_groups[0]["params"] = [q]
    step()
    o.param_groups[0]["amsgrad"] = True
    step()


@same_story
def test_gradients_of_other_kinds(torch: Any, tell: Any) -> None:
    p = torch.ones(3, dtype=torch.float32, requires_grad=True)
    p.grad_dtype = None
    p.grad = torch.ones(3, dtype=torch.float64)
    torch.optim.SGD([p], lr=0.1).step()
    tell(p)
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    z.grad = torch.tensor([1 + 2j, 3j])
    o = torch.optim.Adam([z], lr=0.1)
    o.step()
    tell(z, o.state_dict()["state"])
    m = torch.ones(2, device="meta", requires_grad=True)
    m.grad = torch.ones(2, device="meta")
    torch.optim.Adam([m]).step()


# ---- errors


def _errors() -> list[Any]:
    found = []
    for name, info in INFOS.items():
        for i, e in enumerate(info.optim_error_inputs_func("cpu", torch.float32)):
            if "dense params required" in e.optimizer_error_input.desc:
                continue  # there are no sparse tensors
            found.append(pytest.param(name, i, id=f"{name} {e.optimizer_error_input.desc}"))
    return found


@pytest.mark.parametrize("name, at", _errors())
def test_error_inputs(name: str, at: int) -> None:
    inputs = list(INFOS[name].optim_error_inputs_func("cpu", torch.float32))[at].optimizer_error_input

    def moved(library: Any, value: Any) -> Any:
        if isinstance(value, torch.nn.Parameter):
            key = id(value)
            if key not in seen:
                seen[key] = library.nn.Parameter(tensor(library, value.detach().numpy(), "float32"))
            return seen[key]
        if isinstance(value, torch.Tensor):
            return tensor(library, value.detach().numpy(), str(value.dtype).removeprefix("torch."))
        if isinstance(value, dict):
            return {k: moved(library, v) for k, v in value.items()}
        return type(value)([moved(library, v) for v in value]) if isinstance(value, (list, tuple)) else value

    told = []
    for library in (torch, torchlite):
        seen: dict[int, Any] = {}
        params = moved(library, inputs.params)
        if params is None:
            params = [library.nn.Parameter(library.ones(2, 3))]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                getattr(library.optim, name)(params, **moved(library, inputs.kwargs))
                told.append("nothing")
            except Exception as error:
                told.append((type(error).__name__, text(error)))
    assert told[0] == told[1]


WRONG: list[Any] = [
    lambda t, p: t.optim.SGD(p),
    lambda t, p: t.optim.SGD([]),
    lambda t, p: t.optim.SGD([1]),
    lambda t, p: t.optim.SGD(5),
    lambda t, p: t.optim.SGD([{"params": {p}}]),
    lambda t, p: t.optim.SGD([p * 1]),
    lambda t, p: t.optim.SGD([{"lr": 1}]),
    lambda t, p: t.optim.SGD([p]).add_param_group([p]),
    lambda t, p: t.optim.SGD([p]).add_param_group({"params": p}),
    lambda t, p: t.optim.SGD([p, p]),
    lambda t, p: t.optim.SGD([("a", p), t.ones(1)]),
    lambda t, p: t.optim.SGD([p]).add_param_group({"params": [("a", t.ones(1))]}),
    lambda t, p: t.optim.SGD([p], lr=-1),
    lambda t, p: t.optim.SGD([p], momentum=-1),
    lambda t, p: t.optim.SGD([p], nesterov=True),
    lambda t, p: t.optim.SGD([p], weight_decay=-1),
    lambda t, p: t.optim.SGD([p], lr=t.ones(2)),
    lambda t, p: t.optim.Adam([p], betas=(1.0, 0.9)),
    lambda t, p: t.optim.Adam([p], eps=-1),
    lambda t, p: t.optim.Adam([p], betas=(t.tensor(0.9), 0.9)),
    lambda t, p: t.optim.Adam([p], lr=t.tensor(0.1), foreach=True),
    lambda t, p: t.optim.Adam([p], fused=True, foreach=True),
    lambda t, p: t.optim.Adam([p], fused=True, differentiable=True),
    lambda t, p: t.optim.Adam([p], capturable=True).step(),
    lambda t, p: t.optim.NAdam([p], capturable=True).step(),
    lambda t, p: t.optim.ASGD([p], capturable=True).step(),
    lambda t, p: t.optim.RMSprop([p], capturable=True).step(),
    lambda t, p: t.optim.Adam([p], foreach=True, differentiable=True).step(),
    lambda t, p: t.optim.SparseAdam([p]).step(),
    lambda t, p: t.optim.LBFGS([p], line_search_fn="x").step(lambda: (p * 2).sum()),
    lambda t, p: t.optim.LBFGS([{"params": [p]}, {"params": [t.ones(1)]}]),
    lambda t, p: t.optim.Muon([p]),
    lambda t, p: t.optim.Optimizer([p], {"lr": required(t)}),
    lambda t, p: t.optim.Optimizer([p], {}).step(),
    lambda t, p: t.optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []}),
    lambda t, p: t.optim.SGD([p]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
    lambda t, p: t.optim.Adafactor([p], d=0.5),
    lambda t, p: t.optim.Adafactor([p], eps=(-1, 1)),
    lambda t, p: t.optim.Rprop([p], etas=(2, 1)),
    lambda t, p: t.optim.Adadelta([p], rho=2),
]


def required(library: Any) -> Any:
    import sys

    return sys.modules[f"{library.__name__}.optim.optimizer"].required


@pytest.mark.parametrize("at", range(len(WRONG)))
def test_bad_arguments(at: int) -> None:
    def program(torch: Any, tell: Any) -> None:
        p = torch.ones(3, requires_grad=True)
        p.grad = torch.ones(3)
        WRONG[at](torch, p)

    agree(program)


# ---- the base class


@same_story
def test_representation_and_names(torch: Any, tell: Any) -> None:
    p, q = [torch.ones(1, requires_grad=True) for _ in range(2)]
    for name in ("SGD", "Adam", "AdamW", "LBFGS", "Adafactor", "Rprop", "SparseAdam"):
        o = getattr(torch.optim, name)([p])
        tell(repr(o), o.defaults, type(o).__module__)
    o = torch.optim.SGD([{"params": [("a", p)], "lr": 0.5}, {"params": [("b", q)]}], momentum=0.9)
    tell(repr(o), o.state_dict())
    unnamed = torch.optim.SGD([{"params": [p]}, {"params": [q]}])
    named = o.state_dict()
    unnamed.load_state_dict(named)
    tell(unnamed.state_dict())
    o.load_state_dict(torch.optim.SGD([{"params": [p]}, {"params": [q]}]).state_dict())
    tell(o.state_dict())
    tell([n for n in torch.optim.__all__ if n != "swap_in_optimizer_params_and_state"])


@same_story
def test_hooks(torch: Any, tell: Any) -> None:
    p = torch.ones(1, requires_grad=True)
    p.grad = torch.ones(1)
    o = torch.optim.SGD([p], lr=0.1)
    handles = [
        o.register_step_pre_hook(lambda o, args, kwargs: tell("pre", len(args), kwargs)),
        o.register_step_post_hook(lambda o, args, kwargs: tell("post", len(args), kwargs)),
        o.register_state_dict_pre_hook(lambda o: tell("before saving")),
        o.register_state_dict_pre_hook(lambda o: tell("first"), prepend=True),
        o.register_state_dict_post_hook(lambda o, state: {**state, "more": 1}),
        o.register_load_state_dict_pre_hook(lambda o, state: {k: v for k, v in state.items() if k != "more"}),
        o.register_load_state_dict_post_hook(lambda o: tell("loaded")),
    ]
    o.step()
    o.step(closure=lambda: 3)
    state = o.state_dict()
    tell(state)
    o.load_state_dict(state)
    for handle in handles:
        handle.remove()
    o.step()
    tell(o.state_dict())
    optimizer = __import__("sys").modules[f"{torch.__name__}.optim.optimizer"]
    before = optimizer.register_optimizer_step_pre_hook(lambda *_: tell("global pre"))
    after = optimizer.register_optimizer_step_post_hook(lambda *_: tell("global post"))
    o.register_step_pre_hook(lambda o, args, kwargs: tell("own pre"))
    o.register_step_post_hook(lambda o, args, kwargs: tell("own post"))
    o.step()
    before.remove()
    after.remove()
    tell(p)


@same_story
def test_subclasses(torch: Any, tell: Any) -> None:
    class Mine(torch.optim.Optimizer):
        def __init__(self, params: Any, lr: float = 0.1) -> None:
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure: Any = None) -> str:
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        state = self.state[p]
                        state["n"] = state.get("n", 0) + 1
                        p.add_(p.grad, alpha=-group["lr"])
            return "done"

    p = torch.ones(2, requires_grad=True)
    p.grad = torch.ones(2)
    o = Mine([p])
    tell(o.step(), p, o.state_dict(), Mine.step.hooked, repr(o))

    class Louder(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            tell("stepping")
            return super().step(closure)

    Louder([p], lr=0.5).step()
    tell(p)


@same_story
def test_zero_grad(torch: Any, tell: Any) -> None:
    p, q = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    o = torch.optim.SGD([p, q])
    p.grad = torch.ones(2)
    kept = p.grad
    o.zero_grad(set_to_none=False)
    tell(p.grad, p.grad is kept, q.grad)
    (p * p).sum().backward(create_graph=True)
    o.zero_grad(set_to_none=False)
    tell(p.grad)
    o.zero_grad()
    tell(p.grad)


@pytest.mark.parametrize("name", ["SGD", "Adam", "LBFGS", "Adagrad"])
def test_copies_and_pickles(name: str) -> None:
    def step(o: Any) -> Any:
        (p,) = o.param_groups[0]["params"]

        def closure() -> Any:
            o.zero_grad()
            loss = (p**3).sum()
            loss.backward()
            return loss

        o.step(closure)
        return p

    for again in (copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))):
        o = getattr(torchlite.optim, name)([torchlite.ones(3, requires_grad=True)], lr=0.1)
        step(o)
        twin = again(o)
        p, other = step(o), step(twin)
        assert other is not p and other.tolist() == p.tolist()


@pytest.mark.parametrize("name, options", ELEMENTWISE, ids=str)
def test_a_device_as_narrow_as_cupy(name: str, options: dict[str, Any]) -> None:
    import torchlite.testing.strict

    there, here = [Training(torchlite, name, options) for _ in range(2)]
    there.params = [p.detach().to("strict").requires_grad_() for p in there.params]
    there.optimizer = getattr(torchlite.optim, name)(there.params, **of_library(torchlite, options))
    for i in range(3):
        for p, q in zip(there.params, here.params):
            q.grad = torchlite.full_like(q, i - 0.5)
            p.grad = q.grad.to("strict")
        there.optimizer.step()
        here.optimizer.step()
    for p, q in zip(there.params, here.params):
        assert_close(q, p.cpu(), 1e-6)


@same_story
def test_scaled_gradients(torch: Any, tell: Any) -> None:
    for name in ("SGD", "Adam", "Adagrad"):
        p = torch.ones(2, requires_grad=True)
        o = getattr(torch.optim, name)([p], lr=0.1, fused=True)
        tell(o._step_supports_amp_scaling)
        p.grad = torch.full((2,), 8.0)
        o.grad_scale, o.found_inf = torch.tensor(4.0), torch.tensor(0.0)
        o.step()
        tell(p, p.grad)
        o.found_inf = torch.tensor(1.0)
        o.step()
        tell(p)


@same_story
def test_a_step_is_a_write_to_the_state(torch, tell):
    p = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.Adam([p])
    for _ in range(2):
        p.sum().backward()
        optimizer.step()
        tell({name: t._version > 0 for name, t in optimizer.state[p].items()})
    w = torch.ones(2, requires_grad=True)
    loss = (w * optimizer.state[p]["exp_avg"]).sum()
    optimizer.step()
    try:
        loss.backward()
    except RuntimeError:
        tell("refused")


_COUNTED = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {}), ("Adam", {"amsgrad": True}),
    ("AdamW", {}), ("AdamW", {"weight_decay": 0.0}), ("Adam", {"fused": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "fused": True}),
    ("Adagrad", {}), ("RMSprop", {"momentum": 0.9, "centered": True}), ("Adadelta", {}), ("Adamax", {}), ("NAdam", {}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}), ("RAdam", {}), ("ASGD", {}),
    ("ASGD", {"foreach": True}), ("Rprop", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "named"), _COUNTED, ids=str)
def test_steps_count_as_many_writes_as_their_formulas_have(name: str, named: dict[str, Any]) -> None:
    @same_story
    def program(torch: Any, tell: Any) -> None:
        params = [torch.ones(3, requires_grad=True), torch.ones(150, 150, requires_grad=True)]
        optimizer = getattr(torch.optim, name)(params, **named)
        for _ in range(3):
            for p in params:
                p.grad = torch.ones_like(p)
            optimizer.step()
            for p in params:
                state = optimizer.state[p].items()
                tell(p._version, {name: t._version for name, t in state if t is not None})

    program()
