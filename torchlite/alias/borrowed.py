"""Names that PyTorch's modules have because they import them, and that packages take from there."""

from __future__ import annotations

import functools
from typing import Any

from ..faces import places, room

# By module: "where it is: names; where others are: names".
_BORROWED = {
    "autograd.gradcheck": "_vmap_internals: vmap; overrides: is_tensor_like",
    "autograd.graph": "autograd.variable: Variable; utils._python_dispatch: TorchDispatchMode",
    "autograd.profiler": "jit: Future",
    "autograd.profiler_legacy": "autograd.profiler_util: EventList FunctionEvent",
    "cuda.amp.grad_scaler": "amp.grad_scaler: OptState",
    "cuda.gds": "types: Storage",
    "cuda.memory": "cuda: is_initialized",
    "cuda.random": ": Tensor; cuda: current_device is_initialized",
    "distributed": "_C._distributed_c10d: Reducer",
    "distributed.algorithms.ddp_comm_hooks.ddp_zero_hook": (
        "distributed.optim.zero_redundancy_optimizer: ZeroRedundancyOptimizer; nn.parallel.distributed: "
        "DistributedDataParallel"
    ),
    "distributed.algorithms.model_averaging.utils": "distributed.distributed_c10d: group ProcessGroup",
    "distributed.checkpoint.filesystem": ": Tensor; distributed.checkpoint.planner: ReadItem",
    "distributed.checkpoint.format_utils": (
        "distributed.checkpoint.filesystem: FileSystemWriter; distributed.checkpoint.default_planner: "
        "DefaultLoadPlanner; distributed.checkpoint.metadata: Metadata TensorProperties TensorStorageMetadata; "
        "distributed.checkpoint.planner: LoadItemType LoadPlan LoadPlanner; distributed.checkpoint.storage: "
        "StorageReader; jit: Future"
    ),
    "distributed.checkpoint.hf_storage": (
        "distributed.checkpoint.filesystem: FileSystemReader FileSystemWriter SerializationFormat; "
        "distributed.checkpoint._consolidate_hf_safetensors: consolidate_safetensors_files; "
        "distributed.checkpoint.metadata: ChunkStorageMetadata Metadata MetadataIndex StorageMeta TensorProperties "
        "TensorStorageMetadata; distributed.checkpoint.planner: LoadPlan LoadPlanner ReadItem SavePlan SavePlanner "
        "WriteItem; distributed.checkpoint.storage: WriteResult; jit: Future"
    ),
    "distributed.checkpoint.optimizer": (
        "distributed.checkpoint.default_planner: DefaultLoadPlanner; distributed.checkpoint.metadata: "
        "BytesStorageMetadata ChunkStorageMetadata Metadata MetadataIndex TensorProperties TensorStorageMetadata; "
        "distributed.checkpoint.planner: LoadPlan LoadPlanner; distributed.checkpoint.state_dict_loader: "
        "load_state_dict; distributed.checkpoint.storage: StorageReader; distributed.tensor: DTensor"
    ),
    "distributed.checkpoint.state_dict": (
        "distributed.fsdp.api: FullOptimStateDictConfig OptimStateDictConfig ShardedOptimStateDictConfig "
        "StateDictConfig; distributed.fsdp.fully_sharded_data_parallel: FSDP=FullyShardedDataParallel; "
        "nn.parallel.distributed: DDP=DistributedDataParallel; utils._pytree: tree_map_only"
    ),
    "distributed.checkpoint.state_dict_loader": "distributed.checkpoint.planner: LoadPlan",
    "distributed.checkpoint.state_dict_saver": (
        "distributed.checkpoint.planner: SavePlan; distributed.checkpoint.storage: WriteResult"
    ),
    "distributed.checkpoint.storage": "jit: Future",
    "distributed.device_mesh": (
        "distributed: is_available; distributed.distributed_c10d: get_backend get_world_size GroupName "
        "init_process_group is_initialized split_group"
    ),
    "distributed.fsdp.fully_sharded_data_parallel": (
        "distributed.fsdp: OptimStateKeyType; distributed.algorithms._checkpoint.checkpoint_wrapper: "
        "ActivationWrapper; distributed.fsdp._common_utils: TrainingState; distributed.fsdp.api: "
        "FullOptimStateDictConfig LocalOptimStateDictConfig LocalStateDictConfig ShardedOptimStateDictConfig "
        "ShardedStateDictConfig; distributed.device_mesh: DeviceMesh; distributed.fsdp.wrap: CustomPolicy "
        "ModuleWrapPolicy"
    ),
    "distributed.fsdp.sharded_grad_scaler": "amp.grad_scaler: OptState; distributed.distributed_c10d: ProcessGroup",
    "distributed.launch": "distributed.run: get_args_parser",
    "distributed.launcher.api": (
        "distributed.elastic.agent.server.api: WorkerSpec; distributed.elastic.multiprocessing.errors: "
        "ChildFailedError; numa.binding: NumaOptions"
    ),
    "distributed.nn": "autograd.function: Function; distributed.distributed_c10d: ReduceOp",
    "distributed.run": (
        "distributed.elastic.multiprocessing.errors: record; distributed.launcher.api: elastic_launch LaunchConfig"
    ),
    "distributed.tensor.parallel.loss": (
        "distributed.device_mesh: DeviceMesh; distributed.tensor: DTensor; distributed.tensor.placement_types: "
        "Partial Shard Placement; distributed.tensor._dtensor_spec: TensorMeta"
    ),
    "distributed.tensor.placement_types": "distributed.device_mesh: DeviceMesh",
    "distributed.utils": "nn.utils.rnn: PackedSequence",
    "distributions.categories": "distributions.utils: lazy_property logits_to_probs probs_to_logits",
    "distributions.composed": "distributions.constraints: MixtureSameFamilyConstraint",
    "distributions.counts": (
        "distributions.utils: logits_to_probs probs_to_logits; nn.functional: binary_cross_entropy_with_logits"
    ),
    "distributions.gamma_family": "autograd.function: Function once_differentiable",
    "distributions.relaxed": "distributions.utils: lazy_property logits_to_probs probs_to_logits",
    "distributions.transformed": "distributions.independent: Independent",
    "distributions.transforms": (
        ": Tensor; distributions.distribution: Distribution; distributions.utils: broadcast_all lazy_property "
        "tril_matrix_to_vec vec_to_tril_matrix; nn.functional: pad; _C._nn: softplus"
    ),
    "functional": ": Tensor",
    "fx.graph": "fx.immutable_collections: immutable_dict",
    "fx.operator_schemas": "_ops: OpOverloadPacket",
    "fx.passes.fake_tensor_prop": "_subclasses.fake_tensor: FakeTensor; fx.node: map_aggregate",
    "fx.passes.graph_drawer": "fx.operator_schemas: normalize_function; fx.passes.shape_prop: TensorMetadata",
    "fx.passes.split_utils": "fx.passes.tools_common: is_node_output_tensor",
    "fx.proxy": "fx.immutable_collections: immutable_dict immutable_list",
    "fx.traceback": "fx.graph: Graph; fx.graph_module: GraphModule",
    "library": "_ops: OpOverload",
    "multiprocessing.pool": "multiprocessing.queue: SimpleQueue",
    "nn.attention.bias": (
        "backends.cuda: can_use_efficient_attention can_use_flash_attention is_flash_attention_available "
        "SDPAParams"
    ),
    "nn.attention.flex_attention": "utils._pytree: GetAttrKey tree_flatten tree_map_only tree_unflatten TreeSpec",
    "nn.functional": "_jit_internal: BroadcastingList1 BroadcastingList2 BroadcastingList3",
    "nn.modules.activation": (
        "nn.init: constant_ xavier_normal_ xavier_uniform_; nn.modules.linear: NonDynamicallyQuantizableLinear"
    ),
    "nn.modules.batchnorm": "nn.parameter: Parameter",
    "nn.modules.container": "nn.parameter: Parameter",
    "nn.modules.conv": "nn.modules.module: Module",
    "nn.modules.loss": "nn.modules.linear_cross_entropy_options: LinearCrossEntropyOptions",
    "nn.modules.module": (
        ": device dtype; nn.parameter: Buffer; utils._python_dispatch: is_traceable_wrapper_subclass; utils.hooks: "
        "BackwardHook"
    ),
    "nn.modules.normalization": ": Size",
    "nn.modules.padding": "nn.modules.module: Module",
    "nn.modules.pooling": "nn.modules.module: Module",
    "nn.parallel.distributed": (
        "autograd.variable: Variable; distributed.distributed_c10d: ReduceOp; distributed.rpc.api: RRef"
    ),
    "nn.utils.parametrize": (
        "__future__: get_swap_module_params_on_conversion; utils._python_dispatch: is_traceable_wrapper_subclass"
    ),
    "nn.utils.weight_norm": ": norm_except_dim",
    "optim.adadelta": "optim.optimizer: Optimizer",
    "optim.adagrad": "optim.optimizer: Optimizer",
    "optim.adam": "optim.optimizer: Optimizer",
    "optim.adamax": "optim.optimizer: Optimizer",
    "optim.adamw": "optim.adam: adam",
    "optim.asgd": "optim.optimizer: Optimizer",
    "optim.lr_scheduler": ": Tensor",
    "optim.nadam": "optim.optimizer: Optimizer",
    "optim.radam": "optim.optimizer: Optimizer",
    "optim.rmsprop": "optim.optimizer: Optimizer",
    "optim.rprop": "optim.optimizer: Optimizer",
    "optim.sgd": "optim.optimizer: Optimizer",
    "profiler": "autograd.profiler: KinetoStepTracker; optim.optimizer: Optimizer register_optimizer_step_post_hook",
    "profiler.profiler": "_C._autograd: kineto_available; profiler._memory_profiler: MemoryProfileTimeline",
    "special": ": Tensor",
    "storage": "types: Storage",
    "types": ": DispatchKey SymBool SymFloat",
    "utils.checkpoint": (
        "utils._pytree: tree_map; utils._python_dispatch: TorchDispatchMode; _C._autograd: SavedTensor"
    ),
    "utils.cpp_extension": "torch_version: TorchVersion; _vendor.packaging.version: Version",
    "utils.data.dataloader": "_utils: ExceptionWrapper; utils.data.datapipes.datapipe: MapDataPipe",
    "utils.data.dataset": "_C: Generator",
    "utils.flop_counter": "utils._pytree: tree_flatten tree_unflatten",
    "utils.module_tracker": "utils._pytree: tree_flatten",
}


def borrowed(module: str, name: str) -> Any:
    """What PyTorch's module has by this name, beside what it is for; None where that is nothing."""
    home, there = _places(module).get(name, (None, ""))
    return None if home is None else getattr(room(home), there)


@functools.cache
def _places(module: str) -> dict[str, tuple[str, str]]:
    return {name: (home, there) for name, home, there in places(_BORROWED.get(module.removeprefix("torch."), ""))}
