"""Functions that PyTorch has under several names are functions of their own: told of, seen and refused by these."""

from __future__ import annotations

import inspect
import pickle
import re
import warnings
from typing import Any

import pytest

import torchlite

from .side_by_side import same, same_story, story

pytestmark = pytest.mark.any_build

_SAID = re.compile(r"[Aa]lias (?:for|of) :func:`torch\.(\w+)`")
# Names of functions that are made of the others, with arguments of other names.
_OTHERWISE = {"ger", "moveaxis", "row_stack", "swapaxes", "swapdims", "trapz"}


def other_names() -> dict[str, str]:
    """PyTorch's functions that its documentation calls aliases -> of what."""
    torch = pytest.importorskip("torch")
    said = {name: _SAID.search(inspect.getdoc(getattr(torch, name)) or "") for name in dir(torch)}
    return {name: match[1] for name, match in said.items() if match and name not in _OTHERWISE}


def forms(torch: Any) -> list[tuple[str, str, Any]]:
    """Functions, methods and in-place forms of these names: what each is called, what it stands for, and itself."""
    found, pytorchs = [], pytest.importorskip("torch")
    for alias, name in other_names().items():
        for suffix in ("", "_"):
            for owner, known in ((torch, pytorchs), (torch.Tensor, pytorchs.Tensor)):
                if hasattr(known, alias + suffix):
                    found.append((alias + suffix, name + suffix, getattr(owner, alias + suffix)))
    return found


class Seen:
    """What a mode is told of."""

    def __init__(self, torch: Any) -> None:
        from importlib import import_module

        seen = self.functions = []

        class Mode(import_module(f"{torch.__name__}.overrides").TorchFunctionMode):
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append(func)
                return func(*args, **(kwargs or {}))

        self.mode = Mode()


def called(form: Any, name: str, torch: Any) -> Any:
    """A call of such a function or method with what it takes."""
    x = torch.full((2,), 1.25 if "cosh" in name else 0.25)
    if name in ("cat", "concat", "concatenate"):
        return form([x, x])
    takes = 1 if re.fullmatch("(arc?|a)(cos|sin|tan)h?_?|neg.*|abs.*|fix_?|trunc_?", name) else 2
    return form(*[x, torch.ones(2)][:takes])


def test_there_are_such_names():
    assert {"divide", "true_divide", "clip", "concat", "arccos", "absolute", "not_equal", "fix"} <= set(other_names())
    assert len(forms(torchlite)) == len(forms(pytest.importorskip("torch"))) > 60


def test_each_is_a_function_of_its_own():
    for alias, _, form in forms(torchlite):
        assert form.__name__ == alias
        assert form.__doc__
        assert form.__qualname__ in (alias, f"Tensor.{alias}")
        if "." not in form.__qualname__:
            assert pickle.loads(pickle.dumps(form)) is form
    for alias, name in other_names().items():
        assert getattr(torchlite, alias) is not getattr(torchlite, name)
        shown = [inspect.signature(getattr(torchlite, one)) for one in (alias, name)]
        assert shown[0] == shown[1]


@same_story
def test_modes_are_told_of_the_function_called(torch, tell):
    for alias, _, form in forms(torch):
        seen = Seen(torch)
        with seen.mode:
            result = called(form, alias, torch)
        tell(alias, result, [f.__name__ for f in seen.functions])
        assert hasattr(torch, alias) or seen.functions[-1] is form


