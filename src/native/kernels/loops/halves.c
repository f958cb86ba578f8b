// Between single precision and doubles or the two kinds of halves, as bits: to the nearest, of two equally near ones to the
// even one.
// The processor's own instructions do so for float16; those for bfloat16 (AVX512-BF16) would take denormals for zeros.
#include "simd.h"

#define CONVERT(name, from_type, to_type) \
    void IN_ISA(name)(const void *from, void *to, N n) \
    { \
        const from_type *restrict x = from; \
        to_type *restrict y = to; \
        SIMD for (N i = 0; i < n; i++) y[i] = name(x[i]); \
    }

#if defined(__F16C__)
#include <immintrin.h>

#if defined(__AVX512F__)
enum { AT_ONCE = 16 };
INLINE void to_half(const float *x, uint16_t *y) { _mm256_storeu_si256((void *)y, _mm512_cvtps_ph(_mm512_loadu_ps(x), 0)); }
INLINE void of_half(const uint16_t *x, float *y) { _mm512_storeu_ps(y, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)x))); }
#else
enum { AT_ONCE = 8 };
INLINE void to_half(const float *x, uint16_t *y) { _mm_storeu_si128((void *)y, _mm256_cvtps_ph(_mm256_loadu_ps(x), 0)); }
INLINE void of_half(const uint16_t *x, float *y) { _mm256_storeu_ps(y, _mm256_cvtph_ps(_mm_loadu_si128((const void *)x))); }
#endif

#define CONVERT_BY_VECTORS(name, from_type, to_type) \
    void IN_ISA(name)(const void *from, void *to, N n) \
    { \
        const from_type *x = from; \
        to_type *y = to; \
        N i = 0; \
        for (; i + AT_ONCE <= n; i += AT_ONCE) name(x + i, y + i); \
        from_type rest[AT_ONCE] = {0}; \
        to_type made[AT_ONCE]; \
        memcpy(rest, x + i, (n - i) * sizeof *x); \
        name(rest, made); \
        memcpy(y + i, made, (n - i) * sizeof *y); \
    }
CONVERT_BY_VECTORS(to_half, float, uint16_t)
CONVERT_BY_VECTORS(of_half, uint16_t, float)
#else
INLINE float of_half(uint16_t h)
{
    const int32_t size = (h & 0x7fff) << 13, special = (h & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
    // The exponents begin at other numbers; to multiply serves denormals, too.
    return with_bits(bits_of(with_bits(size) * 0x1p112f) | special | (int32_t)((uint32_t)(h & 0x8000) << 16));
}

INLINE uint16_t to_half(float x)
{
    const uint32_t bits = (uint32_t)bits_of(x), size = bits & 0x7fffffff;
    const uint32_t normal = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    const uint32_t small = (uint32_t)bits_of(with_bits((int32_t)size) + 0.5f) - 0x3f000000;  // whose last bit is a half's
    const uint32_t large = size > 0x7f800000 ? 0x7e00 : 0x7c00;
    const uint32_t made = size < 0x38800000 ? small : size < 0x47800000 ? normal : large;
    return (uint16_t)(made | (bits >> 16 & 0x8000));
}

CONVERT(to_half, float, uint16_t)
CONVERT(of_half, uint16_t, float)
#endif

INLINE float of_brain(uint16_t b) { return with_bits((int32_t)((uint32_t)b << 16)); }

INLINE uint16_t to_brain(float x)
{
    const uint32_t bits = (uint32_t)bits_of(x), nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16 & 0x8000) | 0x7fc0 : nearest);
}

INLINE double to_double(float x) { return x; }
INLINE float of_double(double x) { return (float)x; }

CONVERT(of_brain, uint16_t, float)
CONVERT(to_brain, float, uint16_t)
CONVERT(of_double, double, float)
CONVERT(to_double, float, double)
