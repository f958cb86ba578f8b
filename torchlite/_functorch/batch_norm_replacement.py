"""`torch._functorch.batch_norm_replacement`: batch norms that keep no statistics."""

from ..func.modules import batch_norm_without_running_stats, replace_all_batch_norm_modules_

__all__ = ["batch_norm_without_running_stats", "replace_all_batch_norm_modules_"]
