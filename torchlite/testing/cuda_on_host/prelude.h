// What every kernel's source begins with; compiled once.
#include "kernel.h"

#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>
#include <cupy/float16.cuh>
#include <cupy/bfloat16.cuh>

// What NVRTC, which has no <cmath> or <climits>, does not know.
#undef INFINITY
#undef NAN
#undef HUGE_VAL
#undef M_PI
#undef M_E
#undef M_SQRT2
#undef INT_MAX
#undef INT_MIN
#undef LLONG_MAX
#undef LLONG_MIN
#undef FLT_MAX
#undef FLT_EPSILON
#undef DBL_MAX
#undef DBL_EPSILON
