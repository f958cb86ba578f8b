// Functions that compilers make vector code of: no branches, no calls. Right at zeros of both signs, denormals,
// infinities and NaN.
#ifndef TORCHLITE_SIMD_H
#define TORCHLITE_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "loops.h"

#define INLINE static inline __attribute__((always_inline))

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

INLINE float bounded(float x, float low, float high)  // NaN stays
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

// x is n log(2) + r, for a whole n and |r| <= log(2) / 2: e^r - 1, and n.
INLINE float expm1_of_rest(float x, int32_t *n)
{
    const float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves no room for a fraction
    float shifted = x * 1.44269504f + round, whole = shifted - round;
    float r = x - whole * 0.693359375f;
    r -= whole * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    *n = bits_of(shifted) - bits_of(round);
    return p * r * r + r;
}

// x 2^n, in two factors, since 2^n alone may be too large, or too small, to be a normal number.
INLINE float times_power(float x, int32_t n)
{
    const int32_t half = n >> 1;
    return x * with_bits((uint32_t)(half + 127) << 23) * with_bits((uint32_t)(n - half + 127) << 23);
}

// e to the x: 2^n e^r.
INLINE float exp_of(float x)
{
    int32_t n;
    const float rest = expm1_of_rest(bounded(x, -104.0f, 89.0f), &n);
    return times_power(rest + 1.0f, n);
}

// e to the x, less 1: 2^n ((e^r - 1) + (1 - 2^-n)).
INLINE float expm1_of(float x)
{
    int32_t n;
    const float rest = expm1_of_rest(bounded(x, -30.0f, 89.0f), &n);
    return times_power(rest + (1.0f - with_bits((uint32_t)(n < 127 ? 127 - n : 0) << 23)), n);
}

// log(1 + e^x): what is beyond x or 0 is 2 atanh(t), with t = e^-|x| / (2 + e^-|x|).
INLINE float softplus_of(float x)
{
    float u = exp_of(-fabsf(x)), t = u / (2.0f + u), s = t * t;
    float p = 1.0f / 15.0f;
    p = p * s + 1.0f / 13.0f;
    p = p * s + 1.0f / 11.0f;
    p = p * s + 1.0f / 9.0f;
    p = p * s + 1.0f / 7.0f;
    p = p * s + 0.2f;
    p = p * s + 1.0f / 3.0f;
    return (x > 0 ? x : 0) + 2.0f * (p * s * t + t);
}

// The logarithm of a normal number, or NaN of NaN: x is 2^n m, and log(m) is 2 atanh((m - 1) / (m + 1)).
INLINE float log_of(float x)
{
    const int32_t bits = bits_of(x) - 0x3f3504f3, n = bits >> 23;  // from the square root of a half on
    float m = with_bits((bits & 0x7fffff) + 0x3f3504f3), t = (m - 1.0f) / (m + 1.0f), s = t * t;
    float p = 0.24279078841f;
    p = p * s + 0.28498786688f;
    p = p * s + 0.40000972152f;
    p = p * s + 0.66666662693f;
    const float whole = (float)n;
    return x != x ? x : whole * 0.693359375f + (t * 2.0f + (p * s * t + whole * -2.12194440e-4f));
}

INLINE float sigmoid_of(float x) { return 1.0f / (1.0f + exp_of(-x)); }

INLINE float tanh_of(float x)
{
    float size = fabsf(x), s = x * x;
    float p = -5.70498872745e-3f;
    p = p * s + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    float small = p * s * x + x, large = 1.0f - 2.0f / (exp_of(2.0f * size) + 1.0f);
    return size < 0.625f ? small : copysignf(large, x);
}

// The normal distribution beyond |x|, over its density there: t p(t) with t = 1 / (1 + 0.21 |x|); relative error 2e-8.
INLINE float tail_of(float size)
{
    float t = 1.0f / (1.0f + 0.21f * size);
    float p = -0.0712944692f;
    p = p * t + 0.28180297f;
    p = p * t - 0.326490034f;
    p = p * t + 0.344983048f;
    p = p * t - 0.0907701463f;
    p = p * t + 0.123471071f;
    p = p * t + 0.0695700146f;
    p = p * t + 0.085012402f;
    p = p * t + 0.0837151534f;
    return t * p;
}

// A row's numbers, of which the first stands at place `at`, to phases: place p is number p / stride of phase p % stride.
static inline void deal(const float *restrict row, N n, N at, N stride, float *restrict phases, N apart)
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
static inline void collect(const float *restrict phases, N n, N at, N stride, float *restrict row, N apart)
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

// `sum` of `term` for i below n: of so many at a time in single precision, of those in double.
#define PART 256
#define SUM_IN_PARTS(sum, n, term) \
    sum = 0; \
    for (N from_ = 0; from_ < (n); from_ += PART) { \
        N to_ = from_ + PART < (n) ? from_ + PART : (n); \
        float part_ = 0; \
        TOTAL(part_) for (N i = from_; i < to_; i++) part_ += term; \
        sum += part_; \
    }

#endif
