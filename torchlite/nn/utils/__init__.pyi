# Written by `python -m torchlite.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
from collections.abc import Iterable as _Iterable
from torchlite.core.machine.tensor import Tensor as _Tensor
from builtins import bool as _bool
from builtins import float as _float

from torchlite.nn.utils import clip_grad as clip_grad
from torchlite.nn.utils.memory_format import convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format
from torchlite.nn.utils.memory_format import convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format
from torchlite.nn.utils import convert_parameters as convert_parameters
from torchlite.nn.utils import functional_call as functional_call
from torchlite.nn.utils.fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
from torchlite.nn.utils.fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
from torchlite.nn.utils.fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
from torchlite.nn.utils.fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
from torchlite.nn.utils import fusion as fusion
from torchlite.nn.utils import init as init
from torchlite.nn.utils import memory_format as memory_format
from torchlite.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
from torchlite.nn.utils import parametrizations as parametrizations
from torchlite.nn.utils import parametrize as parametrize
from torchlite.nn.utils import prune as prune
from torchlite.nn.utils.spectral_norm import remove_spectral_norm as remove_spectral_norm
from torchlite.nn.utils.weight_norm import remove_weight_norm as remove_weight_norm
from torchlite.nn.utils import rnn as rnn
from torchlite.nn.utils.init import skip_init as skip_init
from torchlite.nn.utils.spectral_norm import spectral_norm as spectral_norm
from torchlite.nn.utils import stateless as stateless
from torchlite.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters
from torchlite.nn.utils.weight_norm import weight_norm as weight_norm

def clip_grad_norm(parameters: _Tensor | _Iterable[_Tensor], max_norm: _float, norm_type: _float = ..., error_if_nonfinite: _bool = False, foreach: _bool | None = None) -> _Tensor: ...
def clip_grad_norm_(parameters: _Tensor | _Iterable[_Tensor], max_norm: _float, norm_type: _float = ..., error_if_nonfinite: _bool = False, foreach: _bool | None = None) -> _Tensor: ...
def clip_grad_value_(parameters: _Tensor | _Iterable[_Tensor], clip_value: _float, foreach: _bool | None = None) -> None: ...
def clip_grads_with_norm_(parameters: _Tensor | _Iterable[_Tensor], max_norm: _float, total_norm: _Tensor, foreach: _bool | None = None) -> None: ...
def get_total_norm(tensors: _Tensor | _Iterable[_Tensor], norm_type: _float = ..., error_if_nonfinite: _bool = False, foreach: _bool | None = None) -> _Tensor: ...