@same_story
def test_dispatch_sees_what_they_stand_for(torch, tell):
    from importlib import import_module

    class Mode(import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            tell(str(func))
            return func(*args, **(kwargs or {}))

    for alias, _, form in forms(torch):
        x = [torch.full((2,), 1.25)] * 2
        tell(alias)
        with Mode():
            called(form, alias, torch) if "cat" not in alias else form(x)


def test_refusals_speak_of_the_function_called():
    torch = pytest.importorskip("torch")
    for library in (torch, torchlite):
        for alias, _, form in forms(library):
            with pytest.raises(TypeError) as error:
                form(library.ones(2), "a") if "conc" not in alias else form(3)
            said = str(error.value).removeprefix("TensorBase.").removeprefix("Tensor.")
            assert said.startswith(f"{alias}()"), said


@pytest.mark.parametrize("call", [
    "torch.clip(x, 'a')", "x.clip('a')", "x.clip_('a')", "x.clip()", "torch.concat(3)", "torch.concatenate(3)",
    "torch.concat([])", "torch.absolute(3)", "x.absolute(2)", "x.absolute_(2)", "torch.less(x)", "x.less_('')",
    "torch.not_equal(x, '')", "torch.negative(2)", "torch.arctan2(x, 3)", "x.arctan2_(3)", "torch.fix()",
    "torch.arccos(x, 3)", "x.divide(x, rounding_mode='no')", "x.divide_(x, rounding_mode=3)",
    "torch.true_divide(x, x, rounding_mode='floor')", "torch.true_divide(x)", "x.multiply()", "x.subtract_()",
    "torch.divide(x.requires_grad_(), x, out=torch.ones(2))", "torch.arccos(x.requires_grad_(), out=torch.ones(2))",
    "torch.clip(x.requires_grad_(), 0, out=torch.ones(2))", "x.subtract(True)", "x.less('a')",
    "torch.divide(torch.ones(2, requires_grad=True), 2)", "torch.arcsin(torch.zeros(2, requires_grad=True))",
])  # fmt: skip
def test_what_is_said(call):
    wanted, found = [
        story(lambda torch, tell: eval(call, {"torch": torch, "x": torch.ones(2)}), library)
        for library in (pytest.importorskip("torch"), torchlite)
    ]
    assert same(wanted, found), f"{wanted} is not {found}"


@pytest.mark.parametrize("name", [
    "digamma", "psi", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln", "i0",
    "log1p", "logit", "logsumexp", "multigammaln", "sinc", "softmax", "xlogy",
])  # fmt: skip
def test_special_functions_have_the_names_of_their_own(name):
    def program(torch: Any, tell: Any) -> None:
        function = getattr(torch.special, name)
        tell(function.__name__)
        function(torch.ones(2), "a", "b", "c")

    assert same(story(program, pytest.importorskip("torch")), story(program, torchlite))
    assert getattr(torchlite.special, name).__doc__


def test_true_division_has_no_rounding_mode():
    for library in (pytest.importorskip("torch"), torchlite):
        x = library.ones(2)
        for call in (library.true_divide, library.Tensor.true_divide, library.Tensor.true_divide_):
            assert call(x.clone(), 2).tolist() == [0.5, 0.5]
            with pytest.raises(TypeError):
                call(x, x, rounding_mode="floor")


@same_story
def test_the_profiler_has_both(torch, tell):
    from importlib import import_module

    profiler = import_module(f"{torch.__name__}.autograd.profiler")
    for alias, name, form in forms(torch):
        with profiler.profile() as seen:
            called(form, alias, torch)
        of_interest = (f"aten::{alias}", f"aten::{name}")
        events = [event for event in seen.function_events if event.name in of_interest]
        inside = [child.name for event in events if event.name == of_interest[0] for child in event.cpu_children]
        tell(alias, [event.name for event in events][:2], of_interest[1] in inside)


@same_story
def test_autocast_knows_them(torch, tell):
    x, y = torch.ones(2), torch.ones(2, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        tell(torch.concat([x, y]), torch.concatenate([y, y]), torch.multiply(y, y), torch.arccos(y), torch.divide(x, y))


@same_story
def test_tensors_that_take_calls_over_know_them(torch, tell):
    from importlib import import_module

    warnings.simplefilter("ignore")  # of prototypes, once in a process
    masked_tensor = import_module(f"{torch.__name__}.masked").masked_tensor
    data = masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]))
    parts = [torch.ones(2, 3), torch.ones(1, 3)]
    for layout in (torch.jagged, torch.strided):
        nested = torch.nested.nested_tensor(parts, layout=layout)
        for alias in ("multiply", "subtract", "divide", "true_divide"):
            tell([t for t in getattr(torch, alias)(nested, nested).unbind()])
            tell([t for t in getattr(nested, alias)(nested).unbind()])
        tell([t for t in nested.arctan().unbind()] if layout is torch.jagged else nested.absolute().unbind()[0])
    tell(data.multiply(data).get_data(), torch.divide(data, data).get_mask(), torch.absolute(data).get_data())
    sparse = torch.tensor([[0.0, -1.0]]).to_sparse()
    tell(sparse.absolute().to_dense(), torch.multiply(sparse, sparse).to_dense(), sparse.divide(2).to_dense())


@same_story
def test_symbolic_traces_call_them(torch, tell):
    from importlib import import_module

    def program(x: Any) -> Any:
        return torch.divide(torch.clip(x, 0), 2) + x.multiply(x)

    traced = import_module(f"{torch.__name__}.fx").symbolic_trace(program)
    tell([(node.op, node.name, str(getattr(node.target, "__name__", node.target))) for node in traced.graph.nodes])
    tell(traced(torch.ones(2)))


@pytest.mark.filterwarnings("ignore:'set_vital'")
def test_there_are_no_functions_and_methods_that_pytorch_lacks() -> None:
    """In-place forms among them, most of which are methods alone; but for what adds backends."""
    torch = pytest.importorskip("torch")
    for ours, theirs, own in (
        (torchlite, torch, {"register_backend"}),
        (torchlite.Tensor, torch.Tensor, set()),
    ):
        shown = {name for name in dir(ours) if name[0] != "_" and callable(getattr(ours, name))}
        assert {name for name in shown if not hasattr(theirs, name)} == own
    with pytest.raises(AttributeError, match=re.escape("did you mean the method torch.Tensor.add_?")):
        torchlite.add_  # noqa: B018
