"""Stores: what processes tell each other before they are connected, as bytes under keys."""

from .base import HashStore, PrefixStore, Store
from .file import FileStore
from .tcp import TCPStore

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]
