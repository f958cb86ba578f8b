// Activations and their gradients, as the table has them.
#include "elementary.h"

#define DENSITY 0.398942280f  // of the normal distribution, at zero
#define TANH_SCALE 0.797884561f
#define TANH_CUBE 0.044715f

INLINE float gelu_of(float x)
{
    float beyond = bell_of(x) * tail_of(fabsf(x));
    return x * (x < 0 ? beyond : 1.0f - beyond);
}

INLINE float gelu_slope_of(float x)
{
    float bell = bell_of(x), beyond = bell * tail_of(fabsf(x));
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

INLINE float log_sigmoid_slope_of(float x)
{
    const float small = exp_of(-fabsf(x)), share = small / (1.0f + small);
    return x < 0 ? 1.0f - share : share;
}

INLINE float silu_slope_of(float x)
{
    const float small = exp_of(-fabsf(x)), share = small / (1.0f + small), rest = 1.0f - share;
    return x < 0 ? share * (1.0f + x * rest) : rest + x * rest * share;
}

INLINE float hypotenuse_of(float x, float y)
{
    const double one = x, other = y;
    const float made = (float)sqrt(one * one + other * other);
    return fabsf(x) == INFINITY || fabsf(y) == INFINITY ? INFINITY : made;  // also where the other is NaN
}

// The number that follows x on the way to y.
INLINE float next_to(float x, float y)
{
    const int32_t bits = bits_of(x), away = (y > x) == (x > 0) ? bits + 1 : bits - 1;
    const float first = copysignf(0x1p-149f, y), made = x == 0 ? first : with_bits(away);
    return x != x || y != y ? x + y : x == y ? y : made;
}

// log(e^x + e^y)
INLINE float log_of_sum(float x, float y)
{
    const float larger = x > y ? x : y, u = exp_of(x == y ? 0 : -fabsf(x - y)), sum = 1.0f + u;
    const float made = log_of_normal(sum, 0, (u - (sum - 1.0f)) / sum);
    return larger + (u < 0x1p-24f ? u : made);
}

INLINE double wide_gelu_of(double x)
{
    double beyond = wide_bell_of(x) * wide_tail_of(fabs(x));
    return x * (x < 0 ? beyond : 1.0 - beyond);
}

INLINE double wide_gelu_slope_of(double x)
{
    double bell = wide_bell_of(x), beyond = bell * wide_tail_of(fabs(x));
    return (x < 0 ? beyond : 1.0 - beyond) + x * bell * 0.39894228040143267794;
}

// Of so many chunks. Where there is no gradient, `of` is not looked at.
#define LOOP(type, name, takes, formula) \
    void IN_ISA(name)(const void *x_, const void *g_, const float *restrict numbers, void *y_, N chunks) \
    { \
        const float p = numbers[0], q = numbers[1], r = numbers[2]; \
        const type *restrict from = x_, *restrict of = g_; \
        type *restrict to = y_; \
        for (N i = 0; i < chunks; i++, from += CHUNK, of += takes[0] == 'g' ? CHUNK : 0, to += CHUNK) \
            SIMD for (N k = 0; k < CHUNK; k++) { \
                const type x = from[k], g = takes[0] == 'g' ? of[k] : 0; \
                (void)g, (void)p, (void)q, (void)r; \
                to[k] = formula; \
            } \
    }
#define NARROW(name, kernel, takes, formula) LOOP(float, name, takes, formula)
#define WIDE(name, kernel, takes, formula) LOOP(double, name, takes, formula)
POINTWISE(NARROW, WIDE)
