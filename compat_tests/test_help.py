"""What `help` says of public names: a text and a signature for each, at the place where PyTorch has it."""

import doctest
import functools
import importlib
import inspect
import json
import linecache
import operator
import os
import pickle
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import torchlite
from torchlite.absent import Missing
from torchlite.core.declare import Op
from torchlite.core.machine.registry import functions
from torchlite.core.native import native

pytest.importorskip("torch", reason="live comparisons need real PyTorch")

import torch

from .coverage import _NAMESPACES, public_names
from .parity import samples
from .parity.library import Library

OURS, THEIRS = Library(torchlite), Library(torch, native=True)
EVERYTHING = [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]


def named(namespace: str) -> Iterator[tuple[str, Any, Any]]:
    """The public names of a namespace that both have, each with what stands for it here and in PyTorch."""
    if not OURS.has(namespace):
        return
    owner, model = OURS.get(namespace), THEIRS.get(namespace)
    for name in public_names(namespace):
        find = inspect.getattr_static if inspect.isclass(owner) else getattr
        if name in dir(owner) and not isinstance(find(owner, name), Missing):
            yield name, find(owner, name), find(model, name, None)


def unwrapped(value: Any) -> Any:
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def told(value: Any) -> bool:
    """Whether something has a text that says what it does; to list overloads is not enough."""
    return not (inspect.getdoc(value) or "Overloads:").startswith("Overloads:")


def explained(cls: type, name: str) -> bool:
    """Whether a member of a class has a text, or one that it overrides has."""
    return any(told(vars(base)[name]) for base in cls.__mro__ if name in vars(base))


def is_ours(value: Any) -> bool:
    home = getattr(value, "__module__", None) or ""
    return home.startswith("torch") and not isinstance(value, ModuleType)


