// Batch normalization: images (n, channels, size), of which some channels; where these are of one number each, along rows of
// them.
#include "simd.h"

void IN_ISA(channel_statistics)(const float *restrict x, double *restrict mean, double *restrict var, N n, N channels,
                                N size, N first, N after)
{
    if (size == 1) {
        for (N c = first; c < after; c++) mean[c] = var[c] = 0;
        for (N i = 0; i < n; i++) SIMD for (N c = first; c < after; c++) mean[c] += x[i * channels + c];
        for (N c = first; c < after; c++) mean[c] /= n;
        for (N i = 0; i < n; i++)
            SIMD for (N c = first; c < after; c++) var[c] += (x[i * channels + c] - mean[c]) * (x[i * channels + c] - mean[c]);
        for (N c = first; c < after; c++) var[c] /= n;
        return;
    }
    for (N c = first; c < after; c++) {
        double sum = 0, squares = 0, part;
        for (N i = 0; i < n; i++) {
            const float *row = x + (i * channels + c) * size;
            WIDE_SUM(part, size, row[i])
            sum += part;
        }
        const double m = sum / (n * size);
        for (N k = 0; k < n; k++) {
            const float *row = x + (k * channels + c) * size;
            WIDE_SUM(part, size, (row[i] - m) * (row[i] - m))
            squares += part;
        }
        mean[c] = m;
        var[c] = squares / (n * size);
    }
}

// (x - mean) * factor + shift
void IN_ISA(channel_affine)(const float *restrict x, float *restrict y, const float *restrict mean,
                            const float *restrict factor, const float *restrict shift, N n, N channels, N size, N first,
                            N after)
{
    for (N i = 0; i < n; i++, x += channels * size, y += channels * size) {
        if (size == 1) SIMD for (N c = first; c < after; c++) y[c] = (x[c] - mean[c]) * factor[c] + shift[c];
        else for (N c = first; c < after; c++) {
            const float m = mean[c], f = factor[c], b = shift[c];
            SIMD for (N k = c * size; k < (c + 1) * size; k++) y[k] = (x[k] - m) * f + b;
        }
    }
}

// The sums of a gradient, and of it times how far the image is from its mean.
void IN_ISA(channel_sums)(const float *restrict g, const float *restrict x, const float *restrict mean,
                          double *restrict total, double *restrict along, N n, N channels, N size, N first, N after)
{
    for (N c = first; c < after; c++) total[c] = along[c] = 0;
    for (N i = 0; size == 1 && i < n; i++, g += channels, x += channels)
        SIMD for (N c = first; c < after; c++) {
            total[c] += g[c];
            along[c] += (double)g[c] * (x[c] - mean[c]);
        }
    for (N c = first; size > 1 && c < after; c++) {
        float m = mean[c];
        for (N k = 0; k < n; k++) {
            const float *of = g + (k * channels + c) * size, *row = x + (k * channels + c) * size;
            double sum = 0, far = 0;
            PRAGMA(omp simd reduction(+ : sum, far)) for (N i = 0; i < size; i++) {
                sum += of[i];
                far += of[i] * (row[i] - m);
            }
            total[c] += sum;
            along[c] += far;
        }
    }
}

// factor * g - a - (x - mean) * b
void IN_ISA(channel_slope)(const float *restrict g, const float *restrict x, float *restrict to,
                           const float *restrict mean, const float *restrict factor, const float *restrict a,
                           const float *restrict b, N n, N channels, N size, N first, N after)
{
    for (N i = 0; i < n; i++, g += channels * size, x += channels * size, to += channels * size) {
        if (size == 1) SIMD for (N c = first; c < after; c++) to[c] = factor[c] * g[c] - a[c] - (x[c] - mean[c]) * b[c];
        else for (N c = first; c < after; c++) {
            const float m = mean[c], f = factor[c], p = a[c], q = b[c];
            SIMD for (N k = c * size; k < (c + 1) * size; k++) to[k] = f * g[k] - p - (x[k] - m) * q;
        }
    }
}
