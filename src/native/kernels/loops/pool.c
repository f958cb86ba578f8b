// Maxima over windows, and where their gradients go.
#include "phases.h"

INLINE void fill(float *to, N n, float value)
{
    SIMD for (N i = 0; i < n; i++) to[i] = value;
}

INLINE void raise_to(const float *restrict x, float *restrict best, N n)
{
    SIMD for (N i = 0; i < n; i++) best[i] = x[i] > best[i] || x[i] != x[i] ? x[i] : best[i];
}

// `room` is for the phases of an image, and the cells of its windows.
void IN_ISA(max_pool)(const Sliding *s, const float *x, float *best, float *room)
{
    N image = s->size[0] * s->size[1] * s->size[2], windows = s->count[0] * s->count[1] * s->count[2];
    float *cells = room + s->phases * s->cells;
    fill(room, s->phases * s->cells, -INFINITY);
    for (N i = 0; i < s->images; i++, x += image, best += windows) {
        split(s, x, room);
        fill(cells, s->length, -INFINITY);
        for (N t = 0; t < s->taps; t++) raise_to(room + s->phase[t] * s->cells + s->shift[t], cells, s->length);
        pick_up(s, cells, best);
    }
}

enum { FULL = 16 };  // numbers, of which all loops have whole multiples

INLINE void give(const float *restrict g, const float *restrict x, const float *restrict best, float *restrict missing,
                 float *restrict to, N n)
{
    for (N first = 0; first < n; first += FULL)
        SIMD for (N i = first; i < first + FULL; i++) {
            float found = x[i] == best[i] ? missing[i] : 0;
            to[i] += found != 0 ? g[i] : 0;
            missing[i] -= found;
        }
}

// The gradient goes to the first of a window's values that is its maximum. `room` is for the phases of an image twice, and
// the cells of its windows three times.
void IN_ISA(max_pool_slope)(const Sliding *s, const float *g, const float *x, const float *best, float *to, float *room)
{
    N image = s->size[0] * s->size[1] * s->size[2], windows = s->count[0] * s->count[1] * s->count[2];
    N plane = s->phases * s->cells, n = (s->length + FULL - 1) / FULL * FULL;
    float *values = room, *given = values + plane, *wanted = given + plane, *gradient = wanted + n, *missing = gradient + n;
    fill(values, plane, NAN);  // which is no maximum,
    fill(wanted, n, NAN);  // and has none
    fill(gradient, n, 0);
    for (N i = 0; i < s->images; i++, x += image, to += image, best += windows, g += windows) {
        split(s, x, values);
        lay(s, best, wanted);
        lay(s, g, gradient);
        fill(given, plane, 0);
        fill(missing, n, 1);
        for (N t = 0; t < s->taps; t++) {
            N place = s->phase[t] * s->cells + s->shift[t];
            give(gradient, values + place, wanted, missing, given + place, n);
        }
        join(s, given, to);
    }
}
