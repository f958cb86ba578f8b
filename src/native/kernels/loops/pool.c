// Maxima over windows, and where their gradients go.
#include "phases.h"

INLINE void fill(float *to, N n, float value)
{
    SIMD for (N i = 0; i < n; i++) to[i] = value;
}

// Of values that are larger than the best so far, or NaN: them, and which tap read them.
INLINE void raise_to(const float *restrict x, float *restrict best, int32_t *restrict taps, int32_t tap, N n)
{
    SIMD for (N i = 0; i < n; i++) {
        const int better = x[i] > best[i] || x[i] != x[i];
        best[i] = better ? x[i] : best[i];
        taps[i] = better ? tap : taps[i];
    }
}

// Where a tap reads along a dimension, for a window.
INLINE N read_along(const Sliding *s, int d, N window, N tap)
{
    return window * s->stride[d] - s->padding[d] + tap * s->dilation[d];
}

// The first tap along a dimension that reads in the image.
INLINE N first_inside(const Sliding *s, int d, N window)
{
    N tap = 0;
    while (read_along(s, d, window, tap) < 0) tap++;
    return tap;
}

static void pick_up_taps(const Sliding *s, const int32_t *cells, const float *best, uint8_t *taps)
{
    for (N z = 0; z < s->count[0]; z++)
        for (N y = 0; y < s->count[1]; y++, taps += s->count[2], best += s->count[2]) {
            const int32_t *from = cells + z * s->step[0] + y * s->step[1];
            int lowest = 0;
            _Pragma("omp simd reduction(| : lowest)") for (N x = 0; x < s->count[2]; x++) {
                taps[x] = (uint8_t)from[x];
                lowest |= best[x] == -INFINITY;
            }
            for (N x = 0; lowest && x < s->count[2]; x++)  // of nothing larger, it is the first
                if (best[x] == -INFINITY)
                    taps[x] = (uint8_t)((first_inside(s, 0, z) * s->kernel[1] + first_inside(s, 1, y)) * s->kernel[2] +
                                        first_inside(s, 2, x));
        }
}

// Also which tap of each window found its maximum: the first, but of several NaN the last. `room` is for the phases of an
// image, and the cells of its windows twice.
void IN_ISA(max_pool)(const Sliding *s, const float *x, float *best, uint8_t *taps, float *room, N images)
{
    const N image = s->size[0] * s->size[1] * s->size[2], windows = s->count[0] * s->count[1] * s->count[2];
    float *cells = room + s->phases * s->cells;
    int32_t *found = (int32_t *)(cells + s->length);
    fill(room, s->phases * s->cells, -INFINITY);
    for (N i = 0; i < images; i++, x += image, best += windows, taps += windows) {
        split(s, x, room);
        fill(cells, s->length, -INFINITY);
        memset(found, 0, s->length * sizeof *found);
        for (N t = 0; t < s->taps; t++)
            raise_to(room + s->phase[t] * s->cells + s->shift[t], cells, found, (int32_t)t, s->length);
        pick_up(s, cells, best);
        pick_up_taps(s, found, best, taps);
    }
}

// The gradient of each window goes to where the tap that found its maximum has read.
void IN_ISA(max_pool_slope)(const Sliding *s, const float *g, const uint8_t *taps, float *to, N images)
{
    const N image = s->size[0] * s->size[1] * s->size[2];
    N reads[MAX_TAPS], tap = 0;
    for (N z = 0; z < s->kernel[0]; z++)
        for (N y = 0; y < s->kernel[1]; y++)
            for (N x = 0; x < s->kernel[2]; x++)
                reads[tap++] = ((z * s->dilation[0]) * s->size[1] + y * s->dilation[1]) * s->size[2] + x * s->dilation[2];
    for (N i = 0; i < images; i++, to += image)
        for (N z = 0; z < s->count[0]; z++)
            for (N y = 0; y < s->count[1]; y++, g += s->count[2], taps += s->count[2]) {
                const N row = (read_along(s, 0, z, 0) * s->size[1] + read_along(s, 1, y, 0)) * s->size[2] - s->padding[2];
                for (N x = 0; x < s->count[2]; x++) {
                    const N at = taps[x] < tap ? row + x * s->stride[2] + reads[taps[x]] : -1;
                    if ((size_t)at < (size_t)image) to[at] += g[x];  // whatever the taps became meanwhile
                }
            }
}
