// Where NumPy's time is in what it sets up: of few elements extremes and where they stand, running sums, joined arrays;
// borders, triangles.
#include "kernel.h"

enum { FEW = 4096 };  // elements from which on NumPy's loops are worth their setting up

// An array of few floats, split at the dimension that an argument names.
static PyArrayObject *few_along(PyObject *given, PyObject *axis, N *d, N *before, N *n, N *after)
{
    PyArrayObject *x = floats(given);
    const int ndim = x ? PyArray_NDIM(x) : 0;
    if (!x || !ndim || !PyArray_SIZE(x) || PyArray_SIZE(x) > FEW || !whole_number(axis, d) || *d < 0 || *d >= ndim)
        return NULL;
    *before = product(PyArray_DIMS(x), (int)*d);
    *n = PyArray_DIM(x, *d);
    *after = product(PyArray_DIMS(x) + *d + 1, ndim - (int)*d - 1);
    return x;
}

// Whether a number takes the place of the best so far: the first NaN is better than all.
INLINE_ int is_better(float x, float best, int largest)
{
    return best == best && (x != x || (largest ? x > best : x < best));
}

// The place of the best of n numbers.
static N best_of(const float *x, N n, N step, int largest)
{
    N at = 0;
    for (N i = 1; i < n; i++)
        if (is_better(x[i * step], x[at * step], largest)) at = i;
    return at;
}

// The largest, or smallest, of all: `max(array, None, False)`.
static PyObject *extreme(PyObject *const *a, Py_ssize_t count, int largest)
{
    PyArrayObject *x = count == 3 && a[1] == Py_None && a[2] == Py_False ? floats(a[0]) : NULL;
    if (!x || !PyArray_SIZE(x) || PyArray_SIZE(x) > FEW) return NULL;
    PyArrayObject *made = fresh(0, NULL);
    if (made) *data_of(made) = data_of(x)[best_of(data_of(x), PyArray_SIZE(x), 1, largest)];
    return (PyObject *)made;
}

// Along a dimension: places, and the numbers there where `values` is somewhere to put them.
static PyArrayObject *places_along(PyObject *const *a, Py_ssize_t count, int largest, PyArrayObject **values)
{
    N d, before, n, after;
    PyArrayObject *x = count == 3 && PyBool_Check(a[2]) ? few_along(a[0], a[1], &d, &before, &n, &after) : NULL;
    if (!x) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    int ndim = 0;
    for (int i = 0; i < PyArray_NDIM(x); i++)
        if (i != d || a[2] == Py_True) shape[ndim++] = i == d ? 1 : PyArray_DIM(x, i);
    PyArrayObject *places = (PyArrayObject *)PyArray_SimpleNew(ndim, shape, NPY_INT64);
    if (values && places && !(*values = fresh(ndim, shape))) Py_CLEAR(places);
    for (N b = 0; places && b < before; b++)
        for (N k = 0; k < after; k++) {
            const float *from = data_of(x) + b * n * after + k;
            const N at = best_of(from, n, after, largest);
            ((int64_t *)PyArray_DATA(places))[b * after + k] = at;
            if (values) data_of(*values)[b * after + k] = from[at * after];
        }
    return places;
}

static PyObject *extreme_along(PyObject *const *a, Py_ssize_t count, int largest)
{
    PyArrayObject *values, *places = places_along(a, count, largest, &values);
    return places ? Py_BuildValue("NN", values, places) : NULL;
}

static PyObject *max(PyObject *const *a, Py_ssize_t count) { return extreme(a, count, 1); }
static PyObject *min(PyObject *const *a, Py_ssize_t count) { return extreme(a, count, 0); }
static PyObject *max_along(PyObject *const *a, Py_ssize_t count) { return extreme_along(a, count, 1); }
static PyObject *min_along(PyObject *const *a, Py_ssize_t count) { return extreme_along(a, count, 0); }
static PyObject *argmax(PyObject *const *a, Py_ssize_t count) { return (PyObject *)places_along(a, count, 1, NULL); }
static PyObject *argmin(PyObject *const *a, Py_ssize_t count) { return (PyObject *)places_along(a, count, 0, NULL); }

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

static PyObject *cumsum(PyObject *const *a, Py_ssize_t count)
{
    N d, before, n, after;
    PyArrayObject *x = count == 2 ? few_along(a[0], a[1], &d, &before, &n, &after) : NULL, *made = x ? fresh_like(x) : NULL;
    for (N b = 0; made && b < before; b++)
        for (N k = 0; k < after; k++) {
            double sum = -0.0;  // which leaves the sign of a first zero
            for (N i = 0, at = b * n * after + k; i < n; i++, at += after)
                data_of(made)[at] = (float)(sum += data_of(x)[at]);
        }
    return (PyObject *)made;
}

