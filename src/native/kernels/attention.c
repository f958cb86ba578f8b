// Scaled dot-product attention: see loops/attention.c.
#include "kernel.h"

enum { KEPT = 1 << 20, SLACK = 64, BLOCK = 8 };  // as the twin has it: of so many weights all are kept
enum { WIDEST = 1 << 20 };

// An array (batch, heads, rows, columns) of floats, with strides in numbers. Whether it is one.
static int heads_of(PyObject *o, PyArrayObject **to, N *strides)
{
    PyArrayObject *a = *to = (PyArrayObject *)o;
    if (!PyArray_CheckExact(o) || PyArray_TYPE(a) != NPY_FLOAT32 || PyArray_NDIM(a) != 4 || !PyArray_ISBEHAVED_RO(a) ||
        !PyArray_SIZE(a))
        return 0;
    for (int d = 0; d < 4; d++) {
        if (PyArray_STRIDE(a, d) % (N)sizeof(float)) return 0;
        strides[d] = PyArray_STRIDE(a, d) / (N)sizeof(float);
    }
    return 1;
}

static int describe(Attention *s, PyArrayObject *q, PyArrayObject *k, PyArrayObject *v, PyObject *causal, PyObject *scale)
{
    const npy_intp *of_query = PyArray_DIMS(q), *of_key = PyArray_DIMS(k), *of_value = PyArray_DIMS(v);
    if (!PyBool_Check(causal) || !PyFloat_CheckExact(scale) || of_query[3] != of_key[3] || of_key[2] != of_value[2] ||
        memcmp(of_query, of_key, 2 * sizeof *of_query) || memcmp(of_query, of_value, 2 * sizeof *of_query))
        return 0;
    s->heads = of_query[1];
    s->count = of_query[0] * of_query[1];
    s->queries = of_query[2];
    s->keys = of_key[2];
    s->features = of_query[3];
    s->values = of_value[3];
    s->causal = causal == Py_True;
    s->scale = (float)PyFloat_AS_DOUBLE(scale);
    return s->count <= KEPT && s->queries <= KEPT && s->keys <= KEPT && s->count * s->queries <= KEPT &&
           s->count * s->queries * s->keys <= KEPT && s->features <= WIDEST && s->values <= WIDEST;
}

// A mask of numbers, to be added, or of bools, which say what is seen; or None. Whether it is one for these scores.
static int masked(Attention *s, PyObject *o, const float **mask, const uint8_t **seen)
{
    PyArrayObject *m = (PyArrayObject *)o;
    if (o == Py_None) return 1;
    const int type = PyArray_CheckExact(o) ? PyArray_TYPE(m) : -1, ndim = type < 0 ? 0 : PyArray_NDIM(m);
    const N sizes[4] = {s->count / s->heads, s->heads, s->queries, s->keys};
    if ((type != NPY_FLOAT32 && type != NPY_BOOL) || ndim < 2 || ndim > 4 || !PyArray_ISBEHAVED_RO(m)) return 0;
    for (int d = 0; d < 4; d++) {
        const int at = d - 4 + ndim;
        const N size = at < 0 ? 1 : PyArray_DIM(m, at), stride = size == 1 ? 0 : PyArray_STRIDE(m, at);
        if ((size != 1 && size != sizes[d]) || stride % PyArray_ITEMSIZE(m)) return 0;
        s->of_mask[d] = stride / PyArray_ITEMSIZE(m);
    }
    if (type == NPY_FLOAT32) *mask = PyArray_DATA(m);
    else *seen = PyArray_DATA(m);
    return 1;
}

static N larger(N a, N b) { return a > b ? a : b; }

typedef struct {
    const Attention *s;
    const float *g, *q, *k, *v, *mask;
    const uint8_t *seen;
    float *y, *kept, *dq, *dk, *dv;
    N room;
    int failed;
} Heads;

// Of so many heads, with room of its own.
static void heads_share(void *work, N from, N to)
{
    Heads *w = work;
    Attention s = *w->s;
    s.first = from, s.after = to;
    float *room = malloc((size_t)w->room * sizeof *room);
    if (!room) w->failed = 1;
    else if (w->g) loops->attention_slope(&s, w->g, w->q, w->k, w->v, w->y, w->kept, w->dq, w->dk, w->dv, room);
    else loops->attention(&s, w->q, w->k, w->v, w->mask, w->seen, w->y, w->kept, room);
    free(room);
}

