// The sizes of recurrent layers and of attention.
#ifndef TORCHLITE_SIZES_H
#define TORCHLITE_SIZES_H

#include <stddef.h>

typedef struct { ptrdiff_t length, batch, features, size, gates; int cell, reverse; } Recurrence;

typedef struct {
    ptrdiff_t heads, count;  // of an element of the batch, and of all
    ptrdiff_t queries, keys, features, values;
    ptrdiff_t of_query[4], of_key[4], of_value[4], of_result[4], of_gradient[4];  // strides
    float scale;
    int causal;
} Attention;

#endif
