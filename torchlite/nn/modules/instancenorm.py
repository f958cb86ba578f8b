"""Instance normalization as modules."""

from __future__ import annotations

from typing import Any

from ...core.machine import Tensor
from ...core.values import warn
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase
from .fields import fields
from .lazy import lazy_twin

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]  # fmt: skip


@fields(constants="")
class _InstanceNorm(_NormBase):
    momentum: float = 0.1
    affine: bool = False
    track_running_stats: bool = False

    def _get_no_batch_dim(self) -> int:
        return self.dims + 1

    def _check_input_dim(self, input: Tensor) -> None:
        alone = self._get_no_batch_dim()
        if input.dim() not in (alone, alone + 1):
            raise ValueError(f"expected {alone}D or {alone + 1}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = input.dim() == self._get_no_batch_dim()
        dim = 0 if alone else 1
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                    f"{input.size(dim)}."
                )
            warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False",
            )
        made = F.instance_norm(
            input.unsqueeze(0) if alone else input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return made.squeeze(0) if alone else made

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """States of version 1 may hold running statistics that are no longer kept by default."""
        version = local_metadata.get("version", None)
        if version is None and not self.track_running_stats:
            found = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                names = " and ".join(f'"{name}"' for name in found)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {type(self).__name__} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may be expected "
                    f"because {type(self).__name__} does not track running stats by default since 0.4.0. Please "
                    f"remove these keys from state_dict."
                )
                for name in found:
                    state_dict.pop(name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm, dims=1):
    """Each channel of each example, (C, L), normalized by itself."""


class InstanceNorm2d(_InstanceNorm, dims=2):
    """Each channel of each example, (C, H, W), normalized by itself."""


class InstanceNorm3d(_InstanceNorm, dims=3):
    """Each channel of each example, (C, D, H, W), normalized by itself."""


LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = [
    lazy_twin(kind, _LazyNormBase, _InstanceNorm, learns="the number of channels")
    for kind in (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)
]
