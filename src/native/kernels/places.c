// Embeddings and the negative log likelihood: what a vector of places picks, and where its gradient goes.
#include <stdatomic.h>

#include "kernel.h"

#define PLACES(a) ((const int64_t *)PyArray_DATA(a))

// An array of places below `size`, or NULL.
static PyArrayObject *places_below(PyObject *o, N size)
{
    PyArrayObject *at = array_of(o, NPY_INT64);
    int fine = 0;
    if (at) loops->all_below(PLACES(at), PyArray_SIZE(at), size, &fine);
    return fine ? at : NULL;
}

typedef struct { const char *from; N size; const int64_t *at; char *to; N bytes; } Taking;

static void take_share(void *work, N from, N to)
{
    const Taking *w = work;
    loops->take_rows(w->from, w->size, w->at + from, w->to + from * w->bytes, to - from, w->bytes);
}

// What an array of places picks from the first dimension of `from`.
static PyObject *rows_at(PyArrayObject *from, PyArrayObject *at)
{
    const int ndim = PyArray_NDIM(at), rest = PyArray_NDIM(from) - 1;
    npy_intp shape[NPY_MAXDIMS];
    if (ndim + rest > NPY_MAXDIMS) return NULL;
    memcpy(shape, PyArray_DIMS(at), ndim * sizeof *shape);
    memcpy(shape + ndim, PyArray_DIMS(from) + 1, rest * sizeof *shape);
    PyArrayObject *made = fresh(ndim + rest, shape);
    if (!made) return NULL;
    const N n = product(shape + ndim, rest);
    Taking work = {PyArray_DATA(from), PyArray_DIM(from, 0), PLACES(at), PyArray_DATA(made), n * (N)sizeof(float)};
    SHARED(take_share, work, PyArray_SIZE(at), n);
    return (PyObject *)made;
}

static PyObject *embedding(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *w = count == 5 ? floats(a[0]) : NULL;
    PyArrayObject *at = w && PyArray_NDIM(w) == 2 ? places_below(a[1], PyArray_DIM(w, 0)) : NULL;
    return at ? rows_at(w, at) : NULL;
}

// `index(array, [places])`
static PyObject *index_first(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *from = count == 2 && PyList_CheckExact(a[1]) && PyList_GET_SIZE(a[1]) == 1 ? floats(a[0]) : NULL;
    PyArrayObject *at = from && PyArray_NDIM(from) ? places_below(PyList_GET_ITEM(a[1], 0), PyArray_DIM(from, 0)) : NULL;
    return at ? rows_at(from, at) : NULL;
}

static PyObject *index_select(PyObject *const *a, Py_ssize_t count)
{
    N dim;
    PyArrayObject *from = count == 3 && whole_number(a[1], &dim) && !dim ? floats(a[0]) : NULL;
    PyArrayObject *at = from && PyArray_NDIM(from) ? places_below(a[2], PyArray_DIM(from, 0)) : NULL;
    return at && PyArray_NDIM(at) == 1 ? rows_at(from, at) : NULL;
}

static const N MANY = (N)1 << 40;  // rows

static PyArrayObject *zeros(int ndim, const npy_intp *shape)
{
    return (PyArrayObject *)PyArray_ZEROS(ndim, (npy_intp *)shape, NPY_FLOAT32, 0);
}

// What sums of rows come to, in an array of zeros.
static PyObject *added(RowSums *sums, PyArrayObject *to)
{
    if (!to) return NULL;
    sums->to = data_of(to);
    WORK(sums->count * sums->n, loops->add_rows(sums));
    return (PyObject *)to;
}

static PyObject *embedding_backward(PyObject *const *a, Py_ssize_t count)
{
    N rows, never;
    PyArrayObject *g = count == 5 ? floats(a[0]) : NULL;
    if (!g || !PyArray_NDIM(g) || !whole_number(a[2], &rows) || !whole_number(a[3], &never) || a[4] != Py_False || rows < 0 ||
        rows > MANY)
        return NULL;
    PyArrayObject *at = places_below(a[1], rows);
    int last = PyArray_NDIM(g) - 1;
    npy_intp n = PyArray_DIM(g, last), shape[2] = {rows, n};
    if (!at || !has_dims(at, last, PyArray_DIMS(g))) return NULL;
    PyArrayObject *made = zeros(2, shape);
    RowSums sums = {.from = data_of(g), .to_at = PLACES(at), .named = PLACES(at), .never = never, .results = rows, .n = n};
    sums.size = sums.count = PyArray_SIZE(at);
    return added(&sums, made);
}

// ---- bags

