// Activations and their gradients, as the table has them.
#include "simd.h"

#define DENSITY 0.398942280f  // of the normal distribution, at zero
#define TANH_SCALE 0.797884561f
#define TANH_CUBE 0.044715f

INLINE float gelu_of(float x)
{
    float beyond = exp_of(-0.5f * x * x) * tail_of(fabsf(x));
    return x * (x < 0 ? beyond : 1.0f - beyond);
}

INLINE float gelu_slope_of(float x)
{
    float bell = exp_of(-0.5f * x * x), beyond = bell * tail_of(fabsf(x));
    return (x < 0 ? beyond : 1.0f - beyond) + x * bell * DENSITY;
}

INLINE float gelu_tanh_of(float x)
{
    return x / (1.0f + exp_of(-2.0f * TANH_SCALE * (x + TANH_CUBE * x * x * x)));
}

INLINE float gelu_tanh_slope_of(float x)
{
    float s = sigmoid_of(2.0f * TANH_SCALE * (x + TANH_CUBE * x * x * x));
    return s + x * s * (1.0f - s) * (2.0f * TANH_SCALE * (1.0f + 3.0f * TANH_CUBE * x * x));
}

INLINE float silu_slope_of(float x)
{
    float s = sigmoid_of(x);
    return s * (1.0f + x * (1.0f - s));
}

INLINE float erf_of(float x)
{
    float size = fabsf(x), s = x * x, p = 1.0f / 685440.0f;
    p = p * s - 1.0f / 75600.0f;
    p = p * s + 1.0f / 9360.0f;
    p = p * s - 1.0f / 1320.0f;
    p = p * s + 1.0f / 216.0f;
    p = p * s - 1.0f / 42.0f;
    p = p * s + 0.1f;
    p = p * s - 1.0f / 3.0f;
    float small = 1.12837917f * (p * s * x + x), large = 1.0f - 2.0f * exp_of(-s) * tail_of(1.41421356f * size);
    return copysignf(size < 0.8f ? small : large, x);
}

// Of so many chunks. Where there is no gradient, `of` is not looked at.
#define LOOP(name, kernel, takes, formula) \
    void IN_ISA(name)(const float *restrict from, const float *restrict of, const float *restrict numbers, float *restrict to, N chunks) \
    { \
        const float p = numbers[0], q = numbers[1], r = numbers[2]; \
        for (N i = 0; i < chunks; i++, from += CHUNK, of += takes[0] == 'g' ? CHUNK : 0, to += CHUNK) \
            SIMD for (N k = 0; k < CHUNK; k++) { \
                const float x = from[k], g = takes[0] == 'g' ? of[k] : 0; \
                (void)g, (void)p, (void)q, (void)r; \
                to[k] = formula; \
            } \
    }
POINTWISE(LOOP)
