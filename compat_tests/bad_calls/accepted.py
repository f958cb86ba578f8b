"""What torchlite does where PyTorch raises, and is meant to: of which callables, for which calls, and why."""

from __future__ import annotations

import re

# Pattern of the name, pattern of PyTorch's error, why. At most twenty.
REASONS: tuple[tuple[str, str, str], ...] = ()


def reason(name: str, error: str) -> str | None:
    """Why a call that PyTorch refuses with such an error may be accepted, if it may."""
    for pattern, text, why in REASONS:
        if re.fullmatch(pattern, name) and re.search(text, error):
            return why
    return None
