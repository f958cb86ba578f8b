// What follows from the sizes and counts of a sliding kernel.
#include "kernel.h"

// Whether these make sense, and are not too many to be written down.
int complete_sliding(Sliding *s)
{
    N reach[3];
    s->cells = s->phases = s->taps = s->length = 1;
    s->longest = 0;
    s->slack = 64;
    for (int d = 2; d >= 0; d--) {
        reach[d] = (s->kernel[d] - 1) * s->dilation[d];
        if (s->count[d] < 1 || s->size[d] < 1 || s->kernel[d] < 1 || s->stride[d] < 1 || s->dilation[d] < 1 ||
            s->padding[d] < 0 || s->padding[d] > 1 << 20 || s->dilation[d] > 1 << 20 || s->stride[d] > 1 << 20)
            return 0;
        if (s->count[d] == 1 && s->stride[d] > reach[d] + 1) s->stride[d] = reach[d] + 1;  // a lone window stays
        s->grid[d] = s->count[d] + reach[d] / s->stride[d];
        s->step[d] = s->cells;
        s->length += (s->count[d] - 1) * s->cells;
        s->cells *= s->grid[d];
        s->phases *= s->stride[d];
        s->taps *= s->kernel[d];
        if (s->taps > MAX_TAPS || s->phases > MAX_TAPS) return 0;
    }
    int tap = 0;
    for (N z = 0; z <= reach[0]; z += s->dilation[0]) {
        for (N y = 0; y <= reach[1]; y += s->dilation[1]) {
            for (N x = 0; x <= reach[2]; x += s->dilation[2], tap++) {
                const N *stride = s->stride;
                s->phase[tap] = (int)((z % stride[0] * stride[1] + y % stride[1]) * stride[2] + x % stride[2]);
                s->shift[tap] = z / stride[0] * s->step[0] + y / stride[1] * s->step[1] + x / stride[2];
                if (s->shift[tap] > s->longest) s->longest = s->shift[tap];
            }
        }
    }
    return 1;
}
