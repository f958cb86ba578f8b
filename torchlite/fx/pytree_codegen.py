"""Code of programs that were traced with containers as arguments: it takes them apart and puts results together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..utils import _pytree
from ._pytree import tree_flatten_spec
from .codegen import CodeGen


class _PyTreeInfo(NamedTuple):
    """The names of the arguments, and what containers they and the results are."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class _PyTreeCodeGen(CodeGen):
    """Makes code that takes and gives containers."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *args: Any) -> Any:
        return tree_flatten_spec(args, self.pytree_info.in_spec)

    def process_outputs(self, outputs: Any) -> Any:
        return _pytree.tree_unflatten(list(outputs), self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        names = self.pytree_info.orig_args
        head = super().gen_fn_def(list(names), maybe_return_annotation)
        leaves = [*(["self"] if names[:1] == ["self"] else []), *[v.partition(":")[0].strip() for v in free_vars]]
        if not leaves:
            return head
        taken = f"fx_pytree.tree_flatten_spec([{', '.join(names)}], self._in_spec)"
        return f"{head}\n    {', '.join(leaves)}, = {taken}"

    def generate_output(self, output_args: Any, **_: Any) -> str:
        return f"return pytree.tree_unflatten({self._written(list(output_args))}, self._out_spec)"


def flattened(fn: Callable[..., Any], names: list[str], args: list[Any]) -> tuple[Any, list[Any], CodeGen | None]:
    """A function of the leaves of arguments that gives those of its result, the leaves, and what writes its code.

    Where no argument is a container, the function and the arguments are left as they are.
    """
    leaves, in_spec = _pytree.tree_flatten(tuple(args))
    if all([child.is_leaf() for child in in_spec.children()]):
        return fn, args, None
    codegen = _PyTreeCodeGen(_PyTreeInfo(names, in_spec, None))

    def of_leaves(*flat: Any) -> list[Any]:
        made, out_spec = _pytree.tree_flatten(fn(*_pytree.tree_unflatten(list(flat), in_spec)))
        codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
        return made

    return of_leaves, leaves, codegen
