// The sizes of recurrent layers, of sums of rows, of products, of attention, and of images that are sampled.
#ifndef TORCHLITE_SIZES_H
#define TORCHLITE_SIZES_H

#include <stddef.h>
#include <stdint.h>

typedef struct { ptrdiff_t length, batch, features, size, gates, first, after; int cell, reverse; } Recurrence;  // of a batch's elements, those from first on

typedef struct {
    ptrdiff_t heads, count, first, after;  // of an element of the batch, of all, and which of them are at hand
    ptrdiff_t queries, keys, features, values;
    ptrdiff_t of_query[4], of_key[4], of_value[4], of_result[4], of_gradient[4];  // strides
    ptrdiff_t of_mask[4];
    float scale;
    int causal;
} Attention;

// Of `size` elements, those that each of n results is a sum of: from starts[i] to starts[i + 1] among places and weights,
// which are all 1 if NULL. Where each result is one element, `runs` tells of those that follow each other, if not 0.
typedef struct {
    ptrdiff_t size, n;
    const int64_t *starts, *places;
    const float *weights;
    ptrdiff_t runs;
    const int64_t *run_starts, *run_places;
} Taps;

// Sums of rows of n numbers: row from_at[i] of `size` ones (or row i, if NULL), times a weight if there are any, is added to
// row to_at[i] of `results`; but where `named` says `never`.
typedef struct {
    const float *from, *weights;
    const int64_t *from_at, *to_at, *named;
    float *to;
    ptrdiff_t size, results, count, n;
    int64_t never;
} RowSums;

// The product of a (rows, n), whose numbers lie so far from each other down and along, and b (n, columns), plus a number for
// each row, if there are such, and what is there, if it is added. Rows of b are so far `apart` and those of the result
// `next` numbers: what follows them in memory may be read, and written.
enum { BLOCK_ROWS = 8 };  // which a piece of the work takes
typedef struct {
    const float *a, *b, *bias;
    float *to;
    ptrdiff_t rows, n, columns, down, along, apart, next;
    int added;
} Product;

typedef struct { ptrdiff_t images, channels, height, width, points, padding; int corners; } Grid;

#endif
