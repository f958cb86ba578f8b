"""The code of a graph: one line for each node, and the names that it needs."""

from __future__ import annotations

import enum
import math
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.values.device import device
from ..core.values.dtype import dtype
from ..core.values.layout import layout, memory_format
from ..utils import _pytree
from . import _pytree as fx_pytree
from .node import Node, _get_qualified_name, _type_repr, nodes_in

_ROOT = __package__.partition(".")[0]

magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}",
    "floordiv": "{} // {}", "truediv": "{} / {}", "div": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}",
    "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
# Those that are asked of the second operand where the first does not know them.
reflectable_magic_methods = {
    name: form for name, form in magic_methods.items()
    if name not in ("eq", "ne", "lt", "gt", "le", "ge", "pos", "neg", "invert")
}  # fmt: skip
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip


# By what PyTorch's code speaks of aliases of typing that have arguments.
_OF_TYPING = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet, tuple: typing.Tuple}  # noqa: UP006


@dataclass
class PythonCode:
    """A method's code, and what its names mean."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0


class _CustomBuiltin(NamedTuple):
    """What a name in code means, and the line that gives it to code that stands alone."""

    import_str: str
    obj: Any


# The names that code may always use.
_custom_builtins = {
    "inf": _CustomBuiltin("from math import inf", math.inf),
    "nan": _CustomBuiltin("from math import nan", math.nan),
    "NoneType": _CustomBuiltin("NoneType = type(None)", type(None)),
    "torch": _CustomBuiltin(f"import {_ROOT} as torch", sys.modules[_ROOT]),
    "device": _CustomBuiltin(f"from {_ROOT} import device", device),
    "fx_pytree": _CustomBuiltin(f"import {_ROOT}.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _CustomBuiltin(f"import {_ROOT}.utils._pytree as pytree", _pytree),
}


def _register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    """Let code use one more name."""
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


class CodeGen:
    """Makes code of nodes. A subclass may say how the method begins and ends."""

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function, and those that take its arguments apart."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, **_: Any) -> str:
        """The line that ends it."""
        return f"return {self._written(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        return args

    def process_outputs(self, outputs: Any) -> Any:
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the code needs besides."""
        return []

    def _written(self, value: Any) -> str:
        return _Writing(None).argument(value)

    def _gen_python_code(
        self, nodes: Iterable[Node], root_module: str, namespace: Any, *, verbose: bool = False,
        include_stride: bool = False, include_device: bool = False, **_: Any,
    ) -> PythonCode:  # fmt: skip
        writing = _Writing(namespace)
        if verbose:
            writing.told = Told(include_stride, include_device)
        for name, value in self.additional_globals():
            writing.named(name, value)
        body = writing.body(list(nodes), root_module, self)
        if not writing.lines:
            body = ["pass\n"]
        free = list(writing.free)
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        head = self.gen_fn_def(free, writing.returns)
        text = "".join([*writing.renamed, *body]).lstrip("\n")
        indented = "\n".join(["    " + line for line in text.split("\n")])
        used = dict(writing.globals)
        wrapped = "\n".join([f'torch.fx._symbolic_trace.wrap("{name}")' for name in writing.wrapped])
        return PythonCode(f"\n{wrapped}\n\n{head}\n{indented}", used)


class Told:
    """What is told beside code: which forms values have, and the lines of the program that they come from."""

    def __init__(self, strides: bool, devices: bool) -> None:
        self.strides, self.devices = strides, devices
        self.trace: str | None = None  # that of the last node

    def form(self, node: Node) -> str:
        """A tensor's dtype and shape, as an annotation; nothing where they are not known."""
        t: Any = node.meta.get("val", node.meta.get("tensor_meta"))
        if not hasattr(t, "dtype") or not hasattr(t, "shape"):
            return ""
        more = str(list(t.stride() if callable(t.stride) else t.stride)) if self.strides else ""
        more += str(t.device) if self.devices and hasattr(t, "device") else ""
        return f': "{t.dtype.abbr}{list(t.shape)}{more}"'

    def origin(self, node: Node) -> str:
        """A comment that says where the lines that follow come from, if it is elsewhere."""
        trace = node.stack_trace or ""
        if trace == self.trace:
            return ""
        self.trace = trace
        found = re.findall(r'File "(.+?)", line (\d+), in (.+)\n\s*(.*)', trace)
        if not found:
            return "\n# No stacktrace found for following nodes\n"
        file, line, name, code = found[-1]
        return f"\n# File: {file}:{line} in {name}, code: {code}\n"


