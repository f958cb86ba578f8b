"""Good calls: PyTorch's samples as text, or arguments that suit the parameters, tried until PyTorch takes them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from random import Random
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

from . import callables
from .call import Call
from .children import outcomes

SAMPLES = 4  # good calls for a callable
TRIES = 60  # calls made to find some where PyTorch has no samples


class Unsayable(Exception):
    """A value that has no text."""


def text_of(value: Any) -> str:
    """An expression for a sample's argument."""
    if isinstance(value, torch.Tensor):
        if (
            value.layout is not torch.strided
            or value.numel() > 4096
            or type(value) not in (torch.Tensor, torch.nn.Parameter)
        ):
            raise Unsayable
        if not value.is_floating_point() and not value.is_complex() and value.numel() <= 32 and value.numel():
            return f"torch.tensor({value.tolist()}, dtype={value.dtype})"
        made = f"T({', '.join([repr(str(value.dtype)[6:]), *map(str, value.shape)])})"
        return f"{made}.requires_grad_()" if value.requires_grad else made
    if type(value) in (tuple, list, torch.Size):
        inside = ", ".join(map(text_of, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside},)" if inside else "()"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text_of(k)}: {text_of(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (bool, int, float, complex, str, type(None), slice)):
        return repr(value)
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return str(value)
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    raise Unsayable


@functools.cache
def samples() -> dict[str, list[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]]]:
    """The arguments of PyTorch's samples by the name of what is called with them."""
    found: dict[str, Any] = defaultdict(list)
    for info in op_db:
        names = [f"torch.{name}" for name in (info.name, *[alias.name for alias in info.aliases])]
        dtypes = info.supported_dtypes("cpu")
        dtype = torch.float32 if torch.float32 in dtypes else min(dtypes, key=str, default=None)
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            taken = 0
            for sample in info.sample_inputs_func(info, "cpu", dtype, requires_grad=False):
                with contextlib.suppress(Unsayable):
                    arguments = tuple(map(text_of, (sample.input, *sample.args)))
                    keywords = tuple((k, text_of(v)) for k, v in sample.kwargs.items())
                    for name in names:
                        last = name.rpartition(".")[2]
                        for form in {name, f"torch.Tensor.{last}", f"torch.Tensor.{last}_", f"{name}_"}:
                            found[form].append((arguments, keywords))
                    taken += 1
                if taken >= 3 * SAMPLES:
                    break
    return found


@functools.cache
def module_samples() -> dict[str, list[tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]]]:
    """For each class of modules: what makes one, and what such a one is called with."""
    found: dict[str, Any] = defaultdict(list)
    for info in module_db:
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            made = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=True)
            for sample in made[: 2 * SAMPLES]:
                with contextlib.suppress(Unsayable):
                    built, given = sample.constructor_input, sample.forward_input
                    parts = [
                        (tuple(map(text_of, part.args)), tuple((k, text_of(v)) for k, v in part.kwargs.items()))
                        for part in (built, given)
                    ]
                    found[f"torch.{info.name}"].append(parts)
    return found


