// Convolutions: see loops/conv.c.
#include "columns.h"

typedef struct {
    Sliding s;
    int rank, transposed;
    N more[3];
    npy_intp result[5];  // its shape
} Convolution;

// From an image (n, channels, *size), weights (out, in of a group, *kernel), and seven options.
static int describe(Convolution *c, PyArrayObject *x, PyArrayObject *w, PyObject *const *options)
{
    Sliding *s = &c->s;
    int rank = c->rank = PyArray_NDIM(w) - 2;
    N groups;
    if (rank < 1 || rank > 3 || PyArray_NDIM(x) != rank + 2 || !PyArray_SIZE(x) || !PyArray_SIZE(w)) return 0;
    for (int d = 0; d < 3; d++) {
        s->size[d] = s->count[d] = s->kernel[d] = s->stride[d] = s->dilation[d] = 1;
        s->padding[d] = c->more[d] = 0;
    }
    c->transposed = options[3] == Py_True;
    if (!numbers_of(options[0], rank, s->stride) || !numbers_of(options[1], rank, s->padding) ||
        !numbers_of(options[2], rank, s->dilation) || !numbers_of(options[4], rank, c->more) ||
        !whole_number(options[5], &groups) || groups < 1 || PyArray_DIM(w, 0) % groups)
        return 0;
    s->images = PyArray_DIM(x, 0);
    s->groups = groups;
    s->out = PyArray_DIM(w, 0) / groups;
    s->in = PyArray_DIM(w, 1);
    if (PyArray_DIM(x, 1) != groups * (c->transposed ? s->out : s->in)) return 0;
    for (int d = 3 - rank; d < 3; d++) s->kernel[d] = PyArray_DIM(w, d - 1 + rank);
    if (!is_sensible(s)) return 0;
    for (int d = 3 - rank; d < 3; d++) {
        N given = PyArray_DIM(x, d - 1 + rank), reach = (s->kernel[d] - 1) * s->dilation[d];
        if (c->more[d] < 0 || c->more[d] > s->stride[d] + s->dilation[d]) return 0;
        if (c->transposed) {
            s->count[d] = given;
            s->size[d] = (given - 1) * s->stride[d] - 2 * s->padding[d] + reach + c->more[d] + 1;
        } else {
            s->size[d] = given;
            s->count[d] = (given + 2 * s->padding[d] - reach - 1) / s->stride[d] + 1;
            if (given + 2 * s->padding[d] <= reach) return 0;
        }
        c->result[d - 1 + rank] = c->transposed ? s->size[d] : s->count[d];
    }
    c->result[0] = s->images;
    c->result[1] = groups * (c->transposed ? s->in : s->out);
    return complete_sliding(s);
}

static int has_padding(const Sliding *s) { return s->padding[0] || s->padding[1] || s->padding[2]; }

// Whether taps read zeros, in the padding or for cells that are no windows.
static int reads_zeros(const Sliding *s)
{
    return has_padding(s) || s->length != s->count[0] * s->count[1] * s->count[2];
}

static PyArrayObject *fresh_images(const Convolution *c, N channels, const N *size)
{
    npy_intp shape[5] = {c->s.images, channels};
    for (int d = 0; d < c->rank; d++) shape[2 + d] = size[3 - c->rank + d];
    return fresh(2 + c->rank, shape);
}

typedef void Correlation(const Sliding *s, const float *x, const float *w, const float *bias, float *y, float *room);
typedef struct { Correlation *loop; const Sliding *s; const float *x, *w, *bias; float *y; N each, made; size_t room; int failed; } Images;

// Of so many images, with room of its own.
static void images_share(void *work, N from, N to)
{
    Images *w = work;
    Sliding part = *w->s;
    part.images = to - from;
    float *memory = calloc(w->room, sizeof *memory);
    if (memory) w->loop(&part, w->x + from * w->each, w->w, w->bias, w->y + from * w->made, memory);
    else w->failed = 1;
    free(memory);
}

