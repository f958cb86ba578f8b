// Normalization by channels and by groups of them: see loops/channels.c.
#include "kernel.h"

// Images (n, channels, size), maybe a gradient, and what there is of each channel.
typedef struct {
    N n, channels, size;
    const float *x, *g;
    float *to;
    double *totals[2];
    const float *center, *factor, *shift, *slope;
} Channels;

static void statistics_share(void *work, N from, N to)
{
    const Channels *w = work;
    loops->channel_statistics(w->x, w->totals[0], w->totals[1], w->n, w->channels, w->size, from, to);
}

static void sums_share(void *work, N from, N to)
{
    const Channels *w = work;
    loops->channel_sums(w->g, w->x, w->center, w->totals[0], w->totals[1], w->n, w->channels, w->size, from, to);
}

static void affine_share(void *work, N from, N to)
{
    const Channels *w = work;
    loops->channel_affine(w->x, w->to, w->center, w->factor, w->shift, w->n, w->channels, w->size, from, to);
}

static void slope_share(void *work, N from, N to)
{
    const Channels *w = work;
    loops->channel_slope(w->g, w->x, w->to, w->center, w->factor, w->shift, w->slope, w->n, w->channels, w->size, from, to);
}

// Some channels each, by all threads.
static void in_channels(Share *share, Channels w) { SHARED(share, w, w.channels, w.n * w.size); }

void statistics_of(const float *x, double *mean, double *var, N n, N channels, N size)
{
    in_channels(statistics_share, (Channels){n, channels, size, .x = x, .totals = {mean, var}});
}

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
    if (!x || PyArray_NDIM(x) < 2 || !PyArray_SIZE(x)) return NULL;
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
        statistics_of(data_of(x), now, spread, n, channels, size);
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
    in_channels(affine_share, (Channels){n, channels, size, data_of(x), NULL, data_of(y), {NULL}, center, factor, shift});
    PyMem_Free(now);
    return Py_BuildValue("(NNN)", y, saved, rstd);
}

static PyObject *batch_norm_backward(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 10 ? floats(a[1]) : NULL, *w, *mean, *rstd;
    if (!x || PyArray_NDIM(x) < 2 || !PyArray_SIZE(x) || a[7] != Py_True) return NULL;
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
    float *factor = (float *)(along + channels), *p = factor + channels, *q = p + channels;
    Channels work = {n, channels, size, data_of(x), data_of(g), data_or_null(dx), {total, along}, data_of(mean), factor, p, q};
    in_channels(sums_share, work);
    for (N c = 0; c < channels; c++) {
        double scale = data_of(rstd)[c];
        factor[c] = (float)(scale * (w ? data_of(w)[c] : 1));
        p[c] = (float)(total[c] / each) * factor[c];
        q[c] = (float)(along[c] * scale * scale / each) * factor[c];
        if (dw) data_of(dw)[c] = (float)(along[c] * scale);
        if (db) data_of(db)[c] = (float)total[c];
    }
    if (dx) in_channels(slope_share, work);
    PyMem_Free(total);
    Py_DECREF(g);
    return Py_BuildValue("(NNN)", or_none(dx), or_none(dw), or_none(db));
}

// A group of channels of an element: of how many channels and numbers each, and how many there are.
typedef struct { N rows, channels, size, images, each; } Groups;

enum { SMALL = 16 };  // numbers of a channel, below which loops over them take too long to begin

// Numbers of the images' sizes, as the call has them. Whether they are those of the images.
static int describe(Groups *s, PyArrayObject *x, PyObject *const *sizes)
{
    N channels, groups;
    if (!x || !PyArray_SIZE(x) || !whole_number(sizes[0], &s->images) || !whole_number(sizes[1], &channels) ||
        !whole_number(sizes[2], &s->size) || !whole_number(sizes[3], &groups) || PyArray_NDIM(x) < 2 ||
        PyArray_DIM(x, 0) != s->images || PyArray_DIM(x, 1) != channels || s->size < SMALL ||
        PyArray_SIZE(x) / (s->images * channels) != s->size || groups < 1 || channels % groups)
        return 0;
    s->rows = s->images * groups;
    s->channels = channels / groups;
    s->each = s->channels * s->size;
    return 1;
}