_TENSORS = (
    "T('float32', 3, 3)", "T('float32', 4)", "T('float32', 2, 3, 4)", "T('float32', 2, 2, 4, 4)", "T('float32')",
    "torch.tensor([0, 1, 1])", "torch.tensor([[0, 1], [1, 0]])", "torch.tensor([True, False, True])",
    "T('float64', 3, 3)", "T('complex64', 3)", "torch.eye(3)", "T('float32', 1, 2, 2, 4, 4)", "T('uint8', 4)",
    "torch.tensor([0.2, 0.8])", "T('float32', 2).requires_grad_()",
)  # fmt: skip
_INTS = ("0", "1", "2", "3", "-1")
_FLOATS = ("0.5", "1.0", "2.0", "0.1")
_PARAMETERS = ("[T('float32', 2).requires_grad_()]", "list(torch.nn.Linear(2, 3).parameters())")
_KINDS: dict[str, tuple[str, ...]] = {
    "tensor": _TENSORS,
    "tensors": (
        "[T('float32', 3), T('float32', 3)]",
        "[T('float32', 2, 3), T('float32', 2, 3)]",
        "(torch.eye(2), torch.eye(2))",
    ),
    "int": _INTS,
    "ints": ("[2, 3]", "(0,)", "[1]", "(3, 2)", "[0, 1]", "[]"),
    "float": _FLOATS,
    "floats": ("[0.5, 1.0]", "[1.0]"),
    "bool": ("True", "False"),
    "str": ("'mean'", "'sum'", "'none'", "'reflect'", "'i,j->ij'", "'right'", "'linear'", "'a'"),
    "dtype": ("torch.float32", "torch.int64", "torch.float64"),
    "device": ("'cpu'", "torch.device('cpu')"),
    "layout": ("torch.strided",),
    "format": ("torch.contiguous_format", "torch.channels_last"),
    "generator": ("torch.Generator()", "None"),
    "function": ("torch.sin", "lambda *a: a[0]", "torch.nn.ReLU()"),
    "module": ("torch.nn.Linear(2, 3)", "torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())"),
    "parameters": _PARAMETERS,
    "optimizer": (f"torch.optim.SGD({_PARAMETERS[0]}, lr=0.1)",),
    "distribution": ("torch.distributions.Normal(0.0, 1.0)", "torch.distributions.Normal(T('float32', 2, 3), 1.0)"),
    "dataset": ("[1, 2, 3, 4]", "torch.utils.data.TensorDataset(T('float32', 4, 2))"),
    "name": ("'weight'", "'bias'", "'a'"),
    "dict": ("{}", "{'a': T('float32', 2)}"),
    "anything": ("T('float32', 3)", "1", "0.5", "None", "[1, 2]", "'a'", "True"),
}

_BY_TYPE = (
    (r"Tensor\w*\[\]|[Ll]ist\[Tensor|[Ss]equence\[(torch\.)?Tensor|[Tt]uple\[(torch\.)?Tensor", "tensors"),
    (r"Optimizer", "optimizer"),
    (r"Module", "module"),
    (r"Distribution", "distribution"),
    (r"Generator", "generator"),
    (r"Dataset|Sampler", "dataset"),
    (r"[Ii]nt\w*\[|[Ll]ist\[int|[Tt]uple\[int|Size|_size", "ints"),
    (r"float\[|[Ll]ist\[float", "floats"),
    (r"Tensor", "tensor"),
    (r"dtype|ScalarType", "dtype"),
    (r"[Dd]evice", "device"),
    (r"[Ll]ayout", "layout"),
    (r"[Mm]emory_?[Ff]ormat", "format"),
    (r"Callable", "function"),
    (r"[Dd]ict|Mapping", "dict"),
    (r"bool", "bool"),
    (r"\b[Ii]nt|SymInt", "int"),
    (r"float|Scalar|number", "float"),
    (r"str\b", "str"),
)
_BY_NAME = (
    (r"^(params|parameters)$", "parameters"),
    (r"optimizer", "optimizer"),
    (r"^(module|model)$", "module"),
    (r"^(p|q|base_distribution|base_dist)$", "distribution"),
    (r"^tensors$", "tensors"),
    (r"dtype", "dtype"),
    (r"device", "device"),
    (r"layout", "layout"),
    (r"memory_format", "format"),
    (r"generator", "generator"),
    (r"^(size|shape|sizes|dims|kernel_size|output_size|normalized_shape|pad|padding|stride|dilation)$", "ints"),
    (
        r"^(dim|dim\d|n|k|d|m|num_\w+|\w+_features|\w+_channels|\w+_size|steps?|groups?|diagonal|offset|index|start|end|seed|length|T_max|last_epoch|batch_size|ndim|axis\d?|chunks|sections|M|N)$",
        "int",
    ),
    (
        r"^(lr|p|eps|alpha|beta|value|momentum|weight_decay|gamma|factor|negative_slope|lambd|margin|mean|std|a|b|scale|loc|rate|temperature|threshold|min|max|lower|upper|probs|df\d?|concentration\d?)$",
        "float",
    ),
    (
        r"^(keepdim|inplace|bias|training|sorted|largest|descending|unbiased|affine|batch_first|requires_grad|pin_memory|create_graph|strict|mode_)$",
        "bool",
    ),
    (r"^(mode|reduction|padding_mode|equation|nonlinearity|indexing|norm_type)$", "str"),
    (r"^(func|fn|f|function|hook|lr_lambda|closure|callable|map_function)$", "function"),
    (r"^(name|tensor_name|parameter_name)$", "name"),
    (r"dataset|data_source|datasets", "dataset"),
    (r"dict", "dict"),
    (
        r"^(input|self|other|tensor|x|y|target|weight|mask|source|src|mat\d?|vec\d?|A|B|L|out|indices|values?|logits|running_\w+)$",
        "tensor",
    ),
)


