"""Which calls take `out=`: functions do, but for these; methods do not."""

from __future__ import annotations

_NAMES = """
    _adaptive_avg_pool2d _conj _dirichlet_grad _fused_sdp_choice _is_all_true _is_any_true _lu_with_info _neg_view
    _pad_packed_sequence _sample_dirichlet _segment_reduce _softmax_backward_data _standard_gamma _standard_gamma_grad
    _unique2 _unsafe_masked_index _unsafe_masked_index_put_accumulate _weight_norm _weight_norm_interface
    adaptive_avg_pool1d adaptive_max_pool1d adjoint affine_grid_generator allclose alpha_dropout argwhere as_strided
    as_strided_scatter atleast_1d atleast_2d atleast_3d avg_pool1d bartlett_window batch_norm batch_norm_gather_stats
    batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats bilinear
    binary_cross_entropy_with_logits bincount binomial blackman_window block_diag broadcast_shapes broadcast_tensors
    broadcast_to cartesian_prod cdist celu channel_shuffle choose_qparams_optimized chunk clone combinations conj
    constant_pad_nd conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution
    corrcoef cosine_embedding_loss cosine_similarity count_nonzero cov ctc_loss cudnn_affine_grid_generator
    cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable
    cumulative_trapezoid dequantize det detach diag_embed diagflat diagonal diagonal_scatter dist dropout dsplit
    embedding embedding_bag empty_permuted empty_strided equal fake_quantize_per_channel_affine
    fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
    fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
    fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix feature_alpha_dropout feature_dropout fft_fftshift
    fft_ifftshift fill flatten flip fliplr flipud fused_moving_avg_obs_fake_quant gradient grid_sampler grid_sampler_2d
    grid_sampler_3d group_norm gru gru_cell hamming_window hann_window hinge_embedding_loss histogramdd hsplit imag
    index_fill index_put instance_norm int_repr is_conj is_neg is_same_size isclose isfinite isinf isnan isreal istft
    kaiser_window kl_div layer_norm linalg_diagonal linalg_matrix_exp linalg_vander logdet lstm lstm_cell
    margin_ranking_loss masked_fill masked_scatter matrix_exp max_pool1d max_pool1d_with_indices max_pool2d max_pool3d
    meshgrid miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu
    miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution mkldnn_convolution moveaxis movedim narrow
    native_channel_shuffle native_dropout native_group_norm native_layer_norm native_norm norm_except_dim numel
    pairwise_distance pca_lowrank pdist permute pinverse pixel_shuffle pixel_unshuffle poisson poisson_nll_loss positive
    prelu put q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point
    quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru_cell
    quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell
    quantized_rnn_tanh_cell ravel real relu repeat_interleave reshape resolve_conj resolve_neg rms_norm rnn_relu
    rnn_relu_cell rnn_tanh rnn_tanh_cell roll rot90 rrelu rsub scalar_tensor segment_reduce select select_scatter selu
    slice_inverse sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor
    sparse_csr_tensor special_log_softmax special_softmax split split_with_sizes squeeze std_mean stft svd_lowrank
    swapaxes swapdims t tensor_split tile trace transpose trapezoid trapz tril_indices triplet_margin_loss triu_indices
    unbind unflatten unique unique_consecutive unravel_index unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze
    vander var_mean view_as_complex view_as_real vsplit
"""
_WITHOUT = frozenset(_NAMES.split())

# Functions that write into no tensor given where their first overload, that of all elements, is meant.
ALONG_DIMS = frozenset(("sum", "prod", "std", "var"))


def takes_out(name: str) -> bool:
    """Whether a function has a form that writes into a tensor given; what writes in place has none."""
    return name not in _WITHOUT and not name.endswith("_")


def refuse_out(name: str, method: bool) -> None:
    """TypeError where `name`, a function or a method, has no form that writes into a tensor given."""
    if method or not takes_out(name):
        raise TypeError(f"{name}() got an unexpected keyword argument 'out'")
