// Softmax, its logarithm and layer_norm: see loops/rows.c.
#include "kernel.h"

// Along a dimension of (first, n, last): of x, or of g and y.
typedef struct { const float *g, *from; float *to; N n, last; int logarithm; } Along;

static void softmax_share(void *work, N from, N to)
{
    const Along *w = work;
    const N at = from * w->n * w->last;
    if (w->last > 1) loops->softmax_between(w->from + at, w->to + at, to - from, w->n, w->last, w->logarithm);
    else if (w->logarithm) loops->log_softmax(w->from + at, w->to + at, to - from, w->n);
    else loops->softmax(w->from + at, w->to + at, to - from, w->n);
}

static void softmax_slope_share(void *work, N from, N to)
{
    const Along *w = work;
    const N at = from * w->n * w->last;
    if (w->last > 1) loops->softmax_slope_between(w->g + at, w->from + at, w->to + at, to - from, w->n, w->last, w->logarithm);
    else if (w->logarithm) loops->log_softmax_slope(w->g + at, w->from + at, w->to + at, to - from, w->n);
    else loops->softmax_slope(w->g + at, w->from + at, w->to + at, to - from, w->n);
}

static PyObject *along(PyObject *gradient, PyObject *operand, PyObject *axis, int logarithm)
{
    PyArrayObject *x = floats(operand), *g = gradient ? floats(gradient) : NULL;
    Along w = {.logarithm = logarithm};
    N first;
    if (!x || (gradient && (!g || !same_shape(g, x))) || !split_along(axis, x, &first, &w.n, &w.last)) return NULL;
    PyArrayObject *y = fresh_like(x);
    if (!y) return NULL;
    w.g = data_or_null(g), w.from = data_of(x), w.to = data_of(y);
    SHARED(g ? softmax_slope_share : softmax_share, w, first, w.n * w.last);
    return (PyObject *)y;
}

typedef struct { const double *x; double *y; N n; int logarithm; } WideRows;

static void wide_share(void *work, N from, N to)
{
    const WideRows *w = work;
    loops->wide_softmax(w->x + from * w->n, w->y + from * w->n, to - from, w->n, w->logarithm);
}

// Of doubles along the last dimension.
static PyObject *wide_along(PyObject *operand, PyObject *axis, int logarithm)
{
    PyArrayObject *x = array_of(operand, NPY_FLOAT64);
    if (!x || !is_last(axis, x) || !PyArray_SIZE(x)) return NULL;
    PyArrayObject *y = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_FLOAT64);
    if (!y) return NULL;
    WideRows w = {PyArray_DATA(x), PyArray_DATA(y), PyArray_DIM(x, PyArray_NDIM(x) - 1), logarithm};
    SHARED(wide_share, w, PyArray_SIZE(x) / w.n, w.n);
    return (PyObject *)y;
}

static PyObject *soft(PyObject *const *a, Py_ssize_t count, int logarithm)
{
    if (count < 2) return NULL;
    PyObject *made = along(NULL, a[0], a[1], logarithm);
    return made || PyErr_Occurred() ? made : wide_along(a[0], a[1], logarithm);
}

static PyObject *softmax(PyObject *const *a, Py_ssize_t count) { return soft(a, count, 0); }
static PyObject *log_softmax(PyObject *const *a, Py_ssize_t count) { return soft(a, count, 1); }

static PyObject *softmax_backward(PyObject *const *a, Py_ssize_t count)
{
    return count >= 3 ? along(a[0], a[1], a[2], 0) : NULL;
}

static PyObject *log_softmax_backward(PyObject *const *a, Py_ssize_t count)
{
    return count >= 3 ? along(a[0], a[1], a[2], 1) : NULL;
}

static void logsumexp_share(void *work, N from, N to)
{
    const Along *w = work;
    loops->logsumexp(w->from + from * w->n, w->to + from, to - from, w->n);
}

