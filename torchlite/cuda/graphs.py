"""`torch.cuda`'s graphs: work of a stream that was captured, to be told again at once. They are CuPy's."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ..autograd import Function, grad
from ..core.machine import Tensor, default_generator
from ..core.values import shown_in
from . import _needed, empty_cache, is_available, synchronize
from .streams import Stream, current_stream
from .streams import stream as within
from .unsupported import lacking_function

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured."""
    return is_available() and bool(current_stream().inner.is_capturing())


def graph_pool_handle() -> Any:
    """A pool of memory that several graphs can share."""
    _needed()
    import cupy

    return cupy.cuda.MemoryPool()


@shown_in("torch.cuda.graphs")
class CUDAGraph:
    """Work that is done again by `replay`, in the memory in which it was done when it was captured.

    That memory is of a pool of its own, which gives nothing away while the graph lives.
    """

    _pool: Any = None
    _captured: Any = None
    _draws: dict[Any, Any]  # by the streams of generators
    _kept: bool  # whether CUDA's own graph is for others to see

    def __new__(cls, keep_graph: bool = False) -> CUDAGraph:
        if not is_available():
            raise RuntimeError("Tried to instantiate dummy base class CUDAGraph")
        made = object.__new__(cls)
        made._draws, made._kept = {}, keep_graph
        return made

    def register_generator_state(self, generator: Any) -> None:
        """Let the graph draw of this generator, as it does of the device's own."""
        from ..backends.cupy_random import Drawn

        self._draws[generator.stream] = Drawn()

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        """From now on, keep what the current stream is told in place of doing it."""
        from cupy.cuda import memory

        from ..backends.cupy_memory import allocate

        stream = current_stream()
        if not stream.cuda_stream:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
                "on the default stream.)"
            )
        if self._captured is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance."
            )
        self._pool = pool or graph_pool_handle()
        self.register_generator_state(default_generator(stream.device))
        self._before = memory._get_thread_local_allocator()
        memory._set_thread_local_allocator(functools.partial(allocate, pool=self._pool))
        stream.inner.begin_capture()
        for numbers, drawn in self._draws.items():
            numbers.captured = drawn

    def capture_end(self) -> None:
        """What was kept since `capture_begin` is the graph."""
        from cupy.cuda import memory

        memory._set_thread_local_allocator(self._before)
        for numbers in self._draws:
            numbers.captured = None
        self._captured = current_stream().inner.end_capture()

    def replay(self) -> None:
        """Tell the current stream all of it."""
        if self._captured is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        for numbers, drawn in self._draws.items():
            numbers.replay(drawn)
        self._captured.launch(current_stream().inner)

    def reset(self) -> None:
        """Forget what was captured, and its memory."""
        self._captured = self._pool = None
        self._draws = {}

    def pool(self) -> Any:
        """The pool of the graph's memory, for others to share."""
        return self._pool

    def instantiate(self) -> None:
        """Make ready what was captured, which is done by itself."""
        self._seen("instantiate")

    def raw_cuda_graph(self) -> int:
        """The address of CUDA's own graph."""
        return int(self._seen("raw_cuda_graph").graph)

    def raw_cuda_graph_exec(self) -> int:
        """The address of what CUDA runs of it."""
        return int(self._seen("raw_cuda_graph_exec").graphExec)

    get_graph_data: Any = lacking_function("CUDAGraph.get_graph_data", "CuPy tells nothing of a graph's nodes")

    def _seen(self, name: str) -> Any:
        if not self._kept:
            raise RuntimeError(f"CUDAGraph.{name} is for graphs that were made with keep_graph=True")
        return self._found(name)

    def _found(self, name: str) -> Any:
        if self._captured is None:
            raise RuntimeError(f"CUDAGraph.{name} comes after a capture")
        return self._captured

    def enable_debug_mode(self) -> None:
        """Keep what `debug_dump` shows, which is always kept."""

    def debug_dump(self, debug_path: str) -> None:
        """Write what was captured to a file, for Graphviz."""
        Path(debug_path).write_text(self._found("debug_dump").debug_dot_str())


class graph:
    """Inside, work is captured in a graph, on a stream of its own."""

    default_capture_stream: ClassVar[Stream | None] = None

    def __init__(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None,
        capture_error_mode: str = "global", check_input_liveness: bool = False,
    ) -> None:  # fmt: skip
        self.cuda_graph, self.options = cuda_graph, (pool, capture_error_mode, check_input_liveness)
        if stream is None and graph.default_capture_stream is None:
            graph.default_capture_stream = Stream()
        self.capture_stream: Any = stream or graph.default_capture_stream
        self._within = within(self.capture_stream)

    def __enter__(self) -> None:
        synchronize()
        gc.collect()
        empty_cache()
        self._within.__enter__()
        self.cuda_graph.capture_begin(*self.options)

    def __exit__(self, *error: Any) -> None:
        try:
            self.cuda_graph.capture_end()
        finally:
            self._within.__exit__(*error)


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False, pool: Any = None
) -> Any:
    """Functions or modules that replay graphs of themselves, forward and backward, in place of being called.

    They take tensors like the samples. What a module is in training for counts at the time of capture.
    """
    if callable(callables):
        return _graphed(callables, sample_args, num_warmup_iters, allow_unused_input, pool)
    shared = pool or graph_pool_handle()
    return tuple([
        _graphed(f, args, num_warmup_iters, allow_unused_input, shared) for f, args in zip(callables, sample_args)
    ])  # fmt: skip


def _listed(made: Any) -> tuple[Tensor, ...]:
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)


def _graphed(f: Any, sample: Sequence[Tensor], warmups: int, unused: bool, pool: Any) -> Callable[..., Any]:
    parameters = tuple(f.parameters()) if hasattr(f, "parameters") else ()
    inputs = tuple(sample)
    learned = [t for t in (*inputs, *parameters) if t.requires_grad]

    def backward(outputs: Sequence[Tensor], grads: Sequence[Tensor]) -> Any:
        differentiable = [(o, g) for o, g in zip(outputs, grads) if o.requires_grad]
        if not differentiable or not learned:
            return ()
        of, given = zip(*differentiable)
        return grad(of, learned, given, allow_unused=unused)

    with within(Stream()):
        for _ in range(warmups):
            outputs = _listed(f(*inputs))
            backward(outputs, [o.detach() * 0 for o in outputs])
    forward_graph, backward_graph = CUDAGraph(), CUDAGraph()
    with graph(forward_graph, pool):
        made = f(*inputs)
    outputs = _listed(made)
    grads = [o.detach().clone() for o in outputs]
    with graph(backward_graph, forward_graph.pool()):
        found = backward(outputs, grads)
    kept = [None if g is None else g.detach() for g in found]

    class Graphed(Function):
        @staticmethod
        def forward(ctx: Any, *given: Tensor) -> tuple[Any, ...]:
            for mine, theirs in zip(inputs, given):
                if mine.data_ptr() != theirs.data_ptr():
                    mine.detach().copy_(theirs)
            forward_graph.replay()
            return tuple([o.detach() for o in outputs])

        @staticmethod
        def backward(ctx: Any, *given: Tensor) -> tuple[Any, ...]:
            for mine, theirs in zip(grads, given):
                mine.copy_(theirs)
            backward_graph.replay()
            results = iter(kept)
            return tuple([next(results, None) if t.requires_grad else None for t in (*inputs, *parameters)])

    def call(*given: Tensor) -> Any:
        results = Graphed.apply(*given, *parameters)
        return results if isinstance(made, (tuple, list)) else results[0]

    if not hasattr(f, "forward"):
        return call
    f.forward = call
    return f
