// Sums, means and running totals: see loops/sums.c.
#include <math.h>

#include "kernel.h"

// Marks the dimensions that are summed over: all for None, else those of an int or a tuple. Whether it is one of these.
static int marked(PyObject *axis, int ndim, int *over)
{
    for (int d = 0; d < ndim; d++) over[d] = axis == Py_None;
    if (axis == Py_None) return 1;
    int several = PyTuple_Check(axis);
    for (Py_ssize_t i = 0; i < (several ? PyTuple_GET_SIZE(axis) : 1); i++) {
        N d;
        if (!whole_number(several ? PyTuple_GET_ITEM(axis, i) : axis, &d) || d < -ndim || d >= ndim) return 0;
        if (over[d += d < 0 ? ndim : 0]) return 0;
        over[d] = 1;
    }
    return 1;
}

enum { FEW = 64, NARROW = 16, MOST = 1024 };  // fewer numbers, and so many at most, are added one after the other

enum { BLOCK = 1 << 15 };  // numbers that are added up by one thread, however many there are

typedef struct { const float *x; int squared; float *y; double *totals; N n, last; } Sum;

static void sum_share(void *work, N from, N to)
{
    const Sum *w = work;
    for (N b = from; w->totals && b < to; b++)
        loops->add_up(w->x + b * BLOCK, w->squared, w->totals + b, w->n - b * BLOCK < BLOCK ? w->n - b * BLOCK : BLOCK);
    if (!w->totals) loops->sum_of_ends(w->x + from * w->last, w->squared, w->y + from, 1, to - from, w->last);
}

enum { ABREAST = 64 };  // columns that are added up by one thread at least

typedef struct { const float *x, *weights; int squared; float *y; N rows, n; } Columns;

static void columns_share(void *work, N from, N to)
{
    const Columns *w = work;
    const N after = to * ABREAST < w->n ? to * ABREAST : w->n;
    loops->sum_of_columns(w->x, w->weights, w->squared, w->y, w->rows, w->n, from * ABREAST, after);
}

void sum_columns(const float *x, const float *weights, int squared, float *y, N rows, N n)
{
    Columns work = {x, weights, squared, y, rows, n};
    const N blocks = (n + ABREAST - 1) / ABREAST, least = least_of(rows * ABREAST), each = blocks / threads;
    WORK(rows * n, in_shares(columns_share, &work, blocks, each > least ? each : least));  // long rows are read faster
}

// Of all: by blocks, and then of these.
static int sum_of_all(PyArrayObject *x, int squared, float *y)
{
    const N n = PyArray_SIZE(x), blocks = (n + BLOCK - 1) / BLOCK;
    double total = 0, *totals = PyMem_Malloc((size_t)blocks * sizeof *totals);
    if (!totals) return 0;
    Sum work = {data_of(x), squared, y, totals, n};
    SHARED(sum_share, work, blocks, BLOCK);
    for (N b = 0; b < blocks; b++) total += totals[b];
    *y = (float)total;
    PyMem_Free(totals);
    return 1;
}

// The sum over dimensions that follow each other in memory: the last ones, the first ones, or all but some in between.
static PyArrayObject *summed(PyObject *const *a, int squared, N *each)
{
    PyArrayObject *x = floats(a[0]);
    int over[NPY_MAXDIMS], ndim = x ? PyArray_NDIM(x) : 0, first = 0, last = ndim, kept = 0;
    if (!x || PyArray_SIZE(x) < FEW || !PyBool_Check(a[2]) || !marked(a[1], ndim, over)) return NULL;
    if (a[1] == Py_None && !squared && PyArray_SIZE(x) <= MOST) return NULL;  // a dot product, as `total_of` has it
    while (first < ndim && over[first]) first++;
    while (last > first && over[last - 1]) last--;
    if (first == ndim) first = last = 0;  // all of them
    N before = product(PyArray_DIMS(x), first), between = product(PyArray_DIMS(x) + first, last - first);
    N after = product(PyArray_DIMS(x) + last, ndim - last);
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < ndim; d++) {
        if (d >= first && d < last && over[d]) return NULL;
        if (!over[d] || a[2] == Py_True) shape[kept++] = over[d] ? 1 : PyArray_DIM(x, d);
    }
    if (after < NARROW && between > 1 && (after > 1 || between < NARROW)) return NULL;
    *each = before * after;
    PyArrayObject *y = fresh(kept, shape);
    if (!y) return NULL;
    if (after == 1 && between > 1)
        sum_columns(data_of(x), NULL, squared, data_of(y), before, between);
    else if (PyArray_SIZE(y) == 1) {
        if (!sum_of_all(x, squared, data_of(y))) Py_CLEAR(y);
    } else if (before == 1) {
        Sum work = {data_of(x), squared, data_of(y), NULL, PyArray_SIZE(x), after};
        SHARED(sum_share, work, between, after);
    } else
        WORK(PyArray_SIZE(x), loops->sum_of_ends(data_of(x), squared, data_of(y), before, between, after));
    return y;
}