static PyObject *attention(PyObject *const *a, Py_ssize_t count)
{
    Attention s;
    PyArrayObject *q, *k, *v;
    const float *mask = NULL;
    const uint8_t *seen = NULL;
    if (count != 6 || !heads_of(a[0], &q, s.of_query) || !heads_of(a[1], &k, s.of_key) || !heads_of(a[2], &v, s.of_value) ||
        !describe(&s, q, k, v, a[4], a[5]) || !masked(&s, a[3], &mask, &seen))
        return NULL;
    // In memory, batch, heads and queries of the result lie in the order of those of the queries.
    int alike = !PyArray_IS_C_CONTIGUOUS(q) && s.features == s.values;
    for (int d = 0; d < 4; d++) alike = alike && s.of_query[d];
    npy_intp shape[4] = {s.count / s.heads, s.heads, s.queries, s.values}, weights[3] = {s.count, s.queries, s.keys};
    PyArrayObject *y = alike ? (PyArrayObject *)PyArray_NewLikeArray(q, NPY_KEEPORDER, NULL, 0) : fresh(4, shape), *kept = fresh(3, weights);
    N room = s.keys * (s.features + s.values) + BLOCK * (larger(s.keys, s.features) + s.features + s.keys + s.values) + (2 + 2 * BLOCK) * SLACK;
    if (y && kept && heads_of((PyObject *)y, &y, s.of_result)) {
        Heads work = {&s, NULL, data_of(q), data_of(k), data_of(v), mask, seen, data_of(y), data_of(kept), .room = room};
        SHARED(heads_share, work, s.count, s.queries * s.keys * s.features);
        if (!work.failed) return Py_BuildValue("(NN)", y, kept);
        PyErr_NoMemory();
    }
    Py_XDECREF(y);
    Py_XDECREF(kept);
    return NULL;
}

static PyObject *attention_backward(PyObject *const *a, Py_ssize_t count)
{
    Attention s;
    int needs[3];
    PyArrayObject *g, *q, *k, *v, *y, *kept = count == 10 ? floats(a[6]) : NULL;
    if (!kept || !heads_of(a[0], &g, s.of_gradient) || !heads_of(a[1], &q, s.of_query) || !heads_of(a[2], &k, s.of_key) ||
        !heads_of(a[3], &v, s.of_value) || !heads_of(a[5], &y, s.of_result) || !describe(&s, q, k, v, a[7], a[8]) ||
        !wanted_of(a[9], 3, needs))
        return NULL;
    const npy_intp shape[4] = {s.count / s.heads, s.heads, s.queries, s.values}, weights[3] = {s.count, s.queries, s.keys};
    if (!has_dims(g, 4, shape) || !has_dims(y, 4, shape) || !has_dims(kept, 3, weights)) return NULL;
    N widest = larger(s.features, s.values), longest = larger(s.keys, s.queries);
    N room = 4 * (longest * widest + SLACK) + BLOCK * (longest + 2 * widest + s.keys + 2 * SLACK) + s.queries * s.keys;
    PyArrayObject *dq = needs[0] ? fresh_like(q) : NULL, *dk = needs[1] ? fresh_like(k) : NULL, *dv = needs[2] ? fresh_like(v) : NULL;
    if (!PyErr_Occurred()) {
        Heads work = {&s, data_of(g), data_of(q), data_of(k), data_of(v), NULL, NULL, data_of(y), data_of(kept),
                      data_or_null(dq), data_or_null(dk), data_or_null(dv), room};
        SHARED(heads_share, work, s.count, s.queries * s.keys * s.features);
        if (!work.failed) return Py_BuildValue("(NNNO)", or_none(dq), or_none(dk), or_none(dv), Py_None);
        PyErr_NoMemory();
    }
    Py_XDECREF(dq);
    Py_XDECREF(dk);
    Py_XDECREF(dv);
    return NULL;
}

const KernelDef attention_kernels[] = {
    {"_scaled_dot_product_attention", attention},
    {"_scaled_dot_product_attention_backward", attention_backward},
    {NULL},
};
