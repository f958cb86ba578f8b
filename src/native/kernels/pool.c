// Max pooling: see loops/pool.c.
#include "kernel.h"

// Geometry from an image and the window, stride, padding, dilation and rounding of a pool.
static int describe_pool(Sliding *s, PyArrayObject *x, PyObject *const *options)
{
    if (!x || !PyTuple_Check(options[0]) || !PyArray_SIZE(x)) return 0;
    int rank = (int)PyTuple_GET_SIZE(options[0]), ndim = PyArray_NDIM(x);
    if (rank < 1 || rank > 3 || ndim < rank) return 0;
    for (int d = 0; d < 3; d++) {
        s->size[d] = s->count[d] = s->kernel[d] = s->stride[d] = s->dilation[d] = 1;
        s->padding[d] = 0;
    }
    s->groups = s->in = s->out = 1;
    if (!numbers_of(options[0], rank, s->kernel) || !numbers_of(options[1], rank, s->stride) ||
        !numbers_of(options[2], rank, s->padding) || !numbers_of(options[3], rank, s->dilation) ||
        !PyBool_Check(options[4]) || !is_sensible(s))
        return 0;
    s->images = product(PyArray_DIMS(x), ndim - rank);
    for (int d = 3 - rank; d < 3; d++) {
        N size = s->size[d] = PyArray_DIM(x, ndim - 3 + d), reach = (s->kernel[d] - 1) * s->dilation[d];
        if (size + 2 * s->padding[d] <= reach || 2 * s->padding[d] > reach + 1) return 0;
        s->count[d] = (size + 2 * s->padding[d] - reach - 1) / s->stride[d] + 1;
        if (options[4] == Py_True && (size + 2 * s->padding[d] - reach - 1) % s->stride[d]) return 0;  // one more, beyond the end
    }
    return complete_sliding(s) ? rank : 0;
}

// The shape of what it makes.
static void pooled(const Sliding *s, PyArrayObject *x, int rank, npy_intp *shape)
{
    int ndim = PyArray_NDIM(x);
    for (int d = 0; d < ndim; d++) shape[d] = d < ndim - rank ? PyArray_DIM(x, d) : s->count[3 - ndim + d];
}

typedef struct { const Sliding *s; const float *x, *g; float *best, *to; uint8_t *taps; N image, windows; int failed; } Pool;

// Of so many images, with room for the phases of one, and the cells of its windows twice.
static void pool_share(void *work, N from, N to)
{
    Pool *w = work;
    const Sliding *s = w->s;
    float *room = malloc((size_t)(s->phases * s->cells + 2 * s->length) * sizeof *room);
    if (room)
        loops->max_pool(s, w->x + from * w->image, w->best + from * w->windows, w->taps + from * w->windows, room, to - from);
    else
        w->failed = 1;
    free(room);
}

static void slope_share(void *work, N from, N to)
{
    const Pool *w = work;
    loops->max_pool_slope(w->s, w->g + from * w->windows, w->taps + from * w->windows, w->to + from * w->image, to - from);
}

static Pool pool_of(const Sliding *s)
{
    return (Pool){.s = s, .image = product(s->size, 3), .windows = product(s->count, 3)};
}

// Maxima, and which tap of each window found its one.
static PyObject *max_pool(PyObject *const *a, Py_ssize_t count)
{
    Sliding s;
    PyArrayObject *x = count == 6 ? floats(a[0]) : NULL;
    int rank = describe_pool(&s, x, a + 1), ndim = rank ? PyArray_NDIM(x) : 0;
    if (!rank) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    pooled(&s, x, rank, shape);
    PyArrayObject *best = fresh(ndim, shape), *taps = (PyArrayObject *)PyArray_SimpleNew(ndim, shape, NPY_UINT8);
    if (best && taps) {
        Pool work = pool_of(&s);
        work.x = data_of(x), work.best = data_of(best), work.taps = PyArray_DATA(taps);
        SHARED(pool_share, work, s.images, work.image);
        if (!work.failed) return Py_BuildValue("(NN)", best, taps);
        PyErr_NoMemory();
    }
    Py_XDECREF(best);
    Py_XDECREF(taps);
    return NULL;
}

static PyObject *max_pool_backward(PyObject *const *a, Py_ssize_t count)
{
    Sliding s;
    PyArrayObject *x = count == 8 ? floats(a[1]) : NULL, *taps = x ? array_of(a[2], NPY_UINT8) : NULL;
    int rank = taps ? describe_pool(&s, x, a + 3) : 0, ndim = rank ? PyArray_NDIM(x) : 0;
    if (!rank) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    pooled(&s, x, rank, shape);
    if (!has_dims(taps, ndim, shape) || !has_floats(a[0], ndim, shape)) return NULL;
    PyArrayObject *g = laid_out(a[0]);
    PyArrayObject *to = g ? (PyArrayObject *)PyArray_ZEROS(ndim, PyArray_DIMS(x), NPY_FLOAT32, 0) : NULL;
    if (to) {
        Pool work = pool_of(&s);
        work.g = data_of(g), work.to = data_of(to), work.taps = PyArray_DATA(taps);
        SHARED(slope_share, work, s.images, work.image);
    }
    Py_XDECREF(g);
    return (PyObject *)to;
}

const KernelDef pool_kernels[] = {
    {"max_pool2d", max_pool},
    {"max_pool3d", max_pool},
    {"_max_pool2d_backward", max_pool_backward},
    {"_max_pool3d_backward", max_pool_backward},
    {NULL},
};
