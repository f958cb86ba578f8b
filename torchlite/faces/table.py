"""The modules that are there for their names, and where what is in them has its home."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from .unavailable import UNAVAILABLE


class Face(NamedTuple):
    """A module: what it takes from which others, its own variables, and the switches among these.

    `homes` has the form "module: name name; other module: name=its_name_there", and `*` for all that is public there;
    before the colon, nothing means torch itself.
    A switch stands beside the value that `flags()` gives it where it is told none. What is `absent` is a placeholder.
    """

    doc: str
    homes: str = ""
    variables: Mapping[str, Any] = MappingProxyType({})
    switches: dict[str, Any] | None = None
    absent: str = ""


_NOT_USED = "faces.nothing: is_available"

FACES = {
    "_dynamo": Face(
        "What speaks to PyTorch's compiler: it is heard where a program has a backend of its own.",
        "compiler: allow_in_graph assume_constant_result disallow_in_graph=allow_in_graph is_compiling"
        " is_dynamo_supported=is_exporting optimize optimize_assert reset run=allow_in_graph OptimizedModule;"
        "compiler_backends: list_backends lookup_backend register_backend; fx.captured: explain;"
        "faces.graphs: disable graph_break mark_dynamic mark_static mark_static_address"
        " maybe_mark_dynamic=mark_dynamic",
    ),
    "_custom_ops": Face("The first place of custom operators.", "library: get_ctx impl_abstract"),
    "_dynamo.test_case": Face("Test cases of a compiler are plain ones here.", "faces.testers: TestCase run_tests"),
    "_dynamo.decorators": Face("", "faces.graphs: _DimRange disable graph_break mark_dynamic mark_static"),
    "_dynamo.eval_frame": Face("", "compiler: OptimizedModule is_dynamo_supported=is_exporting"),
    "_dynamo.testing": Face(
        "What tests of a compiler are written with.",
        "_dynamo: optimize_assert reset; fx.captured: CompileCounter EagerAndRecordGraphs",
    ),
    "_dynamo.backends": Face("The backends of a compiler."),
    "_dynamo.backends.debugging": Face("", "compiler_backends: eager; fx.captured: ExplainOutput"),
    "_dynamo.backends.registry": Face("", "compiler_backends: list_backends lookup_backend register_backend"),
    "_dynamo.exc": Face(
        "What a compiler raises.",
        "faces.compiler_errors: BackendCompilerFailed FailOnRecompileLimitHit InternalTorchDynamoError InvalidBackend"
        " RecompileError RestartAnalysis ShortenTraceback SkipFrame TorchDynamoException TorchRuntimeError"
        " UncapturedHigherOrderOpError Unsupported UserError",
    ),
    "_dynamo.utils": Face(
        "",
        "faces.nothing: is_compile_supported=is_acceptable; faces.graphs: clone_input disable_cache_limit;"
        "faces.testers: LazyString",
    ),
    "_dynamo._trace_wrapped_higher_order_op": Face("", "faces.graphs: TransformGetItemToIndex"),
    "_dynamo.config": Face(
        "The settings of a compiler, which programs may change and nobody reads.",
        variables=dict.fromkeys(
            ("suppress_errors", "verbose", "disable", "error_on_recompile", "fail_on_recompile_limit_hit",
             "compiled_autograd", "capture_scalar_outputs", "capture_dynamic_output_shape_ops"), False,
        ) | dict.fromkeys(
            ("dynamic_shapes", "automatic_dynamic_shapes", "assume_static_by_default", "guard_nn_modules",
             "optimize_ddp"), True,
        ) | {"cache_size_limit": 8, "recompile_limit": 8, "accumulated_recompile_limit": 256},
    ),
    "_inductor.config": Face(
        "The settings of a compiler of kernels, which programs may change and nobody reads.",
        variables={
            name: SimpleNamespace()
            for name in ("aot_inductor", "cpp", "cuda", "cutlass", "halide", "rocm", "test_configs", "trace", "triton")
        } | dict.fromkeys(
            ("benchmark_kernel", "conv_1x1_as_mm", "coordinate_descent_tuning", "cpp_wrapper", "debug",
             "force_disable_caches", "force_fuse_int_mm_with_mul", "freezing", "max_autotune", "max_autotune_gemm"),
            False,
        ) | dict.fromkeys(("epilogue_fusion", "fx_graph_cache", "layout_optimization", "shape_padding"), True),
    ),
    "_export": Face("What PyTorch's export is made of."),
    "_export.wrappers": Face("", "compiler: mark_subclass_constructor_exportable_experimental=allow_in_graph"),
    "_functorch.batch_norm_replacement": Face(
        "", "nn.utils.functional_call: batch_norm_without_running_stats replace_all_batch_norm_modules_"
    ),
    "_functorch.einops": Face("", "func: rearrange"),
    "_functorch.functional_call": Face(
        "", "nn.utils.functional_call: construct_stacked_leaf=_stacked functional_call stack_module_state"
    ),
    "fx.passes.dialect": Face("Passes over graphs of operations."),
    "fx.passes.dialect.common": Face(""),
    "fx.passes.dialect.common.cse_pass": Face("", "fx.passes.cse: CSEPass get_CSE_banned_ops"),
    "_guards": Face("", "_subclasses.fake_tensor: active_fake_mode detect_fake_mode"),
    "_higher_order_ops.inline_asm_elementwise": Face(
        "What is written in the language of a processor.", absent="inline_asm_elementwise"
    ),
    "_higher_order_ops.invoke_subgraph": Face("", "compiler: mark_compile_region=nested_compile_region"),
    "_inductor.utils": Face(
        "", "faces.nothing: has_triton_package=is_available", {"GPU_TYPES": ["cuda", "mps", "xpu", "mtia"]}
    ),
    "_logging": Face("Nothing here reports to anyone."),
    "_logging._internal": Face("", "faces.nothing: trace_log"),
    "_logging.scribe": Face("", "faces.nothing: open_source_signpost"),
    "_library.custom_ops": Face("", "library: CustomOpDef custom_op"),
    "_native": Face("Kernels written in languages of their own, of which there are none here."),
    "_native.ops": Face(""),
    "_native.dsl_registry": Face("", "faces.nothing: dsl_registry"),
    "_prims": Face("What PyTorch's references are made of.", ": utils=_prims_common"),
    "_refs.fft": Face(
        "",
        "fft: fft fft2 fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2"
        " irfftn rfft rfft2 rfftn",
    ),
    "_refs.linalg": Face("", "linalg: cross diagonal matrix_norm norm svd svdvals vecdot vector_norm"),
    "_refs.nn": Face("References of modules' functions."),
    "_refs.nn.functional": Face(
        "",
        "nn.functional: alpha_dropout celu celu_ channel_shuffle dropout elu elu_ gelu glu group_norm hardshrink"
        " hardsigmoid hardtanh hinge_embedding_loss huber_loss l1_loss layer_norm leaky_relu log_softmax"
        " margin_ranking_loss mish mse_loss nll_loss pairwise_distance pdist pixel_shuffle pixel_unshuffle"
        " poisson_nll_loss prelu relu relu6 selu selu_ smooth_l1_loss softmax softmin softplus softshrink"
        " tanhshrink threshold threshold_ triplet_margin_loss",
    ),
    "_refs.special": Face(
        "",
        "special: bessel_j0 bessel_j1 entr erfcx expit i0e i1 i1e log_ndtr log_softmax logit multigammaln ndtr ndtri"
        " softmax spherical_bessel_j0 xlog1py zeta",
    ),
    "_subclasses.schema_check_mode": Face(
        "What would see to it that operators do as their schemas say.", absent="SchemaCheckMode"
    ),
    "_tensor": Face("", "core.machine.tensor: Tensor; operations.making.pickles: _rebuild_from_type_v2"),
    "backends.cpu": Face("What the processor can do.", "cpu: get_cpu_capability=_get_cpu_capability"),
    "backends.cuda": Face(
        "Switches of CUDA's libraries. CuPy decides for itself, so that nothing heeds them.",
        "settings: matmul; operations.products.attention_kernels: *; nn.attention: SDPBackend;"
        "faces.nothing: is_built=is_available;"
        "faces.libraries: preferred_blas_library preferred_linalg_library",
    ),
    "backends.cudnn": Face(
        "cuDNN, which is not used here.",
        "faces.nothing: is_acceptable is_available version; faces.libraries: conv rnn",
        {"enabled": True, "benchmark": False, "benchmark_limit": None, "deterministic": False, "allow_tf32": True,
         "fp32_precision": "none", "depthwise_kernel": "auto"},
        {"enabled": False, "benchmark": False, "benchmark_limit": 10, "deterministic": False, "allow_tf32": True,
         "fp32_precision": "none", "depthwise_kernel": "auto"},
    ),
    "backends.cusparselt": Face(
        "cuSPARSELt, which is not used here.", "faces.nothing: get_max_alg_id=version is_available version"
    ),
    "backends.kleidiai": Face("KleidiAI, which is not used here.", _NOT_USED),
    "backends.mha": Face("", "faces.libraries: get_fastpath_enabled set_fastpath_enabled"),
    "backends.mkl": Face(
        "Whether NumPy's linear algebra is Intel's.",
        "faces.libraries: is_available=has_mkl verbose",
        {"VERBOSE_OFF": 0, "VERBOSE_ON": 1},
    ),
    "backends.mkldnn": Face(
        "oneDNN, which is not used here.",
        f"{_NOT_USED}; faces.libraries: verbose",
        {"VERBOSE_OFF": 0, "VERBOSE_ON": 1, "VERBOSE_ON_CREATION": 2, "enabled": True, "deterministic": False,
         "allow_tf32": None, "fp32_precision": "none"},
        {"enabled": False, "deterministic": False, "allow_tf32": True, "fp32_precision": "none"},
    ),
    "backends.mps": Face(
        "Apple's devices, which are not used here.",
        "faces.nothing: get_core_count=device_count get_name is_available is_built=is_available is_macos13_or_newer"
        " is_macos_or_newer",
    ),
    "backends.nnpack": Face("NNPACK, which is not used here.", _NOT_USED, {"enabled": False}, {"enabled": False}),
    "backends.openmp": Face("OpenMP, which is not used here.", _NOT_USED),
    "backends.opt_einsum": Face(
        "How `torch.einsum` orders its products, which it does without that library here.",
        "faces.nothing: get_opt_einsum=version is_available",
        {"enabled": False, "strategy": None},
        {"enabled": None, "strategy": None},
    ),
    "backends.python_native": Face(
        "Kernels written in Python, of which there are none here.",
        variables={"all_dsls": ["cutedsl", "triton"], "available_dsls": []},
    ),
    "backends.quantized": Face(
        "Engines for quantized tensors, of which there are none here.",
        variables={"engine": "none", "supported_engines": ["none"]},
    ),
    "backends.xnnpack": Face("XNNPACK, which is not used here.", variables={"enabled": False}),
    "_vendor": Face("Packages that PyTorch brings along."),
    "_vendor.packaging": Face("What is asked about versions."),
    "_vendor.packaging.version": Face("", "torch_version: Version=TorchVersion parse=TorchVersion"),
    "_vmap_internals": Face("", "func: vmap _vmap=vmap"),
    "autograd.profiler_legacy": Face("", "autograd.profiler: profile"),
    "classes": Face("Classes of compiled extensions, of which there are none here.", "ops: load_library"),
    "cuda._utils": Face("", "_utils: _get_device_index"),
    "cuda.amp.autocast_mode": Face("", "cuda.amp: autocast custom_bwd custom_fwd"),
    "cuda.amp.grad_scaler": Face("", "cuda.amp: GradScaler"),
    "cuda.amp.common": Face("", "faces.nothing: amp_definitely_not_available"),
    "distributed.tensor._utils": Face(
        "What each process has of a tensor.", "distributed.tensor._dtensor_spec: compute_local_shape_and_global_offset"
    ),
    "functional": Face(
        "Functions of torch, under the module in which PyTorch keeps them.",
        ": atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist"
        " chain_matmul einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique"
        " unique_consecutive unravel_index",
    ),
    "functorch": Face(
        "The transforms of `torch.func` under their first names, which PyTorch means to take away.",
        "_functorch.deprecated: *; _functorch.make_functional: FunctionalModule FunctionalModuleWithBuffers;"
        "fx.experimental.proxy_tensor: make_fx; torch_version: __version__",
    ),
    "functorch._src": Face("Private modules of functorch's, by the names that older packages have for them."),
    "functorch._src.vmap": Face(
        "",
        "_functorch.vmap: _add_batch_dim _broadcast_to_and_flatten _create_batched_inputs _get_name"
        " _process_batched_inputs _remove_batch_dim _unwrap_batched _validate_and_get_batch_size tree_flatten"
        " tree_unflatten",
    ),
    "functorch.compile": Face(
        "What makes graphs of functions, with those of their gradients.",
        absent="aot_function aot_module aot_module_simplified compiled_function compiled_module default_decompositions"
        " default_partition make_boxed_compiler make_boxed_func memory_efficient_fusion"
        " min_cut_rematerialization_partition nop ts_compile",
    ),
    "functorch.einops": Face("", "func: rearrange"),
    "functorch.einops._parsing": Face(
        "What patterns of `rearrange` say.",
        "func.patterns: AnonymousAxis ParsedExpression _ellipsis=REST comma_separate parse_pattern"
        " validate_rearrange_expressions",
    ),
    "functorch.experimental": Face(
        "What was tried out in functorch.",
        "_functorch.apis: chunk_vmap; func: functionalize hessian jacfwd jvp replace_all_batch_norm_modules_",
    ),
    "functorch.experimental.control_flow": Face("", "_higher_order_ops: cond map"),
    "jit._logging": Face("What TorchScript counts, of which there is none."),
    "jit.annotations": Face(
        "", "_jit_internal: Any BroadcastingList1 BroadcastingList2 BroadcastingList3 Dict List Optional Tuple Union"
        " is_dict is_list is_tuple",
    ),
    "mtia": Face(
        "Devices of Meta's, of which there is none.",
        "faces.nothing: device_count is_available is_initialized=is_available",
    ),
    "mps": Face(
        "Apple's devices, of which there is none: what is asked says so.",
        "faces.nothing: device_count empty_cache=mps_empty_cache is_available manual_seed synchronize=mps_synchronize",
    ),
    "onnx": Face(
        "For programs that could also export: nothing is exported here, and nobody asks how it would be.",
        "faces.graphs: dynamo_export=export export is_in_onnx_export register_custom_op_symbolic"
        " unregister_custom_op_symbolic",
        absent="ONNXProgram OperatorExportTypes TensorProtoDataType TrainingMode",
    ),
    "onnx.operators": Face("", "faces.graphs: reshape_from_tensor_shape shape_as_tensor"),
    "onnx.symbolic_helper": Face("", "faces.graphs: parse_args"),
    "onnx.symbolic_opset11": Face(
        "What functions that an export would call are made of.", absent="select squeeze unsqueeze"
    ),
    "optim._functional": Face(
        "The algorithms as functions of lists of tensors.",
        "optim.adadelta: adadelta; optim.adagrad: adagrad; optim.adam: adam; optim.adamax: adamax; optim.adamw: adamw;"
        "optim.asgd: asgd; optim.nadam: nadam; optim.radam: radam; optim.rmsprop: rmsprop; optim.rprop: rprop;"
        "optim.sgd: sgd; optim.sparse_adam: sparse_adam",
    ),
    "profiler.profiler": Face(
        "", "profiler: ProfilerAction ProfilerActivity _default_schedule_fn profile schedule supported_activities"
        " tensorboard_trace_handler",
    ),
    "utils._cxx_pytree": Face("`torch.utils._pytree`, of which there is one implementation.", "utils._pytree: *"),
    "utils.dlpack": Face(
        "Tensors handed to other libraries, and taken from them.",
        "operations.making.dlpack: DLDeviceType from_dlpack to_dlpack",
    ),
    "utils.model_zoo": Face(
        "The older place of `torch.hub.load_state_dict_from_url`.",
        "hub: load_state_dict_from_url load_url=load_state_dict_from_url tqdm",
    ),
    "utils._triton": Face("", "faces.nothing: has_triton=is_available has_triton_package=is_available"),
    "xpu": Face(
        "Intel's devices, of which there is none: what is asked says so.",
        "faces.nothing: current_device=no_xpu device_count empty_cache get_device_name=no_xpu init=no_xpu is_available"
        " get_rng_state=no_xpu get_rng_state_all=no_xpu max_memory_allocated=memory_allocated set_rng_state=no_xpu"
        " is_bf16_supported=is_available is_initialized=is_available manual_seed manual_seed_all=manual_seed"
        " memory_allocated set_device=no_xpu synchronize=no_xpu",
    ),
}  # fmt: skip
FACES |= {name: Face("", homes, absent=absent) for name, (absent, homes) in UNAVAILABLE.items()}
