// What a mask picks of two rows.
#include "simd.h"

#define CHOOSE(type) \
    { \
        const type *x = x_, *y = y_; \
        type *to = to_; \
        SIMD for (N i = 0; i < n; i++) to[i] = mask[i] ? x[i] : y[i]; \
    }

void IN_ISA(choose)(const uint8_t *mask, const void *x_, const void *y_, void *to_, N n, N item)
{
    if (item == sizeof(uint32_t)) CHOOSE(uint32_t)
    else CHOOSE(uint64_t)
}
