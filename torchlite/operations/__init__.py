"""The operations, one file per family. Importing this package declares them all."""

import gc

_collects = gc.isenabled()
gc.disable()  # what is declared stays: to look for garbage among it only takes time
try:
    from ..core.machine import Tensor, read_only
    from . import linalg
    from .images import adaptive_max_pool, average_pool, conv, fold, grid_sample, max_pool, padding, upsample
    from .learning import batch_norm, class_loss, ctc, group_norm, layer_norm, losses, margin_loss, recurrent
    from .making import (
        copy,
        dlpack,
        draws,
        factories,
        gamma_draws,
        host_data,
        legacy_types,
        parametric_draws,
        pickles,
        storages,
    )
    from .places import advanced_indexing, embedding, gather, index_along, indexing, masked
    from .pointwise import (
        activations,
        arithmetic,
        comparisons,
        complex_numbers,
        dropout,
        elementary,
        magnitude,
        powers,
        rectifiers,
        selection,
        special_functions,
    )
    from .products import (
        added_products,
        attention,
        distances,
        einsum,
        geometry,
        gradient_estimates,
        linear,
        matmul,
        scaled_products,
        tensor_products,
        trace,
    )
    from .reductions import (
        extremes,
        hashing,
        histogram,
        reduce,
        scans,
        segment_reduce,
        sets,
        softmax,
        sorting,
        statistics,
        vector_norms,
    )
    from .shapes import (
        as_strided,
        cutting,
        in_place_shape,
        joining,
        orders,
        pixel_shuffle,
        rearrange,
        shape,
        slicing,
        view_copies,
    )
    from .signals import fourier, spectral
    from .torch_names import absent_kinds, aten_forms, older_methods, quantized, rare

    read_only(Tensor)  # by now it has all properties
finally:
    if _collects:
        gc.enable()
