"""The numbers, shapes, indices and data that may stand in the holes of the table's rows; see `operands.py`."""

from collections.abc import Callable
from math import prod
from typing import Any

from .scene import NoFit, Scene, hole

# -- Numbers and other plain arguments ---------------------------------------------------------------------------------


@hole
def int_(scene: Scene) -> str:
    return str(scene.rng.choice([1, 2, 0, -1, 3]))


@hole
def float_(scene: Scene) -> str:
    return str(scene.rng.choice([0.5, 1.5, -0.5, 0.25, -1.25, 2.0]))


@hole
def number(scene: Scene) -> str:
    draw = scene.rng.choices([float_, int_, lambda _: "True", lambda _: "(0.5+1j)"], weights=[10, 8, 1, 1])[0]
    return draw(scene)


@hole
def count(scene: Scene) -> str:
    return str(scene.rng.choice([*scene.extents, *scene.extents, 5, 0]))


@hole
def parts(scene: Scene) -> str:
    return str(scene.rng.choice([2, 1, 3]))


@hole
def last(scene: Scene) -> str:
    """The extent of the first operand's last dimension."""
    return str(scene.first.shape[-1])


@hole
def length(scene: Scene) -> str:
    return str(scene.first.shape[0])


@hole
def channels(scene: Scene) -> str:
    return str(scene.first.shape[1])


@hole
def dtype_of(scene: Scene) -> str:
    """The first operand's dtype."""
    return str(scene.first.dtype)


@hole
def shift(scene: Scene) -> str:
    return str(scene.rng.randrange(4))


@hole
def dim(scene: Scene) -> str:
    return str(scene.dim())


@hole
def dims(scene: Scene) -> str:
    return str(tuple(scene.dims()))


@hole
def newdim(scene: Scene) -> str:
    rank = scene.first.dim() + 1 + scene.careless
    return str(scene.rng.randrange(-rank, rank))


@hole
def order(scene: Scene) -> str:
    return str(scene.rng.sample(range(scene.first.dim()), scene.first.dim()))


# -- Shapes ------------------------------------------------------------------------------------------------------------


@hole
def size(scene: Scene) -> str:
    return str(tuple(scene.shape()))


