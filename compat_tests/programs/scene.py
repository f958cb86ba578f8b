"""Where the holes of one row are filled: what lives there, and how the choices are made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from types import ModuleType
from typing import Any

Tensor = Any  # of whichever library draws the program


class NoFit(Exception):
    """No live tensor, or no number, fits the hole."""


@dataclass
class Scene:
    """Where one row's holes are filled."""

    rng: Random
    torch: ModuleType
    namespace: dict[str, Any]  # the variables of the program so far
    live: Mapping[str, Tensor]  # its tensors, by the text that reaches them
    extents: tuple[int, ...]  # what the program's fresh shapes are made of, so that they often fit each other
    careless: bool = False  # let through what does not fit
    recording: bool = True  # whether autograd is on
    texts: dict[str, str] = field(default_factory=dict)  # the holes filled so far
    operands: list[Tensor] = field(default_factory=list)  # the tensors among them
    notes: dict[str, list[int]] = field(default_factory=dict)  # shapes that one hole leaves for another

    @property
    def first(self) -> Tensor:
        """The row's first operand, which most other holes look at."""
        if not self.operands:
            raise NoFit
        return self.operands[0]

    def operand(self, fits: Callable[[Tensor], bool], certain: Callable[[Tensor], bool] = lambda t: True) -> str:
        """The name of a live tensor that fits: the younger and the more entangled in autograd, the likelier.

        `certain` says whether the outcome is: where it is not, not even a careless scene lets the tensor through.
        """
        live = [(name, tensor) for name, tensor in self.live.items() if holds(certain, tensor)]
        names = [name for name, tensor in live if self.careless or holds(fits, tensor)]
        if self.recording and not self.operands:  # PyTorch goes around autograd then: what its kernels do inside shows
            names = [name for name in names if not self.live[name].is_inference()]
        if not names:
            raise NoFit
        weights = [age * entanglement(self.live[name]) for age, name in enumerate(names, start=2)]
        name = self.rng.choices(names, weights)[0]
        self.operands.append(self.live[name])
        return name

    def dim(self) -> int:
        """A dimension of the first operand, counted from either end."""
        rank = max(1, self.first.dim()) + self.careless
        return self.rng.randrange(-rank, rank)

    def axis(self) -> tuple[int, int]:
        """A dimension that the first operand has, counted from either end, and its extent."""
        if self.first.dim() == 0:
            raise NoFit
        which = self.rng.randrange(-self.first.dim(), self.first.dim())
        return which, self.first.size(which)

    def dims(self) -> list[int]:
        """Some distinct dimensions of the first operand, at least one where it has any."""
        rank = self.first.dim()
        return sorted(self.rng.sample(range(rank), self.rng.randint(min(1, rank), rank)))

    def shape(self) -> list[int]:
        """A fresh shape."""
        rank = self.rng.choices([0, 1, 2, 3], weights=[1, 4, 6, 2])[0]
        return self.rng.choices([*self.extents, 1, 0], weights=[9] * len(self.extents) + [2, 1], k=rank)

    def positions(self, count: int, below: int) -> list[int]:
        """Indices into a dimension of that size, counted from its start."""
        if below == 0 and count:
            raise NoFit
        return [self.rng.randrange(below + self.careless) for _ in range(count)]


HOLES: dict[str, Callable[[Scene], str]] = {}


def hole(rule: Callable[[Scene], str]) -> Callable[[Scene], str]:
    """Enter a rule under its own name, less a trailing underscore."""
    HOLES[rule.__name__.rstrip("_")] = rule
    return rule


def fill(row: str, holes: list[str], scene: Scene) -> dict[str, str]:
    """The text of every hole of a row, by the hole's name."""
    try:
        for name in holes:
            scene.texts[name] = HOLES[name.rstrip("0123456789")](scene)
    except (IndexError, RuntimeError, ValueError) as error:
        if not scene.careless:
            raise
        raise NoFit from error  # a later hole could make nothing of what came before it
    return scene.texts


def entanglement(tensor: Tensor) -> int:
    """Most for a view of something computed, whose changes in place rewrite its base's history."""
    return 1 + 2 * tensor.requires_grad + 5 * (tensor._base is not None and tensor._base.grad_fn is not None)


def holds(fits: Callable[[Tensor], bool], tensor: Tensor) -> bool:
    """Whether a tensor fits; one so entangled in autograd that even looking at it raises does not."""
    try:
        return fits(tensor)
    except RuntimeError:
        return False
