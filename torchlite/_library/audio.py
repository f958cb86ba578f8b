"""torchaudio's own operators, which its package brings compiled for PyTorch: what its Python asks for at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.machine import Tensor
from ..library import Library

_libraries: list[Library] = []  # torchaudio's namespaces, once they were asked for


def _lfilter_core_loop(windows: Tensor, a_flipped: Tensor, padded: Tensor) -> None:
    """A filter whose output goes back into it: (batch, channels, time) after as many zeros as it looks back."""
    order = a_flipped.size(1)
    for at in range(windows.size(2)):
        fed_back = (padded[:, :, at : at + order] * a_flipped).sum(2)
        padded[:, :, at + order - 1] = windows[:, :, at] - fed_back


def _overdrive_core_loop(wave: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, made: Tensor) -> None:
    """What is distorted loses its constant part, and is mixed with what it was."""
    for at in range(wave.size(1)):
        last_out.mul_(0.995).add_(temp[:, at] - last_in)
        last_in.copy_(temp[:, at])
        made[:, at] = wave[:, at] * 0.5 + last_out * 0.75


_OPERATORS: dict[str, dict[str, Callable[..., Any]]] = {
    "_torchaudio": {"cuda_version() -> int?": lambda: None, "is_align_available() -> bool": lambda: False},
    "torchaudio": {
        "_lfilter_core_loop(Tensor input, Tensor a_flipped, Tensor(a!) padded) -> ()": _lfilter_core_loop,
        "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, "
        "Tensor(c!) output_waveform) -> ()": _overdrive_core_loop,
    },
}


def load() -> None:
    """Declare the operators."""
    if _libraries:
        return
    for space, operators in _OPERATORS.items():
        library = Library(space, "DEF")
        _libraries.append(library)
        for schema, kernel in operators.items():
            library.impl(library.define(schema), kernel, "CompositeExplicitAutograd")
