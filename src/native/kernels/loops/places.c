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

void IN_ISA(take_rows)(const char *restrict from, const int64_t *restrict at, char *restrict to, N count, N bytes)
{
    for (N i = 0; i < count; i++, to += bytes) memcpy(to, from + at[i] * bytes, bytes);
}

// Rows of n numbers, each added to the row that its place names; but for those that name `never`.
void IN_ISA(add_rows)(const float *restrict rows, const int64_t *restrict at, float *restrict to, N count, N n,
                      int64_t never)
{
    for (N i = 0; i < count; i++, rows += n) {
        if (at[i] == never) continue;
        float *row = to + at[i] * n;
        SIMD for (N k = 0; k < n; k++) row[k] += rows[k];
    }
}
