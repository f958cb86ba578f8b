"""What PyTorch has and torchlite has not, and why: said where a name is looked for in vain."""

from __future__ import annotations

from fnmatch import fnmatchcase

_QUANTISED = """
    *quantize* quantized_* q_* qscheme int_repr choose_qparams_optimized fake_quantize_* empty_quantized
    fused_moving_avg_obs_fake_quant per_channel_* per_tensor_* quantization ao qat
    quantizable intrinsic
"""
_SPARSE = """
    sparse* *_sparse* sspaddmm smm spmm hspmm dsmm hsmm saddmm coalesce is_coalesced to_dense ccol_indices*
    crow_indices* col_indices* row_indices* indices_copy values_copy sparse_dim dense_dim
"""
_LACKING = {
    "quantised tensors": _QUANTISED,
    "sparse tensors": _SPARSE,
    "kernels of cuDNN, MIOpen, oneDNN and FBGEMM": "cudnn_* miopen_* mkldnn_* to_mkldnn fbgemm_*",
    "TorchScript": "import_ir_module* parse_* merge_type_from_type_comment unify_type_list",
    "symbolic numbers": "Sym*",
    "batch norm across processes": "batch_norm_*",
    "such devices": "ipu mtia hpu",
}


def why(name: str) -> str:
    """What to say of a name that there is not."""
    for lacking, patterns in _LACKING.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns.split()):
            return f": it has no {lacking}"
    return " yet (docs/coverage.md lists what there is)"
