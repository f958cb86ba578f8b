// Sums of products in registers: a few results times a few vectors of neighbouring numbers.
#ifndef TORCHLITE_PRODUCT_H
#define TORCHLITE_PRODUCT_H

#include "simd.h"

#if defined(__AVX512F__)
enum { LANES = 16, OUT = 8, WIDE = 3, ROWS = 6 };
#elif defined(__AVX__)
enum { LANES = 8, OUT = 4, WIDE = 3, ROWS = 3 };
#else
enum { LANES = 4, OUT = 4, WIDE = 3, ROWS = 3 };
#endif

enum { SOME = 72 };  // products that are added up one after the other

// The next loop's rounds are written out, so that their totals stay in registers.
#ifdef SMALL
#define ROUNDS
#else
#define ROUNDS _Pragma("GCC unroll 16")
#endif

typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

// Where the taps read, from the first cell on, in channels `plane` numbers apart.
typedef struct {
    const float *from;
    N plane, channels, taps, length;
    const N *shifts;
} Source;

// Of how many channels the next block is, of so many that are left.
INLINE int block_of(N left) { return left >= OUT ? OUT : left >= 4 ? 4 : left >= 2 ? 2 : 1; }

// Rows of n numbers, which lie so far from each other down and along, to factors: columns (n, outs).
void IN_ISA(turn)(const float *rows, N down, N along, N n, float *columns, int outs);

// For a block of `outs` results, `apart` from each other: sums over channels and taps, a stretch at a time; of what is there,
// where they are `added`, and else of a bias. What lies after a result within a stretch is overwritten.
void IN_ISA(correlate)(const Source *s, const float *factors, const float *bias, int added, float *to, N apart, int outs);

#endif
