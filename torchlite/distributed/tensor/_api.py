"""Tensors over meshes of processes, of which each process has a part."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.function import Function
from ...core.machine import Tensor, functions
from ...core.machine.overrides import _disabled_torch_function_impl
from ...core.values import bear_name, dt, shown_in
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ..collectives import broadcast
from ..device_mesh import DeviceMesh, _current_mesh
from ._dispatch import contiguous_meta, dispatched
from ._dtensor_spec import DTensorSpec, TensorMeta, compute_local_shape_and_global_offset
from ._redistribute import redistributed
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros",
]  # fmt: skip


@shown_in("torch.distributed.tensor")
class DTensor(Tensor):
    """A tensor over a mesh of processes: along each dimension of the mesh, cut, replicated, or a sum of parts.

    Operations run in each process on its part, after the operands were placed as that needs.
    """

    _local_tensor: Tensor
    _spec: DTensorSpec
    _implicitly_replicates = False
    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls: Any, local_tensor: Tensor, spec: DTensorSpec, *, requires_grad: bool) -> Any:
        if local_tensor.requires_grad and not requires_grad:
            warnings.warn(
                "To construct DTensor from torch.Tensor, it's recommended to use local_tensor.detach() and make "
                "requires_grad consistent.",
                stacklevel=2,
            )
        shape, stride, dtype = spec.tensor_meta
        made: Any = Tensor._make_wrapper_subclass(
            cls, shape, strides=stride, dtype=dtype, device=local_tensor.device, layout=local_tensor.layout,
            requires_grad=requires_grad,
        )  # fmt: skip
        made._spec, made._local_tensor = spec, local_tensor
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return (
            f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, "
            f"placements={self._spec.placements})"
        )

    @classmethod
    def __torch_dispatch__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dispatched(DTensor, func, args, kwargs or {})

    def __tensor_flatten__(self) -> Any:
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner_tensors: Any, flatten_spec: Any, outer_size: Any, outer_stride: Any) -> DTensor:
        spec, requires_grad = flatten_spec
        meta = TensorMeta(outer_size, outer_stride, spec.tensor_meta.dtype)
        return DTensor(
            inner_tensors["_local_tensor"], DTensorSpec(spec.mesh, spec.placements, meta), requires_grad=requires_grad
        )

    @property
    def device_mesh(self) -> DeviceMesh:
        """The processes."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How the tensor lies along each dimension of the mesh."""
        return self._spec.placements

    @staticmethod
    def from_local(
        local_tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
        run_check: bool = False, shape: Any = None, stride: Any = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:  # fmt: skip
        """The tensor of which each process gives its part; gradients come back to the parts."""
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(
                f"the local_tensor argument only accepts torch.Tensor but got {type(local_tensor)} value."
            )
        mesh = device_mesh or _current_mesh()
        wanted = _placements(placements or [Replicate()] * mesh.ndim, mesh, local_tensor.dim())
        if (shape is None) != (stride is None):
            raise RuntimeError(
                f"Found shape:{shape}, stride:{stride}.", "Please pass both shape and stride at the same time."
            )
        whole = _whole_form(local_tensor, mesh, wanted) if shape is None else (tuple(shape), tuple(stride))
        return _FromLocal.apply(local_tensor, mesh, wanted, *whole, run_check, grad_placements)

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The part that this process has; gradients come back as those of parts, placed as this tensor is."""
        return _ToLocal.apply(self, grad_placements)

    def redistribute(
        self, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
        async_op: bool = False, forward_dtype: Any = None, backward_dtype: Any = None,
    ) -> DTensor:  # fmt: skip
        """The same tensor, placed otherwise. All processes of the mesh call this."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        wanted = _placements(placements, self.device_mesh, self.dim())
        for have, want in zip(self.placements, wanted):
            if isinstance(want, Partial) and have != want:
                raise RuntimeError(
                    f"Can not redistribute from {have} to {want}, redistributing to Partial is for internal use only!"
                )
        source = self if forward_dtype is None else self.to(forward_dtype)
        return _Redistribute.apply(source, wanted, backward_dtype)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The whole tensor, in every process. All processes of the mesh call this."""
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return _ToLocal.apply(whole, grad_placements)

    def __deepcopy__(self, memo: Any) -> DTensor:
        if id(self) not in memo:
            memo[id(self)] = made = DTensor(self._local_tensor.clone(), self._spec, requires_grad=self.requires_grad)
            made.__dict__.update(
                {name: value for name, value in self.__dict__.items() if name not in ("_local_tensor", "_spec")}
            )
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        is_param = getattr(self, "_is_param", False)
        return _rebuilt, (self._local_tensor.detach(), self._spec, self.requires_grad, is_param)


def _rebuilt(local: Tensor, spec: DTensorSpec, requires_grad: bool, is_param: bool) -> DTensor:
    made = DTensor(local, spec, requires_grad=requires_grad)
    if is_param:
        made._is_param = True  # type: ignore[attr-defined]
    return made


def _placements(given: Sequence[Placement], mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    """Placements for all dimensions of a mesh, of a tensor's dimensions that there are."""
    if len(given) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(given)}, and "
            f"device_mesh.ndim: {mesh.ndim}."
        )
    found: list[Placement] = []
    for placement in given:
        if isinstance(placement, Shard) and not -ndim <= placement.dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {placement.dim})"
            )
        found.append(Shard(placement.dim % ndim) if isinstance(placement, Shard) else placement)
    return tuple(found)


