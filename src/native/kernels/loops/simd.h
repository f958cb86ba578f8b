// What loops are made of: numbers as bits, rows dealt out to phases, sums.
#ifndef TORCHLITE_SIMD_H
#define TORCHLITE_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "loops.h"

#ifdef SMALL
#define INLINE static __attribute__((unused))
#else
#define INLINE static inline __attribute__((always_inline))
#endif

// What is called from several places, or is better off with what `restrict` says of its own arguments: one piece of code.
#define APART static __attribute__((noinline, unused))

INLINE int32_t bits_of(float x)
{
    union { float f; int32_t i; } u = {.f = x};
    return u.i;
}

INLINE float with_bits(int32_t i)
{
    union { int32_t i; float f; } u = {.i = i};
    return u.f;
}

INLINE int64_t wide_bits_of(double x)
{
    union { double f; int64_t i; } u = {.f = x};
    return u.i;
}

INLINE double with_wide_bits(int64_t i)
{
    union { int64_t i; double f; } u = {.i = i};
    return u.f;
}

INLINE float bounded(float x, float low, float high)  // NaN stays
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

// A row's numbers, of which the first stands at place `at`, to phases: place p is number p / stride of phase p % stride.
APART void deal(const float *restrict row, N n, N at, N stride, float *restrict phases, N apart)
{
    if (stride == 1) {
        memcpy(phases + at, row, n * sizeof *row);
    } else if (stride == 2 && n > 1) {
        if (at % 2) {
            phases[apart + at++ / 2] = *row++;
            n--;
        }
        float *restrict even = phases + at / 2, *restrict odd = even + apart;
        SIMD for (N i = 0; i < n / 2; i++) {
            even[i] = row[2 * i];
            odd[i] = row[2 * i + 1];
        }
        if (n % 2) even[n / 2] = row[n - 1];
    } else {
        for (N i = 0; i < n; i++) phases[(at + i) % stride * apart + (at + i) / stride] = row[i];
    }
}

// And back.
APART void collect(const float *restrict phases, N n, N at, N stride, float *restrict row, N apart)
{
    if (stride == 1) {
        memcpy(row, phases + at, n * sizeof *row);
    } else if (stride == 2 && n > 1) {
        if (at % 2) {
            *row++ = phases[apart + at++ / 2];
            n--;
        }
        const float *restrict even = phases + at / 2, *restrict odd = even + apart;
        SIMD for (N i = 0; i < n / 2; i++) {
            row[2 * i] = even[i];
            row[2 * i + 1] = odd[i];
        }
        if (n % 2) row[n - 1] = even[n / 2];
    } else {
        for (N i = 0; i < n; i++) row[i] = phases[(at + i) % stride * apart + (at + i) / stride];
    }
}

// `sum` of `term` for i below n, in double precision.
#define WIDE_SUM(sum, n, term) \
    sum = 0; \
    TOTAL(sum) for (N i = 0; i < (n); i++) sum += (double)(term);

#endif
