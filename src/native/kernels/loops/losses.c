// Losses of pairs and their gradients, as the table has them; of so many chunks.
#include "elementary.h"

#define EACH(name, formula) \
    void IN_ISA(name)(const float *restrict from, const float *restrict targets, float p, float *restrict y, N chunks) \
    { \
        (void)p; \
        for (N c = 0; c < chunks; c++, from += CHUNK, targets += CHUNK, y += CHUNK) \
            SIMD for (N i = 0; i < CHUNK; i++) { \
                const float x = from[i], t = targets[i], d = x - t; \
                (void)x, (void)t, (void)d; \
                y[i] = formula; \
            } \
    }
#define LOOP(name, kernel, takes, loss, slope) EACH(name, loss) EACH(name##_slope, slope)
LOSSES(LOOP)

// Times a number for each or, where there are none, one for all.
void IN_ISA(scale)(float *restrict x, const float *restrict by, float factor, N n)
{
    if (by) SIMD for (N i = 0; i < n; i++) x[i] *= by[i] * factor;
    else SIMD for (N i = 0; i < n; i++) x[i] *= factor;
}
