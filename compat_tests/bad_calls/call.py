"""A call as text, and what the text may name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Call:
    """`function(*arguments, **keywords)`, each part an expression."""

    function: str
    arguments: tuple[str, ...] = ()
    keywords: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.function}({', '.join([*self.arguments, *(f'{k}={v}' for k, v in self.keywords)])})"


class Endless:
    """A sequence that never ends."""

    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, at: int) -> float:
        return 1.0


class Spiteful:
    """An object that answers every question with an error of its own."""

    def refuse(self, *_: Any) -> Any:
        raise ZeroDivisionError("spite")

    __index__ = __int__ = __float__ = __len__ = __iter__ = __bool__ = __getitem__ = __array__ = refuse


class Index:
    """What stands for an int without being one."""

    def __init__(self, value: int):
        self.value = value

    def __index__(self) -> int:
        return self.value


class Whole(int):
    """An int of a class of its own."""


class Real(float):
    """A float of a class of its own."""


class Text(str):
    """A string of a class of its own."""


def endless() -> Iterator[float]:
    while True:
        yield 1.0


def namespace(torch: ModuleType) -> dict[str, Any]:
    """What expressions are evaluated in."""

    def T(dtype: str, *shape: int) -> Any:  # a tensor with some values
        values = (np.arange(math.prod(shape)) * 7 % 11 / 8.0 - 0.5).reshape(shape)
        return torch.tensor(values.tolist(), dtype=torch.float64).reshape(shape).to(getattr(torch, dtype))

    return {
        "torch": torch, "np": np, "nan": math.nan, "inf": math.inf, "T": T,
        "Endless": Endless, "Spiteful": Spiteful, "endless": endless, "Index": Index, "Whole": Whole, "Real": Real,
        "Text": Text, "Fraction": Fraction, "Decimal": Decimal,
    }  # fmt: skip