static PyObject *logsumexp(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 3 ? floats(a[0]) : NULL;
    PyObject *axis = x ? a[1] : NULL;
    if (x && PyTuple_Check(axis) && PyTuple_GET_SIZE(axis) == 1) axis = PyTuple_GET_ITEM(axis, 0);
    if (!x || !is_last(axis, x) || !PyArray_SIZE(x) || !PyBool_Check(a[2])) return NULL;
    npy_intp shape[NPY_MAXDIMS], n = PyArray_DIM(x, PyArray_NDIM(x) - 1);
    int kept = PyArray_NDIM(x) - 1;
    memcpy(shape, PyArray_DIMS(x), kept * sizeof *shape);
    if (a[2] == Py_True) shape[kept++] = 1;
    PyArrayObject *y = fresh(kept, shape);
    if (!y) return NULL;
    Along w = {.from = data_of(x), .to = data_of(y), .n = n};
    SHARED(logsumexp_share, w, PyArray_SIZE(x) / n, n);
    return (PyObject *)y;
}

// How many dimensions the shape has that is normalized together, and of how many numbers; 0 where it is no such shape.
static int normalized(PyObject *shape, PyArrayObject *x, N *n)
{
    if (!x || !PyTuple_Check(shape)) return 0;
    int last = (int)PyTuple_GET_SIZE(shape), ndim = PyArray_NDIM(x);
    if (last > ndim) return 0;
    for (int d = 0; d < last; d++) {
        N size;
        if (!whole_number(PyTuple_GET_ITEM(shape, d), &size) || size != PyArray_DIM(x, ndim - last + d)) return 0;
    }
    *n = product(PyArray_DIMS(x) + ndim - last, last);
    return *n ? last : 0;
}

static const npy_intp *last_dims(PyArrayObject *x, int last) { return PyArray_DIMS(x) + PyArray_NDIM(x) - last; }

// The shape of a number for each row: the operand's, but with ones for what is normalized.
static void shape_of_rows(PyArrayObject *x, int last, npy_intp *shape)
{
    int ndim = PyArray_NDIM(x);
    for (int d = 0; d < ndim; d++) shape[d] = d < ndim - last ? PyArray_DIM(x, d) : 1;
}

typedef struct { const float *x, *w, *b; float *to, *mean, *rstd; N n; double eps; } Normalization;

static void norm_share(void *work, N from, N to)
{
    const Normalization *w = work;
    const N at = from * w->n;
    loops->layer_norm(w->x + at, w->w, w->b, w->to + at, w->mean + from, w->rstd + from, to - from, w->n, w->eps);
}

static PyObject *layer_norm(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 5 ? floats(a[0]) : NULL, *w, *b;
    N n;
    int last = x ? normalized(a[1], x, &n) : 0;
    if (!last || !PyFloat_CheckExact(a[4]) || PyFloat_AS_DOUBLE(a[4]) < 0 || !parameter(a[2], last, last_dims(x, last), &w) ||
        !parameter(a[3], last, last_dims(x, last), &b) || (b && !w))
        return NULL;
    npy_intp of_rows[NPY_MAXDIMS];
    shape_of_rows(x, last, of_rows);
    double eps = PyFloat_AS_DOUBLE(a[4]);
    N rows = PyArray_SIZE(x) / n;
    PyArrayObject *y = fresh_like(x), *mean = fresh(PyArray_NDIM(x), of_rows), *rstd = fresh(PyArray_NDIM(x), of_rows);
    if (!y || !mean || !rstd) {
        Py_XDECREF(y);
        Py_XDECREF(mean);
        Py_XDECREF(rstd);
        return NULL;
    }
    Normalization work = {data_of(x), data_or_null(w), data_or_null(b), data_of(y), data_of(mean), data_of(rstd), n, eps};
    SHARED(norm_share, work, rows, n);
    return Py_BuildValue("(NNN)", y, mean, rstd);
}

enum { FEW_ROWS = 32 };  // of which sums are in single precision: while they are in the cache, all is done with them

