// Sums, in double precision but for a few at a time.
#include "product.h"
#include "simd.h"

// Whether all are at most so far from 0.
void IN_ISA(all_within)(const float *restrict x, N n, float limit, int *restrict within)
{
    int32_t wrong = 0;
    _Pragma("omp simd reduction(| : wrong)") for (N i = 0; i < n; i++) wrong |= !(fabsf(x[i]) <= limit);
    *within = !wrong;
}

void IN_ISA(add_to)(const float *restrict x, float *restrict y, N n)
{
    SIMD for (N i = 0; i < n; i++) y[i] += x[i];
}

enum { WIDTH = 4 * LANES, LONGEST = 8 * WIDTH };

// A few vectors are added up in single precision, these in double.
INLINE double add_up(const float *restrict x, N n, const int squared)
{
    double wide[LANES] = {0}, sum = 0;
    N i = 0;
    while (n - i >= WIDTH) {
        const N end = n - i < LONGEST ? n - (n - i) % WIDTH : i + LONGEST;
        Vector part[4] = {{0}};
        for (; i < end; i += WIDTH)
            PRAGMA(GCC unroll 4) for (int v = 0; v < 4; v++) {
                Vector read = *(const Vector *)(x + i + v * LANES);
                if (squared) read *= read;
                part[v] += read;
            }
        const Vector all = (part[0] + part[1]) + (part[2] + part[3]);
        SIMD for (int l = 0; l < LANES; l++) wide[l] += (double)all[l];
    }
    TOTAL(sum) for (N k = i; k < n; k++) sum += (double)(squared ? x[k] * x[k] : x[k]);
    for (int l = 0; l < LANES / 2; l++) sum += wide[l] + wide[l + LANES / 2];
    return sum;
}

void IN_ISA(add_up)(const float *restrict x, int squared, double *restrict total, N n)
{
    *total = squared ? add_up(x, n, 1) : add_up(x, n, 0);
}

// (first, keep, last) to (keep), or of squares.
void IN_ISA(sum_of_ends)(const float *restrict x, int squared, float *restrict y, N first, N keep, N last)
{
    for (N k = 0; k < keep; k++) {
        double total = 0;
        for (N f = 0; f < first; f++) {
            double sum;
            IN_ISA(add_up)(x + (f * keep + k) * last, squared, &sum, last);
            total += sum;
        }
        y[k] = (float)total;
    }
}

typedef int32_t Whole __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

INLINE Whole larger_of(Whole bits, Whole best)  // NaN before all
{
    const Vector x = (Vector)bits, y = (Vector)best;
    const Whole takes = (x > y) | (x != x);
    return (bits & takes) | (best & ~takes);
}

// The largest of each row, of numbers whose bits are changed by `flip`: with that of the sign, the smallest.
void IN_ISA(extremes)(const float *restrict x, int flip, float *restrict y, N rows, N n)
{
    for (N r = 0; r < rows; r++, x += n) {
        Whole best[4];
        for (int v = 0; v < 4; v++) best[v] = *(const Whole *)x ^ flip;
        for (N i = 0; i < n; i += 4 * LANES)  // the last of which may overlap
            PRAGMA(GCC unroll 4) for (int v = 0; v < 4; v++) {
                const N at = i + v * LANES < n - LANES ? i + v * LANES : n - LANES;
                best[v] = larger_of(*(const Whole *)(x + at) ^ flip, best[v]);
            }
        const Whole all = larger_of(larger_of(best[0], best[1]), larger_of(best[2], best[3]));
        float found = with_bits(all[0]);
        for (int l = 1; l < LANES; l++) {
            const float one = with_bits(all[l]);
            found = one > found || one != one ? one : found;
        }
        y[r] = with_bits(bits_of(found) ^ flip);
    }
}

// (rows, n) to (n), from a first column on, so many at a time; of rows times a weight each where these are given, or of squares.
void IN_ISA(sum_of_columns)(const float *restrict x, const float *restrict weights, int squared, float *restrict y, N rows, N n,
                            N first, N after)
{
    enum { SOME = 1024, FEW = 8 };  // columns, and rows that are added up in single precision
    const float nothing[SOME] = {0};
    double total[SOME];
    for (; first < after; first += SOME) {
        const N some = after - first < SOME ? after - first : SOME;
        memset(total, 0, some * sizeof *total);
        for (N r = 0; r < rows; r += FEW) {
            const float *row[FEW];
            float w[FEW];
            for (N k = 0; k < FEW; k++) {
                row[k] = r + k < rows ? x + (r + k) * n + first : nothing;
                w[k] = weights && r + k < rows ? weights[r + k] : 0;
            }
#define TOGETHER(each) \
            SIMD for (N i = 0; i < some; i++) { \
                float part = 0; \
                PRAGMA(GCC unroll 8) for (int k = 0; k < FEW; k++) part += each; \
                total[i] += part; \
            }
            if (squared) TOGETHER(row[k][i] * row[k][i])
            else if (weights) TOGETHER(row[k][i] * w[k])
            else TOGETHER(row[k][i])
        }
        SIMD for (N i = 0; i < some; i++) y[first + i] = (float)total[i];
    }
}
