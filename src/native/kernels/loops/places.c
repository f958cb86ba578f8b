// Values picked from, and added to, places that are named by numbers.
#include <string.h>

#include "simd.h"

// Whether all places are below `size`.
void IN_ISA(all_below)(const int64_t *restrict at, N n, N size, int *restrict fine)
{
    int64_t wrong = 0;
    _Pragma("omp simd reduction(| : wrong)") for (N i = 0; i < n; i++) wrong |= (uint64_t)at[i] >= (uint64_t)size;
    *fine = !wrong;
}

// Places were looked at before, but others may write to them meanwhile: so each is looked at again where it is used.
#define IS_BELOW(at, size) ((uint64_t)(at) < (uint64_t)(size))
INLINE int64_t read_once(const int64_t *at) { return *(const volatile int64_t *)at; }

void IN_ISA(take_rows)(const char *restrict from, N size, const int64_t *restrict at, char *restrict to, N count, N bytes)
{
    for (N i = 0; i < count; i++, to += bytes) {
        const int64_t place = read_once(at + i);
        if (IS_BELOW(place, size)) memcpy(to, from + place * bytes, bytes);
    }
}

void IN_ISA(add_rows)(const RowSums *s)
{
    const N n = s->n;
    for (N i = 0; i < s->count; i++) {
        const int64_t at = s->from_at ? read_once(s->from_at + i) : i, place = read_once(s->to_at + i);
        if (!IS_BELOW(at, s->size) || !IS_BELOW(place, s->results) || (s->named && read_once(s->named + i) == s->never)) continue;
        const float *restrict from = s->from + at * n;
        float *restrict to = s->to + place * n;
        if (s->weights) SIMD for (N k = 0; k < n; k++) to[k] += s->weights[i] * from[k];
        else if (n == 1) *to += *from;
        else SIMD for (N k = 0; k < n; k++) to[k] += from[k];
    }
}

// (first, size, last) to (first, n, last): along the dimension in the middle, what a place for each number names. Whether
// all places are below `size`.
void IN_ISA(gather)(const float *restrict from, const int64_t *restrict at, float *restrict to, N first, N size, N n, N last,
                    int *restrict fine)
{
    int64_t wrong = 0;
    for (N f = 0; f < first; f++, from += size * last) {
        PRAGMA(GCC unroll 4) for (N i = 0; last == 1 && i < n; i++, at++) {
            const int64_t named = read_once(at), below = IS_BELOW(named, size);
            wrong |= !below;
            *to++ = from[named & -below];
        }
        for (N i = 0; last != 1 && i < n; i++)
            for (N k = 0; k < last; k++, at++) {
                const int64_t named = read_once(at), below = IS_BELOW(named, size);
                wrong |= !below;
                *to++ = from[(named & -below) * last + k];
            }
    }
    *fine = !wrong;
}

INLINE void scatter(const float *restrict from, const int64_t *restrict at, float *restrict to, N first, N size, N n, N last,
                    const int add)
{
    for (N f = 0; f < first; f++, to += size * last)
        for (N i = 0; i < n * last; i += last)
            for (N k = 0; k < last; k++, at++, from++) {
                const int64_t place = read_once(at);
                if (IS_BELOW(place, size)) to[place * last + k] = add ? to[place * last + k] + *from : *from;
            }
}

// (first, n, last) put into, or added to, (first, size, last).
void IN_ISA(scatter)(const float *restrict from, const int64_t *restrict at, float *restrict to, N first, N size, N n, N last,
                     int add)
{
    if (last == 1 && add) scatter(from, at, to, first, size, n, 1, 1);
    else if (last == 1) scatter(from, at, to, first, size, n, 1, 0);
    else scatter(from, at, to, first, size, n, last, add);
}
