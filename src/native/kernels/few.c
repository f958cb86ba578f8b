// Where NumPy's time is in what it sets up: joined arrays, borders, triangles, whether a bool is among all.
#include "kernel.h"

// Whether a bool is among all: `any(array, None, False)`.
static PyObject *among(PyObject *const *a, Py_ssize_t count, int wanted)
{
    PyArrayObject *x = count == 3 && a[1] == Py_None && a[2] == Py_False ? array_of(a[0], NPY_BOOL) : NULL;
    PyArrayObject *made = x ? (PyArrayObject *)PyArray_SimpleNew(0, NULL, NPY_BOOL) : NULL;
    if (!made) return NULL;
    const char *from = PyArray_DATA(x);
    const int found = PyArray_SIZE(x) && memchr(from, wanted, PyArray_SIZE(x)) != NULL;
    *(npy_bool *)PyArray_DATA(made) = wanted ? found : !found;
    return (PyObject *)made;
}

static PyObject *any(PyObject *const *a, Py_ssize_t count) { return among(a, count, 1); }
static PyObject *all(PyObject *const *a, Py_ssize_t count) { return among(a, count, 0); }

enum { MOST = 16 };  // arrays to join

typedef struct { const char *from[MOST]; npy_intp sizes[MOST], starts[MOST]; N n, row; char *to; } Joined;

// Of the arrays' parts, one of each after the other, and again.
static void join_share(void *work, N from, N to)
{
    const Joined *w = work;
    for (N b = from / w->n, k = from % w->n; from < to; from++) {
        memcpy(w->to + b * w->row + w->starts[k], w->from[k] + b * w->sizes[k], w->sizes[k]);
        if (++k == w->n) b++, k = 0;
    }
}

// Arrays of one dtype whose shapes are the same but at a dimension, where `new` says that this is not yet there.
static PyObject *joined(PyObject *const *a, Py_ssize_t count, int new)
{
    N d;
    if (count != 2 || !(PyList_Check(a[0]) || PyTuple_Check(a[0])) || !whole_number(a[1], &d)) return NULL;
    PyObject **given = PySequence_Fast_ITEMS(a[0]);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(a[0]);
    PyArrayObject *x = n && n <= MOST && PyArray_CheckExact(given[0]) ? (PyArrayObject *)given[0] : NULL;
    const int ndim = x ? PyArray_NDIM(x) + new : 0;
    if (!ndim || d < -ndim || d >= ndim || PyDataType_REFCHK(PyArray_DESCR(x)) || ndim > NPY_MAXDIMS) return NULL;
    d += d < 0 ? ndim : 0;
    npy_intp shape[NPY_MAXDIMS];
    Joined w = {.n = n};
    for (int i = 0; i < ndim; i++) shape[i] = i < d || !new ? PyArray_DIM(x, i) : i == d ? 1 : PyArray_DIM(x, i - 1);
    shape[d] = 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyArrayObject *y = (PyArrayObject *)given[k];
        if (!PyArray_CheckExact(given[k]) || PyArray_DESCR(y) != PyArray_DESCR(x) || !PyArray_ISCARRAY_RO(y) ||
            PyArray_NDIM(y) != PyArray_NDIM(x) || !PyArray_SIZE(y))
            return NULL;
        for (int i = 0; i < PyArray_NDIM(x); i++)
            if ((new || i != d) && PyArray_DIM(y, i) != PyArray_DIM(x, i)) return NULL;
        shape[d] += new ? 1 : PyArray_DIM(y, d);
        w.from[k] = PyArray_DATA(y);
        w.sizes[k] = (new ? 1 : PyArray_DIM(y, d)) * product(shape + d + 1, ndim - (int)d - 1) * PyArray_ITEMSIZE(x);
        w.starts[k] = w.row;
        w.row += w.sizes[k];
    }
    PyArray_Descr *descr = PyArray_DESCR(x);
    Py_INCREF(descr);
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, NULL, NULL, 0, NULL);
    if (!made) return NULL;
    w.to = PyArray_DATA((PyArrayObject *)made);
    SHARED(join_share, w, product(shape, (int)d) * n, w.row / (n * (N)sizeof(float)));
    return made;
}

static PyObject *cat(PyObject *const *a, Py_ssize_t count) { return joined(a, count, 0); }
static PyObject *stack(PyObject *const *a, Py_ssize_t count) { return joined(a, count, 1); }

static void fill(float *to, N n, float value)
{
    for (N i = 0; i < n; i++) to[i] = value;
}

// Numbers with so many more before them along each dimension, but for the last ones that are left as they are, and how far
// apart the parts of a dimension are and come to be.
typedef struct {
    const float *from;
    float *to, value;
    int ndim;
    const npy_intp *sizes, *shape;
    N before[NPY_MAXDIMS], apart[NPY_MAXDIMS], to_apart[NPY_MAXDIMS];
} Padding;

// Where along a dimension, from one place to another, numbers begin and end.
typedef struct { N begun, ended; } Span;

static Span span_of(const Padding *w, int d, N first, N after)
{
    const N start = w->before[d], stop = start + w->sizes[d], begun = start < first ? first : start < after ? start : after;
    return (Span){begun, stop < begun ? begun : stop < after ? stop : after};
}

// Rows that follow each other: some numbers of each, and what there is beside them.
static void pad_rows(const Padding *w, const float *from, float *to, N rows, Span s)
{
    const int d = w->ndim - 1;
    const N apart = w->to_apart[d], lead = s.begun * apart, run = (s.ended - s.begun) * apart, tail = (w->shape[d] - s.ended) * apart;
    for (N i = 0; i < rows; i++, from += w->sizes[d] * apart) {
        fill(to, lead, w->value);
        memcpy(to + lead, from, run * sizeof *to);
        fill(to + lead + run, tail, w->value);
        to += lead + run + tail;
    }
}

