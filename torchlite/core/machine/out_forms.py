"""Which calls take `out=`: functions do, but for these; methods do not."""

from __future__ import annotations

_NAMES = """
    _adaptive_avg_pool2d _conj _dirichlet_grad _fused_sdp_choice _is_all_true _is_any_true _lu_with_info _neg_view
    _pad_packed_sequence _sample_dirichlet _segment_reduce _softmax_backward_data _standard_gamma
    _standard_gamma_grad _unique2 _unsafe_masked_index _unsafe_masked_index_put_accumulate _weight_norm
    _weight_norm_interface adaptive_avg_pool1d adaptive_max_pool1d adjoint allclose alpha_dropout argwhere
    as_strided as_strided_scatter atleast_1d atleast_2d atleast_3d avg_pool1d batch_norm bilinear
    binary_cross_entropy_with_logits bincount binomial block_diag broadcast_shapes broadcast_tensors broadcast_to
    cartesian_prod cdist celu channel_shuffle chunk clone combinations conj constant_pad_nd conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d conv_transpose3d corrcoef cosine_embedding_loss cosine_similarity
    count_nonzero cov ctc_loss cumulative_trapezoid det detach diag_embed diagflat diagonal diagonal_scatter dist
    dropout dsplit embedding embedding_bag equal feature_alpha_dropout feature_dropout fft_fftshift fft_ifftshift
    fill flatten flip fliplr flipud gradient grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru gru_cell
    hinge_embedding_loss histogramdd hsplit imag index_fill index_put instance_norm is_conj is_neg is_same_size
    isclose isfinite isinf isnan isreal istft kl_div layer_norm linalg_matrix_exp logdet lstm lstm_cell
    margin_ranking_loss masked_fill masked_scatter matrix_exp max_pool1d max_pool1d_with_indices max_pool2d
    max_pool3d meshgrid moveaxis movedim narrow native_channel_shuffle native_dropout native_group_norm
    native_layer_norm norm_except_dim numel pairwise_distance pca_lowrank pdist permute pinverse pixel_shuffle
    pixel_unshuffle poisson poisson_nll_loss positive prelu put ravel real relu repeat_interleave reshape
    resolve_conj resolve_neg rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell roll rot90 rrelu rsub select
    select_scatter selu slice_inverse split split_with_sizes squeeze std_mean stft svd_lowrank swapaxes swapdims t
    tensor_split tile trace transpose trapezoid trapz triplet_margin_loss unbind unflatten unique unique_consecutive
    unravel_index unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze vander var_mean view_as_complex
    view_as_real vsplit
"""
_WITHOUT = frozenset(_NAMES.split())

# Functions that write into a tensor given only if they are told along which dimensions.
ALONG_DIMS = frozenset(("sum", "prod"))


def takes_out(name: str) -> bool:
    """Whether a function has a form that writes into a tensor given; what writes in place has none."""
    return name not in _WITHOUT and not name.endswith("_")


def refuse_out(name: str, method: bool) -> None:
    """TypeError where `name`, a function or a method, has no form that writes into a tensor given."""
    if method or not takes_out(name):
        raise TypeError(f"{name}() got an unexpected keyword argument 'out'")
