// Softmax and its logarithm along dimensions that are not the last.
#include "elementary.h"

enum { SOME = 128, FEW = 32 };  // columns that go along together; rows that are added up in single precision alone

// Adds up what each(i) is, for the elements i of each column.
#define COLUMNS(each) \
    for (N i = 0; i < n; i += FEW) { \
        float part[SOME] = {0}; \
        for (N r = i; r < i + FEW && r < n; r++) \
            SIMD for (N c = 0; c < some; c++) part[c] += each(r * last + k + c); \
        SIMD for (N c = 0; c < some; c++) total[c] += part[c]; \
    }

void IN_ISA(softmax_between)(const float *restrict x, float *restrict y, N first, N n, N last, int logarithm)
{
    for (N f = 0; f < first; f++, x += n * last, y += n * last)
        for (N k = 0; k < last; k += SOME) {
            const N some = last - k < SOME ? last - k : SOME;
            float m[SOME], total[SOME] = {0};
            for (N c = 0; c < some; c++) m[c] = -INFINITY;
            for (N r = 0; r < n; r++)
                SIMD for (N c = 0; c < some; c++) m[c] = x[r * last + k + c] > m[c] ? x[r * last + k + c] : m[c];
#define POWER(at) (y[at] = exp_of(x[at] - m[c]))
            COLUMNS(POWER)
            if (logarithm) SIMD for (N c = 0; c < some; c++) total[c] = log_of(total[c]);
            for (N r = 0; r < n; r++) {
                const float *from = x + r * last + k;
                float *to = y + r * last + k;
                if (logarithm) SIMD for (N c = 0; c < some; c++) to[c] = from[c] - m[c] - total[c];
                else SIMD for (N c = 0; c < some; c++) to[c] /= total[c];
            }
        }
}

void IN_ISA(softmax_slope_between)(const float *restrict g, const float *restrict y, float *restrict to, N first, N n, N last,
                                   int logarithm)
{
    for (N f = 0; f < first; f++, g += n * last, y += n * last, to += n * last)
        for (N k = 0; k < last; k += SOME) {
            const N some = last - k < SOME ? last - k : SOME;
            float total[SOME] = {0};
#define GRADIENT(at) g[at]
#define WEIGHTED(at) g[at] * y[at]
            if (logarithm) { COLUMNS(GRADIENT) } else { COLUMNS(WEIGHTED) }
            for (N r = 0; r < n; r++) {
                const float *of = g + r * last + k, *from = y + r * last + k;
                float *slope = to + r * last + k;
                if (logarithm) SIMD for (N c = 0; c < some; c++) slope[c] = of[c] - exp_of(from[c]) * total[c];
                else SIMD for (N c = 0; c < some; c++) slope[c] = from[c] * (of[c] - total[c]);
            }
        }
}
