// What follows from the sizes and counts of a sliding kernel.
#include "kernel.h"

enum { FARTHEST = 1 << 20 };
static const N LARGEST = (N)1 << 38;  // numbers in the phases of an image; so products of sizes stay far below 64 bits

// Whether what a call has to say about the way of sliding makes sense, and can be reckoned with.
int is_sensible(const Sliding *s)
{
    for (int d = 0; d < 3; d++)
        if (s->kernel[d] < 1 || s->kernel[d] > MAX_TAPS || s->stride[d] < 1 || s->stride[d] > FARTHEST ||
            s->dilation[d] < 1 || s->dilation[d] > FARTHEST || s->padding[d] < 0 || s->padding[d] > FARTHEST)
            return 0;
    return 1;
}

// Whether these make sense, and are not too many to be written down.
int complete_sliding(Sliding *s)
{
    N reach[3], room = LARGEST / (s->groups * (s->in + s->out));
    s->cells = s->phases = s->taps = s->length = 1;
    s->longest = 0;
    s->slack = 64;
    for (int d = 2; d >= 0; d--) {
        reach[d] = (s->kernel[d] - 1) * s->dilation[d];
        if (s->count[d] < 1 || s->size[d] < 1) return 0;
        if (s->count[d] == 1 && s->stride[d] > reach[d] + 1) s->stride[d] = reach[d] + 1;  // a lone window stays
        s->grid[d] = s->count[d] + reach[d] / s->stride[d];
        room /= s->grid[d] * s->stride[d];
        if (!room) return 0;
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
