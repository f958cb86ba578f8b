// Batch normalization: see loops/channels.c.
#include "kernel.h"

static PyArrayObject *vector_of(N n)
{
    npy_intp size = n;
    return fresh(1, &size);
}

// A running statistic, moved towards what it is now.
static void follow(PyArrayObject *running, const double *now, double scale, double momentum, N n)
{
    for (N c = 0; running && c < n; c++)
        data_of(running)[c] =
            data_of(running)[c] * (float)(1 - momentum) + (float)(now[c] * scale) * (float)momentum;
}

// An optional running statistic. Whether it can be written to.
static int running_of(PyObject *given, N n, PyArrayObject **to)
{
    return vector(given, n, to) && (!*to || PyArray_ISWRITEABLE(*to));
}

static PyObject *batch_norm(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 8 ? floats(a[0]) : NULL, *w, *b, *mean, *var;
    if (!x || PyArray_NDIM(x) < 3 || !PyArray_SIZE(x)) return NULL;
    N n = PyArray_DIM(x, 0), channels = PyArray_DIM(x, 1), size = PyArray_SIZE(x) / (n * channels), each = n * size;
    int training = a[5] == Py_True;
    if (!vector(a[1], channels, &w) || !vector(a[2], channels, &b) || !running_of(a[3], channels, &mean) ||
        !running_of(a[4], channels, &var) || !PyFloat_CheckExact(a[6]) || !PyFloat_CheckExact(a[7]) || PyFloat_AS_DOUBLE(a[7]) < 0 ||
        (!training && (!mean || !var)))
        return NULL;
    double momentum = PyFloat_AS_DOUBLE(a[6]), eps = PyFloat_AS_DOUBLE(a[7]);
    double *now = PyMem_Malloc((size_t)channels * 32);  // mean, variance, and room for as many and as many floats
    PyArrayObject *y = fresh_like(x), *saved = vector_of(training ? channels : 0), *rstd = vector_of(training ? channels : 0);
    if (!now || !y || !saved || !rstd) {
        if (!now) PyErr_NoMemory();
        Py_XDECREF(y);
        Py_XDECREF(saved);
        Py_XDECREF(rstd);
        PyMem_Free(now);
        return NULL;
    }
    double *spread = now + channels;
    float *center = (float *)(spread + channels), *factor = center + channels, *shift = factor + channels;
    if (training)
        WORK(each * channels, loops->channel_statistics(data_of(x), now, spread, n, channels, size));
    for (N c = 0; c < channels; c++) {
        if (!training) {
            now[c] = data_of(mean)[c];
            spread[c] = data_of(var)[c];
        }
        double scale = 1 / sqrt(spread[c] + eps);
        center[c] = (float)now[c];
        factor[c] = (float)(scale * (w ? data_of(w)[c] : 1));
        shift[c] = (float)((b ? data_of(b)[c] : 0) - (now[c] - center[c]) * factor[c]);
        if (training) {
            data_of(saved)[c] = center[c];
            data_of(rstd)[c] = (float)scale;
        }
    }
    if (training) {
        follow(mean, now, 1, momentum, channels);
        follow(var, spread, each > 1 ? (double)each / (double)(each - 1) : Py_NAN, momentum, channels);
    }
    WORK(each * channels, loops->channel_affine(data_of(x), data_of(y), center, factor, shift, n, channels, size));
    PyMem_Free(now);
    return Py_BuildValue("(NNN)", y, saved, rstd);
}

static PyObject *batch_norm_backward(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 10 ? floats(a[1]) : NULL, *w, *mean, *rstd;
    if (!x || PyArray_NDIM(x) < 3 || !PyArray_SIZE(x) || a[7] != Py_True) return NULL;
    N n = PyArray_DIM(x, 0), channels = PyArray_DIM(x, 1), size = PyArray_SIZE(x) / (n * channels);
    double each = (double)(n * size);
    int wanted[3];
    if (!has_floats(a[0], PyArray_NDIM(x), PyArray_DIMS(x)) || !vector(a[2], channels, &w) ||
        !vector(a[5], channels, &mean) || !vector(a[6], channels, &rstd) || !mean || !rstd || !wanted_of(a[9], 3, wanted))
        return NULL;
    double *total = PyMem_Malloc((size_t)channels * 28), *along = total + channels;  // and room for three times as many floats
    PyArrayObject *g = laid_out(a[0]);
    PyArrayObject *dx = wanted[0] ? fresh_like(x) : NULL;
    PyArrayObject *dw = wanted[1] ? vector_of(channels) : NULL;
    PyArrayObject *db = wanted[2] ? vector_of(channels) : NULL;
    if (!total || PyErr_Occurred()) {
        if (total) PyMem_Free(total);
        else PyErr_NoMemory();
        Py_XDECREF(g);
        Py_XDECREF(dx);
        Py_XDECREF(dw);
        Py_XDECREF(db);
        return NULL;
    }
    WORK(PyArray_SIZE(x), loops->channel_sums(data_of(g), data_of(x), data_of(mean), total, along, n, channels, size));
    float *factor = (float *)(along + channels), *p = factor + channels, *q = p + channels;
    for (N c = 0; c < channels; c++) {
        double scale = data_of(rstd)[c];
        factor[c] = (float)(scale * (w ? data_of(w)[c] : 1));
        p[c] = (float)(total[c] / each);
        q[c] = (float)(along[c] * scale * scale / each);
        if (dw) data_of(dw)[c] = (float)(along[c] * scale);
        if (db) data_of(db)[c] = (float)total[c];
    }
    if (dx)
        WORK(PyArray_SIZE(x), loops->channel_slope(data_of(g), data_of(x), data_of(dx), data_of(mean), factor, p, q, n,
                                                   channels, size));
    PyMem_Free(total);
    Py_DECREF(g);
    return Py_BuildValue("(NNN)", or_none(dx), or_none(dw), or_none(db));
}

const KernelDef channel_kernels[] = {
    {"native_batch_norm", batch_norm},
    {"native_batch_norm_backward", batch_norm_backward},
    {NULL},
};
