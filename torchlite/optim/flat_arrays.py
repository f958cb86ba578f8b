"""Many tensors updated as few flat arrays, or by one kernel.

The elementwise algorithms are formulas on arrays, which care for no shapes. So small tensors are gathered into one flat
array, for one call of the formula instead of one each, and large ones are updated a stretch at a time, so that all that
the formula makes of a stretch stays in the processor's cache.

A `Block` is the tensors that one call updates. For each *role* (the parameters, their gradients, each part of their
state) a `FlatBlock` has a flat array in the dtype that is computed in: halves are computed in float32, complex numbers
as pairs. New state is made in flat memory at once, and needs no gathering. Where the backend makes one kernel of a
formula, a `ListBlock` gives it the arrays as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.machine import Tensor, computed, shared_counter, wrap
from ..core.values import dt
from ..operations.making.factories import full_like

if TYPE_CHECKING:
    from ..backends.base import Backend

SMALL = 16384  # tensors of fewer elements are gathered
STRETCH = 65536  # elements updated at once on the CPU

Formula = Callable[..., None]


def computing_dtype(d: dt.dtype) -> Any:
    """The dtype in which parameters of dtype `d` are updated."""
    return dt.float32.numpy if d in (dt.float16, dt.bfloat16) else d.numpy


def parts(flat: Any, shapes: Iterable[tuple[int, ...]]) -> list[Any]:
    """Views of a flat array, one after the other, in these shapes."""
    views, start = [], 0
    for shape in shapes:
        size = 1
        for n in shape:
            size *= n
        views.append(flat[start : start + size].reshape(shape))
        start += size
    return views


def whole(backend: Backend, arrays: Sequence[Any]) -> Any:
    """The flat array of which these are the parts, if they lie in memory one after the other."""
    base = arrays[0].base
    if base is None or len(base.shape) != 1 or base.dtype != arrays[0].dtype:
        return None
    start = place = backend.pointer(arrays[0])
    for a in arrays:
        if a.base is not base or not a.flags.c_contiguous or backend.pointer(a) != place:
            return None
        place += a.nbytes
    first = (start - backend.pointer(base)) // base.itemsize
    return base[first : first + (place - start) // base.itemsize]


class Role:
    """One array of each tensor of a block, as one flat array.

    `sources` are the arrays, and `views` the parts of `flat` that stand for them; there are none where `flat` is their
    own memory.
    """

    __slots__ = ("backend", "flat", "sources", "views")
    views: Sequence[Any]

    def __init__(self, backend: Backend, arrays: Sequence[Any], dtype: Any) -> None:
        self.backend = backend
        self.sources: Sequence[Any] = arrays if len(arrays) == 1 else [whole(backend, arrays)]
        if self.sources[0] is None:
            self.sources = arrays
        first = self.sources[0]
        if len(self.sources) == 1 and first.flags.c_contiguous and first.dtype == dtype:
            self.flat = first.reshape(-1)
            self.sources = self.views = ()
        else:
            self.flat = backend.empty((sum([a.size for a in arrays]),), dtype)
            self.views = parts(self.flat, [a.shape for a in self.sources])

    def load(self) -> None:
        if self.views:
            self.backend.xp.concatenate(self.sources, None, self.flat, casting="unsafe")

    def store(self) -> None:
        write = self.backend.write
        for source, view in zip(self.sources, self.views):
            write(source, view)


class Block:
    """Parameters that are updated together, with their state: arrays, and numbers that are the same for all."""

    def __init__(
        self, params: Sequence[Tensor], states: Sequence[dict[str, Any]], names: Sequence[str], counts: Sequence[str]
    ) -> None:
        self.params = params
        self.backend: Backend = params[0]._backend.real
        self.dtype = computing_dtype(params[0].dtype)
        self.counts = [
            Role(states[0][name]._backend, [s[name]._array for s in states], states[0][name]._array.dtype)
            for name in counts
        ]
        self.counters = {name: [shared_counter(s[name]) for s in states] for name in (*names, *counts)}
        self.new = False  # whether the state was made for the step to come
        self.counted: list[Any] = []  # the numbers of the state, which the caller of `update` brings up to date

    def read_counts(self) -> bool:
        """Read the numbers of the state; whether they are still the same for all parameters.

        Those on a device stay there, since nobody is to wait for them, and are taken to be.
        """
        self.counted = []
        for role in self.counts:
            role.load()
            if role.backend.device.type != "cpu":
                self.counted.append(role.flat[0].astype(self.dtype.type(0).real.dtype))
                continue
            values = role.flat.tolist()
            self.counted.append(values[0])
            if values.count(values[0]) != len(values):
                return False
        return True

    def update(
        self, formula: Formula, grads: Sequence[Tensor], numbers: tuple[Any, ...], maximize: bool,
        writes: Mapping[str, int],
    ) -> None:  # fmt: skip
        """Run `formula(xp, values, gradients, *states, *numbers)`, which writes into values and states.

        `writes` is how often each counts as written to, where not once.
        """
        backend = self.backend
        arrays = [g._array if g._backend is backend else computed(g)._array for g in grads]
        self._run(formula, arrays, numbers, maximize)
        for role, value in zip(self.counts, self.counted):
            role.flat[...] = value
            role.store()
        times = writes.get("params", 1)
        for p in self.params:
            shared_counter(p).n += times
        for name, counters in self.counters.items():
            times = writes.get(name, 1)
            for counter in counters:
                counter.n += times
        self.new = False

    def _run(self, formula: Formula, grads: Sequence[Any], numbers: tuple[Any, ...], maximize: bool) -> None:
        raise NotImplementedError


class FlatBlock(Block):
    """A block whose arrays are gathered."""

    def __init__(
        self, params: Sequence[Tensor], states: Sequence[dict[str, Any]], names: Sequence[str], counts: Sequence[str]
    ) -> None:
        super().__init__(params, states, names, counts)
        self.values = Role(self.backend, [p._array for p in params], self.dtype)
        self.states = [Role(self.backend, [s[name]._array for s in states], self.dtype) for name in names]
        self.gathered = self.backend.empty((self.values.flat.size,), self.dtype) if len(params) > 1 else None
        self.on_host = self.backend.device.type == "cpu"
        self.numbers: tuple[Any, ...] = ()
        self.operands: list[Any] = []

    def _run(self, formula: Formula, grads: Sequence[Any], numbers: tuple[Any, ...], maximize: bool) -> None:
        self.values.load()
        for role in self.states:
            role.load()
        flats = [self.values.flat, self._flat_gradient(grads, maximize), *[role.flat for role in self.states]]
        if self.dtype.kind == "c":
            real = self.dtype.type(0).real.dtype
            flats = [f.view(real) for f in flats]
        operands = self._operands(numbers, flats[0].dtype)
        xp, size = self.backend.xp, flats[0].size
        if size <= STRETCH or not self.on_host:
            formula(xp, *flats, *operands)
        else:
            for start in range(0, size, STRETCH):
                formula(xp, *[f[start : start + STRETCH] for f in flats], *operands)
        self.values.store()
        for role in self.states:
            role.store()

    def _operands(self, numbers: tuple[Any, ...], dtype: Any) -> list[Any]:
        """The numbers as the array library takes them soonest: NumPy has them as arrays."""
        if numbers != self.numbers or not self.operands:
            self.numbers = numbers
            asarray = self.backend.xp.asarray
            self.operands = [asarray(n, dtype) if self.on_host and n.__class__ is float else n for n in numbers]
        return self.operands

    def _flat_gradient(self, arrays: Sequence[Any], maximize: bool) -> Any:
        backend, xp = self.backend, self.backend.xp
        flat = self.gathered
        if flat is not None:
            xp.concatenate(arrays, None, flat, casting="unsafe")
        else:
            flat = arrays[0].reshape(-1)
            if flat.dtype != self.dtype:
                flat = backend.cast(flat, self.dtype)
        return xp.negative(flat) if maximize else flat


class ListBlock(Block):
    """A block for a backend that runs a formula over lists of contiguous arrays."""

    def __init__(
        self, params: Sequence[Tensor], states: Sequence[dict[str, Any]], names: Sequence[str], counts: Sequence[str]
    ) -> None:
        super().__init__(params, states, names, counts)
        self.values = [p._array for p in params]
        self.states = [[s[name]._array for s in states] for name in names]

    def fits(self) -> bool:
        """Whether the arrays are of one dtype, and lie in order."""
        kept, stored = (self.values, *self.states), self.values[0].dtype
        return all([a.dtype == stored and a.flags.c_contiguous for arrays in kept for a in arrays])

    def _run(self, formula: Formula, grads: Sequence[Any], numbers: tuple[Any, ...], maximize: bool) -> None:
        xp, stored = self.backend.xp, self.values[0].dtype
        roles = [self.values, [xp.ascontiguousarray(g, stored) for g in grads], *self.states]
        run: Any = self.backend.over_lists
        run(formula, roles, numbers, maximize)


def block_of(
    params: Sequence[Tensor], states: Sequence[dict[str, Any]], names: Sequence[str], counts: Sequence[str]
) -> Block:
    """The block for some parameters and their state."""
    if params[0]._backend.real.over_lists is not None:
        block = ListBlock(params, states, names, counts)
        if block.fits():
            return block
    return FlatBlock(params, states, names, counts)


def new_state(params: Sequence[Tensor], states: Sequence[dict[str, Any]], initial: Mapping[str, float]) -> None:
    """Give parameters of one dtype and device a further array each, filled with a number, in flat memory."""
    backend, d = params[0]._backend.real, params[0].dtype
    for name, value in initial.items():
        number = complex(value, value) if d.is_complex else value
        if backend.handed or not all(p._array.flags.c_contiguous for p in params):
            for p, state in zip(params, states):
                state[name] = full_like(p, number, requires_grad=False)
            continue
        flat = backend.full((sum([p._array.size for p in params]),), number, d.numpy)
        for state, array in zip(states, parts(flat, [p._array.shape for p in params])):
            state[name] = wrap(array, d, backend)


def new_counts(states: Sequence[dict[str, Any]], initial: Mapping[str, float], backend: Backend) -> None:
    """Give each state further numbers, as 0-dim tensors."""
    d = scalar_dtype()
    for name, value in initial.items():
        flat = backend.full((len(states),), value, d.numpy)
        for state, array in zip(states, parts(flat, [()] * len(states))):
            state[name] = wrap(array, d, backend)


def scalar_dtype() -> dt.dtype:
    """The dtype of a state's numbers."""
    return dt.float64 if dt.get_default_dtype() is dt.float64 else dt.float32