// The same of few numbers, over one dimension or all.
static PyArrayObject *few_summed(PyObject *const *a, int squared, N *each)
{
    PyArrayObject *x = floats(a[0]);
    int over[NPY_MAXDIMS], ndim = x ? PyArray_NDIM(x) : 0, at = 0, count = 0, kept = 0;
    if (!x || !PyArray_SIZE(x) || PyArray_SIZE(x) > MOST || !PyBool_Check(a[2]) || !marked(a[1], ndim, over)) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < ndim; d++) {
        if (over[d]) at = d, count++;
        if (!over[d] || a[2] == Py_True) shape[kept++] = over[d] ? 1 : PyArray_DIM(x, d);
    }
    if (count != 1 && count != ndim) return NULL;
    const int all = count == ndim;
    const N before = all ? 1 : product(PyArray_DIMS(x), at), n = *each = all ? PyArray_SIZE(x) : PyArray_DIM(x, at);
    const N after = all ? 1 : product(PyArray_DIMS(x) + at + 1, ndim - at - 1);
    PyArrayObject *y = fresh(kept, shape);
    for (N b = 0; y && b < before; b++)
        for (N k = 0; k < after; k++) {
            const float *from = data_of(x) + b * n * after + k;
            double total = 0;
            for (N i = 0; i < n; i++) total += squared ? from[i * after] * from[i * after] : from[i * after];
            data_of(y)[b * after + k] = (float)total;
        }
    return y;
}

typedef PyArrayObject *Summing(PyObject *const *a, int squared, N *each);

static PyObject *sum_by(Summing *summing, PyObject *const *a, Py_ssize_t count)
{
    N each;
    return count == 3 ? (PyObject *)summing(a, 0, &each) : NULL;
}

static PyObject *mean_by(Summing *summing, PyObject *const *a, Py_ssize_t count)
{
    N each;
    PyArrayObject *y = count == 3 ? summing(a, 0, &each) : NULL;
    for (N i = 0; y && i < PyArray_SIZE(y); i++) data_of(y)[i] /= (float)each;
    return (PyObject *)y;
}

// `linalg_vector_norm(array, axis, keepdim, ord)`, of the second order.
static PyObject *norm_by(Summing *summing, PyObject *const *a, Py_ssize_t count)
{
    N each;
    float order;
    PyArrayObject *y = count == 4 && number(a[3], &order) && order == 2 ? summing(a, 1, &each) : NULL;
    if (y && each < 2) Py_CLEAR(y);  // whose norm is its size, even where it has no square
    for (N i = 0; y && i < PyArray_SIZE(y); i++) data_of(y)[i] = sqrtf(data_of(y)[i]);
    return (PyObject *)y;
}