// Whether these begin at 0, and no bag before the one before it or after all places.
static int are_offsets(PyArrayObject *offsets, N n)
{
    const N count = offsets && PyArray_NDIM(offsets) == 1 ? PyArray_SIZE(offsets) : 0;
    int fine = count && !*PLACES(offsets) && PLACES(offsets)[count - 1] <= n;
    for (N b = 1; fine && b < count; b++) fine = PLACES(offsets)[b - 1] <= PLACES(offsets)[b];
    return fine;
}

// Which bag each place is in, and how many of each bag's are not `never`.
static void share_out(const int64_t *offsets, N bags, const int64_t *at, N n, int64_t never, int64_t *bag, int64_t *counts)
{
    for (N b = 0, i = 0; b < bags; b++)
        for (const N end = b + 1 < bags ? offsets[b + 1] : n; i < end; i++) {
            bag[i] = b;
            counts[b] += at[i] != never;
        }
}

static PyArrayObject *places_of(npy_intp n) { return (PyArrayObject *)PyArray_ZEROS(1, &n, NPY_INT64, 0); }

// `_embedding_bag(weight, indices, offsets, by_freq, mode, sparse, per_sample, include_last_offset, padding_idx)`, but for
// maxima: the results, the bag of each index, the bags' sizes twice.
static PyObject *embedding_bag(PyObject *const *a, Py_ssize_t count)
{
    enum { SUMS, MEANS };
    PyArrayObject *w = count == 9 ? floats(a[0]) : NULL, *samples;
    PyArrayObject *at = w && PyArray_NDIM(w) == 2 ? places_below(a[1], PyArray_DIM(w, 0)) : NULL;
    PyArrayObject *offsets = at && PyArray_NDIM(at) == 1 ? array_of(a[2], NPY_INT64) : NULL;
    N mode, never;
    if (!are_offsets(offsets, at ? PyArray_SIZE(at) : 0) || !whole_number(a[4], &mode) || mode < SUMS || mode > MEANS ||
        !vector(a[6], PyArray_SIZE(at), &samples) || !PyBool_Check(a[7]) || !whole_number(a[8], &never))
        return NULL;
    const npy_intp n = PyArray_SIZE(at), bags = PyArray_SIZE(offsets) - (a[7] == Py_True), shape[] = {bags, PyArray_DIM(w, 1)};
    if (bags < 1) return NULL;
    PyArrayObject *bag = places_of(n), *counts = places_of(bags), *sizes = places_of(bags), *made = zeros(2, shape);
    if (!bag || !counts || !sizes || !made) {
        Py_XDECREF(bag);
        Py_XDECREF(counts);
        Py_XDECREF(sizes);
        Py_XDECREF(made);
        return NULL;
    }
    int64_t *of_bag = PyArray_DATA(counts);
    share_out(PLACES(offsets), bags, PLACES(at), n, never, PyArray_DATA(bag), of_bag);
    RowSums sums = {data_of(w), data_or_null(samples), PLACES(at), PLACES(bag), PLACES(at), data_of(made), PyArray_DIM(w, 0), bags,
                    n, shape[1], never};
    WORK(n * shape[1], loops->add_rows(&sums));
    if (mode == MEANS)
        for (N b = 0; b < bags; b++)
            for (N k = 0; of_bag[b] > 1 && k < shape[1]; k++) data_of(made)[b * shape[1] + k] /= (float)of_bag[b];
    memcpy(PyArray_DATA(sizes), of_bag, mode == MEANS ? bags * sizeof *of_bag : 0);
    if (mode == SUMS) memset(of_bag, 0, bags * sizeof *of_bag);
    if (mode == SUMS && never < 0) Py_SETREF(bag, places_of(0));  // which the derivative finds, as in PyTorch
    return Py_BuildValue("(NNNN)", made, bag, sizes, counts);
}

// `_embedding_bag_rows_backward(g, indices, bags, num_weights, padding_idx)`
static PyObject *embedding_bag_backward(PyObject *const *a, Py_ssize_t count)
{
    N rows, never;
    PyArrayObject *g = count == 5 ? floats(a[0]) : NULL;
    if (!g || PyArray_NDIM(g) != 2 || !whole_number(a[3], &rows) || !whole_number(a[4], &never) || rows < 0 || rows > MANY) return NULL;
    PyArrayObject *at = places_below(a[1], rows), *bag = at ? places_below(a[2], PyArray_DIM(g, 0)) : NULL;
    if (!bag || PyArray_NDIM(at) != 1 || !same_shape(at, bag)) return NULL;
    const npy_intp shape[] = {rows, PyArray_DIM(g, 1)};
    RowSums sums = {data_of(g), NULL, PLACES(bag), PLACES(at), PLACES(at), NULL, PyArray_DIM(g, 0), rows, PyArray_SIZE(at), shape[1], never};
    return added(&sums, zeros(2, shape));
}

