// The largest or smallest few along a dimension, sorted: each number is put among the best so far.
#include <math.h>

#include "kernel.h"

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

// `topk(array, axis, k, largest, sorted)`
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

const KernelDef select_kernels[] = {{"topk", topk}, {NULL}};
