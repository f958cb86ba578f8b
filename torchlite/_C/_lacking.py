"""What stands for functions of PyTorch's core that there are not: other programs name them, as keys of tables."""

from __future__ import annotations

from ..absent import placeholders

FUNCTIONS = placeholders(
    "torch._C._VariableFunctions",
    """
    _add_batch_dim _add_relu_ _choose_qparams_per_tensor _convert_weight_to_int4pack
    _convert_weight_to_int4pack_for_cpu _copy_from _copy_from_and_resize _cslt_compress _cslt_sparse_mm
    _cslt_sparse_mm_search _cudnn_ctc_loss _cudnn_init_dropout_state _cudnn_rnn _cudnn_rnn_flatten_weight
    _cufft_clear_plan_cache _cufft_get_plan_cache_max_size _cufft_get_plan_cache_size _cufft_set_plan_cache_max_size
    _dyn_quant_matmul_4bit _dyn_quant_pack_4bit_weight _embedding_bag_forward_only
    _empty_per_channel_affine_quantized _euclidean_dist _fake_quantize_learnable_per_channel_affine
    _fake_quantize_learnable_per_tensor_affine _fake_quantize_per_tensor_affine_cachemask_tensor_qparams
    _fill_mem_eff_dropout_mask_ _flash_attention_forward_no_dropout_inplace _foobar _functional_assert_async
    _functional_assert_scalar _functional_sym_constrain_range _functional_sym_constrain_range_for_size
    _fused_adagrad_ _fused_adam_ _fused_adamw_ _fused_dropout _fused_moving_avg_obs_fq_helper _fused_sgd_
    _fw_primal_copy _grid_sampler_2d_cpu_fallback _histogramdd_bin_edges _histogramdd_from_bin_cts
    _histogramdd_from_bin_tensors _indices_copy _linalg_eigh _linalg_solve_ex _linalg_svd _lstm_mps _make_dep_token
    _make_dual_copy _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor _masked_scale
    _mixed_dtypes_linear _mkldnn_reshape _mkldnn_transpose _mkldnn_transpose_ _mps_convolution
    _mps_convolution_transpose _native_multi_head_attention _nested_compute_contiguous_strides_offsets
    _nested_from_padded _nested_from_padded_and_nested_example _nested_from_padded_tensor _nested_get_jagged_dummy
    _nested_get_lengths _nested_get_max_seqlen _nested_get_min_seqlen _nested_get_offsets _nested_get_ragged_idx
    _nested_get_values _nested_get_values_copy _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned
    _nested_tensor_from_tensor_list _nested_tensor_softmax_with_shape _nested_view_from_buffer
    _nested_view_from_buffer_copy _nested_view_from_jagged _nested_view_from_jagged_copy _nnpack_available
    _nnpack_spatial_convolution _philox_key_fold_in _philox_key_split _prelu_kernel _print _propagate_xla_data
    _remove_batch_dim _rowwise_prune _scaled_dot_product_attention_math_for_mps _scaled_dot_product_cudnn_attention
    _scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention
    _scaled_dot_product_flash_attention_for_cpu _scaled_grouped_mm _scaled_grouped_mm_v2 _sobol_engine_draw
    _sobol_engine_ff_ _sobol_engine_initialize_state_ _sobol_engine_scramble_ _sparse_broadcast_to
    _sparse_broadcast_to_copy _sparse_csr_prod _sparse_csr_sum _sparse_semi_structured_addmm
    _sparse_semi_structured_apply _sparse_semi_structured_apply_dense _sparse_semi_structured_linear
    _sparse_semi_structured_mm _sparse_semi_structured_tile _test_autograd_multiple_dispatch
    _test_autograd_multiple_dispatch_view _test_autograd_multiple_dispatch_view_copy _test_check_tensor
    _test_functorch_fallback _test_parallel_materialize _to_sparse_semi_structured _transformer_encoder_layer_fwd
    _triton_multi_head_attention _triton_scaled_dot_attention _use_cudnn_ctc_loss _use_cudnn_rnn_flatten_weight
    _use_miopen_ctc_loss _validate_compressed_sparse_indices _values_copy _weight_int4pack_mm
    _weight_int4pack_mm_for_cpu _weight_int4pack_mm_with_scales_and_zeros _wrapped_linear_prepack
    _wrapped_quantized_linear_prepacked mkldnn_adaptive_avg_pool2d mkldnn_linear_backward_weights mkldnn_max_pool2d
    mkldnn_max_pool3d unique_dim
    """,
)
OF_MODULES = placeholders(
    "torch._C._nn",
    """
    _conv_depthwise2d _pad_circular _pad_enum _test_ambiguous_defaults _test_optional_filled_intlist
    _test_optional_floatlist _test_optional_intlist _test_string_default _test_warn_in_autograd
    _upsample_bicubic2d_aa _upsample_lanczos2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d col2im conv_depthwise3d flatten_dense_tensors gelu_ hardsigmoid_ hardswish_ im2col
    mish_ mkldnn_linear mkldnn_reorder_conv2d_weight mkldnn_reorder_conv3d_weight nll_loss2d nll_loss_nd
    reflection_pad1d reflection_pad2d reflection_pad3d relu6_ replication_pad1d replication_pad2d replication_pad3d
    rrelu_with_noise rrelu_with_noise_ silu_ slow_conv3d slow_conv_dilated2d slow_conv_dilated3d
    slow_conv_transpose2d slow_conv_transpose3d thnn_conv2d unflatten_dense_tensors upsample_bicubic2d
    upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d
    upsample_trilinear3d
    """,
)
OF_MATRICES = placeholders("torch._C._linalg", "_linalg_eigvals linalg__powsum")
