"""Matrices in which two of every four elements are zero: classes that PyTorch has for GPUs alone."""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.machine import Tensor

__all__ = [
    "SparseSemiStructuredTensor", "SparseSemiStructuredTensorCUSPARSELT", "SparseSemiStructuredTensorCUTLASS",
    "to_sparse_semi_structured",
]  # fmt: skip


class SparseSemiStructuredTensor(Tensor):
    """The base of semi-structured sparse tensors. They live on GPUs, for which there are no such kernels here."""

    BACKEND: ClassVar[str]
    _DEFAULT_ALG_ID = 0
    _FORCE_CUTLASS = False

    def __new__(
        cls, shape: Any, packed: Any, meta: Any, packed_t: Any, meta_t: Any, compressed_swizzled_bitmask: Any,
        fuse_transpose_cusparselt: bool = False, alg_id_cusparselt: int = 0, requires_grad: bool = False,
    ) -> Any:  # fmt: skip
        if packed is None and packed_t is None:
            raise ValueError("At least one of packed or packed_t must be provided")
        raise NotImplementedError(f"torchlite has no kernels for tensors of torch.sparse.{cls.__name__}")

    @classmethod
    def from_dense(cls, original_tensor: Tensor) -> SparseSemiStructuredTensor:
        """The tensor of a matrix in which two of every four elements are zero."""
        if not hasattr(cls, "BACKEND"):
            raise NotImplementedError
        if not original_tensor.is_cuda:
            raise RuntimeError(
                f"Error original_tensor.device= {original_tensor.device} is not supported! "
                "Only CUDA tensors are currently supported."
            )
        raise NotImplementedError(f"torchlite has no kernels for tensors of torch.sparse.{cls.__name__}")


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """Semi-structured sparse tensors whose products CUTLASS computes."""

    BACKEND = "cutlass"


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """Semi-structured sparse tensors whose products cuSPARSELt computes."""

    BACKEND = "cusparselt"


def to_sparse_semi_structured(
    original_tensor: Tensor, transposed: bool = False, alg_id: int = 0
) -> SparseSemiStructuredTensor:
    """A matrix on a GPU, in which two of every four elements are zero, without these."""
    forced = SparseSemiStructuredTensor._FORCE_CUTLASS
    kind = SparseSemiStructuredTensorCUTLASS if forced else SparseSemiStructuredTensorCUSPARSELT
    return kind.from_dense(original_tensor)
