"""`torch.onnx` for programs that could also export; nothing is exported here, and nobody asks how it would be."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["dynamo_export", "export", "is_in_onnx_export", "register_custom_op_symbolic"]


def export(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("torchlite does not capture graphs, and so exports none: there is no torch.onnx.export")


dynamo_export = export


def is_in_onnx_export() -> bool:
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    pass