class _Writing:
    """The code that is being written."""

    told: Told | None = None

    def __init__(self, namespace: Any) -> None:
        self.namespace = namespace
        self.globals: dict[str, Any] = {}
        self.free: list[str] = []
        self.lines: list[str] = []
        self.renamed: list[str] = []  # what gives arguments the names of their nodes
        self.returns = ""
        self.wrapped: dict[str, None] = {}  # functions whose calls are nodes when the code is traced again
        if namespace is not None:
            self.globals.update({name: known.obj for name, known in _custom_builtins.items()})

    # ---- names

    def named(self, hint: str, value: Any) -> str:
        """The name of an object in the code."""
        if value is device:
            hint = "device"
        elif _of_torch(value):
            return hint  # reached through `torch`
        name = re.sub(r"\W+|^(?=\d)", "_", hint)
        while self.globals.get(name, value) is not value:
            name += "_1"
        self.globals[name] = value
        return name

    def typed(self, o: Any) -> str:
        """A type in the code."""
        if isinstance(o, types.UnionType):
            return "|".join(map(self.typed, o.__args__))
        origin = getattr(o, "__origin__", None)
        if origin is None:
            return "()" if o == () else self.named(_type_repr(o), o)
        args = getattr(o, "__args__", None)
        if not isinstance(o, types.GenericAlias) and args is not None:
            origin = _OF_TYPING.get(origin, origin)
        inside = ",".join(map(self.typed, args or ()))
        return self.named(_type_repr(origin), origin) + (f"[{inside}]" if inside else "")

    # ---- arguments

    def argument(self, arg: Any) -> str:
        """An argument in the code."""
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            name = self.named(_type_repr(type(arg)), type(arg)) if self.namespace else type(arg).__name__
            return f"{name}({', '.join(map(self.argument, arg))})"
        if isinstance(arg, (tuple, list)):
            inside = ", ".join(map(self.argument, arg))
            if isinstance(arg, list):
                return f"[{inside}]"
            return f"({inside},)" if len(arg) == 1 else f"({inside})"
        if isinstance(arg, dict):
            return "{" + ", ".join([f"{k!r}: {self.argument(v)}" for k, v in arg.items()]) + "}"
        if isinstance(arg, slice):
            return f"slice({self.argument(arg.start)}, {self.argument(arg.stop)}, {self.argument(arg.step)})"
        if isinstance(arg, enum.Enum):
            cls = type(arg)
            return f"{self.named(_type_repr(cls), cls) if self.namespace else cls.__name__}.{arg.name}"
        if isinstance(arg, device):
            return repr(arg)
        if isinstance(arg, (Node, dtype, layout, memory_format)):
            return repr(arg)
        if (isinstance(arg, type) or callable(arg)) and self.namespace is not None:
            return self.named(_get_qualified_name(arg) if not isinstance(arg, type) else _type_repr(arg), arg)
        return repr(arg)

    def arguments(self, args: Sequence[Any], kwargs: Any) -> str:
        """The source of a call's arguments."""
        return ", ".join([*map(self.argument, args), *[f"{k} = {self.argument(v)}" for k, v in kwargs.items()]])

    # ---- lines

    def body(self, nodes: list[Node], root: str, codegen: CodeGen) -> list[str]:
        last: dict[Node, list[Node]] = {}  # user -> what nobody uses after it
        seen: set[Node] = set()
        for node in reversed(nodes):
            for used in [*_in_order(node.args), *_in_order(dict(node.kwargs))]:
                if used not in seen:
                    seen.add(used)
                    last.setdefault(node, []).append(used)
        lines: list[str] = []
        for node in nodes:
            line = self.line(node, root, codegen)
            if node.op == "placeholder":
                continue
            self.lines.append(line)
            if self.told is not None and node.op != "output":
                lines.append(self.told.origin(node))
            if node.op == "output":
                lines.append(f"{line}\n")
                continue
            gone = [*last.get(node, ()), *([] if node.users else [node])]
            lines.append(f"{line};  {' = '.join([*map(repr, gone), 'None'])}\n" if gone else f"{line}\n")
        return lines

    def line(self, node: Node, root: str, codegen: CodeGen) -> str:
        """The statement of a node."""
        typed = self.told.form(node) if self.told else ""
        if not typed and node.type is not None:
            typed = f" : {self.typed(node.type)}"
        made = f"{node!r}{typed}"
        if node.op == "placeholder":
            return self.parameter(node, typed)
        if node.op == "call_method":
            called = _reached(self.argument(node.args[0]), node.target)
            return f"{made} = {called}({self.arguments(node.args[1:], node.kwargs)})"
        if node.op == "call_function":
            return self.function(node, made)
        if node.op == "call_module":
            return f"{made} = {_reached(root, node.target)}({self.arguments(node.args, node.kwargs)})"
        if node.op == "get_attr":
            return f"{made} = {_reached(root, node.target)}"
        if node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.typed(node.type)}"
            codegen._written = self.argument  # type: ignore[assignment, method-assign]
            try:
                return codegen.generate_output(node.args[0])
            finally:
                del codegen._written
        raise NotImplementedError(f"node: {node.op} {node.target}")

    def parameter(self, node: Node, typed: str) -> str:
        default = f" = {self.argument(node.args[0])}" if node.args else ""
        self.free.append(f"{node.target}{typed}{default}")
        raw = str(node.target).lstrip("*")
        if raw != repr(node):
            self.renamed.append(f"{node!r} = {raw}\n")
        return ""

    def function(self, node: Node, made: str) -> str:
        target: Any = node.target
        home, name = getattr(target, "__module__", None), getattr(target, "__name__", "")
        if home == "_operator" and name in magic_methods:
            return f"{made} = {magic_methods[name].format(*map(self.argument, node.args))}"
        if home == "_operator" and name in inplace_methods:
            written = inplace_methods[name].format(*map(self.argument, node.args))
            return f"{written};  {made} = {self.argument(node.args[0])}"
        qualified = _get_qualified_name(target)
        called = qualified if home == "builtins" and "." not in qualified else self.named(qualified, target)
        if node.meta.get("is_wrapped", False):
            self.wrapped[called] = None
        if called == "getattr" and isinstance(node.args, tuple) and isinstance(node.args[1], str):
            attribute = node.args[1]
            if attribute.isidentifier() and len(node.args) == 2:
                return f"{made} = {_reached(self.argument(node.args[0]), attribute)}"
        return f"{made} = {called}({self.arguments(node.args, node.kwargs)})"


def _of_torch(value: Any) -> bool:
    """Whether code reaches an object through `torch`."""
    home = getattr(value, "__module__", None) or ""
    if isinstance(value, type):
        return home.partition(".")[0] in (_ROOT, "torch") and "<locals>" not in value.__qualname__
    if not callable(value) or isinstance(value, types.ModuleType):
        return False
    return home.partition(".")[0] in (_ROOT, "torch") and "<" not in getattr(value, "__qualname__", "")


def _in_order(value: Any) -> list[Node]:
    found: dict[Node, None] = {}
    for node in nodes_in(value):
        found[node] = None
    return list(found)


def _reached(base: str, target: Any) -> str:
    """An attribute by its dotted path."""
    for part in str(target).split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base

