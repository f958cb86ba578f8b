// The largest or smallest along a dimension: few of them, sorted; the one of each row; those so far; all of them, sorted.
#include <math.h>

#include "kernel.h"

// ---- few of them

enum { MOST = 64 };  // of which so many may be asked for

typedef struct { const float *x; float *values; int64_t *places; N n, last, k; int largest; } Selection;

// Whether a number comes before another one; NaN is larger than all.
INLINE_ int is_before(float x, float other, int largest)
{
    return largest ? x > other || (x != x && other == other) : x < other || (other != other && x == x);
}

static void select_share(void *work, N from, N to)
{
    const Selection *w = work;
    for (N r = from; r < to; r++) {
        const float *x = w->x + r / w->last * w->n * w->last + r % w->last;
        float best[MOST];
        int64_t at[MOST];
        N found = 0;
        for (N i = 0; i < w->n; i++) {
            const float worst = found == w->k ? best[found - 1] : NAN;
            if (w->largest) while (i < w->n && x[i * w->last] <= worst) i++;
            else while (i < w->n && x[i * w->last] >= worst) i++;
            if (i == w->n) break;
            const float value = x[i * w->last];
            if (found == w->k && !is_before(value, worst, w->largest)) continue;
            N place = found < w->k ? found++ : found - 1;
            for (; place && is_before(value, best[place - 1], w->largest); place--) {
                best[place] = best[place - 1];
                at[place] = at[place - 1];
            }
            best[place] = value;
            at[place] = i;
        }
        const N first = r / w->last * w->k * w->last + r % w->last;
        for (N i = 0; i < w->k; i++) {
            w->values[first + i * w->last] = best[i];
            w->places[first + i * w->last] = at[i];
        }
    }
}

// `topk(array, axis, k, largest, sorted)`: each number is put among the best so far.
static PyObject *topk(PyObject *const *a, Py_ssize_t count)
{
    Selection w;
    N first;
    PyArrayObject *x = count == 5 ? floats(a[0]) : NULL;
    if (!x || !split_along(a[1], x, &first, &w.n, &w.last) || !whole_number(a[2], &w.k) || w.k < 1 || w.k > MOST ||
        w.k > w.n || !PyBool_Check(a[3]))
        return NULL;
    npy_intp shape[NPY_MAXDIMS], d;
    memcpy(shape, PyArray_DIMS(x), PyArray_NDIM(x) * sizeof *shape);
    if (!whole_number(a[1], &d) || d < 0) return NULL;
    shape[d] = w.k;
    PyArrayObject *values = fresh(PyArray_NDIM(x), shape);
    PyArrayObject *places = values ? (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), shape, NPY_INT64) : NULL;
    if (!places) {
        Py_XDECREF(values);
        return NULL;
    }
    w.x = data_of(x), w.values = data_of(values), w.places = PyArray_DATA(places), w.largest = a[3] == Py_True;
    SHARED(select_share, w, first * w.last, w.n);
    return Py_BuildValue("NN", values, places);
}

// ---- the one

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
    if (!x || !PyArray_SIZE(x)) return NULL;
    PyArrayObject *made = fresh(0, NULL);
    if (made && PyArray_SIZE(x) <= FEW) *data_of(made) = data_of(x)[best_of(data_of(x), PyArray_SIZE(x), 1, largest)];
    else if (made && !extreme_of_all(x, largest ? 0 : INT32_MIN, data_of(made))) Py_CLEAR(made);
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

// Arrays for a number of each row, if these are wanted, and its place. Whether there are any.
static int of_rows(PyArrayObject *x, PyObject *keepdim, PyArrayObject **values, PyArrayObject **places)
{
    const int ndim = PyArray_NDIM(x) - (keepdim == Py_False);
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(x), PyArray_NDIM(x) * sizeof *shape);
    shape[PyArray_NDIM(x) - 1] = 1;
    *places = PyBool_Check(keepdim) ? (PyArrayObject *)PyArray_SimpleNew(ndim, shape, NPY_INTP) : NULL;
    if (*places && values && !(*values = (PyArrayObject *)PyArray_SimpleNew(ndim, shape, PyArray_TYPE(x)))) Py_CLEAR(*places);
    return *places != NULL;
}

// Rows, and where the best of each stands, as NumPy finds it.
typedef struct { PyArrayObject *x; PyArray_ArgFunc *find; N n; npy_intp *places; char *values; } Best;

static void best_share(void *work, N from, N to)
{
    const Best *w = work;
    const N item = PyArray_ITEMSIZE(w->x);
    for (N r = from; r < to; r++) {
        char *row = PyArray_BYTES(w->x) + r * w->n * item;
        w->find(row, w->n, w->places + r, w->x);
        if (w->values) memcpy(w->values + r * item, row + w->places[r] * item, item);
    }
}

