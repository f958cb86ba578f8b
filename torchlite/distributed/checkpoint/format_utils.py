"""From checkpoints of several processes to files of `torch.save`, and back."""

from __future__ import annotations

import os
from typing import Any

from ...absent import placeholders
from ...serialization import load as load_file
from ...serialization import save as save_file
from .default_planner import _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader
from .state_dict_loader import _load_state_dict
from .state_dict_saver import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]
globals().update(
    placeholders("torch.distributed.checkpoint.format_utils", "BroadcastingTorchSaveReader DynamicMetaLoadPlanner")
)


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Write what is in a checkpoint, whole, into a file of `torch.save`. One process does this by itself."""
    state: dict[str, Any] = {}
    _load_state_dict(state, FileSystemReader(dcp_checkpoint_dir), no_dist=True, planner=_EmptyStateDictLoadPlanner())
    save_file(state, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Write what is in a file of `torch.save` as a checkpoint. One process does this by itself."""
    save(load_file(torch_save_path, weights_only=False), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
