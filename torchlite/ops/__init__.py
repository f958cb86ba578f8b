"""The operations, one file per family. Importing this package declares them all."""

import gc

_collects = gc.isenabled()
gc.disable()  # what is declared stays: to look for garbage among it only takes time
try:
    from . import (
        activation,
        adaptive_max_pool,
        advanced_indexing,
        arithmetic,
        aten_forms,
        attention,
        average_pool,
        batch_norm,
        choosing,
        class_loss,
        compare,
        complex_numbers,
        conv,
        copy,
        create,
        ctc,
        distance,
        dropout,
        einsum,
        elementary,
        embedding,
        exchange,
        extremes,
        fft,
        fold,
        gamma_draws,
        gather,
        geometry,
        grid_sample,
        hashing,
        histogram,
        host,
        in_place_shape,
        index_along,
        indexing,
        join,
        leaky,
        legacy,
        linalg,
        linear,
        loss,
        margin_loss,
        masked,
        matmul,
        max_pool,
        memory,
        norm,
        norms,
        older,
        other_kinds,
        padding,
        parts,
        pickles,
        random,
        rearrange,
        reduce,
        rnn,
        scan,
        segment_reduce,
        sets,
        shape,
        shuffle,
        slopes,
        softmax,
        sorting,
        special,
        spectral,
        statistics,
        transposes,
        upsample,
        view_copies,
    )
finally:
    if _collects:
        gc.enable()


def __getattr__(name: str) -> object:
    """`torch.ops.name`: a namespace of operators that a program declared, or PyTorch's `aten`."""
    if name.startswith("__"):
        raise AttributeError(name)
    from .. import _ops

    found = globals()[name] = _ops.load_library if name == "load_library" else _ops.Namespace(name)
    return found
