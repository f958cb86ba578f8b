// Sums, of parts in single precision and of those in double.
#include "simd.h"

void IN_ISA(all_finite)(const float *restrict x, N n, int *restrict finite)
{
    int32_t wrong = 0;
    _Pragma("omp simd reduction(| : wrong)") for (N i = 0; i < n; i++)
        wrong |= (bits_of(x[i]) & 0x7f800000) == 0x7f800000;
    *finite = !wrong;
}

// (first, keep, last) to (keep).
void IN_ISA(sum_of_ends)(const float *restrict x, float *restrict y, N first, N keep, N last)
{
    for (N k = 0; k < keep; k++) {
        double total = 0;
        for (N f = 0; f < first; f++) {
            const float *row = x + (f * keep + k) * last;
            double sum;
            SUM_IN_PARTS(sum, last, row[i])
            total += sum;
        }
        y[k] = (float)total;
    }
}
