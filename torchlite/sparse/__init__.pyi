# Written by `python -m torchlite.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
from collections.abc import Callable as _Callable
from torchlite.core.machine.tensor import Tensor as _Tensor
from torchlite.operations.formulas import _Tensors as _Tensors
from builtins import bool as _bool
from builtins import dict as _dict
from torchlite.sparse._types import sparsetype as _sparsetype

from torchlite.sparse.semi_structured import SparseSemiStructuredTensor as SparseSemiStructuredTensor
from torchlite.sparse.semi_structured import SparseSemiStructuredTensorCUSPARSELT as SparseSemiStructuredTensorCUSPARSELT
from torchlite.sparse.semi_structured import SparseSemiStructuredTensorCUTLASS as SparseSemiStructuredTensorCUTLASS
from torchlite.core.machine.tensor import Tensor as Tensor
from torchlite.sparse._products import addmm as addmm
from torchlite.sparse._invariants import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from torchlite.sparse._family import is_coo as is_coo
from torchlite.sparse._family import is_sparse as is_sparse
from torchlite.sparse._reductions import log_softmax as log_softmax
from torchlite.core.values.errors import missing_kernel_of as missing_kernel_of
from torchlite.sparse._products import mm as mm
from torchlite.sparse._samples import sampled_addmm as sampled_addmm
from torchlite.sparse import semi_structured as semi_structured
from torchlite.sparse._reductions import softmax as softmax
from torchlite.sparse._diagonals import spdiags as spdiags
from torchlite.sparse._reductions import sum as sum
from torchlite.sparse.semi_structured import to_sparse_semi_structured as to_sparse_semi_structured

BFloat16Tensor: _sparsetype
ByteTensor: _sparsetype
CharTensor: _sparsetype
DoubleTensor: _sparsetype
FloatTensor: _sparsetype
HalfTensor: _sparsetype
IntTensor: _sparsetype
LongTensor: _sparsetype
SPARSE_TYPES: _dict
ShortTensor: _sparsetype
def as_sparse_gradcheck(gradcheck: _Callable[..., _bool]) -> _Callable[..., _bool]: ...
def spsolve(input: _Tensor, other: _Tensor, *, left: _bool = True) -> _Tensor: ...
tensors: _Tensors
