"""The graph of a model, as TensorBoard draws it: what one run of it calls, in boxes that are its modules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

from ...core.machine import Tensor, TorchFunctionMode
from ...nn import Module
from ...overrides import resolve_name
from .._pytree import tree_leaves


def _tensors(*values: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]


def _shape(t: Tensor) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in t.shape])


class _Recorder(TorchFunctionMode):
    """Notes a node for each function that is called inside, in the box of the module that calls it."""

    def __init__(self, model: Module) -> None:
        self.nodes: list[NodeDef] = []
        self.boxes: list[str] = []
        self.made: dict[int, tuple[Tensor, str]] = {}  # by id; whose tensors stay, that no other gets their ids
        self.numbers = itertools.count()
        self.kept = {id(t): name for name, t in (*model.named_parameters(), *model.named_buffers())}
        self.names = {module: name.rpartition(".")[2] for name, module in model.named_modules()}

    def note(self, name: str, op: str, inputs: list[str], outputs: list[Tensor], said: str = "") -> None:
        """A node, from which these tensors come."""
        shapes = AttrValue(list=AttrValue.ListValue(shape=[_shape(t) for t in outputs]))
        attributes = {"attr": AttrValue(s=said.encode()), "_output_shapes": shapes}
        self.nodes.append(NodeDef(name=name, op=op, input=inputs, attr=attributes))
        for at, t in enumerate(outputs):
            self.made[id(t)] = t, f"{name}:{at}" if at else name

    def source(self, t: Tensor) -> str:
        """The name of what a tensor comes from; parameters and constants are noted when they are first met."""
        if id(t) not in self.made:
            kept = self.kept.get(id(t))
            name = kept.rpartition(".")[2] if kept else f"constant_{next(self.numbers)}"
            op, said = ("prim::GetAttr", f"{{ name : {kept} }}") if kept else ("prim::Constant", "")
            self.note("/".join([*self.boxes, name]), op, [], [t], said)
        return self.made[id(t)][1]

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        inputs = [self.source(t) for t in _tensors(args, kwargs)]
        result = func(*args, **kwargs)
        outputs = _tensors(result)
        if outputs:
            path = (resolve_name(func) or func.__name__).removesuffix(".__get__")
            name = path.rpartition(".")[2].strip("_")
            rest = [*[(str(at), value) for at, value in enumerate(args)], *kwargs.items()]
            said = ", ".join(f"{key} : {value}" for key, value in rest if not _tensors(value))
            node = "/".join([*self.boxes, f"{name}_{next(self.numbers)}"])
            self.note(node, f"aten::{name}", inputs, outputs, f"{{ {said} }}" if said else "")
        return result

    def enter(self, module: Module, _: Any) -> None:
        kind, name = type(module).__name__, self.names.get(module)
        self.boxes.append(f"{kind}[{name}]" if name else kind)

    def leave(self, *_: Any) -> None:
        self.boxes.pop()


@contextmanager
def _evaluated(model: Module) -> Iterator[None]:
    """A model's modules in evaluation mode, and afterwards in the modes that they were in."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def graph(model: Any, args: Any, verbose: bool = False, use_strict_trace: bool = True) -> tuple[GraphDef, RunMetadata]:
    """What a run of `model` on `args` (a tensor, or a tuple of arguments) calls, and where."""
    given = args if isinstance(args, tuple) else (args,)
    recorder = _Recorder(model)
    for at, t in enumerate(_tensors(given)):
        recorder.note(f"input/{at}", "IO Node", [], [t])
    with _evaluated(model), ExitStack() as hooks:
        for module in model.modules():
            hooks.callback(module.register_forward_pre_hook(recorder.enter).remove)
            hooks.callback(module.register_forward_hook(recorder.leave, always_call=True).remove)
        with recorder:
            results = _tensors(model(*given))
    for at, t in enumerate(results):
        recorder.note(f"output/{at}", "IO Node", [recorder.source(t)], [t])
    if verbose:
        for node in recorder.nodes:
            print(f"{node.name} = {node.op}({', '.join(node.input)})")
    stats = RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")]))
    return GraphDef(node=recorder.nodes, versions=VersionDef(producer=22)), stats