// `argmax(array, axis, keepdim)`, or `max.dim` with the values, of rows of real numbers.
static PyObject *best_of_rows(PyObject *const *a, Py_ssize_t count, int largest, int with_values)
{
    PyArrayObject *x = count == 3 && PyArray_CheckExact(a[0]) ? (PyArrayObject *)a[0] : NULL;
    const int type = x ? PyArray_TYPE(x) : NPY_OBJECT;
    N d;
    if (!(type <= NPY_DOUBLE || type == NPY_HALF) || !PyArray_ISCARRAY_RO(x) || !PyArray_SIZE(x) ||
        !whole_number(a[1], &d) || d < 0 || d != PyArray_NDIM(x) - 1)
        return NULL;
    const PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(PyArray_DESCR(x));
    PyArrayObject *values = NULL, *places;
    if (!of_rows(x, a[2], with_values ? &values : NULL, &places)) return NULL;
    Best work = {x, largest ? functions->argmax : functions->argmin, PyArray_DIM(x, PyArray_NDIM(x) - 1), PyArray_DATA(places),
                 values ? PyArray_DATA(values) : NULL};
    SHARED(best_share, work, PyArray_SIZE(x) / work.n, work.n);
    return with_values ? Py_BuildValue("NN", values, places) : (PyObject *)places;
}

#define EXTREMES(name, largest)                                                                                               \
    static PyObject *few_arg##name(PyObject *const *a, Py_ssize_t count)                                                      \
    {                                                                                                                         \
        return (PyObject *)places_along(a, count, largest, NULL);                                                             \
    }                                                                                                                         \
    static PyObject *few_##name##_along(PyObject *const *a, Py_ssize_t count) { return extreme_along(a, count, largest); }    \
    static PyObject *arg##name(PyObject *const *a, Py_ssize_t count) { return best_of_rows(a, count, largest, 0); }           \
    static PyObject *name##_along(PyObject *const *a, Py_ssize_t count) { return best_of_rows(a, count, largest, 1); }
EXTREMES(max, 1)
EXTREMES(min, 0)

// ---- those so far

typedef struct { const float *x; float *values; int64_t *places; N n, last; int largest; } Running;

static void running_share(void *work, N from, N to)
{
    const Running *w = work;
    for (N r = from; r < to; r++) {
        N at = r / w->last * w->n * w->last + r % w->last, place = 0;
        float best = w->x[at];
        for (N i = 0; i < w->n; i++, at += w->last) {
            const float x = w->x[at];
            const int takes = (w->largest ? x >= best : x <= best) | (x != x);
            best = takes ? x : best;
            place = takes ? i : place;
            w->values[at] = best;
            w->places[at] = place;
        }
    }
}

// `cummax(array, axis)`: of equal ones the latest, and NaN from where there is one.
static PyObject *running(PyObject *const *a, Py_ssize_t count, int largest)
{
    Running w = {.largest = largest};
    N first, d;
    PyArrayObject *x = count == 2 ? floats(a[0]) : NULL;
    if (!x || !split_along(a[1], x, &first, &w.n, &w.last) || !whole_number(a[1], &d) || d < 0) return NULL;
    PyArrayObject *values = fresh_like(x);
    PyArrayObject *places = values ? (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64) : NULL;
    if (!places) {
        Py_XDECREF(values);
        return NULL;
    }
    w.x = data_of(x), w.values = data_of(values), w.places = PyArray_DATA(places);
    SHARED(running_share, w, first * w.last, w.n);
    return Py_BuildValue("NN", values, places);
}

static PyObject *cummax(PyObject *const *a, Py_ssize_t count) { return running(a, count, 1); }
static PyObject *cummin(PyObject *const *a, Py_ssize_t count) { return running(a, count, 0); }

// ---- all of them

typedef struct { const float *x; float *values; int64_t *places; N n; int descending; PyArray_SortFunc *sort; } Sorting;

// What is ordered as floats are: zeros of both signs alike, and NaN larger than all.
static uint32_t key_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? UINT32_MAX : x == 0 ? 1u << 31 : (uint32_t)bits ^ ((uint32_t)(bits >> 31) | 1u << 31);
}

