"""An operator and one set of its inputs, in neutral form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .neutral import Deferred, Name, Sequence, inputs_in

Callee = Name | Deferred


@dataclass(frozen=True)
class Variants:
    """The forms in which an operator can be called under one name."""

    name: str
    function: Callee | None
    method: Callee | None = None
    inplace: Callee | None = None


@dataclass(frozen=True)
class Operation:
    """An operator: its forms, its other names and what PyTorch says that it supports."""

    name: str
    main: Variants
    operators: tuple[Callee, ...] = ()
    aliases: tuple[Variants, ...] = ()
    supports_out: bool = False
    supports_strided_out: bool = True
    supports_grad: bool = True
    supports_gradgrad: bool = False
    supports_forward_ad: bool = False
    supports_inplace_grad: bool = False
    sparse_layouts: tuple[str, ...] = ()

    @property
    def has_methods(self) -> bool:
        return self.main.method is not None or bool(self.operators)


@dataclass(frozen=True, eq=False)
class Case:
    """One call: positional arguments, keywords, and which part of the result is fit for differentiation."""

    index: int
    arguments: Sequence
    keywords: dict[str, Any] = field(default_factory=dict)
    differentiated: Callee | None = None
    left_out: str = ""

    @property
    def has_ties(self) -> bool:
        """Whether the first tensor has equal elements."""
        first = next(inputs_in(self.arguments), None)
        if first is None:
            return False
        values = first.values.astype(np.complex128)
        return np.unique(values).size < values.size
