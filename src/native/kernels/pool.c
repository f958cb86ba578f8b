// Max pooling of rows and planes: see loops/pool.c.
#include "kernel.h"

// Geometry from an image and the window, stride, padding, dilation and rounding of a pool.
static int describe_pool(Sliding *s, PyArrayObject *x, PyObject *const *options)
{
    if (!x || !PyTuple_Check(options[0]) || !PyArray_SIZE(x)) return 0;
    int rank = (int)PyTuple_GET_SIZE(options[0]), ndim = PyArray_NDIM(x);
    if (rank < 1 || rank > 2 || ndim < rank) return 0;
    for (int d = 0; d < 3; d++) {
        s->size[d] = s->count[d] = s->kernel[d] = s->stride[d] = s->dilation[d] = 1;
        s->padding[d] = 0;
    }
    s->groups = s->in = s->out = 1;
    if (!numbers_of(options[0], rank, s->kernel) || !numbers_of(options[1], rank, s->stride) ||
        !numbers_of(options[2], rank, s->padding) || !numbers_of(options[3], rank, s->dilation) ||
        options[4] != Py_False || !is_sensible(s))
        return 0;
    s->images = product(PyArray_DIMS(x), ndim - rank);
    for (int d = 3 - rank; d < 3; d++) {
        N size = s->size[d] = PyArray_DIM(x, ndim - 3 + d), reach = (s->kernel[d] - 1) * s->dilation[d];
        if (size + 2 * s->padding[d] <= reach) return 0;
        s->count[d] = (size + 2 * s->padding[d] - reach - 1) / s->stride[d] + 1;
    }
    return complete_sliding(s) ? rank : 0;
}

// The shape of what it makes.
static void pooled(const Sliding *s, PyArrayObject *x, int rank, npy_intp *shape)
{
    int ndim = PyArray_NDIM(x);
    for (int d = 0; d < ndim; d++) shape[d] = d < ndim - rank ? PyArray_DIM(x, d) : s->count[3 - ndim + d];
}

enum { SLACK = 32 };  // numbers, since loops may go on to whole vectors

// Room for the phases of an image and the cells of its windows, so many times.
static float *room_for(const Sliding *s, int phases, int cells)
{
    float *room = PyMem_Malloc((size_t)(phases * s->phases * s->cells + cells * (s->length + SLACK)) * sizeof(float));
    if (!room) PyErr_NoMemory();
    return room;
}

static PyObject *max_pool(PyObject *const *a, Py_ssize_t count)
{
    Sliding s;
    PyArrayObject *x = count == 6 ? floats(a[0]) : NULL;
    int rank = describe_pool(&s, x, a + 1), ndim = rank ? PyArray_NDIM(x) : 0;
    if (!rank) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    pooled(&s, x, rank, shape);
    float *room = room_for(&s, 1, 1);
    PyArrayObject *best = room ? fresh(ndim, shape) : NULL;
    if (best) WORK(PyArray_SIZE(x), loops->max_pool(&s, data_of(x), data_of(best), room));
    PyMem_Free(room);
    if (!best) return NULL;
    PyObject *kept = PyArray_NewCopy(best, NPY_CORDER);  // which backward looks for, whatever is written meanwhile
    return Py_BuildValue("(NN)", best, kept);
}

static PyObject *max_pool_backward(PyObject *const *a, Py_ssize_t count)
{
    Sliding s;
    PyArrayObject *x = count == 8 ? floats(a[1]) : NULL, *best = x ? floats(a[2]) : NULL;
    int rank = best ? describe_pool(&s, x, a + 3) : 0, ndim = rank ? PyArray_NDIM(x) : 0;
    if (!rank) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    pooled(&s, x, rank, shape);
    if (!has_dims(best, ndim, shape) || !has_floats(a[0], ndim, shape)) return NULL;
    if (!all_finite(best)) return NULL;  // of several NaN it would be the last
    PyArrayObject *g = laid_out(a[0]);
    PyArrayObject *to = (PyArrayObject *)PyArray_ZEROS(PyArray_NDIM(x), PyArray_DIMS(x), NPY_FLOAT32, 0);
    float *room = g && to ? room_for(&s, 2, 3) : NULL;
    if (room)
        WORK(PyArray_SIZE(x), loops->max_pool_slope(&s, data_of(g), data_of(x), data_of(best), data_of(to), room));
    else
        Py_CLEAR(to);
    PyMem_Free(room);
    Py_XDECREF(g);
    return (PyObject *)to;
}

const KernelDef pool_kernels[] = {
    {"max_pool2d", max_pool},
    {"_max_pool2d_backward", max_pool_backward},
    {NULL},
};