def _whole_form(local: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> tuple[Any, ...]:
    """The shape and the strides of a tensor whose parts are all as large as this one."""
    shape, stride = list(local.shape), list(local.stride())
    for count, placement in zip(mesh.shape, placements):
        if isinstance(placement, Shard):
            cut = placement.dim
            step = stride[cut]
            stride = [each * count if at != cut and each > step else each for at, each in enumerate(stride)]
            shape[cut] *= count
    return tuple(shape), tuple(stride)


def _reducible(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """Where gradients of a tensor lie: those of parts of a sum are the same for all parts."""
    return tuple([Replicate() if isinstance(each, Partial) else each for each in placements])


class _FromLocal(Function):
    """From parts to a tensor over a mesh."""

    @staticmethod
    def forward(
        ctx: Any, local: Tensor, mesh: DeviceMesh, placements: Any, shape: Any, stride: Any, check: bool, grads: Any
    ) -> Any:
        ctx.placements = tuple(grads) if grads is not None else _reducible(placements)
        if check:
            for dim, placement in enumerate(placements):
                if isinstance(placement, Replicate):
                    local = local.contiguous()
                    broadcast(local, group=mesh.get_group(dim), group_src=0)
        form = functions["empty_strided"](shape, stride, device="meta")
        spec = DTensorSpec(mesh, placements, TensorMeta(form.shape, form.stride(), local.dtype))
        return DTensor(local.detach().view_as(local), spec, requires_grad=local.requires_grad)

    @staticmethod
    def backward(ctx: Any, grad: DTensor) -> tuple[Any, ...]:
        return (redistributed(grad._local_tensor, grad._spec, ctx.placements), *(None,) * 6)


class _ToLocal(Function):
    """From a tensor over a mesh to the part that is here."""

    @staticmethod
    def forward(ctx: Any, whole: DTensor, grads: Any) -> Tensor:
        ctx.spec, ctx.placements = whole._spec, grads
        local = whole._local_tensor
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        spec = ctx.spec
        placements = tuple(ctx.placements) if ctx.placements is not None else _reducible(spec.placements)
        made = DTensorSpec(spec.mesh, placements, spec.tensor_meta._replace(dtype=grad.dtype))
        return DTensor(grad, made, requires_grad=grad.requires_grad), None


class _Redistribute(Function):
    """From one placement to another; gradients go the way back."""

    @staticmethod
    def forward(ctx: Any, whole: DTensor, placements: Any, backward_dtype: Any) -> DTensor:
        ctx.placements, ctx.dtype = whole.placements, backward_dtype
        return _moved(whole, placements)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        grad = grad if ctx.dtype is None else grad.to(ctx.dtype)
        return _moved(grad, _reducible(ctx.placements)), None, None


def _moved(whole: DTensor, placements: tuple[Placement, ...]) -> DTensor:
    spec = whole._spec
    local = redistributed(whole._local_tensor, spec, placements)
    return DTensor(
        local.view_as(local), DTensorSpec(spec.mesh, placements, spec.tensor_meta), requires_grad=local.requires_grad
    )


def distribute_tensor(
    tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
    src_data_rank: int | None = 0,
) -> DTensor:  # fmt: skip
    """A tensor that all processes have (that of the first counts, or of `src_data_rank`), shared out over a mesh."""
    mesh = device_mesh or _current_mesh()
    wanted = _placements(placements or [Replicate()] * mesh.ndim, mesh, tensor.dim())
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device "
                             f"mesh {mesh}.")  # fmt: skip
        if tensor.placements != wanted:
            raise ValueError(f"Cannot distribute a DTensor with placements {tensor.placements} to a different "
                             f"placements {wanted}. do you want to call `redistribute` instead?")  # fmt: skip
        return tensor
    local = tensor.detach()
    if src_data_rank is not None:
        local = local.contiguous().clone()
        for dim in range(mesh.ndim):
            broadcast(local, group=mesh.get_group(dim), group_src=src_data_rank)
    spec = DTensorSpec(mesh, (Replicate(),) * mesh.ndim, contiguous_meta(tensor))
    made = DTensor(
        redistributed(local, spec, wanted), DTensorSpec(mesh, wanted, spec.tensor_meta),
        requires_grad=tensor.requires_grad,
    )  # fmt: skip
    return Parameter(made, requires_grad=tensor.requires_grad) if isinstance(tensor, Parameter) else made  # type: ignore[return-value]


def distribute_module(
    module: Module, device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None, input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> Module:  # fmt: skip
    """A module whose parameters are shared out as `partition_fn(name, module, mesh)` does; the rest is replicated."""
    mesh = device_mesh or _current_mesh()
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for key, param in part._parameters.items():
            if param is not None and not isinstance(param, DTensor):
                part.register_parameter(key, Parameter(distribute_tensor(param.data, mesh), param.requires_grad))
        for key, buffer in part._buffers.items():
            if buffer is not None and not isinstance(buffer, DTensor):
                part._buffers[key] = distribute_tensor(buffer, mesh)
    for made, register, count in ((input_fn, module.register_forward_pre_hook, 3),
                                  (output_fn, module.register_forward_hook, 3)):  # fmt: skip
        if made is not None:
            if len(inspect.signature(made).parameters) != count:
                raise ValueError("input_fn and output_fn of distribute_module take a module, values and a mesh")
            register(lambda owner, *values, made=made: made(owner, values[-1], mesh))
    return module


def _factory(name: str) -> Callable[..., DTensor]:
    def make(
        *size: Any, dtype: dt.dtype | None = None, layout: Any = None, requires_grad: bool = False,
        device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None,
    ) -> DTensor:  # fmt: skip
        shape, *rest = (size[0], *size[1:]) if name == "full" or not isinstance(size[0], int) else (size,)
        mesh = device_mesh or _current_mesh()
        wanted = _placements(placements or [Replicate()] * mesh.ndim, mesh, len(shape))
        part, _ = compute_local_shape_and_global_offset(shape, mesh, wanted)
        local = functions[name](part, *rest, dtype=dtype, device=mesh.device_type)
        form = functions["empty"](shape, device="meta", dtype=local.dtype)
        return DTensor(local, DTensorSpec(mesh, wanted, contiguous_meta(form)), requires_grad=requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"As `torch.{name}`, over a mesh."
    bear_name(make, "torch.distributed.tensor")
    return make


empty, ones, zeros, rand, randn, full = map(_factory, ("empty", "ones", "zeros", "rand", "randn", "full"))
