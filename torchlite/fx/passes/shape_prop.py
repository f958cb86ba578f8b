"""The forms of all values of a graph, from running it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.machine import Tensor
from ...core.values.layout import channels_last, channels_last_3d, contiguous_format
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """Shape, dtype, strides and layout of a tensor, for a node's `meta`."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """What is known of this one."""
    formats = {4: (contiguous_format, channels_last), 5: (contiguous_format, channels_last_3d)}
    wanted = formats.get(result.dim(), (contiguous_format,)) if include_contiguity else ()
    found = next((f for f in wanted if result.is_contiguous(memory_format=f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), found, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and writes to each node's `meta` what its value is like: `tensor_meta` and `type`."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode

    def run_node(self, n: Node) -> Any:
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found: list[Any] = []

        def extract(value: Any) -> Any:
            if isinstance(value, Tensor):
                found.append(value)
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, extract)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on these arguments."""
        if self.fake_mode is not None:
            args = tuple([self.fake_mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args])
        return super().run(*args)