enum { MOST = 16 };  // arrays to join

static void copy_in_turn(PyObject *const *given, const npy_intp *sizes, Py_ssize_t n, N before, char *to)
{
    for (N b = 0; b < before; b++)
        for (Py_ssize_t k = 0; k < n; to += sizes[k++])
            memcpy(to, PyArray_BYTES((PyArrayObject *)given[k]) + b * sizes[k], sizes[k]);
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
    npy_intp shape[NPY_MAXDIMS], sizes[MOST];
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
        sizes[k] = (new ? 1 : PyArray_DIM(y, d)) * product(shape + d + 1, ndim - (int)d - 1) * PyArray_ITEMSIZE(x);
    }
    PyArray_Descr *descr = PyArray_DESCR(x);
    Py_INCREF(descr);
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, NULL, NULL, 0, NULL);
    if (made)
        WORK(PyArray_SIZE((PyArrayObject *)made),
             copy_in_turn(given, sizes, n, product(shape, (int)d), PyArray_DATA((PyArrayObject *)made)));
    return made;
}

static PyObject *cat(PyObject *const *a, Py_ssize_t count) { return joined(a, count, 0); }
static PyObject *stack(PyObject *const *a, Py_ssize_t count) { return joined(a, count, 1); }

static void fill(float *to, N n, float value)
{
    for (N i = 0; i < n; i++) to[i] = value;
}

// Along the first of some dimensions: what comes before the numbers, these, and what comes after them.
static void pad_along(const float *from, float *to, int ndim, const npy_intp *sizes, const npy_intp *shape, const N *before, float value)
{
    const N each = product(sizes + 1, ndim - 1), made = product(shape + 1, ndim - 1);
    const N first = *before < 0 ? 0 : *before < *shape ? *before : *shape, end = *sizes + *before;
    const N last = end < first ? first : end < *shape ? end : *shape;
    fill(to, first * made, value);
    if (ndim == 1) memcpy(to + first, from + first - *before, (last - first) * sizeof *to);
    for (N i = first; ndim > 1 && i < last; i++)
        pad_along(from + (i - *before) * each, to + i * made, ndim - 1, sizes + 1, shape + 1, before + 1, value);
    fill(to + last * made, (*shape - last) * made, value);
}

// `constant_pad_nd(array, pad, value)`: so many more before and after, or fewer, from the last dimension on.
static PyObject *pad(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 3 && PyTuple_CheckExact(a[1]) ? floats(a[0]) : NULL, *value = x ? floats(a[2]) : NULL;
    if (!value || PyTuple_GET_SIZE(a[1]) % 2 || PyArray_NDIM(value) || !PyArray_NDIM(x) || !PyArray_SIZE(x)) return NULL;
    const int ndim = PyArray_NDIM(x);
    const N FAR = (N)1 << 40;
    N before[NPY_MAXDIMS] = {0}, more;
    npy_intp shape[NPY_MAXDIMS], left[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(x), ndim * sizeof *shape);
    memcpy(left, shape, ndim * sizeof *left);
    for (int i = 0; i < PyTuple_GET_SIZE(a[1]); i++) {
        const int d = ndim - 1 - i / 2;
        if (d < 0 || !whole_number(PyTuple_GET_ITEM(a[1], i), &more) || more > FAR || more < -FAR) return NULL;
        shape[d] += more;
        left[d] += more < 0 ? more : 0;
        if (i % 2 == 0) before[d] = more;
    }
    for (int d = 0; d < ndim; d++)
        if (shape[d] <= 0 || left[d] < 0) return NULL;
    PyArrayObject *y = fresh(ndim, shape);
    if (!y) PyErr_Clear();
    else WORK(PyArray_SIZE(y), pad_along(data_of(x), data_of(y), ndim, PyArray_DIMS(x), shape, before, *data_of(value)));
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
    {"constant_pad_nd", pad},
    {"max", max}, {"min", min}, {"max.dim", max_along}, {"min.dim", min_along}, {"argmax", argmax},
    {"argmin", argmin}, {"any", any}, {"all", all}, {"cumsum", cumsum}, {"cat", cat},
    {"stack", stack}, {"tril", tril}, {"triu", triu}, {NULL},
};