// `combine(xp, "add", target, index, values)`: rows of values added to the rows of the target that the index names.
static PyObject *add_at(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *to = count == 5 && PyModule_Check(a[0]) && is_text(a[1], "add") ? floats(a[2]) : NULL;
    if (!to || !PyArray_ISWRITEABLE(to) || !PyArray_NDIM(to)) return NULL;
    const N size = PyArray_DIM(to, 0), n = product(PyArray_DIMS(to) + 1, PyArray_NDIM(to) - 1);
    PyArrayObject *at = places_below(a[3], size), *values = (PyArrayObject *)a[4];
    if (!at || PyArray_NDIM(at) != 1 || !PyArray_CheckExact(values) || PyArray_TYPE(values) != NPY_FLOAT32 ||
        !PyArray_ISNOTSWAPPED(values) || PyArray_SIZE(values) != PyArray_SIZE(at) * n || PyArray_NDIM(values) != PyArray_NDIM(to))
        return NULL;
    values = laid_out(a[4]);
    if (!values || !is_apart(to, values)) {
        Py_XDECREF(values);
        return NULL;
    }
    RowSums sums = {.from = data_of(values), .to_at = PLACES(at), .to = data_of(to), .results = size, .n = n};
    sums.size = sums.count = PyArray_SIZE(at);
    WORK(PyArray_SIZE(values), loops->add_rows(&sums));
    Py_DECREF(values);
    Py_RETURN_NONE;
}

// What stands before and behind a dimension, and its size in two arrays that are the same but for it. Whether they are.
static int split_at(PyObject *dim, PyArrayObject *x, PyArrayObject *at, N *first, N *size, N *n, N *last)
{
    N d;
    const int ndim = PyArray_NDIM(x);
    if (!whole_number(dim, &d) || d < -ndim || d >= ndim || PyArray_NDIM(at) != ndim) return 0;
    d += d < 0 ? ndim : 0;
    for (int i = 0; i < ndim; i++)
        if (i != d && PyArray_DIM(x, i) != PyArray_DIM(at, i)) return 0;
    *first = product(PyArray_DIMS(x), (int)d);
    *size = PyArray_DIM(x, d);
    *n = PyArray_DIM(at, d);
    *last = product(PyArray_DIMS(x) + d + 1, ndim - (int)d - 1);
    return 1;
}

// Of (first, size, last) and (first, n, last); where `first` is 1, what is picked goes by places instead.
typedef struct { const float *from; const int64_t *at; float *to; N first, size, n, last; int add; atomic_int fine; } Picking;

static void gather_share(void *work, N from, N to)
{
    Picking *w = work;
    const N first = w->first > 1 ? to - from : 1, n = w->first > 1 ? w->n : to - from;
    const N row = w->last * (w->first > 1 ? w->n : 1), before = w->first > 1 ? from * w->size * w->last : 0;
    int fine;
    loops->gather(w->from + before, w->at + from * row, w->to + from * row, first, w->size, n, w->last, &fine);
    if (!fine) w->fine = 0;
}

static void scatter_share(void *work, N from, N to)
{
    const Picking *w = work;
    const N row = w->n * w->last;
    loops->scatter(w->from + from * row, w->at + from * row, w->to + from * w->size * w->last, to - from, w->size, w->n, w->last,
                   w->add);
}

static PyObject *gather(PyObject *const *a, Py_ssize_t count)
{
    Picking w = {.fine = 1};
    PyArrayObject *x = count == 4 ? floats(a[0]) : NULL, *at = x ? array_of(a[2], NPY_INT64) : NULL;
    if (!at || !PyBool_Check(a[3]) || !split_at(a[1], x, at, &w.first, &w.size, &w.n, &w.last) || !w.size) return NULL;
    PyArrayObject *made = fresh_like(at);
    if (!made) return NULL;
    w.from = data_of(x), w.at = PLACES(at), w.to = data_of(made);
    if (w.first > 1) SHARED(gather_share, w, w.first, w.n * w.last);
    else SHARED(gather_share, w, w.n, w.last);
    if (!w.fine) Py_CLEAR(made);
    return (PyObject *)made;
}