// What a loop makes of all images, or NULL.
static PyArrayObject *by_images(Correlation *loop, const Sliding *s, PyArrayObject *x, PyArrayObject *w, PyArrayObject *bias,
                                PyArrayObject *y, N terms, size_t room)
{
    if (!y) return NULL;
    Images work = {loop, s, data_of(x), data_of(w), data_or_null(bias), data_of(y), PyArray_SIZE(x) / s->images,
                   PyArray_SIZE(y) / s->images, room};
    SHARED(images_share, work, s->images, work.made * terms);
    if (!work.failed) return y;
    Py_DECREF(y);
    return (PyArrayObject *)PyErr_NoMemory();
}

static PyArrayObject *correlated(const Convolution *c, PyArrayObject *x, PyArrayObject *w, PyArrayObject *bias)
{
    const Sliding *s = &c->s;
    PyArrayObject *y = fresh_images(c, s->groups * s->out, s->count);
    if (y && is_for_columns(s)) {
        if (!correlate_by_columns(s, x, w, bias, y)) Py_CLEAR(y);
        return y;
    }
    size_t room = s->groups * s->in * s->phases * s->cells + PyArray_SIZE(w) + 8 * (s->length + s->slack) + 2 * s->slack;
    return by_images(loops->conv, s, x, w, bias, y, s->in, room);
}

static PyArrayObject *spread_back(const Convolution *c, PyArrayObject *g, PyArrayObject *w, PyArrayObject *bias)
{
    const Sliding *s = &c->s;
    PyArrayObject *x = fresh_images(c, s->groups * s->in, s->size);
    if (x && !bias && is_for_columns(s)) {
        if (!spread_back_by_columns(s, g, w, x)) Py_CLEAR(x);
        return x;
    }
    size_t room = s->groups * s->out * (s->longest + s->cells) + PyArray_SIZE(w) +
                  8 * (s->phases * s->cells + s->slack) + 2 * s->slack;
    return by_images(loops->conv_to_images, s, g, w, bias, x, s->out, room);
}

enum { MANY = 24, PAIR = 32, CACHE = 1 << 16 };  // outputs; the widest pair of vectors; numbers

typedef void WeightsLoop(const Sliding *s, const float *g, const float *x, float *dw, float *room, N);

// What images are taken in parts for: sums of products, of which each part has its own.
typedef struct { WeightsLoop *loop; const Sliding *s; const float *g, *x; float *dw; N of_g, of_x, weights, parts, number; size_t room; int failed; } Weights;

static void weights_share(void *work, N from, N to)
{
    Weights *w = work;
    for (N p = from; p < to; p++) {
        const N first = w->s->images * p / w->parts;
        Sliding part = *w->s;
        part.images = w->s->images * (p + 1) / w->parts - first;
        float *memory = calloc(w->room, sizeof *memory);
        if (memory) w->loop(&part, w->g + first * w->of_g, w->x + first * w->of_x, w->dw + p * w->weights, memory, w->number);
        else w->failed = 1;
        free(memory);
    }
}

// The sums of all parts, into those of the first. Whether there was memory.
static int in_parts(Weights w, float *dw)
{
    w.dw = w.parts > 1 ? PyMem_Calloc((size_t)(w.parts * w.weights), sizeof *dw) : dw;
    if (w.dw) SHARED(weights_share, w, w.parts, w.of_g * w.s->images / w.parts * w.s->in);
    for (N p = 0; w.dw && w.dw != dw && p < w.parts; p++) loops->add_to(w.dw + p * w.weights, dw, w.weights);
    if (w.dw != dw) PyMem_Free(w.dw);
    return w.dw && !w.failed;
}

enum { PARTS = 4, LONG = 1 << 21 };  // of images, where there are so many products at least

