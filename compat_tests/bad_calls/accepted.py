"""What torchlite does where PyTorch raises, and is meant to: of which callables, for which calls, and why."""

from __future__ import annotations

import re

# Pattern of the name, pattern of PyTorch's error, why. At most twenty.
REASONS: tuple[tuple[str, str, str], ...] = (
    (
        r".*",
        r"not implemented for 'Float8_\w+'|(Unsupported dtype|but got) Float8_\w+",
        "PyTorch's kernels for the CPU leave floats of 8 bits out; here some are computed like the others.",
    ),
    (
        r".*",
        r"attempted to run this operator with Meta tensors|found on (cpu|meta)!|`value` to be on same device|"
        r"tensor with meta DeviceType|META device module is not loaded|its data is not allocated yet",
        "What has a shape here has one on the meta device too, beside numbers in tensors of the CPU as elsewhere.",
    ),
    (
        r".*",
        r"Cannot access accelerator device when none is available",
        "A lone index names a CUDA device, as it does in PyTorch where there is one.",
    ),
    (
        r"torch\.(sym_\w+)",
        r".*",
        "There are no symbolic sizes, and nothing to constrain.",
    ),
    (
        r"torch\.nn\.Module\.compile",
        r".*",
        "Nothing is compiled, so options of the compiler are not looked at.",
    ),
    (
        r"torch\.(distributions\..*|split)",
        r"Input arguments must all be instances of Number, torch\.Tensor|must be tuple of ints, not numpy\.",
        "NumPy's numbers are numbers.",
    ),
    (
        r"torch\.autograd\.graph\.region_activation_memory_budget",
        r"can only be used inside a torch\.compile region",
        "Nothing is compiled, so a region to be compiled is like any other.",
    ),
    (
        r"torch\.(Tag|(_C\.)?DispatchKey|nn\.functional\.\w+Type|nn\.attention\.SDPBackend)",
        r"incompatible constructor arguments",
        "Python's enumerations find a member by any number that equals its own.",
    ),
    (
        r"torch\.(nn\.utils\.clip_grad_value_|norm_except_dim|autograd\.functional\.jacobian|lobpcg)",
        r"Expected !nested_tensorlist\[0\]\.empty\(\) to be true|cannot reshape tensor of 0|index 0 is out of bounds|"
        r"0\.0 cannot be raised to a negative power",
        "PyTorch stumbles over lists, tensors and bases without elements, of which there is nothing to compute.",
    ),
    (
        r"torch\.nn\.utils\.\w*norm_?|torch\.\w*Storage",
        r"Boolean value of Tensor|truth value of an array|^ZeroDivisionError: spite",
        "Flags that say how PyTorch goes about it (foreach, _internal) are not looked at: there is one way.",
    ),
    (
        r"torch\.(distributions\.AffineTransform\.\w+|broadcast_shapes|nn\.functional\.max_unpool\dd)",
        r"Expected bool, got <class|cond must be a bool, but got a Tensor",
        "Tensors of one whole number are sizes wherever ints are; PyTorch compares some before it converts them.",
    ),
    (
        r".*",
        r"SymInt|negative dimension -92233\d+|sizes=\[2, 461168601842738\d+\]|"
        r"split(_size can only be 0|.* but got split_size=-1)",
        "Near the end of 64 bits PyTorch's sums of sizes overflow, or stand for symbolic sizes; here ints have no end.",
    ),
    (
        r"torch\.(Tensor\.)?(norm|split)",
        r"unexpected keyword argument '(axis|axes|keepdims|x|a|x1|x2)'",
        "Names that NumPy's users write are known to all functions here, to those that PyTorch writes in Python too.",
    ),
    (
        r"torch\.Tensor\.__(?!getitem|setitem|contains|array|deepcopy|reduce_ex|setstate)\w+__",
        r".*",
        "Special methods called by name leave operands, and options, that operators have not to the other operand.",
    ),
    (
        r"torch\.fft\..*|torch\.(stft|istft)|torch\.(nn\.functional\.)?conv.*",
        r"MKL FFT error|could not create a primitive descriptor",
        "What PyTorch's libraries for transforms and convolutions stop at (no elements, vast strides) has a result.",
    ),
    (
        r"torch\.func\.(hessian|jacfwd|jvp|linearize)",
        r"more than one element of the written-to tensor",
        "Tensors whose elements lie at one place have tangents like others, which are not written to their memory.",
    ),
    (
        r".*",
        r"does not support automatic differentiation",
        "What PyTorch has no derivative for may have one.",
    ),
)


def reason(name: str, error: str) -> str | None:
    """Why a call that PyTorch refuses with such an error may be accepted, if it may."""
    for pattern, text, why in REASONS:
        if re.fullmatch(pattern, name) and re.search(text, error):
            return why
    return None
