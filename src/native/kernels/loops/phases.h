// Between images and their phases (sliding.h).
#ifndef TORCHLITE_PHASES_H
#define TORCHLITE_PHASES_H

#include "simd.h"

// For each row of the image that windows see: where it begins in the image, in its phase's grid, and in which phases.
#define FOR_ROWS(s, z, y) \
    for (N z = 0; z < (s)->size[0]; z++) \
        if ((z + (s)->padding[0]) / (s)->stride[0] < (s)->grid[0]) \
            for (N y = 0; y < (s)->size[1]; y++) \
                if ((y + (s)->padding[1]) / (s)->stride[1] < (s)->grid[1])

INLINE N row_at(const Sliding *s, N z, N y)
{
    z += s->padding[0];
    y += s->padding[1];
    N phase = (z % s->stride[0] * s->stride[1] + y % s->stride[1]) * s->stride[2];
    return phase * s->cells + z / s->stride[0] * s->step[0] + y / s->stride[1] * s->step[1];
}

// How many of a row's numbers windows see.
INLINE N seen(const Sliding *s)
{
    N n = s->grid[2] * s->stride[2] - s->padding[2];
    return n < 0 ? 0 : n < s->size[2] ? n : s->size[2];
}

static inline void split(const Sliding *s, const float *image, float *phases)
{
    N n = seen(s);
    FOR_ROWS(s, z, y)
        deal(image + (z * s->size[1] + y) * s->size[2], n, s->padding[2], s->stride[2], phases + row_at(s, z, y), s->cells);
}

static inline void join(const Sliding *s, const float *phases, float *image)
{
    N n = seen(s);
    FOR_ROWS(s, z, y)
        collect(phases + row_at(s, z, y), n, s->padding[2], s->stride[2], image + (z * s->size[1] + y) * s->size[2], s->cells);
}

// Values of windows from row-major order into cells, and back.
static inline void lay(const Sliding *s, const float *values, float *cells)
{
    for (N z = 0; z < s->count[0]; z++)
        for (N y = 0; y < s->count[1]; y++, values += s->count[2])
            memcpy(cells + z * s->step[0] + y * s->step[1], values, s->count[2] * sizeof *cells);
}

static inline void pick_up(const Sliding *s, const float *cells, float *values)
{
    for (N z = 0; z < s->count[0]; z++)
        for (N y = 0; y < s->count[1]; y++, values += s->count[2])
            memcpy(values, cells + z * s->step[0] + y * s->step[1], s->count[2] * sizeof *cells);
}

#endif
