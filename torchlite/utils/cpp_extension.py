"""`torch.utils.cpp_extension`: extensions in C++, which need PyTorch's own C++ library."""

from __future__ import annotations

from typing import Any, NoReturn

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None


def _none(*_: Any, **__: Any) -> NoReturn:
    raise NotImplementedError(
        "torchlite has no C++ library to build extensions against: write the operator as a torch.autograd.Function "
        "over tensors or NumPy arrays"
    )


load = load_inline = CppExtension = CUDAExtension = SyclExtension = BuildExtension = include_paths = _none


def is_ninja_available() -> bool:
    """Whether extensions could be built with ninja: they cannot be built."""
    return False
