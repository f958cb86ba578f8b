"""`torch.multiprocessing.queue`: the queues of multiprocessing, which send tensors as shared memory by themselves."""

from multiprocessing.queues import Queue, SimpleQueue

__all__ = ["Queue", "SimpleQueue"]
