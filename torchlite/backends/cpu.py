"""`torch.backends.cpu`: what the processor can do."""

from __future__ import annotations

from ..cpu import get_capabilities


def get_cpu_capability() -> str:
    """The widest instructions that PyTorch would use here."""
    features = get_capabilities()
    for name, needed in (("AVX512", "avx512_f"), ("AVX2", "avx2")):
        if features.get(needed):
            return name
    return "DEFAULT"
