// Maxima over windows of planes, and where their gradients go.
//
// The padded rows of a plane are split into phases, by the remainders of their places modulo the stride, so that what one
// tap of the window reads for a row of windows lies together.
#include "simd.h"

// The rows of a plane: so many numbers in each phase, and in all of them.
typedef struct { N width, row, seen; } Rows;

INLINE Rows rows_of(const Sliding *s)
{
    N width = s->count[2] + (s->kernel[2] - 1) * s->dilation[2] / s->stride[2];
    N seen = width * s->stride[2] - s->padding[2];
    return (Rows){width, width * s->stride[2], seen < 0 ? 0 : seen < s->size[2] ? seen : s->size[2]};
}

// For every tap of the windows of row y that is in the plane: where its values lie in the phases.
#define FOR_TAPS(s, y, rows, place) \
    for (N ky_ = 0, y_ = (y) * (s)->stride[1] - (s)->padding[1]; ky_ < (s)->kernel[1]; ky_++, y_ += (s)->dilation[1]) \
        if (y_ >= 0 && y_ < (s)->size[1]) \
            for (N kx_ = 0, x_ = 0, place; kx_ < (s)->kernel[2]; kx_++, x_ += (s)->dilation[2]) \
                if ((place = y_ * (rows).row + x_ % (s)->stride[2] * (rows).width + x_ / (s)->stride[2]), 1)

INLINE void fill(float *to, N n, float value)
{
    SIMD for (N i = 0; i < n; i++) to[i] = value;
}

INLINE void split(const Sliding *s, Rows rows, const float *plane, float *phases)
{
    for (N y = 0; y < s->size[1]; y++)
        deal(plane + y * s->size[2], rows.seen, s->padding[2], s->stride[2], phases + y * rows.row, rows.width);
}

INLINE void raise_to(const float *restrict x, float *restrict best, N n)
{
    SIMD for (N i = 0; i < n; i++) best[i] = x[i] > best[i] || x[i] != x[i] ? x[i] : best[i];
}

// `room` is for the phases of a plane.
void IN_ISA(max_pool)(const Sliding *s, const float *x, float *best, float *room)
{
    Rows rows = rows_of(s);
    N n = s->count[2];
    fill(room, s->size[1] * rows.row, -INFINITY);
    for (N i = 0; i < s->images; i++, x += s->size[1] * s->size[2]) {
        split(s, rows, x, room);
        for (N y = 0; y < s->count[1]; y++, best += n) {
            fill(best, n, -INFINITY);
            FOR_TAPS(s, y, rows, place) raise_to(room + place, best, n);
        }
    }
}

INLINE void give(const float *restrict g, const float *restrict x, const float *restrict best, float *restrict missing,
                 float *restrict to, N n)
{
    SIMD for (N i = 0; i < n; i++) {
        float found = x[i] == best[i] ? missing[i] : 0;
        to[i] += found != 0 ? g[i] : 0;
        missing[i] -= found;
    }
}

// The gradient goes to the first of a window's values that is its maximum. `room` is for the phases of a plane twice, and
// for a row of windows.
void IN_ISA(max_pool_slope)(const Sliding *s, const float *g, const float *x, const float *best, float *to, float *room)
{
    Rows rows = rows_of(s);
    N n = s->count[2], plane = s->size[1] * s->size[2], all = s->size[1] * rows.row;
    float *values = room, *given = values + all, *missing = given + all;
    fill(values, all, NAN);  // which is no maximum
    for (N i = 0; i < s->images; i++, x += plane, to += plane) {
        split(s, rows, x, values);
        fill(given, all, 0);
        for (N y = 0; y < s->count[1]; y++, best += n, g += n) {
            fill(missing, n, 1);
            FOR_TAPS(s, y, rows, place) give(g, values + place, best, missing, given + place, n);
        }
        for (N y = 0; y < s->size[1]; y++)
            collect(given + y * rows.row, rows.seen, s->padding[2], s->stride[2], to + y * s->size[2], rows.width);
    }
}
