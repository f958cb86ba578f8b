"""Objects as plain data: what `data/checkpoints/manifest.json` says of the objects in the files beside it.

Works on objects of either library. Tensors come with their bytes, geometry, and the number of the storage they are in.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

import numpy as np


def description(obj: Any) -> Any:
    return _Describer().of(obj)


def agrees(wanted: Any, found: Any, storages: dict[Any, Any] | None = None) -> bool:
    """Whether a description says what the manifest does. Storages that are not empty may be numbered otherwise."""
    storages = {} if storages is None else storages
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            return False
        numbered = wanted.get("storage_nbytes", 1) and "storage" in wanted
        if numbered and storages.setdefault(wanted["storage"], found["storage"]) != found["storage"]:
            return False
        return all(key in found and agrees(wanted[key], found[key], storages) for key in wanted.keys() - {"storage"})
    if isinstance(wanted, list):
        same_length = isinstance(found, list) and len(wanted) == len(found)
        return same_length and all([agrees(a, b, storages) for a, b in zip(wanted, found)])
    return type(wanted) is type(found) and wanted == found


class _Describer:
    def __init__(self) -> None:
        self.storages: dict[Any, int] = {}

    def of(self, obj: Any) -> Any:
        kind = type(obj)
        if obj is None or kind in (bool, str):
            return obj
        if kind is int:
            return obj if abs(obj) < 1 << 53 else {"t": "int", "v": str(obj)}
        if kind is float:
            return {"t": "float", "hex": obj.hex()}
        if kind is complex:
            return {"t": "complex", "v": [obj.real, obj.imag]}
        if kind in (bytes, bytearray):
            return {"t": kind.__name__, "hex": obj.hex()}
        if hasattr(obj, "untyped_storage"):
            return self.tensor(obj)
        if isinstance(obj, dict):
            made = {"t": "dict", "cls": kind.__name__, "items": [[self.of(k), self.of(v)] for k, v in obj.items()]}
            if isinstance(obj, OrderedDict) and hasattr(obj, "_metadata"):
                made["_metadata"] = self.of(obj._metadata)
            return made
        if kind.__name__ == "Size":
            return {"t": "torch.Size", "v": list(obj)}
        if kind in (list, tuple):
            return {"t": kind.__name__, "v": [self.of(v) for v in obj]}
        if kind in (set, frozenset):
            return {"t": kind.__name__, "v": [self.of(v) for v in sorted(obj)]}
        if isinstance(obj, np.generic):
            return {"t": f"np.{kind.__name__}", "v": obj.item()}
        if kind is np.ndarray:
            return {"t": "ndarray", "dtype": obj.dtype.str, "v": obj.tolist()}
        if kind.__name__ in ("dtype", "device"):
            return {"t": kind.__name__, "v": str(obj).removeprefix("torch.")}
        if kind.__name__ == "TypedStorage":
            index = self.number(obj.untyped())
            return {
                "t": "TypedStorage",
                "storage": index,
                "dtype": str(obj.dtype)[6:],
                "hex": bytes(obj.untyped()).hex(),
            }
        if hasattr(obj, "_modules"):
            return {
                "t": "module",
                "cls": f"{kind.__module__}.{kind.__qualname__}",
                "dict": {k: self.of(v) if k != "_modules" else self.of(dict(v)) for k, v in obj.__dict__.items()},
            }
        return {"t": "repr", "v": repr(obj)}

    def number(self, raw: Any) -> int:
        return self.storages.setdefault((raw.data_ptr(), raw.nbytes()), len(self.storages))

    def tensor(self, t: Any) -> Any:
        made: dict[str, Any] = {
            "t": "param" if type(t).__name__ == "Parameter" else "tensor",
            "dtype": str(t.dtype).removeprefix("torch."),
            "shape": list(t.shape),
            "stride": list(t.stride()),
            "offset": t.storage_offset(),
            "requires_grad": t.requires_grad,
        }
        if t.is_meta:
            return made | {"device": "meta"}
        data = contents(t)
        made |= {"storage": self.number(t.untyped_storage()), "storage_nbytes": t.untyped_storage().nbytes()}
        made |= {"sha256": hashlib.sha256(data).hexdigest()} if len(data) > 256 else {"hex": data.hex()}
        for name, marked in (("conj", t.is_conj()), ("neg", t.is_neg())):
            if marked:
                made[name] = True
        if t.__dict__:
            made["attrs"] = {k: self.of(v) for k, v in t.__dict__.items()}
        return made


def contents(t: Any) -> bytes:
    """The bytes of the values, in row-major order."""
    plain = t.detach().resolve_conj().resolve_neg().contiguous().clone()
    return bytes(plain.untyped_storage().tolist())[: plain.numel() * plain.element_size()]
