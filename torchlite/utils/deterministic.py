"""`torch.utils.deterministic`: what goes with `torch.use_deterministic_algorithms`."""

from __future__ import annotations

# Whether memory of torch.empty would be filled with NaN, which does not happen here.
fill_uninitialized_memory = True
