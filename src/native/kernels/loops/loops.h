// The loops of the kernels: on bare memory, compiled once for each instruction set. ISA is the set's name.
#ifndef TORCHLITE_LOOPS_H
#define TORCHLITE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "losses.h"
#include "pointwise.h"
#include "sizes.h"
#include "sliding.h"
#include "steps.h"

typedef ptrdiff_t N;

// clang-format off
// Those that wait, for memory or for each other: the widest vectors do not help them. A set may have them from a narrower one.
#define WAITING(X) \
    /* places.c */ \
    X(all_below, (const int64_t *at, N n, N size, int *fine)) \
    X(take_rows, (const char *from, N size, const int64_t *at, char *to, N count, N bytes)) \
    X(add_rows, (const RowSums *s)) \
    X(gather, (const float *from, const int64_t *at, float *to, N first, N size, N n, N last, int *fine)) \
    X(scatter, (const float *from, const int64_t *at, float *to, N first, N size, N n, N last, int add)) \
    /* where.c */ \
    X(choose, (const uint8_t *mask, const void *x, const void *y, void *to, N n, N item)) \
    /* running.c */ \
    X(cumsum, (const float *x, float *y, N first, N n, N last, N from, N after)) \
    X(cumprod, (const float *x, float *y, N first, N n, N last, N from, N after)) \
    X(logcumsumexp, (const float *x, float *y, N first, N n, N last, N from, N after)) \
    X(products, (const float *x, float *y, N rows, N n)) \
    /* pool.c */ \
    X(max_pool, (const Sliding *s, const float *x, float *best, uint8_t *taps, float *room, N images)) \
    X(max_pool_slope, (const Sliding *s, const float *g, const uint8_t *taps, float *to, N images)) \
    /* sample.c */ \
    X(map_along, (const Taps *t, const float *x, float *y, N first, N last)) \
    X(map_planes, (const Taps *rows, const Taps *columns, const float *x, float *y, N first)) \
    X(grid_sample, (const Grid *s, const float *x, const float *grid, float *y, N first, N last)) \
    X(grid_sample_slope, (const Grid *s, const float *g, const float *x, const float *grid, float *to_x, float *to_grid, \
                          N first, N last)) \
    /* sparse.c: (rows, columns or places, of 64 bits or 32), values, a dense matrix (size, width) */ \
    X(sparse_rows, (const void *at, const void *columns, int wide, const float *values, N count, const float *dense, \
        N size, N width, float *to, N rows, N first, N last, int *fine)) \
    X(sparse_places, (const void *at, const void *columns, int wide, const float *values, N count, const float *dense, \
        N size, N width, float *to, N rows, int fused, int *fine)) \
    X(sparse_rows_double, (const void *at, const void *columns, int wide, const double *values, N count, const double *dense, \
        N size, N width, double *to, N rows, N first, N last, int *fine)) \
    X(sparse_places_double, (const void *at, const void *columns, int wide, const double *values, N count, const double *dense, \
        N size, N width, double *to, N rows, int fused, int *fine)) \
    X(sparse_samples, (const void *at, const void *columns, int wide, N count, const float *a, N rows, const float *b, \
        N size, N n, float *to, int *fine)) \
    X(sparse_samples_double, (const void *at, const void *columns, int wide, N count, const double *a, N rows, const double *b, \
        N size, N n, double *to, int *fine))

