"""Styles: how a module's parameters are shared out, and how its inputs and outputs lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

from ....core.machine import Tensor
from ....core.values import bear_name
from ....nn.modules.linear import Linear
from ....nn.modules.module import Module
from ....nn.modules.sparse import Embedding
from ....nn.parameter import Parameter
from ...device_mesh import DeviceMesh
from .._api import DTensor, distribute_module, distribute_tensor
from ..placement_types import Placement, Replicate, Shard

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel",
]  # fmt: skip

Layouts = Placement | tuple[Placement | None, ...] | None


class ParallelStyle(ABC):
    """A way to share out a module over a mesh of processes."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module: ...


def _placed(value: Any, mesh: DeviceMesh, layout: Placement, wanted: Placement | None) -> DTensor:
    """A value, of which a plain tensor is a part that lies as `layout` says, as it is wanted."""
    made = value if isinstance(value, DTensor) else DTensor.from_local(value, mesh, [layout])
    return made if wanted is None or made.placements == (wanted,) else made.redistribute(placements=[wanted])


def _given(value: DTensor, local: bool) -> Tensor:
    return value.to_local() if local else value


class _Cut(ParallelStyle):
    """A linear layer or an embedding whose weight is cut along a dimension."""

    _inputs: Placement
    _outputs: Placement

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.input_layouts = (input_layouts or self._inputs,)
        self.output_layouts = (output_layouts or self._outputs,)
        self.use_local_output = use_local_output

    @abstractmethod
    def _cuts(self, module: Module) -> tuple[Placement, dict[str, Placement]]:
        """How the input is wanted, and how the parameters lie."""

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if not isinstance(module, (Linear, Embedding)):
            raise NotImplementedError(f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!")
        wanted, cuts = self._cuts(module)

        def partition(name: str, part: Module, mesh: DeviceMesh) -> None:
            for key, param in part.named_parameters():
                cut = distribute_tensor(param, mesh, [cuts[key]], src_data_rank=self.src_data_rank)
                part.register_parameter(key, Parameter(cut, param.requires_grad))

        return distribute_module(
            module, device_mesh, partition,
            lambda _, inputs, mesh: (_placed(inputs[0], mesh, self.input_layouts[0], wanted), *inputs[1:]),
            lambda _, output, mesh: _given(
                _placed(output, mesh, self.output_layouts[0], self.output_layouts[0]), self.use_local_output
            ),
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(input_layouts={self.input_layouts}, output_layouts={self.output_layouts}, "
            f"use_local_output={self.use_local_output})"
        )


class ColwiseParallel(_Cut):
    """Each process computes some of the outputs' features, from whole inputs: of a linear layer, or an embedding."""

    _inputs, _outputs = Replicate(), Shard(-1)

    @property
    def desired_input_layouts(self) -> tuple[Placement, ...]:
        """How the layer wants its input."""
        return (Replicate(),)

    def _cuts(self, module: Module) -> tuple[Placement, dict[str, Placement]]:
        along = Shard(0) if isinstance(module, Linear) else Shard(1)
        return Replicate(), {"weight": along, "bias": along}


class RowwiseParallel(_Cut):
    """Each process computes with some of the inputs' features, of a linear layer, or with some rows of an embedding."""

    _inputs, _outputs = Shard(-1), Replicate()

    def _cuts(self, module: Module) -> tuple[Placement, dict[str, Placement]]:
        if isinstance(module, Linear):
            self.desired_input_layouts: tuple[Placement, ...] = (Shard(-1),)
            return Shard(-1), {"weight": Shard(1), "bias": Replicate()}
        self.desired_input_layouts = (Replicate(),)
        return Replicate(), {"weight": Shard(0)}


class SequenceParallel(ParallelStyle):
    """Inputs are cut along the sequence; the parameters, of a layer norm or a dropout, are in all processes."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        cut = self.sequence_sharding[0]

        def replicate(name: str, part: Module, mesh: DeviceMesh) -> None:
            for key, param in part.named_parameters(recurse=False):
                made = DTensor.from_local(param.detach(), mesh, [Replicate()])
                part.register_parameter(key, Parameter(made, param.requires_grad))

        def prepare(owner: Module, inputs: Any, mesh: DeviceMesh) -> tuple[Any, ...]:
            if not isinstance(inputs[0], Tensor):
                raise ValueError(f"expecting input of {owner} to be a torch.Tensor or DTensor, but got {inputs[0]}")
            return (_placed(inputs[0], mesh, cut, cut), *inputs[1:])

        return distribute_module(
            module, device_mesh, replicate, prepare, lambda _, output, mesh: _given(output, self.use_local_output)
        )

    def __repr__(self) -> str:
        dim = self.sequence_sharding[0].dim
        return f"SequenceParallel(sequence_dim={dim}, use_local_output={self.use_local_output})"


def _relaid(mesh: DeviceMesh, local: bool, value: Any, layout: Placement | None, wanted: Placement | None) -> Any:
    """A value that lies so, as it is wanted; one without a layout as it is."""
    return value if layout is None else _given(_placed(value, mesh, layout, wanted), local)


def _several(layouts: Layouts) -> tuple[Placement | None, ...] | None:
    return (layouts,) if isinstance(layouts, Placement) else layouts


class PrepareModuleInput(ParallelStyle):
    """Inputs, positional and named, are taken as parts that lie in one way, and given as they are wanted."""

    def __init__(
        self, *, input_layouts: Layouts = None, desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None, use_local_output: bool = False,
    ) -> None:  # fmt: skip
        self.input_layouts, self.desired_input_layouts = _several(input_layouts), _several(desired_input_layouts)
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            assert self.desired_input_layouts is not None, "desired module inputs should not be None!"
            assert len(self.input_layouts) == len(self.desired_input_layouts), (
                "input_layouts and desired_input_layouts should have same length!"
            )
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.with_kwargs:
            assert len(self.input_kwarg_layouts) == len(self.desired_input_kwarg_layouts), (
                "input_kwarg_layouts and desired_input_kwarg_layouts should have same length!"
            )

    def _one(self, mesh: DeviceMesh, value: Any, layout: Placement | None, wanted: Placement | None) -> Any:
        assert layout is None or isinstance(value, Tensor), "expecting input to be a torch.Tensor!"
        return _relaid(mesh, self.use_local_output, value, layout, wanted)

    def _positional(self, inputs: Any, mesh: DeviceMesh) -> Any:
        if self.input_layouts is None:
            return inputs
        values = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(values) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        return tuple(map(partial(self._one, mesh), values, self.input_layouts, self.desired_input_layouts or ()))

    def _named(self, given: dict[str, Any], mesh: DeviceMesh) -> dict[str, Any]:
        have, wanted = self.input_kwarg_layouts, self.desired_input_kwarg_layouts
        return {key: self._one(mesh, value, have.get(key), wanted.get(key)) for key, value in given.items()}

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if self.with_kwargs:
            module.register_forward_pre_hook(
                lambda _, inputs, named: (self._positional(inputs, device_mesh), self._named(named, device_mesh)),
                with_kwargs=True,
            )
        else:
            module.register_forward_pre_hook(lambda _, inputs: self._positional(inputs, device_mesh))
        return module

    def __repr__(self) -> str:
        return f"PrepareModuleInput({_told(self, _INPUTS)}, use_local_output={self.use_local_output})"


class PrepareModuleOutput(ParallelStyle):
    """Outputs are taken as parts that lie in one way, and given as they are wanted."""

    def __init__(
        self, *, output_layouts: Layouts, desired_output_layouts: Layouts, use_local_output: bool = True
    ) -> None:
        self.output_layouts = _several(output_layouts) or ()
        self.desired_output_layouts = _several(desired_output_layouts) or ()
        self.use_local_output = use_local_output
        assert len(self.output_layouts) == len(self.desired_output_layouts), (
            "output_layouts and desired_output_layouts should have same length!"
        )

    def _given(self, outputs: Any, mesh: DeviceMesh) -> Any:
        values: Sequence[Any] = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(values) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        relaid = partial(_relaid, mesh, self.use_local_output)
        given = tuple(map(relaid, values, self.output_layouts, self.desired_output_layouts))
        return given[0] if len(given) == 1 else given

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_hook(lambda _, inputs, outputs: self._given(outputs, device_mesh))
        return module

    def __repr__(self) -> str:
        return f"PrepareModuleOutput({_told(self, _OUTPUTS)}, use_local_output={self.use_local_output})"


class PrepareModuleInputOutput(ParallelStyle):
    """As `PrepareModuleInput` and `PrepareModuleOutput` together."""

    def __init__(
        self, *, input_layouts: Layouts = None, desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None, use_local_input: bool = False,
        output_layouts: Layouts, desired_output_layouts: Layouts, use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts, desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )  # fmt: skip
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )  # fmt: skip

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)

    def __repr__(self) -> str:
        before, after = self.prepare_module_input, self.prepare_module_output
        return (
            f"PrepareModuleInputOutput({_told(before, _INPUTS)}, use_local_input={before.use_local_output}, "
            f"{_told(after, _OUTPUTS)}, use_local_output={after.use_local_output})"
        )


_INPUTS = ("input_layouts", "desired_input_layouts", "input_kwarg_layouts", "desired_input_kwarg_layouts")
_OUTPUTS = ("output_layouts", "desired_output_layouts")


def _told(style: ParallelStyle, names: Sequence[str]) -> str:
    return ", ".join([f"{name}={getattr(style, name)}" for name in names])


for _class in (
    ParallelStyle, ColwiseParallel, RowwiseParallel, SequenceParallel, PrepareModuleInput, PrepareModuleOutput,
    PrepareModuleInputOutput,
):  # fmt: skip
    bear_name(_class, "torch.distributed.tensor.parallel.style")