@hole
def shape(scene: Scene) -> str:
    """A shape for a reshape of the first operand: its extents merged or turned round, sometimes with a -1."""
    rng, total = scene.rng, scene.first.numel()
    choices = [[total], [1, total], list(reversed(scene.first.shape)), [*scene.first.shape, 1]]
    choices += [[n, total // n] for n in (2, 3, 4) if total % n == 0]
    if scene.first.dim() > 1:
        choices.append([prod(scene.first.shape[:2]), *scene.first.shape[2:]])
    drawn = rng.choice(choices)
    if total and drawn and rng.random() < 0.3:
        drawn[rng.randrange(len(drawn))] = -1
    if scene.careless:
        drawn.append(2)
    return str(tuple(drawn))


@hole
def wider(scene: Scene) -> str:
    """A shape that the first operand expands to."""
    grown = [scene.rng.choice(scene.extents) if n == 1 else scene.rng.choice([n, n, -1]) for n in scene.first.shape]
    lead = [scene.rng.choice(scene.extents)] if scene.rng.random() < 0.5 or scene.careless else []
    return str(tuple(lead + grown))


@hole
def repeats(scene: Scene) -> str:
    return str(tuple(scene.rng.choice([1, 2, 1, 0]) for _ in range(scene.first.dim() + scene.rng.randrange(2))))


@hole
def narrow(scene: Scene) -> str:
    """dim, start, length"""
    which, extent = scene.axis()
    start = scene.rng.randint(0, extent)
    return f"{which}, {start}, {scene.rng.randint(0, extent - start) + scene.careless}"


@hole
def element(scene: Scene) -> str:
    """dim, index"""
    which, extent = scene.axis()
    if extent + scene.careless == 0:
        raise NoFit
    return f"{which}, {scene.rng.randrange(-extent, extent + scene.careless)}"


@hole
def window(scene: Scene) -> str:
    """dim, size, step"""
    which, extent = scene.axis()
    return f"{which}, {scene.rng.randint(0, extent) + scene.careless}, {scene.rng.choice([1, 2])}"


@hole
def tiles(scene: Scene) -> str:
    """dim, size, step of windows that do not overlap, so that they can be written to"""
    which, extent = scene.axis()
    size = scene.rng.randint(0, extent) + scene.careless
    return f"{which}, {size}, {max(size, 1)}"


@hole
def strided(scene: Scene) -> str:
    """size, stride and perhaps offset of a view that stays within the first operand's storage."""
    rng = scene.rng
    room = scene.first.untyped_storage().nbytes() // scene.first.element_size()
    offset = rng.choice([None, None, 0, 1])
    room -= scene.first.storage_offset() if offset is None else offset
    sizes = [rng.choice([*scene.extents, 1]) for _ in range(rng.choice([1, 2, 2]))]
    steps = [rng.choice([1, 2, 3, 0]) for _ in sizes]
    if sum((n - 1) * step for n, step in zip(sizes, steps)) >= room + 2 * scene.careless:
        raise NoFit
    return f"{tuple(sizes)}, {tuple(steps)}" + (f", {offset}" if offset is not None else "")


@hole
def sections(scene: Scene) -> str:
    """A list of lengths that make up a dimension, and the dimension."""
    which, extent = scene.axis()
    cut = scene.rng.randint(0, extent)
    return f"{[cut, extent - cut + scene.careless]}, {which}"


@hole
def unflat(scene: Scene) -> str:
    """A dimension, and the sizes that it falls into."""
    which, extent = scene.axis()
    return f"{which}, {scene.rng.choice([(extent, 1), (1, -1), (-1, extent or 1), (1, extent)])}"


@hole
def overlap(scene: Scene) -> str:
    """How many dimensions `tensordot` of two tensors of one shape may sum over."""
    fitting = [n for n in range(3) if n <= scene.first.dim() and scene.first.shape[:n] == scene.first.shape[-n or 9 :]]
    return str(scene.rng.choice(fitting))


# -- Indices -----------------------------------------------------------------------------------------------------------


def item_text(scene: Scene, extent: int, fancy: bool) -> str:
    """One entry of an index, for a dimension of that extent."""
    rng = scene.rng
    kind = rng.choices(["slice", "int", "list", "mask"], weights=[5, 5 * bool(extent), 6 * fancy, 2 * fancy])[0]
    if kind == "slice":
        return rng.choice(["1:", ":1", "::2", ":-1", ":", f"1:{extent}", "-2:", "2:1"])
    if kind == "int":
        return str(rng.randrange(-extent, extent + scene.careless))
    if kind == "mask":
        return f"torch.tensor({[rng.random() < 0.6 for _ in range(extent)]}, dtype=torch.bool)"
    places = scene.positions(rng.choice([1, 2, 2]), extent)
    return rng.choice([str(places), f"torch.tensor({places})", f"torch.tensor({[places]})"])


def index_text(scene: Scene, fancy: bool) -> str:
    """An index into the first operand: entries for some of its dimensions, perhaps an ellipsis, perhaps a new one."""
    rng, rank = scene.rng, scene.first.dim()
    used = rng.randint(min(1, rank), rank) + scene.careless
    ellipsis = rng.random() < 0.2
    extents = [*scene.first.shape, 2]
    extents = extents[rank - used : rank] if ellipsis and used <= rank else extents[:used]
    items = [item_text(scene, extent, fancy) for extent in extents]
    if ellipsis:
        items.insert(0, "...")
    if rng.random() < 0.15 or not items:
        items.insert(rng.randint(0, len(items)), rng.choice(["None", "None", "True"]))
    return ", ".join(items)


@hole
def index(scene: Scene) -> str:
    return index_text(scene, fancy=False)


@hole
def fancy(scene: Scene) -> str:
    return index_text(scene, fancy=True)


@hole
def pick(scene: Scene) -> str:
    """A dimension, and distinct positions along it as a tensor; the shape of what is there is noted for `picked`."""
    which, extent = scene.axis()
    places = scene.rng.sample(range(extent), scene.rng.randint(min(1, extent), extent))
    scene.notes["pick"] = list(scene.first.shape)
    scene.notes["pick"][which] = len(places)
    return f"{which}, torch.tensor({places}, dtype=torch.int64)"


@hole
def gather(scene: Scene) -> str:
    """A dimension, and an index tensor for `gather` and `scatter` along it; its shape is noted for `gathered`."""
    if scene.first.dim() != 2 or 0 in scene.first.shape:
        raise NoFit
    which = scene.rng.randrange(2)
    other = scene.first.size(1 - which)
    rows = [scene.positions(other, scene.first.size(which)) for _ in range(scene.rng.choice([1, 2]))]
    if which == 1:
        rows = [list(column) for column in zip(*rows)]
    scene.notes["gather"] = [len(rows), len(rows[0])]
    return f"{which}, torch.tensor({rows})"


@hole
def gathered(scene: Scene) -> str:
    """The shape of the index tensor just drawn."""
    return str(scene.notes["gather"])


@hole
def positions(scene: Scene) -> str:
    """A list of positions in the flattened first operand."""
    return str(scene.positions(scene.rng.choice([1, 2, 3]), scene.first.numel()))


@hole
def rows(scene: Scene) -> str:
    """A list of positions along the first operand's first dimension."""
    return str(scene.positions(scene.rng.choice([1, 2, 3]), scene.first.size(0)))


# -- Literal data ------------------------------------------------------------------------------------------------------


def nested(scene: Scene, draw: Callable[[], object], shape: list[int]) -> Any:
    return [nested(scene, draw, shape[1:]) for _ in range(shape[0])] if shape else draw()


def literal(scene: Scene, draw: Callable[[], object]) -> str:
    """Nested lists of at most a dozen numbers and no empty ones, which have no literal of every shape."""
    shape = [n for n in scene.shape() if n]
    while prod(shape) > 12:
        shape.pop()
    return str(nested(scene, draw, shape))


@hole
def data(scene: Scene) -> str:
    return literal(scene, lambda: scene.rng.randrange(-8, 9) / 4)


@hole
def integers(scene: Scene) -> str:
    return literal(scene, lambda: scene.rng.randrange(-3, 5))


@hole
def naturals(scene: Scene) -> str:
    return literal(scene, lambda: scene.rng.randrange(5))


@hole
def booleans(scene: Scene) -> str:
    return literal(scene, lambda: scene.rng.random() < 0.6)