static PyObject *group_norm(PyObject *const *a, Py_ssize_t count)
{
    Groups s;
    PyArrayObject *x = count == 8 ? floats(a[0]) : NULL, *w, *b;
    if (!describe(&s, x, a + 3) || !PyFloat_CheckExact(a[7]) || PyFloat_AS_DOUBLE(a[7]) < 0 ||
        !vector(a[1], PyArray_DIM(x, 1), &w) || !vector(a[2], PyArray_DIM(x, 1), &b))
        return NULL;
    const N all = s.rows * s.channels, of_image = PyArray_DIM(x, 1);
    const npy_intp shape[2] = {s.images, s.rows / s.images};
    double *now = PyMem_Malloc((size_t)(s.rows * 16 + all * 12));  // mean, variance, and three floats for each channel
    PyArrayObject *y = fresh_like(x), *mean = fresh(2, shape), *rstd = fresh(2, shape);
    if (!now || !y || !mean || !rstd) {
        if (!now) PyErr_NoMemory();
        Py_XDECREF(y);
        Py_XDECREF(mean);
        Py_XDECREF(rstd);
        PyMem_Free(now);
        return NULL;
    }
    double *spread = now + s.rows;
    float *center = (float *)(spread + s.rows), *factor = center + all, *shift = factor + all;
    statistics_of(data_of(x), now, spread, 1, s.rows, s.each);
    for (N r = 0; r < s.rows; r++) {
        const double scale = 1 / sqrt(spread[r] + PyFloat_AS_DOUBLE(a[7]));
        data_of(mean)[r] = (float)now[r];
        data_of(rstd)[r] = (float)scale;
        for (N i = r * s.channels; i < (r + 1) * s.channels; i++) {
            const N c = i % of_image;
            center[i] = (float)now[r];
            factor[i] = (float)(scale * (w ? data_of(w)[c] : 1));
            shift[i] = (float)((b ? data_of(b)[c] : 0) - (now[r] - center[i]) * factor[i]);
        }
    }
    in_channels(affine_share, (Channels){1, all, s.size, data_of(x), NULL, data_of(y), {NULL}, center, factor, shift});
    PyMem_Free(now);
    return Py_BuildValue("(NNN)", y, mean, rstd);
}

// What gradients of the channels are made of: for the sums over a group of the gradient, weighted, and of that times how
// far numbers are from the mean, its shares in p and q.
static void share_out(const Groups *s, const double *total, const double *along, const float *rstd, const float *w,
                      N of_image, float *factor, float *p, float *q)
{
    for (N r = 0; r < s->rows; r++) {
        double sum = 0, far = 0;
        const double scale = rstd[r];
        for (N i = r * s->channels; i < (r + 1) * s->channels; i++) {
            const double weight = w ? w[i % of_image] : 1;
            sum += weight * total[i];
            far += weight * along[i];
            factor[i] = (float)(scale * weight);
        }
        for (N i = r * s->channels; i < (r + 1) * s->channels; i++) {
            p[i] = (float)(scale * sum / (double)s->each);
            q[i] = (float)(scale * scale * scale * far / (double)s->each);
        }
    }
}

static PyObject *group_norm_backward(PyObject *const *a, Py_ssize_t count)
{
    Groups s;
    int wanted[3];
    PyArrayObject *x = count == 10 ? floats(a[1]) : NULL, *mean, *rstd, *w;
    if (!describe(&s, x, a + 5) || !has_floats(a[0], PyArray_NDIM(x), PyArray_DIMS(x)) || !wanted_of(a[9], 3, wanted)) return NULL;
    const npy_intp shape[2] = {s.images, s.rows / s.images};
    const N all = s.rows * s.channels, of_image = PyArray_DIM(x, 1);
    if (!parameter(a[2], 2, shape, &mean) || !parameter(a[3], 2, shape, &rstd) || !mean || !rstd || !vector(a[4], of_image, &w))
        return NULL;
    double *total = PyMem_Calloc((size_t)(all * 32 + of_image * 16), 1), *along = total + all;
    PyArrayObject *g = laid_out(a[0]), *dx = wanted[0] ? fresh_like(x) : NULL;
    PyArrayObject *dw = wanted[1] ? vector_of(of_image) : NULL, *db = wanted[2] ? vector_of(of_image) : NULL;
    if (!total || PyErr_Occurred()) {
        if (!total) PyErr_NoMemory();
        PyMem_Free(total);
        Py_XDECREF(g);
        Py_XDECREF(dx);
        Py_XDECREF(dw);
        Py_XDECREF(db);
        return NULL;
    }
    double *to_w = along + all, *to_b = to_w + of_image;
    float *center = (float *)(to_b + of_image), *factor = center + all, *p = factor + all, *q = p + all;
    for (N i = 0; i < all; i++) center[i] = data_of(mean)[i / s.channels];
    Channels work = {1, all, s.size, data_of(x), data_of(g), data_or_null(dx), {total, along}, center, factor, p, q};
    in_channels(sums_share, work);
    for (N i = 0; i < all; i++) {
        to_w[i % of_image] += along[i] * data_of(rstd)[i / s.channels];
        to_b[i % of_image] += total[i];
    }
    for (N c = 0; c < of_image; c++) {
        if (dw) data_of(dw)[c] = (float)to_w[c];
        if (db) data_of(db)[c] = (float)to_b[c];
    }
    share_out(&s, total, along, data_of(rstd), data_or_null(w), of_image, factor, p, q);
    if (dx) in_channels(slope_share, work);
    PyMem_Free(total);
    Py_DECREF(g);
    return Py_BuildValue("(NNN)", or_none(dx), or_none(dw), or_none(db));
}

const KernelDef channel_kernels[] = {
    {"native_batch_norm", batch_norm},
    {"native_batch_norm_backward", batch_norm_backward},
    {"native_group_norm", group_norm},
    {"native_group_norm_backward", group_norm_backward},
    {NULL},
};