// The others.
#define BUSY(X) \
    /* halves.c */ \
    X(of_half, (const void *from, void *to, N n)) \
    X(to_half, (const void *from, void *to, N n)) \
    X(of_brain, (const void *from, void *to, N n)) \
    X(to_brain, (const void *from, void *to, N n)) \
    X(of_double, (const void *from, void *to, N n)) \
    X(to_double, (const void *from, void *to, N n)) \
    /* rows.c: each row of n numbers by itself */ \
    X(softmax, (const float *x, float *y, N rows, N n)) \
    X(wide_softmax, (const double *x, double *y, N rows, N n, int logarithm)) \
    X(log_softmax, (const float *x, float *y, N rows, N n)) \
    X(softmax_slope, (const float *g, const float *y, float *to, N rows, N n)) \
    X(log_softmax_slope, (const float *g, const float *y, float *to, N rows, N n)) \
    X(logsumexp, (const float *x, float *y, N rows, N n)) \
    X(layer_norm, (const float *x, const float *w, const float *b, float *y, float *mean, float *rstd, N rows, N n, \
                   double eps)) \
    X(layer_norm_slope, (const float *g, const float *x, const float *mean, const float *rstd, const float *w, \
                         float *dx, N rows, N n)) \
    X(layer_norm_sums, (const float *g, const float *x, const float *mean, const float *rstd, float *to, N rows, N n)) \
    /* columns.c: along the middle of (first, n, last) */ \
    X(softmax_between, (const float *x, float *y, N first, N n, N last, int logarithm)) \
    X(softmax_slope_between, (const float *g, const float *y, float *to, N first, N n, N last, int logarithm)) \
    /* sums.c */ \
    X(all_within, (const float *x, N n, float limit, int *within)) \
    X(add_up, (const float *x, int squared, double *total, N n)) \
    X(add_to, (const float *x, float *y, N n)) \
    X(sum_of_columns, (const float *x, const float *weights, int squared, float *y, N rows, N n, N first, N after)) \
    X(extremes, (const float *x, int flip, float *y, N rows, N n)) \
    X(sum_of_ends, (const float *x, int squared, float *y, N first, N keep, N last)) \
    /* channels.c: images (n, channels, size), of which some channels */ \
    X(channel_statistics, (const float *x, double *mean, double *var, N n, N channels, N size, N first, N after)) \
    X(channel_affine, (const float *x, float *y, const float *mean, const float *factor, const float *shift, N n, \
                       N channels, N size, N first, N after)) \
    X(channel_sums, (const float *g, const float *x, const float *mean, double *total, double *along, N n, N channels, \
                     N size, N first, N after)) \
    X(channel_slope, (const float *g, const float *x, float *to, const float *mean, const float *factor, \
                      const float *a, const float *b, N n, N channels, N size, N first, N after)) \
    /* multiply.c */ \
    X(multiply, (const Product *p, N from, N to)) \
    /* losses.c */ \
    X(scale, (float *x, const float *by, float factor, N n)) \
    /* recurrent.c */ \
    X(recurrent, (const Recurrence *r, const float *x, float *h, float *c, const float *of_input, \
                  const float *of_state, const float *bias, float *gates, float *hidden, float *more, float *room)) \
    X(recurrent_slope, (const Recurrence *r, const float *g, const float *w, const float *gates, const float *hidden, \
                        const float *more, const float *before, float *to_h, float *to_c, float *rows, \
                        float *room)) \
    /* attention.c */ \
    X(attention, (const Attention *s, const float *q, const float *k, const float *v, const float *mask, \
                  const uint8_t *seen, float *y, float *kept, float *room)) \
    X(attention_slope, (const Attention *s, const float *g, const float *q, const float *k, const float *v, \
                        const float *y, const float *kept, float *dq, float *dk, float *dv, float *room)) \
    /* random.c */ \
    X(unit_floats, (const uint32_t *words, float *to, N n)) \
    X(unit_doubles, (const uint32_t *words, double *to, N n)) \
    X(ones_below, (const uint32_t *words, float *to, N n, double limit)) \
    X(multiply_add, (const float *x, float *to, N n, float scale, float shift)) \
    X(normals, (const uint32_t *words, float *to, N blocks, float mean, float std)) \
    /* conv.c */ \
    X(conv, (const Sliding *s, const float *x, const float *w, const float *bias, float *y, float *room)) \
    X(conv_to_images, (const Sliding *s, const float *g, const float *w, const float *bias, float *x, float *room)) \
    X(conv_to_many_weights, (const Sliding *s, const float *g, const float *x, float *dw, float *room, N width)) \
    X(conv_to_weights, (const Sliding *s, const float *g, const float *x, float *dw, float *room, N together))
// clang-format on

#define LOOPS(X) BUSY(X) WAITING(X)

// The other tables' loops, each told to a macro.
#define POINTWISE_PARAMETERS (const void *x, const void *g, const float *p, void *y, N chunks)
#define FIELD(name, parameters) void (*name) parameters;
#define POINTWISE_FIELD(name, kernel, takes, formula) FIELD(name, POINTWISE_PARAMETERS)
#define STEP_PARAMETERS (float *p, const float *g, float *a, float *b, const float *numbers, N n)
#define STEP_FIELD(name, kernel, states, takes, change) FIELD(name, STEP_PARAMETERS)
#define LOSS_PARAMETERS (const float *x, const float *t, float p, float *y, N chunks)
#define LOSS_FIELD(name, kernel, takes, loss, slope) FIELD(name, LOSS_PARAMETERS) FIELD(name##_slope, LOSS_PARAMETERS)
typedef struct {
    LOOPS(FIELD) POINTWISE(POINTWISE_FIELD, POINTWISE_FIELD) STEPS(STEP_FIELD) LOSSES(LOSS_FIELD)
    int lanes;  // the floats of a vector in products
} Loops;

// The name of something as it is in this instruction set.
#define JOIN_(name, isa) name##_##isa
#define JOIN(name, isa) JOIN_(name, isa)
#define IN_ISA(name) JOIN(name, ISA)

#ifdef ISA
#ifndef WAITING_ISA
#define WAITING_ISA ISA
#endif
#define DECLARE(name, parameters) void IN_ISA(name) parameters;
#define DECLARE_WAITING(name, parameters) void JOIN(name, WAITING_ISA) parameters;
#define DECLARE_POINTWISE(name, kernel, takes, formula) DECLARE(name, POINTWISE_PARAMETERS)
BUSY(DECLARE)
WAITING(DECLARE_WAITING)
POINTWISE(DECLARE_POINTWISE, DECLARE_POINTWISE)
#define DECLARE_STEP(name, kernel, states, takes, change) DECLARE(name, STEP_PARAMETERS)
STEPS(DECLARE_STEP)
#define DECLARE_LOSS(name, kernel, takes, loss, slope) DECLARE(name, LOSS_PARAMETERS) DECLARE(name##_slope, LOSS_PARAMETERS)
LOSSES(DECLARE_LOSS)
#endif

#define SIMD _Pragma("omp simd")  // the next loop's rounds do not depend on each other
#define TOTAL(sum) PRAGMA(omp simd reduction(+ : sum))  // but for a sum
#define PRAGMA(text) _Pragma(#text)

#endif
