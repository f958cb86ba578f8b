"""`torch.nn.utils`: what helps with parameters and sequences."""

from __future__ import annotations

import importlib
from typing import Any

from ...absent import explanation as _explanation
from . import clip_grad, convert_parameters, fusion, memory_format, parametrizations, parametrize, rnn, stateless
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from .init import skip_init
from .memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm


def __getattr__(name: str) -> Any:
    if name == "prune":
        return importlib.import_module(".prune", __name__)  # not `from . import`, which asks here again
    raise AttributeError(_explanation(f"torch.nn.utils.{name}"), name=name)