// `scatter(xp, self, dim, index, src)`, into itself.
static PyObject *scattered(PyObject *const *a, Py_ssize_t count, int add)
{
    Picking w = {.add = add};
    PyArrayObject *to = count == 5 && PyModule_Check(a[0]) ? floats(a[1]) : NULL, *at = to ? array_of(a[3], NPY_INT64) : NULL;
    PyArrayObject *from = at ? floats(a[4]) : NULL;
    if (!from || !PyArray_ISWRITEABLE(to) || !same_shape(from, at) || !is_apart(to, from) ||
        !split_at(a[2], to, at, &w.first, &w.size, &w.n, &w.last) || !places_below(a[3], w.size))
        return NULL;
    w.from = data_of(from), w.at = PLACES(at), w.to = data_of(to);
    SHARED(scatter_share, w, w.first, w.n * w.last);
    Py_RETURN_NONE;
}

static PyObject *scatter(PyObject *const *a, Py_ssize_t count) { return scattered(a, count, 0); }
static PyObject *scatter_add(PyObject *const *a, Py_ssize_t count) { return scattered(a, count, 1); }

enum { NONE, MEAN, SUM };

// What both directions of the likelihood are given: rows of inputs, their classes, and how to reduce.
typedef struct { PyArrayObject *x, *at; N rows, classes, reduction, ignored; } Likelihood;

static int describe(Likelihood *l, PyObject *x, PyObject *target, PyObject *weight, PyObject *reduction, PyObject *ignored)
{
    l->x = floats(x);
    l->at = array_of(target, NPY_INT64);
    if (!l->x || !l->at || weight != Py_None || PyArray_NDIM(l->x) != 2 || !whole_number(reduction, &l->reduction) ||
        !whole_number(ignored, &l->ignored) || PyArray_NDIM(l->at) != 1 || l->reduction < NONE || l->reduction > SUM)
        return 0;
    l->rows = PyArray_DIM(l->x, 0);
    l->classes = PyArray_DIM(l->x, 1);
    if (PyArray_SIZE(l->at) != l->rows) return 0;
    for (N i = 0; i < l->rows; i++)
        if (PLACES(l->at)[i] != l->ignored && (uint64_t)PLACES(l->at)[i] >= (uint64_t)l->classes) return 0;
    return 1;
}

static PyObject *nll_loss(PyObject *const *a, Py_ssize_t count)
{
    Likelihood l;
    if (count != 5 || !describe(&l, a[0], a[1], a[2], a[3], a[4])) return NULL;
    npy_intp rows = l.rows;
    PyArrayObject *made = fresh(l.reduction == NONE, &rows), *total = fresh(0, NULL);
    if (!made || !total) {
        Py_XDECREF(made);
        Py_XDECREF(total);
        return NULL;
    }
    double sum = 0;
    N counted = 0;
    for (N i = 0; i < rows; i++) {
        int64_t at = PLACES(l.at)[i];
        float loss = at == l.ignored ? 0 : -data_of(l.x)[i * l.classes + at];
        counted += at != l.ignored;
        sum += loss;
        if (l.reduction == NONE) data_of(made)[i] = loss;
    }
    *data_of(total) = l.reduction == NONE ? 0 : (float)counted;
    if (l.reduction != NONE) *data_of(made) = (float)(l.reduction == MEAN ? sum / (double)counted : sum);
    return Py_BuildValue("(NN)", made, total);
}

static PyObject *nll_loss_backward(PyObject *const *a, Py_ssize_t count)
{
    Likelihood l;
    PyArrayObject *g = count == 7 ? floats(a[0]) : NULL, *total = g ? floats(a[6]) : NULL;
    if (!total || !describe(&l, a[1], a[2], a[3], a[4], a[5])) return NULL;
    if (!has_dims(g, l.reduction == NONE, PyArray_DIMS(l.x)) || PyArray_NDIM(total)) return NULL;
    PyArrayObject *made = (PyArrayObject *)PyArray_ZEROS(2, PyArray_DIMS(l.x), NPY_FLOAT32, 0);
    for (N i = 0; made && i < l.rows; i++) {
        int64_t at = PLACES(l.at)[i];
        float share = -data_of(g)[l.reduction == NONE ? i : 0];
        if (at != l.ignored)
            data_of(made)[i * l.classes + at] = l.reduction == MEAN ? share / *data_of(total) : share;
    }
    return (PyObject *)made;
}

const KernelDef place_kernels[] = {
    {"embedding", embedding},
    {"index.Tensor", index_first},
    {"index_select", index_select},
    {"embedding_dense_backward", embedding_backward},
    {"_embedding_bag", embedding_bag},
    {"_embedding_bag_rows_backward", embedding_bag_backward},
    {"combine", add_at},
    {"gather", gather},
    {"scatter.write", scatter},
    {"scatter_add.write", scatter_add},
    {"nll_loss_forward", nll_loss},
    {"nll_loss_backward", nll_loss_backward},
    {NULL},
};
