"""`torch.distributed._shard`: tensors of which each process has a piece."""