// The input's gradients, and for some rows each the sums that the weight's and the bias's are made of; where they are wanted.
typedef struct { const float *g, *x, *mean, *rstd, *w; float *to, *sums; N rows, n; } Gradients;

static void gradients_share(void *work, N from, N to)
{
    const Gradients *s = work;
    for (N b = from; b < to; b++) {
        const N r = b * FEW_ROWS, rows = s->rows - r < FEW_ROWS ? s->rows - r : FEW_ROWS, n = s->n;
        const float *g = s->g + r * n, *x = s->x + r * n;
        if (s->to) loops->layer_norm_slope(g, x, s->mean + r, s->rstd + r, s->w, s->to + r * n, rows, n);
        if (s->sums) loops->layer_norm_sums(g, x, s->mean + r, s->rstd + r, s->sums + b * 2 * n, rows, n);
    }
}

// The numbers as an array, or None where they are not wanted.
static PyObject *totals(int wanted, const float *sums, PyArrayObject *x, int last, N n)
{
    if (!wanted) return Py_NewRef(Py_None);
    PyArrayObject *made = fresh(last, last_dims(x, last));
    if (made) memcpy(data_of(made), sums, n * sizeof *sums);
    return (PyObject *)made;
}

static PyObject *layer_norm_backward(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *g = count == 8 ? floats(a[0]) : NULL, *x = g ? floats(a[1]) : NULL, *w, *b, *mean, *rstd;
    N n;
    int last = x && same_shape(g, x) ? normalized(a[2], x, &n) : 0, ndim = last ? PyArray_NDIM(x) : 0;
    if (!last || !parameter(a[5], last, last_dims(x, last), &w) || !parameter(a[6], last, last_dims(x, last), &b)) return NULL;
    npy_intp of_rows[NPY_MAXDIMS];
    shape_of_rows(x, last, of_rows);
    if (!parameter(a[3], ndim, of_rows, &mean) || !parameter(a[4], ndim, of_rows, &rstd) || !mean || !rstd) return NULL;
    N rows = PyArray_SIZE(x) / n;
    int wanted[3];
    if (!wanted_of(a[7], 3, wanted) || (wanted[1] && !w) || (wanted[2] && !b)) return NULL;
    const N parts = (rows + FEW_ROWS - 1) / FEW_ROWS;
    PyArrayObject *to_x = wanted[0] ? fresh_like(x) : NULL;
    float *sums = wanted[1] || wanted[2] ? PyMem_Malloc((size_t)((parts + 1) * 2 * n) * sizeof *sums) : NULL;
    if ((wanted[0] && !to_x) || ((wanted[1] || wanted[2]) && !sums)) {
        PyMem_Free(sums);
        Py_XDECREF(to_x);
        return PyErr_NoMemory();
    }
    Gradients work = {data_of(g), data_of(x), data_of(mean), data_of(rstd), data_or_null(w), data_or_null(to_x), sums, rows, n};
    SHARED(gradients_share, work, parts, FEW_ROWS * n);
    float *all = sums ? sums + parts * 2 * n : NULL;
    if (sums) sum_columns(sums, NULL, 0, all, parts, 2 * n);
    PyObject *to_w = totals(wanted[1], all, x, last, n), *to_b = totals(wanted[2], all + n, x, last, n);
    PyMem_Free(sums);
    return Py_BuildValue("(NNN)", or_none(to_x), to_w, to_b);
}

const KernelDef row_kernels[] = {
    {"softmax.int", softmax},
    {"_softmax", softmax},
    {"log_softmax.int", log_softmax},
    {"_log_softmax", log_softmax},
    {"logsumexp", logsumexp},
    {"_softmax_backward_data", softmax_backward},
    {"_log_softmax_backward_data", log_softmax_backward},
    {"native_layer_norm", layer_norm},
    {"native_layer_norm_backward", layer_norm_backward},
    {NULL},
};
