// How a kernel slides over images of up to three dimensions (of fewer, the first are 1).
//
// The padded image is split into phases, by the remainders of its coordinates modulo the stride. In a phase, flattened,
// what one tap of the kernel reads for all windows is one stretch of memory, with a few values between the rows that no
// window wants. Windows are numbered as cells of such a phase too.
#ifndef TORCHLITE_SLIDING_H
#define TORCHLITE_SLIDING_H

#include <stddef.h>

#define MAX_TAPS 128

typedef struct {
    ptrdiff_t images, groups, in, out;  // channels are those of a group
    ptrdiff_t size[3], count[3], kernel[3], stride[3], padding[3], dilation[3];
    ptrdiff_t grid[3], step[3];  // of one phase
    ptrdiff_t cells, phases, taps;
    ptrdiff_t length;  // from the first to the last window, in cells
    int phase[MAX_TAPS];  // in which each tap reads,
    ptrdiff_t shift[MAX_TAPS];  // and how far along
    ptrdiff_t longest;  // of the shifts
    ptrdiff_t slack;  // numbers that may be read or written after the last cell
} Sliding;

#endif
