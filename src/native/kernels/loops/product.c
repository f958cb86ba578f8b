// Sums of products in registers: see product.h.
#include "product.h"

// One stretch of so many vectors.
INLINE void stretch(const Source *s, const float *factors, const float *bias, int added, float *to, N apart, N at,
                    const int outs, const int wide)
{
    Vector total[OUT][WIDE];
    const float *w = factors;
    for (int o = 0; o < outs; o++)
        for (int v = 0; v < wide; v++)
            total[o][v] = (Vector){0} + (bias ? bias[o] : 0);
    for (N c = 0; c < s->channels; c++) {
        const float *plane = s->from + c * s->plane + at;
        for (N t = 0; t < s->taps; t++, w += outs) {
            const Vector *x = (const Vector *)(plane + s->shifts[t]);
            for (int o = 0; o < outs; o++)
                for (int v = 0; v < wide; v++) total[o][v] += x[v] * w[o];
        }
    }
    for (int o = 0; o < outs; o++)
        for (int v = 0; v < wide; v++) {
            Vector *result = (Vector *)(to + o * apart + at) + v;
            if (added) *result += total[o][v];
            else *result = total[o][v];
        }
}

INLINE void stretches(const Source *s, const float *factors, const float *bias, int added, float *to, N apart, const int outs)
{
    N at = 0;
    for (; s->length - at > (outs == OUT ? 2 : 0) * LANES; at += WIDE * LANES)
        stretch(s, factors, bias, added, to, apart, at, outs, WIDE);
    if (outs == OUT && s->length - at > LANES) stretch(s, factors, bias, added, to, apart, at, outs, 2);
    else if (outs == OUT && s->length > at) stretch(s, factors, bias, added, to, apart, at, outs, 1);
}

// Sums of many products are made of those of some, which keeps more of their digits.
void IN_ISA(correlate)(const Source *all, const float *factors, const float *bias, int added, float *to, N apart, int outs)
{
    const N some = all->taps >= SOME ? 1 : SOME / (all->taps ? all->taps : 1);
    Source part = *all;
    for (N c = 0; c == 0 || c < all->channels; c += some) {
        const Source *s = &part;
        part.from = all->from + c * all->plane;
        part.channels = all->channels - c < some ? all->channels - c : some;
        switch (outs) {
#if defined(__AVX512F__)
        case 8: stretches(s, factors, bias, added, to, apart, 8); break;
#endif
        case 4: stretches(s, factors, bias, added, to, apart, 4); break;
        case 2: stretches(s, factors, bias, added, to, apart, 2); break;
        default: stretches(s, factors, bias, added, to, apart, 1);
        }
        factors += part.channels * all->taps * outs;
        bias = NULL;
        added = 1;
    }
}

INLINE void turn_rows(const float *restrict rows, N down, N along, N n, float *restrict columns, const int outs)
{
    for (N i = 0; i < n; i++)
        for (int o = 0; o < outs; o++) columns[i * outs + o] = rows[o * down + i * along];
}

void IN_ISA(turn)(const float *rows, N down, N along, N n, float *columns, int outs)
{
    if (outs == OUT && along == 1) turn_rows(rows, down, 1, n, columns, OUT);
    else if (outs == OUT && down == 1) turn_rows(rows, 1, along, n, columns, OUT);
    else turn_rows(rows, down, along, n, columns, outs);
}