// Of what is made, some places along a dimension: the numbers there, and what there is beside them.
static void pad_along(const Padding *w, int d, const float *from, float *to, N first, N after)
{
    const N apart = w->to_apart[d], n = w->apart[d];
    const Span s = span_of(w, d, first, after);
    from += (s.begun - w->before[d]) * n;
    fill(to + first * apart, (s.begun - first) * apart, w->value);
    if (d == w->ndim - 1) {
        memcpy(to + s.begun * apart, from, (s.ended - s.begun) * apart * sizeof *to);
    } else if (d == w->ndim - 2) {
        const Span row = span_of(w, d + 1, 0, w->shape[d + 1]);
        pad_rows(w, from + (row.begun - w->before[d + 1]) * w->apart[d + 1], to + s.begun * apart, s.ended - s.begun, row);
    } else {
        for (N i = s.begun; i < s.ended; i++, from += n) pad_along(w, d + 1, from, to + i * apart, 0, w->shape[d + 1]);
    }
    fill(to + s.ended * apart, (after - s.ended) * apart, w->value);
}

static void pad_share(void *work, N from, N to)
{
    const Padding *w = work;
    pad_along(w, 0, w->from, w->to, from, to);
}

// `constant_pad_nd(array, pad, value)`: so many more before and after, or fewer, from the last dimension on.
static PyObject *pad(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 3 && PyTuple_CheckExact(a[1]) ? floats(a[0]) : NULL, *value = x ? floats(a[2]) : NULL;
    if (!value || PyTuple_GET_SIZE(a[1]) % 2 || PyArray_NDIM(value) || !PyArray_NDIM(x) || !PyArray_SIZE(x)) return NULL;
    const int ndim = PyArray_NDIM(x);
    const N FAR = (N)1 << 40;
    N more;
    npy_intp shape[NPY_MAXDIMS], left[NPY_MAXDIMS];
    Padding work = {.from = data_of(x), .value = *data_of(value), .ndim = ndim, .sizes = PyArray_DIMS(x), .shape = shape};
    memcpy(shape, PyArray_DIMS(x), ndim * sizeof *shape);
    memcpy(left, shape, ndim * sizeof *left);
    for (int i = 0; i < PyTuple_GET_SIZE(a[1]); i++) {
        const int d = ndim - 1 - i / 2;
        if (d < 0 || !whole_number(PyTuple_GET_ITEM(a[1], i), &more) || more > FAR || more < -FAR) return NULL;
        shape[d] += more;
        left[d] += more < 0 ? more : 0;
        if (i % 2 == 0) work.before[d] = more;
    }
    for (int d = 0; d < ndim; d++) {
        if (shape[d] <= 0 || left[d] < 0) return NULL;
        work.apart[d] = product(work.sizes + d + 1, ndim - d - 1);
        work.to_apart[d] = product(shape + d + 1, ndim - d - 1);
    }
    PyArrayObject *y = fresh(ndim, shape);
    if (!y) return PyErr_Clear(), NULL;
    work.to = data_of(y);
    for (int d; (d = work.ndim - 1) > 0 && !work.before[d] && shape[d] == work.sizes[d];) work.ndim--;
    SHARED(pad_share, work, *shape, PyArray_SIZE(y) / *shape);
    return (PyObject *)y;
}

// `tril(array, diagonal)`, or `triu`: rows up to a diagonal, or from there on, among zeros.
static PyObject *triangle(PyObject *const *a, Py_ssize_t count, int upper)
{
    N diagonal;
    PyArrayObject *x = count == 2 && PyArray_CheckExact(a[0]) ? (PyArrayObject *)a[0] : NULL;
    const int ndim = x ? PyArray_NDIM(x) : 0;
    if (ndim < 2 || !PyArray_ISCARRAY_RO(x) || !PyArray_SIZE(x) || PyDataType_REFCHK(PyArray_DESCR(x)) || !whole_number(a[1], &diagonal))
        return NULL;
    const N n = PyArray_DIM(x, ndim - 1), rows = PyArray_DIM(x, ndim - 2), item = PyArray_ITEMSIZE(x), size = n * item;
    diagonal = diagonal < -rows ? -rows : diagonal > n ? n : diagonal;
    PyArray_Descr *descr = PyArray_DESCR(x);
    Py_INCREF(descr);
    PyArrayObject *made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, ndim, PyArray_DIMS(x), NULL, NULL, 0, NULL);
    if (!made) return NULL;
    const char *from = PyArray_DATA(x);
    char *to = PyArray_DATA(made);
    for (N i = 0; i < PyArray_SIZE(x) / n; i++, from += size, to += size) {
        const N wanted = i % rows + diagonal + !upper, cut = (wanted < 0 ? 0 : wanted < n ? wanted : n) * item;
        memcpy(to + (upper ? cut : 0), from + (upper ? cut : 0), upper ? size - cut : cut);
        memset(to + (upper ? 0 : cut), 0, upper ? cut : size - cut);
    }
    return (PyObject *)made;
}

static PyObject *tril(PyObject *const *a, Py_ssize_t count) { return triangle(a, count, 0); }
static PyObject *triu(PyObject *const *a, Py_ssize_t count) { return triangle(a, count, 1); }

const KernelDef few_kernels[] = {
    {"constant_pad_nd", pad}, {"any", any}, {"all", all}, {"cat", cat}, {"stack", stack}, {"tril", tril}, {"triu", triu}, {NULL},
};
