// The sizes of a recurrent layer.
#ifndef TORCHLITE_RECURRENCE_H
#define TORCHLITE_RECURRENCE_H

#include <stddef.h>

typedef struct { ptrdiff_t length, batch, features, size, gates; int cell, reverse; } Recurrence;

#endif
