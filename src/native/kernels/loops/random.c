// Words of PyTorch's Mersenne Twister to numbers, to the bit: every fused step below is one there, and none else is.
#include "simd.h"

enum { BLOCK = 16, HALF_BLOCK = BLOCK / 2 };

INLINE float unit_float(uint32_t word) { return (float)(int32_t)(word & 0xFFFFFF) * 0x1p-24f; }

INLINE double unit_double(const uint32_t *pair)  // the first word high
{
    return (double)(int64_t)((uint64_t)(pair[0] & 0x1FFFFF) << 32 | pair[1]) * 0x1p-53;
}

void IN_ISA(unit_floats)(const uint32_t *words, float *to, N n)
{
    SIMD for (N i = 0; i < n; i++) to[i] = unit_float(words[i]);
}

void IN_ISA(unit_doubles)(const uint32_t *words, double *to, N n)
{
    SIMD for (N i = 0; i < n; i++) to[i] = unit_double(words + 2 * i);
}

void IN_ISA(ones_below)(const uint32_t *words, float *to, N n, double limit)
{
    SIMD for (N i = 0; i < n; i++) to[i] = unit_double(words + 2 * i) < limit ? 1 : 0;
}

void IN_ISA(multiply_add)(const float *x, float *to, N n, float scale, float shift)
{
    SIMD for (N i = 0; i < n; i++) to[i] = fmaf(x[i], scale, shift);
}

// The logarithm of what is above 0 and up to 1.
INLINE float log_of_unit(float x)
{
    const int32_t bits = bits_of(x);
    float e = (float)((bits >> 23) - 126), m = with_bits((bits & 0x7FFFFF) | 0x3F000000);
    const int low = m < 0.70710678118654752f;
    e = low ? e - 1 : e;
    m = low ? m - 1 + m : m - 1;
    const float z = m * m;
    float y = 7.0376836292e-2f;
    y = fmaf(y, m, -1.1514610310e-1f);
    y = fmaf(y, m, 1.1676998740e-1f);
    y = fmaf(y, m, -1.2420140846e-1f);
    y = fmaf(y, m, 1.4249322787e-1f);
    y = fmaf(y, m, -1.6668057665e-1f);
    y = fmaf(y, m, 2.0000714765e-1f);
    y = fmaf(y, m, -2.4999993993e-1f);
    y = fmaf(y, m, 3.3333331174e-1f);
    y = fmaf(y * m, z, e * -2.12194440e-4f);
    y = fmaf(-z, 0.5f, y);
    return fmaf(e, 0.693359375f, m + y);
}

// Sine and cosine of an angle from 0 to 2 pi.
INLINE void sine_and_cosine(float x, float *sine, float *cosine)
{
    const int32_t j = ((int32_t)(x * 1.27323954473516f) + 1) & ~1;
    const float q = (float)j;
    x = fmaf(q, -0.78515625f, x);
    x = fmaf(q, -2.4187564849853515625e-4f, x);
    x = fmaf(q, -3.77489497744594108e-8f, x);
    const float z = x * x;
    float c = fmaf(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    c = fmaf(c, z, 4.166664568298827e-2f);
    c = fmaf(c * z, z, -(z * 0.5f));
    c = c + 1;
    float s = fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f);
    s = fmaf(s, z, -1.6666654611e-1f);
    s = fmaf(s * z, x, x);
    const int swapped = j & 2;
    const float first = swapped ? c : s, second = swapped ? s : c;
    *sine = j & 4 ? -first : first;
    *cosine = (j - 2) & 4 ? second : -second;
}

// Normal numbers by Box and Muller's method: of each block of 16 words 8 give radii, and 8 angles.
void IN_ISA(normals)(const uint32_t *words, float *to, N blocks, float mean, float std)
{
    for (N b = 0; b < blocks; b++, words += BLOCK, to += BLOCK) {
        float first[HALF_BLOCK], second[HALF_BLOCK];
        SIMD for (int i = 0; i < HALF_BLOCK; i++) {
            float sine, cosine, radius = sqrtf(-2 * log_of_unit(1 - unit_float(words[i])));
            sine_and_cosine(6.2831855f * unit_float(words[i + HALF_BLOCK]), &sine, &cosine);
            first[i] = fmaf(radius * cosine, std, mean);
            second[i] = fmaf(radius * sine, std, mean);
        }
        memcpy(to, first, sizeof first);
        memcpy(to + HALF_BLOCK, second, sizeof second);
    }
}