def kind_of(name: str, annotation: str) -> str:
    """What suits a parameter."""
    for text, table in ((annotation, _BY_TYPE), (name, _BY_NAME)):
        for pattern, kind in table:
            if re.search(pattern, text):
                return kind
    return "anything"


Parameters = list[tuple[str, str, bool, bool]]  # of each parameter: its name, kind, whether it may be left out, named


def parameters(name: str) -> list[Parameters]:
    """Those that a callable is known to take, in each of its forms."""
    found: list[Parameters] = []
    owner, _, last = name.rpartition(".")
    if owner in ("torch", "torch.Tensor", "torch.linalg", "torch.fft", "torch.special", "torch.nn.functional"):
        prefix = {"torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_"}.get(owner, "")
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{prefix}{last}"):
            found.append([
                (a.name, kind_of(a.name, str(a.type)), a.has_default_value(), a.kwarg_only) for a in schema.arguments
            ])  # fmt: skip
    if found:
        return found
    function = callables.get(torch, name)
    try:
        signature = inspect.signature(torch.overrides.get_testing_overrides().get(function, function))
    except (TypeError, ValueError):
        return [[("self", "tensor", False, False)], []] if owner == "torch.Tensor" else [[]]
    taken: Parameters = []
    for p in signature.parameters.values():
        annotation = "" if p.annotation is p.empty else str(p.annotation)
        if p.name == "self" and owner in callables.OBJECTS and owner != "torch.dtype":
            continue
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        kind = "tensor" if p.name == "self" else kind_of(p.name, annotation)
        taken.append((p.name, kind, p.default is not p.empty, p.kind is p.KEYWORD_ONLY))
    return [taken]


def plain(name: str, random: Random) -> Iterator[Call]:
    """Calls with arguments that suit the parameters, without end."""
    forms = parameters(name)
    while True:
        arguments, keywords, by_name = [], [], False
        for parameter, kind, optional, named in random.choice(forms):
            if optional and random.random() < 0.6:
                by_name = True
                continue
            value = random.choice(_KINDS[kind if random.random() < 0.9 else "anything"])
            if by_name or named:
                keywords.append((parameter, value))
            else:
                arguments.append(value)
        yield Call(callables.expression(name), tuple(arguments), tuple(keywords))


def good_calls(name: str, random: Random) -> list[Call]:
    """Some calls that PyTorch takes; where none is found, some that nearly suit."""
    if name.startswith("torch.nn.") and name in module_samples():
        calls = []
        for (made, named), (given, given_named) in module_samples()[name]:
            calls += [Call(name, made, named), Call(str(Call(name, made, named)), given, given_named)]
    else:
        calls = [Call(name, *sample) for sample in samples().get(name, ())]
    if calls:
        random.shuffle(calls)
    else:
        source = plain(name, random)
        calls = [next(source) for _ in range(TRIES)]
    taken = [c for c, outcome in zip(calls, outcomes(torch, calls), strict=True) if outcome.kind == "returned"]
    return sorted(taken, key=lambda c: len(str(c)) > 300)[:SAMPLES] or calls[:SAMPLES]
