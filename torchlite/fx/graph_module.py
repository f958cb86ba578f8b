"""Modules whose `forward` is a graph."""

from __future__ import annotations

import contextlib
import copy
import importlib
import itertools
import linecache
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.values import bear_name, warn
from ..nn.modules.module import Module
from .codegen import PythonCode, _custom_builtins
from .graph import Graph
from .pytree_codegen import _PyTreeCodeGen

__all__ = ["GraphModule", "reduce_graph_module", "reduce_package_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_KEPT_BY_COPIES = (
    "_tracer_cls", "_tracer_extras", "meta", "_replace_hooks", "_create_node_hooks", "_erase_node_hooks",
)  # fmt: skip
_numbers = itertools.count()
_ROOT = __package__.partition(".")[0]


def _exec_with_source(src: str, names: dict[str, Any]) -> None:
    """Run code that tracebacks can show."""
    file = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[file] = (len(src), None, [line + "\n" for line in src.splitlines()], file)
    exec(compile(src, file, "exec", dont_inherit=True), names)


def _forward_from_src(src: str, names: dict[str, Any]) -> Callable[..., Any]:
    names = dict(names)
    _exec_with_source(src, names)
    return names["forward"]


def _format_import_statement(name: str, obj: Any) -> str:
    """The line that gives code one of the names that it uses."""
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    home, _, attribute = f"{obj.__module__}.{obj.__qualname__}".rpartition(".")
    return f"from {home} import {attribute} as {name}"


def _import_block(names: Mapping[str, Any]) -> str:
    return "\n".join(sorted({_format_import_statement(name, obj) for name, obj in names.items()}))


def reduce_graph_module(body: dict[str, Any], import_block: str) -> Module:
    """A pickled module again: its code is traced."""
    names: dict[str, Any] = {}
    _exec_with_source(import_block, names)
    return _deserialized(_forward_from_src(body.pop("_code"), names), body)


reduce_package_graph_module = reduce_graph_module


def _deserialized(forward: Callable[..., Any], body: dict[str, Any]) -> Module:
    tracer_class = body.get("_tracer_cls") or importlib.import_module(f"{__package__}._symbolic_trace").Tracer

    class CodeOnlyModule(Module):
        def __init__(self, body: dict[str, Any]) -> None:
            super().__init__()
            self.__dict__ = body

    CodeOnlyModule.forward = forward
    made = CodeOnlyModule(body)

    class KeepModules(tracer_class):  # type: ignore[misc, valid-type]
        def is_leaf_module(self, _: Module, __: str) -> bool:
            return True

    graph = KeepModules().trace(made, **(body.get("_tracer_extras") or {}))
    graph._tracer_cls = body.get("_tracer_cls")
    module = GraphModule(made, graph)
    for key, value in body.items():
        if not hasattr(module, key):
            setattr(module, key, value)
    return module


def _copy_attr(source: Any, to: Any, target: str) -> None:
    """Give a module what another has under a dotted path."""
    *path, last = target.split(".")
    for part in path:
        following = getattr(source, part)
        if following is source:
            return
        if not hasattr(to, part):
            setattr(to, part, Module())
        source, to = following, getattr(to, part)
    found = getattr(source, last)
    if last in getattr(source, "_buffers", ()):
        to.register_buffer(last, found, last not in source._non_persistent_buffers_set)
    else:
        setattr(to, last, found)


def _assign_attr(value: Any, to: Any, target: str) -> None:
    """Put something under a dotted path of a module."""
    *path, last = target.split(".")
    for part in path:
        if not hasattr(to, part):
            setattr(to, part, Module())
        to = getattr(to, part)
    setattr(to, last, value)


