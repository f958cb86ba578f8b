"""Functions written so that assertions, and types of variables, are seen when they are traced."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, cast

from ...nn.modules.module import Module
from .._symbolic_trace import Tracer
from ..annotate import annotate
from ..graph import Graph

_ROOT = __package__.partition(".")[0]
_ASSERT, _ANNOTATE = "__torch_assert", "__fx_annotate"


class AST_Rewriter(ast.NodeTransformer):
    """Makes calls of assertions and of annotations."""

    def rewrite(self, fn: FunctionType) -> FunctionType:
        """The function again."""
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
        written = self.visit(tree).body[0]
        written.decorator_list = []
        # What is free in the function is so again inside a function that has it.
        outside = ast.parse(f"def outside({', '.join(fn.__code__.co_freevars)}): pass")
        outside.body[0].body = [written]  # type: ignore[attr-defined]
        code = compile(ast.fix_missing_locations(outside), inspect.getfile(fn), "exec", dont_inherit=True)
        found = functools.reduce(_inside, ("outside", written.name), code)
        names = {**fn.__globals__, _ASSERT: importlib.import_module(_ROOT)._assert, _ANNOTATE: annotate}
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        closure = tuple([cells[name] for name in found.co_freevars])
        made = FunctionType(found, names, fn.__name__, fn.__defaults__, closure)
        functools.update_wrapper(made, fn)
        made.__kwdefaults__ = fn.__kwdefaults__
        del made.__wrapped__  # type: ignore[attr-defined]
        return made

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        """`assert test, message` as a call of `torch._assert`."""
        called = ast.Name(_ASSERT, ast.Load())
        return ast.copy_location(ast.Expr(ast.Call(called, [node.test, node.msg or ast.Constant("")], [])), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """`name: type = value` as a call of `annotate`."""
        if node.value is None:
            return node
        value = ast.Call(ast.Name(_ANNOTATE, ast.Load()), [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], value), node)


def _inside(code: CodeType, name: str) -> CodeType:
    """The code of a function that is defined in other code."""
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


class RewritingTracer(Tracer):
    """Traces a function, or the `forward` of a module, with its assertions."""

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(fn: Module | Callable[..., Any]) -> Any:
    """A function again; of a module, one with the same parts, whose `forward` is rewritten."""
    if not isinstance(fn, Module):
        return fn if fn.__name__ == "<lambda>" else AST_Rewriter().rewrite(fn)  # type: ignore[arg-type]

    rewritten: Any = AST_Rewriter().rewrite(cast("FunctionType", type(fn).forward))

    class RewrittenModule(Module):
        forward = rewritten

    made = RewrittenModule()
    vars(made).update(vars(fn))
    return made
