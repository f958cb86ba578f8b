// Activations and their gradients.
#include "simd.h"

#define DENSITY 0.398942280f  // of the normal distribution, at zero
#define TANH_SCALE 0.797884561f
#define TANH_CUBE 0.044715f

#define UNARY(name, formula) \
    void IN_ISA(name)(const float *restrict from, float *restrict to, N n) \
    { \
        SIMD for (N i = 0; i < n; i++) { \
            float x = from[i]; \
            to[i] = formula; \
        } \
    }

// The gradient `of` what came out, times the slope where `from` is.
#define SLOPE(name, formula) \
    void IN_ISA(name)(const float *restrict of, const float *restrict from, float *restrict to, N n) \
    { \
        SIMD for (N i = 0; i < n; i++) { \
            float g = of[i], x = from[i]; \
            to[i] = formula; \
        } \
    }

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

UNARY(relu, x < 0 ? 0 : x)
UNARY(sigmoid, sigmoid_of(x))
UNARY(silu, x / (1.0f + exp_of(-x)))
UNARY(gelu, gelu_of(x))
UNARY(gelu_tanh, gelu_tanh_of(x))
SLOPE(relu_slope, x <= 0 ? 0 : g)
SLOPE(silu_slope, g * silu_slope_of(x))
SLOPE(gelu_slope, g * gelu_slope_of(x))
SLOPE(gelu_tanh_slope, g * gelu_tanh_slope_of(x))
