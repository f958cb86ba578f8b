// Between images and their phases (sliding.h).
#ifndef TORCHLITE_PHASES_H
#define TORCHLITE_PHASES_H

#include "simd.h"

// For each row of the image that windows see: where it begins in the image, and in the phases. (What a place along a
// dimension comes to, divided by the stride, is counted on: `_of` the phase, `_in` it.)
#define ALONG(s, d, i) \
    for (N i = 0, i##_of = (s)->padding[d] % (s)->stride[d], i##_in = (s)->padding[d] / (s)->stride[d]; \
         i < (s)->size[d] && i##_in < (s)->grid[d]; i++, i##_of = i##_of + 1 == (s)->stride[d] ? (i##_in++, 0) : i##_of + 1)
#define FOR_ROWS(s, row, at) \
    ALONG(s, 0, z) \
        ALONG(s, 1, y) \
            for (N row = (z * (s)->size[1] + y) * (s)->size[2], once = 1, \
                   at = (z_of * (s)->stride[1] + y_of) * (s)->stride[2] * (s)->cells + z_in * (s)->step[0] + y_in * (s)->step[1]; \
                 once; once = 0)

// How many of a row's numbers windows see.
INLINE N seen(const Sliding *s)
{
    N n = s->grid[2] * s->stride[2] - s->padding[2];
    return n < 0 ? 0 : n < s->size[2] ? n : s->size[2];
}

APART void split(const Sliding *s, const float *image, float *phases)
{
    N n = seen(s);
    FOR_ROWS(s, row, at) deal(image + row, n, s->padding[2], s->stride[2], phases + at, s->cells);
}

APART void join(const Sliding *s, const float *phases, float *image)
{
    N n = seen(s);
    FOR_ROWS(s, row, at) collect(phases + at, n, s->padding[2], s->stride[2], image + row, s->cells);
}

// Values of windows from row-major order into cells, and back.
APART void lay(const Sliding *s, const float *values, float *cells)
{
    for (N z = 0; z < s->count[0]; z++)
        for (N y = 0; y < s->count[1]; y++, values += s->count[2])
            memcpy(cells + z * s->step[0] + y * s->step[1], values, s->count[2] * sizeof *cells);
}

APART void pick_up(const Sliding *s, const float *cells, float *values)
{
    for (N z = 0; z < s->count[0]; z++)
        for (N y = 0; y < s->count[1]; y++, values += s->count[2])
            memcpy(values, cells + z * s->step[0] + y * s->step[1], s->count[2] * sizeof *cells);
}

#endif
