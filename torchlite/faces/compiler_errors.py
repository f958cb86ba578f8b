"""What PyTorch's compiler raises, for programs that catch it: here nothing is compiled, and most is never raised."""

from __future__ import annotations

from typing import Any

from ..core.values import shown_in


@shown_in("torch._dynamo.exc")
class TorchDynamoException(RuntimeError):
    """What the compiler raises of its own."""

    def __init__(self, *args: Any, **_: Any) -> None:
        super().__init__(*args)


def _kind(name: str, base: type[Exception] = TorchDynamoException) -> type[Exception]:
    return type(name, (base,), {"__module__": "torch._dynamo.exc"})


InternalTorchDynamoError = _kind("InternalTorchDynamoError")


@shown_in("torch._dynamo.exc")
class InvalidBackend(TorchDynamoException):
    """There is no backend of a name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


RecompileError = _kind("RecompileError")
FailOnRecompileLimitHit = _kind("FailOnRecompileLimitHit", Exception)
RestartAnalysis = _kind("RestartAnalysis")
ShortenTraceback = _kind("ShortenTraceback")
BackendCompilerFailed = _kind("BackendCompilerFailed", ShortenTraceback)
SkipFrame = _kind("SkipFrame")
TorchRuntimeError = _kind("TorchRuntimeError")
UncapturedHigherOrderOpError = _kind("UncapturedHigherOrderOpError")
Unsupported = _kind("Unsupported")
UserError = _kind("UserError")
