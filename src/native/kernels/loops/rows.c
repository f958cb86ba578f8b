// Softmax and its logarithm, normalization: each row by itself. Sums are in double precision.
#include <string.h>

#include "elementary.h"

APART float largest(const float *x, N n)
{
    float m = -INFINITY;
    _Pragma("omp simd reduction(max : m)") for (N i = 0; i < n; i++) m = x[i] > m ? x[i] : m;
    return m;
}

// Of doubles.
void IN_ISA(wide_softmax)(const double *restrict x, double *restrict y, N rows, N n, int logarithm)
{
    for (N r = 0; r < rows; r++, x += n, y += n) {
        double m = -INFINITY, sum = 0;
        _Pragma("omp simd reduction(max : m)") for (N i = 0; i < n; i++) m = x[i] > m ? x[i] : m;
        TOTAL(sum) for (N i = 0; i < n; i++) {
            const double e = wide_exp_of_sum(x[i] - m, 0);
            y[i] = e;
            sum += e;
        }
        const double log_sum = log(sum);
        if (logarithm) SIMD for (N i = 0; i < n; i++) y[i] = x[i] - m - log_sum;
        else SIMD for (N i = 0; i < n; i++) y[i] /= sum;
    }
}

void IN_ISA(softmax)(const float *restrict x, float *restrict y, N rows, N n)
{
    for (N r = 0; r < rows; r++, x += n, y += n) {
        float m = largest(x, n), sum = 0;
        TOTAL(sum) for (N i = 0; i < n; i++) {
            float e = exp_of(x[i] - m);
            y[i] = e;
            sum += e;
        }
        SIMD for (N i = 0; i < n; i++) y[i] /= sum;
    }
}

APART float log_of_sum(const float *x, float m, N n)
{
    double sum;
    WIDE_SUM(sum, n, exp_of(x[i] - m))
    return (float)log(sum);
}

void IN_ISA(log_softmax)(const float *restrict x, float *restrict y, N rows, N n)
{
    for (N r = 0; r < rows; r++, x += n, y += n) {
        float m = largest(x, n), log_sum = log_of_sum(x, m, n);
        SIMD for (N i = 0; i < n; i++) y[i] = x[i] - m - log_sum;
    }
}

void IN_ISA(logsumexp)(const float *restrict x, float *restrict y, N rows, N n)
{
    for (N r = 0; r < rows; r++, x += n) {
        float m = largest(x, n);
        y[r] = (isfinite(m) ? m : 0) + log_of_sum(x, isfinite(m) ? m : 0, n);
    }
}

void IN_ISA(softmax_slope)(const float *restrict g, const float *restrict y, float *restrict to, N rows, N n)
{
    for (N r = 0; r < rows; r++, g += n, y += n, to += n) {
        double total;
        WIDE_SUM(total, n, g[i] * y[i])
        const float sum = (float)total;
        SIMD for (N i = 0; i < n; i++) to[i] = y[i] * (g[i] - sum);
    }
}

void IN_ISA(log_softmax_slope)(const float *restrict g, const float *restrict y, float *restrict to, N rows, N n)
{
    for (N r = 0; r < rows; r++, g += n, y += n, to += n) {
        double total;
        WIDE_SUM(total, n, g[i])
        const float sum = (float)total;
        SIMD for (N i = 0; i < n; i++) to[i] = g[i] - exp_of(y[i]) * sum;
    }
}

void IN_ISA(layer_norm)(const float *restrict x, const float *restrict w, const float *restrict b, float *restrict y,
                        float *restrict mean, float *restrict rstd, N rows, N n, double eps)
{
    for (N r = 0; r < rows; r++, x += n, y += n) {
        double sum, squares;
        WIDE_SUM(sum, n, x[i])
        float m = (float)(sum / n);
        WIDE_SUM(squares, n, (x[i] - m) * (x[i] - m))
        float v = (float)(1.0 / sqrt(squares / n + eps));
        mean[r] = m;
        rstd[r] = v;
        if (w && b) {
            SIMD for (N i = 0; i < n; i++) y[i] = (x[i] - m) * v * w[i] + b[i];
        } else if (w) {
            SIMD for (N i = 0; i < n; i++) y[i] = (x[i] - m) * v * w[i];
        } else {
            SIMD for (N i = 0; i < n; i++) y[i] = (x[i] - m) * v;
        }
    }
}

// To the input; w may be NULL.
void IN_ISA(layer_norm_slope)(const float *restrict g, const float *restrict x, const float *restrict mean,
                              const float *restrict rstd, const float *restrict w, float *restrict dx, N rows, N n)
{
    for (N r = 0; r < rows; r++, g += n, x += n, dx += n) {
        float m = mean[r], v = rstd[r];
        double sum = 0, along = 0;
        float left = 0;  // what the mean was rounded by
        PRAGMA(omp simd reduction(+ : sum, along, left)) for (N i = 0; i < n; i++) {
            const float share = w ? g[i] * w[i] : g[i], far = x[i] - m;
            sum += share;
            along += share * far;
            left += far;
        }
        left /= n;
        double slope = (along - left * sum) / n * v * v;
        float a = (float)(sum / n - left * slope), c = (float)slope;
        if (w) {
            SIMD for (N i = 0; i < n; i++) dx[i] = v * (g[i] * w[i] - a - (x[i] - m) * c);
        } else {
            SIMD for (N i = 0; i < n; i++) dx[i] = v * (g[i] - a - (x[i] - m) * c);
        }
    }
}

// To the weight and the bias, for n of each: sums over a few rows, in single precision.
void IN_ISA(layer_norm_sums)(const float *restrict g, const float *restrict x, const float *restrict mean,
                             const float *restrict rstd, float *restrict to, N rows, N n)
{
    float *restrict w = to, *restrict b = to + n;
    memset(to, 0, 2 * n * sizeof *to);
    for (N r = 0; r < rows; r++, g += n, x += n) {
        float m = mean[r], v = rstd[r], left = 0;
        TOTAL(left) for (N i = 0; i < n; i++) left += x[i] - m;
        float k = left / (float)n * v;
        SIMD for (N i = 0; i < n; i++) {
            w[i] += g[i] * ((x[i] - m) * v - k);
            b[i] += g[i];
        }
    }
}