// Rows of keys, each with its place behind it, are sorted as whole numbers: so equal ones stay in their order.
static void sort_share(void *work, N from, N to)
{
    const Sorting *w = work;
    for (N r = from; r < to; r++) {
        const float *x = w->x + r * w->n;
        int64_t *places = w->places + r * w->n;
        uint64_t *keys = (uint64_t *)places;
        for (N i = 0; i < w->n; i++) keys[i] = (uint64_t)(w->descending ? ~key_of(x[i]) : key_of(x[i])) << 32 | (uint64_t)i;
        w->sort(keys, w->n, NULL);
        for (N i = 0; i < w->n; i++) {
            places[i] = (uint32_t)keys[i];
            if (w->values) w->values[r * w->n + i] = x[places[i]];
        }
    }
}

// The places of what is sorted along the last dimension, behind the values where these are wanted, too.
static PyObject *sorted(PyObject *operand, PyObject *axis, PyObject *descending, int with_values)
{
    PyArrayObject *x = floats(operand);
    if (!x || !is_last(axis, x) || !PyArray_SIZE(x) || !PyBool_Check(descending)) return NULL;
    const N n = PyArray_DIM(x, PyArray_NDIM(x) - 1);
    PyArray_Descr *keys = n < UINT32_MAX ? PyArray_DescrFromType(NPY_UINT64) : NULL;
    if (!keys) return NULL;
    PyArrayObject *values = with_values ? fresh_like(x) : NULL;
    PyArrayObject *places = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64);
    Sorting w = {data_of(x), data_or_null(values), places ? PyArray_DATA(places) : NULL, n, descending == Py_True,
                 PyDataType_GetArrFuncs(keys)->sort[NPY_QUICKSORT]};
    Py_DECREF(keys);
    if (PyErr_Occurred()) {
        Py_XDECREF(values);
        Py_XDECREF(places);
        return NULL;
    }
    SHARED(sort_share, w, PyArray_SIZE(x) / n, n);
    return with_values ? Py_BuildValue("NN", values, places) : (PyObject *)places;
}

static PyObject *sort(PyObject *const *a, Py_ssize_t count)
{
    return count == 3 ? sorted(a[0], a[1], a[2], 1) : NULL;
}

static PyObject *stable_sort(PyObject *const *a, Py_ssize_t count)
{
    return count == 4 ? sorted(a[0], a[1], a[3], 1) : NULL;
}

static PyObject *argsort(PyObject *const *a, Py_ssize_t count)
{
    return count == 3 ? sorted(a[0], a[1], a[2], 0) : NULL;
}

static PyObject *stable_argsort(PyObject *const *a, Py_ssize_t count)
{
    return count == 4 ? sorted(a[0], a[1], a[3], 0) : NULL;
}

// ---- the one of some rank

typedef struct { const float *x; float *values; int64_t *places; N n, rank; } Ranked;

// Of each row, eight bits of the key at a time, from the highest on: how many of those that begin as it does go on so.
static void ranked_share(void *work, N from, N to)
{
    const Ranked *w = work;
    for (N r = from; r < to; r++) {
        const float *x = w->x + r * w->n;
        uint64_t found = 0;
        N before = w->rank, at = 0;
        for (int shift = 24; shift >= 0; shift -= 8) {
            uint32_t counts[256] = {0};
            for (N i = 0; i < w->n; i++) {
                const uint64_t key = key_of(x[i]) >> shift;
                counts[key & 255] += key >> 8 == found;
            }
            uint64_t next = 0;
            while (before >= counts[next]) before -= counts[next++];
            found = found << 8 | next;
        }
        while (key_of(x[at]) != found) at++;
        w->places[r] = at;
        w->values[r] = x[at];
    }
}

// `kthvalue(array, axis, keepdim, k)` along the last dimension: of equal ones the first.
static PyObject *kthvalue(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 4 ? floats(a[0]) : NULL, *values, *places;
    const N n = x && is_last(a[1], x) ? PyArray_DIM(x, PyArray_NDIM(x) - 1) : 0;
    N k;
    if (!n || !whole_number(a[3], &k) || k < 1 || k > n || n >= UINT32_MAX || !of_rows(x, a[2], &values, &places)) return NULL;
    Ranked w = {data_of(x), data_of(values), PyArray_DATA(places), n, k - 1};
    SHARED(ranked_share, w, PyArray_SIZE(x) / n, n);
    return Py_BuildValue("NN", values, places);
}

const KernelDef select_kernels[] = {
    {"sort", sort}, {"sort.stable", stable_sort}, {"argsort", argsort}, {"argsort.stable", stable_argsort},
    {"topk", topk}, {"cummax", cummax}, {"cummin", cummin}, {"max", max}, {"min", min}, {"argmax", few_argmax},
    {"argmax", argmax}, {"argmin", few_argmin}, {"argmin", argmin}, {"max.dim", few_max_along}, {"max.dim", max_along},
    {"min.dim", few_min_along}, {"min.dim", min_along}, {"kthvalue", kthvalue}, {NULL},
};