static PyArrayObject *of_weights(const Convolution *c, PyArrayObject *g, PyArrayObject *x, PyArrayObject *like)
{
    const Sliding *s = &c->s;
    N inputs = s->groups * s->in * s->phases * s->cells, outputs = s->groups * s->out * (s->length + s->slack);
    N reads = s->in * s->taps, width = (s->out + PAIR - 1) / PAIR * PAIR, together = CACHE / (inputs + outputs);
    together = together < 1 ? 1 : together < s->images ? together : s->images;
    int few = s->out < MANY || s->taps == 1;
    size_t room = s->slack + reads * (sizeof(N) / sizeof(float));
    room += few ? together * (inputs + outputs) : inputs + (s->length + s->groups * reads) * width;
    PyArrayObject *dw = (PyArrayObject *)PyArray_ZEROS(PyArray_NDIM(like), PyArray_DIMS(like), NPY_FLOAT32, 0);
    if (dw && is_for_columns(s)) {
        if (!weights_by_columns(s, g, x, dw)) Py_CLEAR(dw);
        return dw;
    }
    const N parts = PyArray_SIZE(g) * reads >= LONG ? PARTS : 1;
    Weights work = {few ? loops->conv_to_weights : loops->conv_to_many_weights, s, data_of(g), data_of(x), NULL,
                    PyArray_SIZE(g) / s->images, PyArray_SIZE(x) / s->images, PyArray_SIZE(like),
                    parts < s->images ? parts : s->images, few ? together : width, room};
    if (dw && !in_parts(work, data_of(dw))) {
        Py_CLEAR(dw);
        PyErr_NoMemory();
    }
    return dw;
}

static PyObject *convolution(PyObject *const *a, Py_ssize_t count)
{
    Convolution c;
    PyArrayObject *x = count == 9 ? floats(a[0]) : NULL, *w = x ? floats(a[1]) : NULL, *bias;
    if (!w || !describe(&c, x, w, a + 3) || !vector(a[2], c.result[1], &bias)) return NULL;
    if ((c.transposed ? reads_zeros(&c.s) : has_padding(&c.s)) && !all_finite(w)) return NULL;
    return (PyObject *)(c.transposed ? spread_back(&c, x, w, bias) : correlated(&c, x, w, bias));
}

static PyArrayObject *of_bias(const Convolution *c, PyArrayObject *g)
{
    npy_intp channels = PyArray_DIM(g, 1);
    N images = PyArray_DIM(g, 0);
    PyArrayObject *made = fresh(1, &channels);
    if (made) WORK(PyArray_SIZE(g), loops->sum_of_ends(data_of(g), 0, data_of(made), images, channels,
                                                       PyArray_SIZE(g) / (images * channels)));
    return made;
}

static PyObject *convolution_backward(PyObject *const *a, Py_ssize_t count)
{
    Convolution c;
    int wanted[3];
    PyArrayObject *x = count == 11 ? floats(a[1]) : NULL, *w = x ? floats(a[2]) : NULL;
    if (!w || !describe(&c, x, w, a + 4) || !has_floats(a[0], c.rank + 2, c.result) || !wanted_of(a[10], 3, wanted)) return NULL;
    if (wanted[0] && reads_zeros(&c.s) && !all_finite(w)) return NULL;
    PyArrayObject *g = laid_out(a[0]);
    if (!g) return NULL;
    PyObject *made = NULL;
    if (!wanted[1] || !reads_zeros(&c.s) || (all_finite(x) && all_finite(g))) {
        PyArrayObject *small = c.transposed ? x : g, *large = c.transposed ? g : x;
        PyArrayObject *dx = NULL, *dw = NULL, *db = NULL;
        if (wanted[0]) dx = c.transposed ? correlated(&c, g, w, NULL) : spread_back(&c, g, w, NULL);
        if (wanted[1]) dw = of_weights(&c, small, large, w);
        if (wanted[2]) db = of_bias(&c, g);
        made = Py_BuildValue("(NNN)", or_none(dx), or_none(dw), or_none(db));
        if (PyErr_Occurred()) Py_CLEAR(made);
    }
    Py_DECREF(g);
    return made;
}

const KernelDef conv_kernels[] = {
    {"convolution", convolution},
    {"convolution_backward", convolution_backward},
    {NULL},
};
