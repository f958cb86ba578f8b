// Convolutions of many channels as products of matrices: columns.c.
#ifndef TORCHLITE_COLUMNS_H
#define TORCHLITE_COLUMNS_H

#include "kernel.h"

// Whether there are so many channels that products of matrices are quicker than the loops.
int is_for_columns(const Sliding *s);

// Each into an array that is there, that of weights full of zeros. Whether there was memory for it.
int correlate_by_columns(const Sliding *s, PyArrayObject *x, PyArrayObject *w, PyArrayObject *bias, PyArrayObject *y);
int spread_back_by_columns(const Sliding *s, PyArrayObject *g, PyArrayObject *w, PyArrayObject *x);
int weights_by_columns(const Sliding *s, PyArrayObject *g, PyArrayObject *x, PyArrayObject *dw);

#endif
