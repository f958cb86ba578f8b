"""`torch.utils.tensorboard`: event files that TensorBoard shows. The package `tensorboard` must be installed."""

import tensorboard  # so that who lacks it is told so, as by PyTorch
from tensorboard.summary.writer.record_writer import RecordWriter

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