#define REDUCTION(NAME)                                                                                              \
    static PyObject *NAME(PyObject *const *a, Py_ssize_t count) { return NAME##_by(summed, a, count); }              \
    static PyObject *few_##NAME(PyObject *const *a, Py_ssize_t count) { return NAME##_by(few_summed, a, count); }
REDUCTION(sum)
REDUCTION(mean)
REDUCTION(norm)

// The variances of rows of few numbers, counted from the first of each row.
static void few_variances(const float *x, double *to, N rows, N n)
{
    for (N r = 0; r < rows; r++, x += n) {
        double total = 0, squares = 0;
        for (N i = 0; i < n; i++) total += (double)x[i] - x[0];
        for (N i = 0; i < n; i++) {
            const double rest = (double)x[i] - x[0] - total / (double)n;
            squares += rest * rest;
        }
        to[r] = squares / (double)n;
    }
}

// `var.correction(array, axis, keepdim, correction)`, over the last dimensions or all; or its root.
static PyObject *spread(PyObject *const *a, Py_ssize_t count, int root)
{
    PyArrayObject *x = count == 4 ? floats(a[0]) : NULL;
    int over[NPY_MAXDIMS], ndim = x ? PyArray_NDIM(x) : 0, kept = 0;
    N correction = 1;
    if (!x || !PyArray_SIZE(x) || !PyBool_Check(a[2]) || !marked(a[1], ndim, over) ||
        (a[3] != Py_None && !whole_number(a[3], &correction)))
        return NULL;
    npy_intp shape[NPY_MAXDIMS], each = 1;
    if (a[1] != Py_None && !PyTuple_Check(a[1])) return NULL;
    for (Py_ssize_t i = 0; a[1] != Py_None && i < PyTuple_GET_SIZE(a[1]); i++)
        if (PyLong_AsLong(PyTuple_GET_ITEM(a[1], i)) < 0) return NULL;  // the twin takes them from the front
    for (int d = 0; d < ndim; d++) {
        if (d && over[d - 1] && !over[d]) return NULL;
        if (over[d]) each *= PyArray_DIM(x, d);
        if (!over[d] || a[2] == Py_True) shape[kept++] = over[d] ? 1 : PyArray_DIM(x, d);
    }
    const N rows = PyArray_SIZE(x) / each;
    const int few = PyArray_SIZE(x) < FEW || each < NARROW;
    if ((few && PyArray_SIZE(x) > MOST) || correction < 0 || correction >= each || !all_finite(x)) return NULL;
    double *mean = PyMem_Malloc((size_t)rows * 16);
    PyArrayObject *y = mean ? fresh(kept, shape) : (PyArrayObject *)PyErr_NoMemory();
    if (y && few)
        few_variances(data_of(x), mean + rows, rows, each);
    else if (y)
        statistics_of(data_of(x), mean, mean + rows, 1, rows, each);
    for (N r = 0; y && r < rows; r++) {
        const double made = mean[rows + r] * ((double)each / (double)(each - correction));
        data_of(y)[r] = (float)(root ? sqrt(made) : made);
    }
    PyMem_Free(mean);
    return (PyObject *)y;
}

static PyObject *var(PyObject *const *a, Py_ssize_t count) { return spread(a, count, 0); }
static PyObject *std(PyObject *const *a, Py_ssize_t count) { return spread(a, count, 1); }

typedef void RunningLoop(const float *, float *, N first, N n, N last, N from, N after);

typedef struct { RunningLoop *loop; const float *x; float *y; N first, n, last; } Running;

// Some of the first, or of the only one some columns.
static void running_share(void *work, N from, N to)
{
    const Running *w = work;
    const N at = from * w->n * w->last, after = to * ABREAST < w->last ? to * ABREAST : w->last;
    if (w->first > 1) w->loop(w->x + at, w->y + at, to - from, w->n, w->last, 0, w->last);
    else w->loop(w->x, w->y, 1, w->n, w->last, from * ABREAST, after);
}

static PyObject *running(PyObject *const *a, Py_ssize_t count, RunningLoop *loop)
{
    N d;
    PyArrayObject *x = count == 2 ? floats(a[0]) : NULL;
    const int ndim = x ? PyArray_NDIM(x) : 0;
    if (!ndim || !whole_number(a[1], &d) || d < -ndim || d >= ndim) return NULL;
    PyArrayObject *y = fresh_like(x);
    Running w = {loop, data_of(x), data_or_null(y)};
    if (y && split_along(a[1], x, &w.first, &w.n, &w.last)) {
        if (w.first > 1) SHARED(running_share, w, w.first, w.n * w.last);
        else SHARED(running_share, w, (w.last + ABREAST - 1) / ABREAST, w.n * ABREAST);
    }
    return (PyObject *)y;
}

static PyObject *cumsum(PyObject *const *a, Py_ssize_t count) { return running(a, count, loops->cumsum); }
static PyObject *cumprod(PyObject *const *a, Py_ssize_t count) { return running(a, count, loops->cumprod); }
static PyObject *logcumsumexp(PyObject *const *a, Py_ssize_t count) { return running(a, count, loops->logcumsumexp); }

typedef struct { const float *x; int flip; float *y; N n; } Extremes;

static void extremes_share(void *work, N from, N to)
{
    const Extremes *w = work;
    loops->extremes(w->x + from * w->n, w->flip, w->y + from, to - from, w->n);
}

int extreme_of_all(PyArrayObject *x, int flip, float *to)
{
    const N n = PyArray_SIZE(x), rows = n / BLOCK, rest = n % BLOCK;
    float *parts = PyMem_Malloc((size_t)(rows + FEW) * sizeof *parts);
    if (!parts) return PyErr_NoMemory(), 0;
    Extremes work = {data_of(x), flip, parts, BLOCK};
    SHARED(extremes_share, work, rows, BLOCK);
    memcpy(parts + rows, data_of(x) + n - FEW, FEW * sizeof *parts);
    if (rest > FEW) loops->extremes(data_of(x) + rows * BLOCK, flip, parts + rows, 1, rest);
    loops->extremes(parts, flip, to, 1, rows + FEW);
    PyMem_Free(parts);
    return 1;
}

// `amax(array, axis, keepdim)` of rows that are long, or of all.
static PyObject *extremes(PyObject *const *a, Py_ssize_t count, int flip)
{
    PyArrayObject *x = count == 3 && PyBool_Check(a[2]) ? floats(a[0]) : NULL;
    int over[NPY_MAXDIMS], ndim = x ? PyArray_NDIM(x) : 0, kept = 0, axes = 0;
    if (!ndim || !PyArray_SIZE(x) || !(a[1] == Py_None || PyTuple_CheckExact(a[1])) || !marked(a[1], ndim, over)) return NULL;
    npy_intp shape[NPY_MAXDIMS], n = 1;
    for (int d = 0; d < ndim; d++) {
        if (over[d]) n *= PyArray_DIM(x, d), axes++;
        if (!over[d] || a[2] == Py_True) shape[kept++] = over[d] ? 1 : PyArray_DIM(x, d);
    }
    if (n < FEW || (axes != ndim && (axes != 1 || !over[ndim - 1]))) return NULL;
    PyArrayObject *y = fresh(kept, shape);
    Extremes work = {data_of(x), flip, data_or_null(y), n};
    if (y && axes != ndim) SHARED(extremes_share, work, PyArray_SIZE(x) / n, n);
    else if (y && !extreme_of_all(x, flip, data_of(y))) Py_CLEAR(y);
    return (PyObject *)y;
}

static PyObject *amax(PyObject *const *a, Py_ssize_t count) { return extremes(a, count, 0); }
static PyObject *amin(PyObject *const *a, Py_ssize_t count) { return extremes(a, count, INT32_MIN); }

typedef struct { const float *x; float *y; N n; } Factors;

static void factors_share(void *work, N from, N to)
{
    const Factors *w = work;
    loops->products(w->x + from * w->n, w->y + from, to - from, w->n);
}

// `prod(array, None, False)`, or `prod.dim_int` of rows.
static PyObject *prod(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 3 && PyBool_Check(a[2]) ? floats(a[0]) : NULL;
    const int ndim = x ? PyArray_NDIM(x) : 0, all = x && a[1] == Py_None && a[2] == Py_False;
    if (!x || !PyArray_SIZE(x) || !(all || is_last(a[1], x))) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(x), ndim * sizeof *shape);
    const N n = all ? PyArray_SIZE(x) : shape[ndim - 1];
    if (!all) shape[ndim - 1] = 1;
    PyArrayObject *y = fresh(all ? 0 : ndim - (a[2] == Py_False), shape);
    Factors work = {data_of(x), data_or_null(y), n};
    if (y) SHARED(factors_share, work, PyArray_SIZE(x) / n, n);
    return (PyObject *)y;
}

const KernelDef sum_kernels[] = {
    {"prod", prod},
    {"prod.dim_int", prod},
    {"amax", amax},
    {"amin", amin},
    {"sum", sum},
    {"sum.dim_IntList", sum},
    {"sum.dim_IntList", few_sum},
    {"mean", mean},
    {"mean.dim", mean},
    {"mean.dim", few_mean},
    {"linalg_vector_norm", norm},
    {"linalg_vector_norm", few_norm},
    {"var.correction", var},
    {"std.correction", std},
    {"cumsum", cumsum},
    {"cumprod", cumprod},
    {"logcumsumexp", logcumsumexp},
    {NULL},
};
