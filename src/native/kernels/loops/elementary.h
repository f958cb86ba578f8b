// Elementary functions that compilers make vector code of: no branches, no calls. Right at zeros of both signs,
// denormals, infinities and NaN. To be right to 0.6 units of the last place they keep what is lost where sums are
// rounded, or are in double precision.
#ifndef TORCHLITE_ELEMENTARY_H
#define TORCHLITE_ELEMENTARY_H

#include "simd.h"

#define ROUNDING 12582912.0f  // 1.5 * 2^23: adding it leaves no room for a fraction
#define WIDE_ROUNDING 6755399441055744.0  // 1.5 * 2^52

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define FUSED(a, b, c) __builtin_fmaf(a, b, c)
#define WIDE_FUSED(a, b, c) __builtin_fma(a, b, c)
#else
#define FUSED(a, b, c) ((a) * (b) + (c))
#define WIDE_FUSED(a, b, c) ((a) * (b) + (c))
#endif

// Sets p to a polynomial of x, with its highest coefficient first.
#define POLYNOMIAL(p, x, ...) \
    { \
        static const __typeof__(p) coefficients[] = {__VA_ARGS__}; \
        p = coefficients[0]; \
        PRAGMA(GCC unroll 32) for (unsigned i_ = 1; i_ < sizeof coefficients / sizeof *coefficients; i_++) \
            p = p * (x) + coefficients[i_]; \
    }

// ---- exponentials

INLINE float power_of_two(int32_t n) { return with_bits((uint32_t)(n + 127) << 23); }  // for n from -127, which gives 0, to 127

// What x is beyond n log(2), for the nearest whole n; n with the bias of two powers is what `bits` end with.
INLINE float reduced(float x, float *lost, uint32_t *bits)
{
    const float bias = ROUNDING + 254.0f, held = bounded(x, -104.0f, 89.0f), shifted = held * 1.44269504f + bias;
    const float whole = shifted - bias, most = held - whole * 0.693359375f, r = FUSED(whole, 2.12194440e-4f, most);
    *lost = FUSED(whole, 2.12194440e-4f, most - r);
    *bits = bits_of(shifted);
    return r;
}

// x 2^n, in two factors, since 2^n alone may be too large, or too small, to be a normal number.
INLINE float times_power(float x, uint32_t bits)
{
    const uint32_t half = bits >> 1;
    return x * with_bits(half << 23) * with_bits((bits - half) << 23);
}

// (e^r - 1 - r) / r^2 for |r| up to log(2) / 2, to the last place of single precision.
#define EXP_SERIES(p, r) \
    POLYNOMIAL(p, r, 1.991991817e-4, 1.394721197e-3, 8.333261588e-3, 4.1666254e-2, 1.666666687e-1, 5.000000083e-1)

INLINE float exp_of(float x)
{
    uint32_t bits;
    float lost, p, r = reduced(x, &lost, &bits), sum = 1.0f + r;
    EXP_SERIES(p, r)
    return times_power(sum + (p * r * r + (lost * sum + ((1.0f - sum) + r))), bits);
}

// The same, rounded nearly always to the nearest: what r^2 / 2 loses is kept, too.
INLINE float nearest_exp_of(float x)
{
    uint32_t bits;
    float lost, p, r = reduced(x, &lost, &bits), half = 0.5f * r, near = FUSED(half, r, r), sum = 1.0f + near;
    POLYNOMIAL(p, r, 1.994349586e-4, 1.393512357e-3, 8.333208971e-3, 4.166646302e-2, 1.666666716e-1)
    return times_power(sum + (p * r * (r * r) + ((1.0f - sum) + near + (lost * sum + FUSED(half, r, r - near)))), bits);
}

INLINE float sigmoid_of(float x)
{
    const float power = exp_of(-x), sum = 1.0f + power, share = 1.0f / sum, lost = 1.0f - sum + power;
    return sum == INFINITY ? 0 : share - share * share * lost;
}

// e to the x is a power of 2, and that times what is returned.
INLINE double expm1_of_rest(double x, double *power)
{
    const double shifted = x * 1.44269504088896340736 + WIDE_ROUNDING, r = x - (shifted - WIDE_ROUNDING) * 0.69314718055994530942;
    double p;
    EXP_SERIES(p, r)
    *power = with_wide_bits((wide_bits_of(shifted) + 1023) << 52);
    return p * r * r + r;
}

INLINE float expm1_of(float x)
{
    double power;
    const double rest = expm1_of_rest(bounded(x, -30.0f, 89.0f), &power), made = power * rest + (power - 1.0);
    return fabsf(x) >= 0x1p-25f ? (float)made : x;
}

