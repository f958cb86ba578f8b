"""The names in modules of which torchlite does nothing: packages import them, and do without until they call one."""

from __future__ import annotations

_MESH = "distributed.device_mesh: DeviceMesh init_device_mesh"
_COMPOSED = "CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy fully_shard register_fsdp_forward_method"
_QUANTIZATION = "ao.quantization.{0}: *"
_FAKE_QUANTIZE = """
    FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize FusedMovingAvgObsFakeQuantize default_fake_quant
    default_histogram_fake_quant default_per_channel_weight_fake_quant default_weight_fake_quant disable_fake_quant
    disable_observer enable_fake_quant enable_observer
"""
_QUANTIZED_MODULES = """
    BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d DeQuantize Dropout ELU
    Embedding EmbeddingBag FXFloatFunctional FloatFunctional GroupNorm Hardswish InstanceNorm1d InstanceNorm2d
    InstanceNorm3d LayerNorm LeakyReLU Linear MaxPool2d PReLU QFunctional Quantize ReLU6 Sigmoid Softmax
"""

# A module: the names in it, and what it takes from others, as in a Face.
UNAVAILABLE: dict[str, tuple[str, str]] = {
    # -- several processes
    "_C._distributed_c10d": (
        "Reducer _SymmetricMemory",
        "distributed.options: AllToAllOptions AllgatherOptions AllreduceCoalescedOptions AllreduceOptions"
        " BarrierOptions BroadcastOptions DebugLevel GatherOptions ReduceOptions ReduceScatterOptions ScatterOptions"
        " get_debug_level set_debug_level set_debug_level_from_env;"
        "distributed.stores: *; distributed: ProcessGroup ReduceOp Work;"
        "distributed.buckets: BuiltinCommHookType GradBucket; distributed.fake: FakeProcessGroup FakeWork;"
        "distributed.work: _create_work_from_future",
    ),
    "distributed._composable": ("checkpoint contract replicate", ""),
    "distributed._composable.fsdp": ("", f"distributed.fsdp: {_COMPOSED}"),
    "distributed._composable.replicate": ("", "distributed._composable: replicate"),
    "distributed._symmetric_memory": ("empty get_mem_pool is_nvshmem_available rendezvous", ""),
    "distributed._tensor": ("", f"distributed.tensor: *; {_MESH}"),
    "distributed._tensor.device_mesh": ("", _MESH),
    "distributed._tensor.experimental": ("", "distributed.tensor.experimental: *"),
    "distributed._tensor.placement_types": ("", "distributed.tensor: Partial Placement Replicate Shard"),
    "distributed.autograd": ("context", "faces.nothing: is_available"),
    "distributed.checkpoint.optimizer": ("load_sharded_optimizer_state_dict", ""),
    "distributed.checkpoint._consolidate_hf_safetensors": ("consolidate_safetensors_files", ""),
    "distributed.checkpoint.hf_storage": (
        "", "distributed.checkpoint: HuggingFaceStorageReader HuggingFaceStorageWriter",
    ),
    "distributed.distributed_c10d": (
        "_CollOp _new_process_group_helper _register_pg_in_world",
        "distributed.messages: _store_based_barrier; distributed.work: _IllegalWork;"
        "distributed.world: _TORCHCOMM_AVAILABLE _rank_not_in_group;"
        "distributed: * _CoalescingManager _coalescing_manager _get_default_group _get_default_store"
        " _get_global_rank _get_process_group_name _resolve_process_group _world;"
        "distributed.shrinking: SHRINK_ABORT SHRINK_DEFAULT; distributed.world: _World _get_pg_config;"
        "distributed.registered: _DistributedBackendOptions",
    ),
    "distributed.elastic": ("", ""),
    "distributed.elastic.agent": ("", ""),
    "distributed.elastic.agent.server": ("", "distributed.elastic.agent.server.api: *"),
    "distributed.elastic.agent.server.api": (
        "ElasticAgent RunResult SimpleElasticAgent Worker WorkerGroup WorkerSpec WorkerState", "",
    ),
    "distributed.elastic.multiprocessing": (
        "DefaultLogsSpecs LogsSpecs PContext SignalException Std start_processes", "",
    ),
    "distributed.elastic.multiprocessing.errors": (
        "ErrorHandler get_error_handler", "distributed.launching: ChildFailedError ProcessFailure record",
    ),
    "distributed.elastic.rendezvous": ("RendezvousHandler RendezvousParameters rendezvous_handler_registry", ""),
    "distributed.fsdp._common_utils": ("TrainingState _FSDPState _get_module_fsdp_state", ""),
    "distributed.fsdp._fully_shard": ("", f"distributed.fsdp: {_COMPOSED}"),
    "distributed.fsdp._fully_shard._fsdp_param_group": ("FSDPParamGroup RegisterPostBackwardFunction", ""),
    "distributed.fsdp._init_utils": ("", "distributed.fsdp.api: NO_RESHARD_AFTER_FORWARD_STRATEGIES"),
    "distributed.launcher": ("", "distributed.launcher.api: *"),
    "distributed.launcher.api": ("", "distributed.agent: *"),
    "distributed.pipelining": (
        """
        Pipe PipelineStage Schedule1F1B ScheduleGPipe ScheduleInterleaved1F1B ScheduleLoopedBFS SplitPoint build_stage
        pipe_split pipeline
        """,
        "",
    ),
    "distributed.rpc": (
        "BackendType RRef TensorPipeRpcBackendOptions WorkerInfo get_worker_info init_rpc remote rpc_async rpc_sync"
        " shutdown", "faces.nothing: is_available",
    ),
    "distributed.rpc.api": (
        "_all_gather",
        "faces.graphs: _require_initialized=wrap;"
        "distributed.rpc: RRef get_worker_info remote rpc_async rpc_sync shutdown",
    ),
    "distributed.constants": ("", "distributed.distributed_c10d: default_pg_timeout"),
    "distributed.tensor.device_mesh": ("", _MESH),
    "distributed.tensor.experimental": ("context_parallel implicit_replication local_map register_sharding", ""),
    "distributed.tensor.experimental._attention": ("set_rotate_method", ""),
    # -- graphs of functions, and what compiles them
    "_inductor": ("compile cudagraph_mark_step_begin list_mode_options list_options", ""),
    "_inductor.codecache": ("FxGraphCache PyCodeCache extract_tensor_metadata_for_cache_key", ""),
    "_inductor.compile_fx": ("compile_fx compile_fx_inner", ""),
    "_inductor.custom_graph_pass": ("CustomGraphPass get_hash_for_files", ""),
    "_inductor.fx_passes": ("", ""),
    "_inductor.fx_passes.post_grad": ("", ""),
    "_inductor.ir": ("", ""),
    "_inductor.lowering": ("register_lowering", ""),
    "_inductor.pattern_matcher": (
        "CallFunction Match PatternMatcherPass fwd_only joint_fwd_bwd register_graph_pattern register_replacement", "",
    ),
    "fx.experimental._backward_state": ("BackwardState", ""),
    "fx.experimental.accelerator_partitioner": ("DAG DAGNode PartitionResult Partitioner reset_partition_device", ""),
    "fx.experimental.graph_gradual_typechecker": ("GraphTypeChecker Refine broadcast_types", ""),
    "fx.experimental.meta_tracer": ("MetaAttribute MetaDeviceAttribute MetaProxy MetaTracer symbolic_trace", ""),
    "fx.experimental.migrate_gradual_types": ("", ""),
    "fx.experimental.migrate_gradual_types.constraint": (
        "BinConstraintD BinConstraintT BinaryConstraint Conj Constraint DVar Disj F Prod T TVar is_dim", "",
    ),
    "fx.experimental.migrate_gradual_types.constraint_generator": ("ConstraintGenerator", ""),
    "fx.experimental.migrate_gradual_types.constraint_transformation": ("transform_constraint", ""),
    "fx.experimental.migrate_gradual_types.operation": ("", ""),
    "fx.experimental.migrate_gradual_types.transform_to_z3": ("", ""),
    "fx.experimental.partitioner_utils": (
        "Device NodeLatency Partition PartitionLatency PartitionMode PartitionerConfig"
        " get_latency_of_partitioned_graph get_partition_to_latency_mapping", "",
    ),
    "fx.experimental.unification": ("Var reify unify var variables", ""),
    "fx.experimental.unification.core": ("reify unify", ""),
    "fx.experimental.unify_refinements": ("infer_symbolic_types infer_symbolic_types_single_pass unify_eq", ""),
    "fx.passes.net_min_base": (
        "FxNetMinimizerBadModuleError FxNetMinimizerResultMismatchError FxNetMinimizerRunFuncError _MinimizerBase"
        " _MinimizerSettingBase", "",
    ),
    "fx.passes.reinplace": ("reinplace", ""),
    "fx.passes.runtime_assert": ("insert_deferred_runtime_asserts", ""),
    "fx.passes.splitter_base": ("FxNetAccNodesFinder Subgraph _SplitterBase _SplitterSettingBase", ""),
    "export": ("Constraint Dim ExportedProgram ShapesCollection export load register_dataclass save unflatten", ""),
    "jit.frontend": ("", ""),
    "jit.quantized": ("", ""),
    "jit._recursive": ("concrete_type_store", ""),
    "onnx.utils": ("", "onnx: export"),
    "numa": ("", ""),
    "numa.binding": ("AffinityMode NumaOptions", ""),
    # -- quantised tensors
    "ao": ("", ""),
    "ao.nn": ("", ""),
    "ao.nn.intrinsic": ("ConvBn2d ConvBnReLU2d ConvReLU2d LinearReLU", ""),
    "ao.nn.qat": ("", ""),
    "ao.nn.qat.modules": ("", "nn.qat: Conv2d Linear"),
    "ao.nn.quantizable": ("LSTM MultiheadAttention", ""),
    "ao.nn.quantizable.modules": ("", "ao.nn.quantizable: *"),
    "ao.nn.quantized": (_QUANTIZED_MODULES, ""),
    "ao.nn.quantized.modules": ("", "ao.nn.quantized: *"),
    "ao.nn.quantized.dynamic": ("Linear LSTM GRU", ""),
    "ao.quantization": (
        """
        DeQuantStub QConfigMapping QuantStub QuantType QuantWrapper convert get_default_qconfig_mapping prepare
        prepare_qat quantize quantize_dynamic quantize_qat
        """,
        ";".join(map(_QUANTIZATION.format, ("fake_quantize", "observer", "qconfig")))
        + "; ao.quantization.fuse_modules: fuse_modules fuse_modules_qat",
    ),
    "ao.quantization.fake_quantize": (_FAKE_QUANTIZE, ""),
    "ao.quantization.fuse_modules": ("fuse_known_modules fuse_modules fuse_modules_qat", ""),
    "ao.quantization.observer": (
        """
        HistogramObserver MinMaxObserver MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver
        NoopObserver ObserverBase PerChannelMinMaxObserver PlaceholderObserver default_histogram_observer
        default_observer default_per_channel_weight_observer default_weight_observer
        """,
        "",
    ),
    "ao.quantization.qconfig": (
        """
        QConfig QConfigDynamic default_dynamic_qconfig default_per_channel_qconfig default_qat_qconfig default_qconfig
        float16_dynamic_qconfig get_default_qat_qconfig get_default_qconfig
        """,
        "",
    ),
    "ao.quantization.quantize_fx": ("convert_fx fuse_fx prepare_fx prepare_qat_fx", ""),
    "nn.intrinsic": ("ConvBn2d ConvBnReLU2d ConvReLU2d LinearReLU", ""),
    "nn.qat": ("Conv2d Linear", ""),
    "nn.quantized": (_QUANTIZED_MODULES, ""),
    **{
        f"quantization.{name}": ("", _QUANTIZATION.format(name))
        for name in ("fake_quantize", "observer", "qconfig", "quantize_fx")
    },
    "quantization.fuse_modules": ("", "ao.quantization.fuse_modules: fuse_known_modules fuse_modules"),
    "quantization": (
        "",
        "ao.quantization: DeQuantStub HistogramObserver ObserverBase QConfig QuantStub QuantWrapper convert"
        " default_dynamic_qconfig default_qconfig fuse_modules get_default_qconfig prepare prepare_qat quantize"
        " quantize_dynamic",
    ),
}  # fmt: skip