def _told_with_source(error: Exception) -> str:
    """The line of the generated code in which a call failed, with its surroundings."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith("<eval_with_key>")]
    if not frames:
        return ""
    frame = frames[-1]
    lines = linecache.getlines(frame.filename)
    at = frame.lineno or 1
    text = "".join(lines[max(0, at - 5) : at]) + "~" * 30 + "  <--- HERE\n" + "".join(lines[at : at + 1])
    return f"Call using an FX-traced Module, line {at} of the traced Module's generated forward function:\n{text}"


class GraphModule(Module):
    """A module that runs a graph. Each instance has a class of its own, since its `forward` is its own."""

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        for c in cls.__mro__:
            if c.__qualname__.rpartition(".")[2] != "GraphModuleImpl":
                cls = c
                break

        class GraphModuleImpl(cls):  # type: ignore[misc, valid-type]
            pass

        bear_name(GraphModuleImpl, "torch.fx.graph_module")
        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Module | Mapping[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            targets = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
            for target in targets:
                _copy_attr(root, self, str(target))
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                    )
            used = [str(n.target) for n in graph.nodes if n.op in ("get_attr", "call_module")]
            for target in sorted(used, key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self.graph = graph
        self._tracer_cls = None
        if self.graph._tracer_cls and "<locals>" not in self.graph._tracer_cls.__qualname__:
            self._tracer_cls = self.graph._tracer_cls
        self._tracer_extras = self.graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        self._replace_hooks: list[Any] = []
        self._create_node_hooks: list[Any] = []
        self._erase_node_hooks: list[Any] = []

    @property
    def graph(self) -> Graph:
        """The graph that it runs; one that is assigned is compiled."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code of `forward`."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Make the code again after the graph was changed."""
        made = self._graph.python_code(root_module="self")
        self._code = made.src
        type(self).forward = _forward_from_src(self._code, made.globals)
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            self._in_spec = self._graph._codegen.pytree_info.in_spec
            self._out_spec = self._graph._codegen.pytree_info.out_spec
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            where = _told_with_source(error)
            if where:
                print(where, file=sys.stderr)
            raise

    # ---- submodules

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module under a dotted path; whether it could be."""
        *path, last = target.split(".")
        module: Module = self
        for part in path:
            following = getattr(module, part, None)
            if following is None:
                following = Module()
                setattr(module, part, following)
            if not isinstance(following, Module):
                return False
            module = following
        module.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take a module away; whether there was one."""
        *path, last = target.split(".")
        module: Any = self
        for part in path:
            module = getattr(module, part, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, last, None), Module):
            return False
        delattr(module, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the modules that no node calls or reads of."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = str(node.target).split(".")
            used.update([".".join(parts[:at]) for at in range(1, len(parts) + 1)])
            if node.op == "call_module":
                with contextlib.suppress(AttributeError):
                    inside = self.get_submodule(str(node.target)).named_modules()
                    used.update([f"{node.target}.{name}" for name, _ in inside if name])
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- copies and files

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def __reduce__(self) -> Any:
        made = GraphModule.recompile(self)
        body = self.__dict__.copy()
        body.pop("_graph", None)
        return reduce_graph_module, (body, _import_block(made.globals))

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made: Any = type(self).__new__(type(self))
        memo[id(self)] = made
        Module.__init__(made)
        parts = {key: value for key, value in self.__dict__.items() if key in vars(made) or key in _KEPT_BY_COPIES}
        vars(made).update(copy.deepcopy(parts, memo))
        made.__class__.__name__ = type(self).__name__
        made.graph = copy.deepcopy(self.graph)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, copy.deepcopy(self.graph))
        made.meta = getattr(self, "meta", {})
        return made

    def to_folder(self, folder: str | Path, module_name: str = "FxModule") -> None:
        """Write the module to a folder, from which it can be imported."""
        save = importlib.import_module(f"{_ROOT}.serialization").save
        folder = Path(folder)
        folder.mkdir(exist_ok=True)
        save(self.state_dict(), folder / "state_dict.pt")
        block = _import_block(GraphModule.recompile(self).globals)
        lines = [block, "from torch.nn import *".replace("torch", _ROOT), "", f"class {module_name}(torch.nn.Module):",
                 "    def __init__(self):", "        super().__init__()"]  # fmt: skip
        plain = {"Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d"}
        saved: list[str] = []
        for name, module in self.named_children():
            if type(module).__name__ in plain:
                lines.append(f"        setattr(self, {name!r}, {module!r})")
                continue
            file = folder / f"{name}.pt"
            save(module, file)
            shown = repr(module).replace("\n", " ")
            lines.append(f"        setattr(self, {name!r}, torch.load(r'{file}', weights_only=False)) # {shown}")
            saved.append(name)
        for name, t in self._buffers.items():
            if t is not None:
                lines.append(f"        self.register_buffer({name!r}, torch.empty({list(t.shape)}, dtype={t.dtype}))")
        for name, t in self._parameters.items():
            if t is not None:
                made = f"torch.nn.Parameter(torch.empty({list(t.shape)}, dtype={t.dtype}))"
                lines.append(f"        setattr(self, {name!r}, {made})")
        lines.append(f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))")
        lines.append("\n".join(["    " + line for line in self.code.strip("\n").split("\n")]))
        (folder / "module.py").write_text("\n".join(lines) + "\n")
        (folder / "__init__.py").write_text("from .module import *")
        if saved:
            warn(
                f"Was not able to save the following children modules as reprs -saved as pickled files instead: {saved}"
            )

    # ---- hooks and text

    def _register_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.remove(f)

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def print_readable(
        self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
        colored: bool = False, *, fast_sympy_print: bool = False, expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:  # fmt: skip
        """The module as code, with what is known of its values."""
        text = self._readable(type(self).__name__, include_stride=include_stride, include_device=include_device)
        if print_output:
            print(text)
        return text

    def _readable(self, name: str, **wanted: Any) -> str:
        code = self._graph.python_code("self", verbose=True, **wanted).src
        lines = textwrap.indent(code.strip(), "    ").split("\n")
        text = "\n".join([f"class {name}(torch.nn.Module):", *[line.rstrip() for line in lines], ""])
        parts = [m._readable(at, **wanted) for at, m in self.named_children() if isinstance(m, GraphModule)]
        return text + "".join([f"\n{textwrap.indent(part, '    ')}" for part in parts])

    def __str__(self) -> str:
        shown = super().__str__()
        note = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([shown, self._code, note])