def members(cls: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(cls).items():
        value = unwrapped(value)
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            yield name, value


@pytest.mark.parametrize("namespace", _NAMESPACES)
def test_every_public_name_has_a_text(namespace: str) -> None:
    silent = []
    for name, value, _ in named(namespace):
        value = unwrapped(value)
        if inspect.isclass(value) and is_ours(value):
            silent += [name] if not value.__doc__ else []
            silent += [f"{name}.{member}" for member, _ in members(value) if not explained(value, member)]
        elif (inspect.isroutine(value) or isinstance(value, property)) and (
            isinstance(value, property) or is_ours(value)
        ):
            owner = OURS.get(namespace)
            known = told(value) or (inspect.isclass(owner) and explained(owner, name))
            silent += [] if known else [name]
    assert not silent


@pytest.mark.parametrize("namespace", _NAMESPACES)
def test_inspect_knows_a_signature_of_all_that_can_be_called(namespace: str) -> None:
    """Of classes and their methods too, exceptions among them, of which Python itself has none."""
    silent = []
    for name, value, _ in named(namespace):
        value = unwrapped(value)
        called = [(name, value)] if (inspect.isroutine(value) or inspect.isclass(value)) and is_ours(value) else []
        if called and inspect.isclass(value):
            called += [(f"{name}.{key}", v) for key, v in members(value) if not isinstance(v, property)]
        for path, each in called:
            try:
                inspect.signature(each)
            except (TypeError, ValueError):
                silent.append(path)
    assert not silent


@pytest.mark.parametrize("name", ["nn", "nn.functional", "nn.utils", "linalg", "fft", "special", "cuda", "utils"])
def test_modules_that_list_no_names_show_no_helpers(name: str) -> None:
    """They would stand in the reference, and among the names that a misspelt one is compared with."""
    shown = vars(OURS.get(f"torch.{name}"))
    helpers = ("torchlite.absent", "torchlite.faces", "torchlite.core.values.pickling")
    assert not [key for key, value in shown.items() if key[0] != "_" and getattr(value, "__module__", "") in helpers]


def test_texts_are_of_what_they_stand_with() -> None:
    """A function that is made of an op's method has a text of its own."""
    inner = {Op.apply.__doc__, Op.run_bound.__doc__, Op.call.__doc__}
    told = {name for name, f in functions.items() if f.__doc__ in inner}
    assert not told | {name for name, f in vars(torchlite.Tensor).items() if callable(f) and f.__doc__ in inner}


def test_texts_are_one_text() -> None:
    """One that a function has itself is not followed by another of the same, nor either by lines of nothing."""
    for name, f in [*functions.items(), *vars(torchlite.Tensor).items()]:
        text = getattr(f, "__doc__", None) or ""
        assert not re.search(r"\n\s*\n\s*\n", text), name
        prose = re.sub("`[^`]+`", "``", text.partition(">>>")[0])
        assert not re.search(r"[a-z)`]\.[A-Z`]", prose), name


def test_properties_that_classes_have_anew_have_texts() -> None:
    """`inspect.getdoc` finds none by itself for those that are one expression."""
    silent = [
        f"{name}.{key}"
        for name, cls in vars(torchlite.distributions).items()
        if inspect.isclass(cls)
        for key, value in members(cls)
        if isinstance(value, property) and not inspect.getdoc(value)
    ]
    assert not silent


def says_nothing(value: Any) -> bool:
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return True
    names = [p.name for p in parameters]
    return [p.kind for p in parameters] == EVERYTHING and names[0] != "_"  # `*_` takes what it is given, to refuse it


@pytest.mark.parametrize("namespace", _NAMESPACES)
def test_every_public_name_has_a_signature(namespace: str) -> None:
    silent = []
    for name, value, model in named(namespace):
        value, model = unwrapped(value), unwrapped(model)
        if inspect.isclass(value):
            silent += [name] if is_ours(value) and says_nothing(value) and not says_nothing(model) else []
        elif inspect.isroutine(value) and is_ours(value):
            silent += [name] if says_nothing(value) else []
    assert not silent


# Names that are at home elsewhere than in PyTorch; `*` where files are not as PyTorch has them. Python looks for a
# class's source where it says that it lives, so classes that share a file here say so; and functions that torch and
# one of its modules share have one home.
_ELSEWHERE = {
    "torch": "Future PyTorchFileReader ScriptModule",
    "torch.autograd.profiler": "EnforceUnique KinetoStepTracker MemRecordsAcc",
    "torch.compiler": "compile list_backends",
    "torch.cuda": "empty_cache mem_get_info memory_allocated memory_reserved use_mem_pool",
    "torch.cuda.amp": "amp_definitely_not_available custom_bwd custom_fwd",
    "torch.distributed": "*",
    "torch.distributed.checkpoint": "*",
    "torch.distributed.fsdp": "*",
    "torch.distributed.nn.functional": "*",
    "torch.distributed.optim": "*",
    "torch.futures": "Future",
    "torch.jit": "ScriptModule",
    "torch.library": "infer_schema",
    "torch.masked": "as_masked_tensor masked_tensor",
    "torch.package": "*",
    "torch.profiler": "ExecutionTraceObserver ProfilerAction profile",
    "torch.signal.windows": "*",
    "torch.sparse": "check_sparse_tensor_invariants sum",
    "torch.utils.checkpoint": "CheckpointPolicy DefaultDeviceType SelectiveCheckpointContext "
    "create_selective_checkpoint_contexts get_device_states set_device_states",
    "torch.utils.dlpack": "DLDeviceType from_dlpack",
}


@pytest.mark.parametrize("namespace", _NAMESPACES)
def test_names_live_where_pytorch_has_them(namespace: str) -> None:
    """Where PyTorch's own module is private or made in C, ours is a public one."""
    elsewhere = {}
    for name, value, model in named(namespace):
        value, model = unwrapped(value), unwrapped(model)
        theirs = getattr(model, "__module__", None) or ""
        if not (inspect.isroutine(value) or inspect.isclass(value)) or not is_ours(value):
            continue
        if theirs.startswith("torch") and "._" not in theirs:
            ours = "torch" + value.__module__.removeprefix("torchlite").removeprefix("torch")
            elsewhere |= {name: (ours, theirs)} if ours != theirs else {}
    known = _ELSEWHERE.get(namespace, "").split()
    assert known == ["*"] or not elsewhere.keys() - set(known)


@pytest.mark.parametrize("name", ["all_reduce", "init_process_group", "isend", "broadcast_object_list", "is_available"])
def test_collectives_live_where_pytorch_has_them(name: str) -> None:
    ours, theirs = getattr(torchlite.distributed, name), getattr(torch.distributed, name)
    assert ours.__module__ == f"torchlite{theirs.__module__.removeprefix('torch')}"
    assert pickle.loads(pickle.dumps(ours)) is ours


@pytest.mark.parametrize("name", torch.distributions.transforms.__all__)
def test_transforms_live_where_pytorch_has_them(name: str) -> None:
    ours, theirs = getattr(torchlite.distributions, name), getattr(torch.distributions, name)
    for one, root in ((ours, "torchlite"), (theirs, "torch")):
        home = one if inspect.isclass(one) else type(one)
        assert home.__module__ == f"{root}.distributions.transforms"
    assert pickle.loads(pickle.dumps(ours)) == ours


@pytest.mark.parametrize(
    "name", [n for n, cls in vars(torch.distributions).items() if inspect.isclass(cls) and not n.endswith("Transform")]
)
def test_distributions_live_where_pytorch_has_them(name: str) -> None:
    ours, theirs = getattr(torchlite.distributions, name), getattr(torch.distributions, name)
    assert ours.__module__ == "torchlite" + theirs.__module__.removeprefix("torch")
    assert ours.__qualname__ == theirs.__qualname__
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert f"class {name}" in inspect.getsource(ours)


_MADE = re.compile("Lazy(Conv|BatchNorm|InstanceNorm).*|[A-Z][A-Za-z0-9]+Storage")  # without a class statement


@functools.cache
def classes_with_source() -> list[str]:
    """The public classes whose statements are in PyTorch's files."""
    return [
        f"{namespace}.{name}"
        for namespace in _NAMESPACES
        for name, value, model in named(namespace)
        if inspect.isclass(value) and is_ours(value) and value.__name__ == name and not _MADE.fullmatch(name)
        if re.search(rf"^\s*class {name}\b", _text_around(model), re.M)
    ]


def _text_around(cls: type) -> str:
    try:
        return "".join(linecache.getlines(inspect.getfile(cls)))
    except TypeError:  # it is built in
        return ""


@pytest.mark.parametrize("alias", [[], ["-m", "torchlite"]])
def test_the_source_of_classes_is_found(alias: list[str]) -> None:
    """Where PyTorch's is, whether or not there are modules of the names that classes bear."""
    wanted = classes_with_source()
    root = "torch" if alias else "torchlite"
    program = (
        "import ast, functools, importlib, inspect, json, sys\n"
        "ast.parse = functools.cache(ast.parse)\n"  # `inspect` parses a file again for each of its classes
        "def found(path):\n"
        "    space, _, name = path.rpartition('.')\n"
        f"    cls = getattr(importlib.import_module(space.replace('torch', {root!r}, 1)), name)\n"
        "    try:\n"
        "        return f'class {name}' in inspect.getsource(cls)[:300]\n"
        "    except (OSError, TypeError):\n"
        "        return False\n"
        "print(json.dumps([path for path in json.load(sys.stdin) if not found(path)]))\n"
        f"assert ('torch' in sys.modules) is {bool(alias)}"
    )
    assert len(wanted) > 300
    assert run_apart(alias, program, wanted) == []


def test_the_source_is_that_of_the_library_that_has_the_class() -> None:
    for name in ("SGD", "lr_scheduler.StepLR", "Optimizer"):
        ours, theirs = operator.attrgetter(name)(torchlite.optim), operator.attrgetter(name)(torch.optim)
        assert ours.__module__ == theirs.__module__
        assert Path(inspect.getfile(ours)).is_relative_to(Path(torchlite.__file__).parent)
        assert Path(inspect.getfile(theirs)).is_relative_to(Path(torch.__file__).parent)
    with pytest.raises(TypeError, match="is a built-in class"):
        inspect.getfile(int)


def test_optimizers_made_of_others_have_their_source() -> None:
    ours, theirs = (
        importlib.import_module(f"{library.__name__}.optim._multi_tensor").Adam for library in (torchlite, torch)
    )
    assert ours.__qualname__ == theirs.__qualname__
    assert inspect.getsource(ours).lstrip().startswith("class NewCls(")


def run_apart(alias: list[str], program: str, given: Any) -> Any:
    """What a program prints, as data, in a process of its own; it reads what it is given, as data too."""
    run = subprocess.run(
        [sys.executable, *alias, "-c", program], input=json.dumps(given), capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(torchlite.__file__).parent.parent)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_under_the_alias_functions_bear_pytorchs_names() -> None:
    spaces = ["torch.nn.functional", "torch.func", "torch.linalg", "torch.fft", "torch.special", "torch.optim"]
    wanted = {
        f"{space}.{name}": getattr(model, "__module__", None) or ""
        for space in spaces for name, value, model in named(space)
        if (inspect.isroutine(value) or inspect.isclass(value)) and is_ours(value)
    }  # fmt: skip
    for name in ("relaxed_bernoulli.LogitRelaxedBernoulli", "relaxed_categorical.ExpRelaxedCategorical"):
        wanted[f"torch.distributions.{name}"] = f"torch.distributions.{name.partition('.')[0]}"
    wanted |= {f"torch.{name}": "torch" for name, f in functions.items() if name[0] != "_" and inspect.isroutine(f)}
    program = (
        "import importlib, json, sys\n"
        "def home(path):\n"
        "    space, _, name = path.rpartition('.')\n"
        "    return getattr(importlib.import_module(space), name).__module__ or ''\n"
        "print(json.dumps({path: home(path) for path in json.load(sys.stdin)}))"
    )
    found = run_apart(["-m", "torchlite"], program, [*wanted])
    public = {path: home for path, home in wanted.items() if home.startswith("torch") and "._" not in home}
    elsewhere = {path: (found[path], home) for path, home in public.items() if found[path] != home}
    # PyTorch hands these on from `torch.functional`, or from torch itself.
    assert not {path: homes for path, homes in elsewhere.items() if not homes[0].startswith("torch.functional")}


@pytest.mark.parametrize(
    "name", ["sum", "max", "std", "where", "clamp", "randint", "normal", "permute", "scatter", "pow"]
)
def test_signatures_take_the_calls_of_all_overloads(name: str) -> None:
    signature = inspect.signature(getattr(torchlite, name))
    infos = [info for info in samples.op_infos().values() if info.name == name]
    for info in infos:
        for sample in info.sample_inputs("cpu", torch.float32):
            signature.bind(sample.input, *sample.args, **sample.kwargs)


def test_signatures_and_overloads_are_in_pytorchs_words() -> None:
    assert str(inspect.signature(torchlite.softmax)) == "(input, dim, dtype=None, *, out=None)"
    assert str(inspect.signature(torchlite.Tensor.add_)) == "(self, other, *, alpha=1)"
    assert str(inspect.signature(torchlite.ones(2).permute)) == "(*dims)"
    assert str(inspect.signature(torchlite.sum)) == "(input, dim=..., keepdim=False, *, dtype=None, out=None)"
    assert "sum(Tensor input, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)" in torchlite.sum.__doc__
    assert "written into the tensor itself" in torchlite.Tensor.add_.__doc__


IN_PLACE = [
    f"{space}.{name}" for space in ("torch", "torch.nn.functional") for name, _, _ in named(space)
    if name.endswith("_") and name[0] != "_" and name != "embedding_renorm_"
]  # fmt: skip


@pytest.mark.parametrize("path", IN_PLACE)
def test_functions_that_write_are_no_methods(path: str) -> None:
    """They have names, places and signatures of their own, and refuse what PyTorch's refuse in the same words."""
    space, _, name = path.rpartition(".")
    told = []
    for library, root in ((OURS, torchlite), (THEIRS, torch)):
        f = getattr(library.get(space), name)
        refused = [f.__module__.removeprefix(root.__name__), f.__name__, f.__qualname__.rpartition(".")[2]]
        for arguments in ((), (3,), (root.ones(2),) * 9):
            with pytest.raises(TypeError) as error:
                f(*arguments)
            refused.append(str(error.value))
        told.append(refused)
    assert told[0] == told[1]
    ours = getattr(OURS.get(space), name)
    assert ours is not getattr(torchlite.Tensor, name, None)
    assert next(iter(inspect.signature(ours).parameters)) == "input"


@pytest.mark.parametrize("namespace", ["torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.special"])
def test_ipython_shows_one_signature_and_one_text(namespace: str) -> None:
    """With a question mark; and no file that has nothing to do with the function."""
    inspector = pytest.importorskip("IPython.core.oinspect").Inspector(theme_name="nocolor")
    shown = [(name, value) for name, value, _ in named(namespace) if inspect.isroutine(value) and is_ours(value)]
    for name, value in shown:
        told = inspector.info(value, oname=name)
        assert told["definition"].startswith(f"{name}(") and told["docstring"], name
        assert not (told["call_def"] or told["class_docstring"]), name
        assert not (told["file"] or "").endswith("told.py"), name


def test_functions_in_c_pass_for_what_pytorchs_are() -> None:
    """`isinstance` tells the same, by which tools tell functions from objects that can be called."""
    for library in (torch, torchlite) if native else (torch,):
        assert isinstance(library.softmax, types.BuiltinFunctionType)
        assert isinstance(library.Tensor.softmax, types.MethodDescriptorType)
    kinds = {a.name: a.kind for a in inspect.classify_class_attrs(torchlite.Tensor)}
    assert {"__add__", "__neg__", "add_", "pow", "softmax"} <= {n for n, kind in kinds.items() if kind == "method"}
    assert [n for n, kind in kinds.items() if kind == "static method" and n[0] != "_"] == []


@pytest.mark.parametrize(
    "path", ["softmax", "add", "zeros", "einsum", "Tensor.add", "Tensor.sum", "linalg.norm", "nn.functional.relu"]
)
def test_public_functions_are_pickled_by_their_names(path: str) -> None:
    value = OURS.get(f"torch.{path}")
    assert pickle.loads(pickle.dumps(value)) is value


def test_examples_in_texts_run() -> None:
    finder, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    texts: dict[str, str] = {}
    for namespace in _NAMESPACES:
        for name, value, _ in named(namespace):
            text = getattr(unwrapped(value), "__doc__", None) or ""
            if is_ours(unwrapped(value)) and ">>>" in text:
                texts[f"{namespace}.{name}"] = inspect.cleandoc(text)
    assert texts
    for path, text in texts.items():
        torchlite.manual_seed(0)
        known = {"torch": torchlite, "nn": torchlite.nn, "F": torchlite.nn.functional}
        runner.run(finder.get_doctest(text, known, path, None, 0))
    assert not runner.failures
