// Running totals along the middle of (first, n, last), of which these columns, in double precision; products of rows. Of rows,
// some are gone along together, since each of their totals waits for the one before.
#include "elementary.h"

#define RUNNING(name, start, step) \
    void IN_ISA(name)(const float *restrict x, float *restrict y, N first, N n, N last, N from, N after) \
    { \
        enum { SOME = 256, ROWS = 8 }; \
        double total[SOME]; \
        for (N f = 0; last == 1 && f < first; f += ROWS, x += ROWS * n, y += ROWS * n) { \
            const N rows = first - f < ROWS ? first - f : ROWS; \
            for (N r = 0; r < ROWS; r++) total[r] = start; \
            if (rows == ROWS) \
                for (N i = 0; i < n; i++) \
                    PRAGMA(GCC unroll 8) for (N r = 0; r < ROWS; r++) y[r * n + i] = (float)(total[r] step x[r * n + i]); \
            else \
                for (N r = 0; r < rows; r++) \
                    for (N i = 0; i < n; i++) y[r * n + i] = (float)(total[r] step x[r * n + i]); \
        } \
        for (N f = 0; last != 1 && f < first; f++, x += n * last, y += n * last) \
            for (N k = from; k < after; k += SOME) { \
                const N some = after - k < SOME ? after - k : SOME; \
                for (N c = 0; c < some; c++) total[c] = start; \
                for (N i = 0; i < n; i++) \
                    SIMD for (N c = 0; c < some; c++) y[i * last + k + c] = (float)(total[c] step x[i * last + k + c]); \
            } \
    }
RUNNING(cumsum, 0, +=)
RUNNING(cumprod, 1, *=)

// Logarithms of running totals of exponentials, which are kept over that of the largest number so far.
void IN_ISA(logcumsumexp)(const float *restrict x, float *restrict y, N first, N n, N last, N from, N after)
{
    enum { SOME = 16 };
    const N next = last == 1 ? n : 1;
    if (last == 1) from = 0, after = first, first = 1;
    for (N f = 0; f < first; f++, x += n * last, y += n * last)
        for (N k = from; k < after; k += SOME) {
            const N some = after - k < SOME ? after - k : SOME;
            float most[SOME], read[SOME] = {0}, made[SOME];
            double total[SOME] = {0};
            for (N c = 0; c < SOME; c++) most[c] = -INFINITY;
            for (N i = 0; i < n; i++) {
                const N at = i * last + k * next;
                for (N c = 0; c < some; c++) read[c] = x[at + c * next];
                SIMD for (N c = 0; c < SOME; c++) {
                    const float m = most[c], one = read[c], less = one == m ? 0 : bounded(-fabsf(one - m), -104, 0);
                    double power;
                    const double rest = expm1_of_rest(less, &power), share = power * rest + power;
                    total[c] = one > m ? total[c] * share + 1 : total[c] + share;
                    most[c] = one > m ? one : m;
                    const float sum = (float)total[c];
                    const double log = wide_log_of_normal(sum) + (total[c] - sum) / sum;
                    made[c] = (float)(most[c] + (sum > 0 ? log : NAN));
                }
                for (N c = 0; c < some; c++) y[at + c * next] = made[c];
            }
        }
}

// In PyTorch's order: of four vectors at a time, the numbers in equal places, then these, then what is left.
void IN_ISA(products)(const float *restrict x, float *restrict y, N rows, N n)
{
    enum { EIGHT = 8 };
    typedef float Eight __attribute__((vector_size(EIGHT * 4), aligned(4), may_alias));
    for (N r = 0; r < rows; r++, x += n) {
        const N whole = n - n % (4 * EIGHT);
        const Eight *four = (const Eight *)x, *end = (const Eight *)(x + whole);
        float made = 1;
        if (whole) {
            Eight a = four[0], b = four[1], c = four[2], d = four[3];
            while ((four += 4) < end) a *= four[0], b *= four[1], c *= four[2], d *= four[3];
            a = (a * b) * (c * d);
            for (int i = 0; i < EIGHT; i++) made *= a[i];
        }
        for (N i = whole; i < n; i++) made *= x[i];
        y[r] = made;
    }
}
