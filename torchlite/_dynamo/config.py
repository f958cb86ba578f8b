"""`torch._dynamo.config`: the settings of a compiler, which programs may change and nobody reads."""

from __future__ import annotations

suppress_errors = verbose = disable = error_on_recompile = fail_on_recompile_limit_hit = False
compiled_autograd = capture_scalar_outputs = capture_dynamic_output_shape_ops = False
dynamic_shapes = automatic_dynamic_shapes = assume_static_by_default = guard_nn_modules = optimize_ddp = True
cache_size_limit = recompile_limit = 8
accumulated_recompile_limit = 256