// 1 - 2 / (e^2|x| + 1), whose quotient is nearly that in single precision.
INLINE float tanh_of(float x)
{
    double power;
    const float size = fabsf(x);
    const double rest = expm1_of_rest(2.0f * (size > 10.0f ? 10.0f : size), &power), sum = power * rest + (power + 1.0);
    const double near = 1.0f / (float)sum, made = 1.0 - 2.0 * (near * (2.0 - sum * near));
    return size >= 0x1p-13f ? copysignf((float)made, x) : x;
}

// ---- logarithms

// (log(1 + f) - f + f^2 / 2) / f^3 for f from the square root of a half, less 1, to that of two, less 1.
#define LOG_SERIES(p, f) \
    POLYNOMIAL(p, f, 6.91554766e-2f, -1.178988223e-1f, 1.187293175e-1f, -1.23843328e-1f, 1.421866284e-1f, \
               -1.666925191e-1f, 2.000222636e-1f, -2.499998657e-1f, 3.333331044e-1f)

// log(x) + n log(2) + more for a normal x, of which the last is small.
INLINE float log_of_normal(float x, int32_t n, float more)
{
    const int32_t bits = bits_of(x) - 0x3f3504f3;
    const float f = with_bits((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
    const float square = f * (0.5f * f), most = f - square, left = ((f - most) - square) - FUSED(f, 0.5f * f, -square);
    const float whole = (float)((bits >> 23) + n), large = whole * 0.693359375f, sum = large + most, lost = (large - sum) + most;
    float p;
    LOG_SERIES(p, f)
    return sum + (f * f * f * p + (whole * -2.12194440e-4f + (left + lost + more)));
}

// log(x) for a normal x, to some 1e-9.
INLINE double wide_log_of_normal(float x)
{
    const int32_t bits = bits_of(x) - 0x3f3504f3;
    const float f = with_bits((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
    const double wide = f;
    float p;
    LOG_SERIES(p, f)
    return (bits >> 23) * 0.69314718055994530942 + (wide - wide * wide * (0.5 - wide * p));
}

// The logarithm of what need not be finite or positive.
INLINE float special_log(float x, float made)
{
    made = x > 0 ? made : NAN;
    made = x == 0 ? -INFINITY : made;
    return x == INFINITY ? x : made;
}

INLINE float log_of(float x)
{
    const int denormal = x < 0x1p-126f;
    return special_log(x, log_of_normal(denormal ? x * 0x1p25f : x, denormal ? -25 : 0, 0.0f));
}

// log(1 + x)
INLINE float log1p_of(float x)
{
    const float sum = 1.0f + x, large = x > 1.0f ? x : 1.0f, small = x > 1.0f ? 1.0f : x, lost = small - (sum - large);
    const float made = special_log(sum, log_of_normal(sum, 0, lost / sum));
    return fabsf(x) < 0x1p-24f ? x : made;
}

// log(1 + e^x)
INLINE float softplus_of(float x)
{
    const float u = exp_of(-fabsf(x)), sum = 1.0f + u, made = log_of_normal(sum, 0, (u - (sum - 1.0f)) / sum);
    return (x > 0 ? x : 0) + (u < 0x1p-24f ? u : made);
}

// ---- sine and cosine

// The sine of x + shift pi, for x within ANGLES: that of an angle up to pi / 2, with the sign of the half turns that lie between.
INLINE float sine_of(float x, double shift)
{
    const double wide = x, shifted = wide * 0.31830988618379067154 + shift + WIDE_ROUNDING;
    const double turns = shifted - WIDE_ROUNDING - shift;
    const double r = wide - turns * 3.14159265346825122833 - turns * 1.215420101301238520295e-10, s = r * r;
    double p;
    POLYNOMIAL(p, s, -2.39084795889004593e-8, 2.7526578787582074e-6, -1.98408933999060579e-4, 8.33333131878823554e-3,
               -1.6666666631636072e-1)
    return (float)with_wide_bits(wide_bits_of(r * (1.0 + s * p)) ^ (int64_t)((uint64_t)wide_bits_of(shifted) << 63));
}

// ---- the normal distribution

// Its density over that at zero, e^(-x^2 / 2), to what rounding the square leaves; 0 where that would be denormal.
INLINE float bell_of(float x)
{
    const float square = x * x, held = square > 176.0f ? 176.0f : square;
    const float shifted = ROUNDING - held * 0.721347511f, f = -FUSED(held, 0.721347511f, shifted - ROUNDING);
    float p;
    POLYNOMIAL(p, f, 1.326472731e-3f, 9.671512991e-3f, 5.550733581e-2f, 2.402224243e-1f, 6.931470037e-1f, 1.0f)
    return p * power_of_two(bits_of(shifted) - bits_of(ROUNDING));
}

// What of it lies beyond |x|, over its density there, of t = 1 / (1 + 0.21 |x|); relative error 2e-8 for x up to 15, from
// where on the density is 0.
#define TAIL_SERIES(p, t) \
    POLYNOMIAL(p, (t) - 0.625f, -0.0708896045f, -0.0746393641f, 0.126509937f, 0.457573933f, 0.720759799f, 0.774183302f, \
               0.628688787f, 0.400736888f, 0.202595421f) \
    p *= (t);
INLINE float tail_of(float size)
{
    const float t = 1.0f / (1.0f + 0.21f * size);
    float p;
    TAIL_SERIES(p, t)
    return p;
}

INLINE float erf_of(float x)
{
    const float size = fabsf(x), s = x * x;
    const double wide = x, square = wide * wide;
    float p;
    double tail, power;
    POLYNOMIAL(p, s, -8.6478718e-8f, 1.436865063e-6f, -1.459241467e-5f, 1.20225013e-4f, -8.546301111e-4f, 5.22390102e-3f,
               -2.686615394e-2f)
    const double share = ((p * square + 1.128379149e-1) * square - 3.76126389e-1) * square + 1.283791671e-1;
    const double sum = 1.0 + 0.29698484809834996 * bounded(size, 0.0f, 10.0f), near = 1.0f / (float)sum;
    const double t = near * (2.0 - sum * near);
    TAIL_SERIES(tail, t)
    const double rest = expm1_of_rest(square > 100.0 ? -100.0 : -square, &power);
    return copysignf((float)(size < 1.0f ? share * wide + wide : 1.0 - 2.0 * power * (rest + 1.0) * tail), x);
}

// ---- in double precision

INLINE double wide_exp_of_sum(double x, double more)
{
    x = x < -746.0 ? -746.0 : x > 710.0 ? 710.0 : x;
    const double whole = x * 1.44269504088896340736 + WIDE_ROUNDING - WIDE_ROUNDING;
    const double r = x - whole * 0.6931471803691238164902 + (more - whole * 1.908214929270587816144e-10);
    const double half = 0.5 * whole + WIDE_ROUNDING, other = whole - (half - WIDE_ROUNDING) + WIDE_ROUNDING;
    double p;
    POLYNOMIAL(p, r, 2.511797825290669097e-8, 2.7631413750086696891e-7, 2.7557215933544949707e-6,
               2.4801489590751109004e-5, 1.9841269917791511633e-4, 1.3888888947330977755e-3, 8.333333333307018045e-3,
               4.1666666666514324028e-2, 1.6666666666666699356e-1, 5.0000000000000128568e-1)
    const double made = 1.0 + (r + p * r * r);
    return made * with_wide_bits((wide_bits_of(half) + 1023) << 52) * with_wide_bits((wide_bits_of(other) + 1023) << 52);
}

INLINE double wide_bell_of(double x)
{
    x = x < -39.0 ? -39.0 : x > 39.0 ? 39.0 : x;
    const double half = 0.5 * x, square = x * half;
    return wide_exp_of_sum(-square, -WIDE_FUSED(x, half, -square));
}

INLINE double wide_tail_of(double size)
{
    const double t = 1.0 / (1.0 + 0.21 * size), v = 2.0 * t - 1.0;
    double p;
    POLYNOMIAL(p, v, -1.8390803345501881602e-11, -4.6203111506647730447e-10, 2.0433609987230203647e-10,
               5.0737971773154971097e-9, -2.1314251473407592617e-9, -3.4667078500186090682e-8, 1.7050172873726065447e-8,
               2.1748180529023892177e-7, -8.416432389832185501e-8, -1.4546268460906331338e-6, -1.7257598206145367818e-7,
               1.034318027601730024e-5, 1.2748291534496472741e-5, -6.4848402790263379144e-5, -2.3861172894253955256e-4,
               1.4697032143058916937e-6, 2.4861678376626777581e-3, 1.08063209809330936e-2, 2.9275254908698819788e-2,
               5.9980415997172035857e-2, 9.9376605909801012933e-2, 1.3737862629939758777e-1, 1.6097701585900887653e-1)
    return t * p;
}

INLINE double wide_erf_of(double x)
{
    const double size = fabs(x), s = x * x;
    double p;
    POLYNOMIAL(p, s, -7.80118959463027271e-10, 1.3722975394538398432e-8, -1.6209175371573929437e-7,
               1.6447517555638453503e-6, -1.4924744648515851887e-5, 1.2055295319422210596e-4, -8.5483259896490764883e-4,
               5.2239776074221829614e-3, -2.686617064327602047e-2, 1.1283791670945251699e-1, -3.7612638903183546583e-1,
               1.2837916709551256679e-1)
    const double small = p * x + x, root = 1.41421356237309504880 * size;
    return copysign(size < 1.0 ? small : 1.0 - 2.0 * wide_bell_of(root) * wide_tail_of(root), x);
}

#endif
