// Random numbers, of words that were drawn: see loops/random.c.
#include "kernel.h"

#include <float.h>
#include <math.h>

enum { BLOCK = 16, MOST = 1 << 14 };  // how many numbers are normal together; how many words there may be at hand

static PyArrayObject *words_of(PyObject *o) { return array_of(o, NPY_UINT32); }

// `unit_floats(words)`
static PyObject *unit_floats(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *words = count == 1 ? words_of(a[0]) : NULL, *y = words ? fresh_like(words) : NULL;
    if (y) WORK(PyArray_SIZE(y), loops->unit_floats(PyArray_DATA(words), PyArray_DATA(y), PyArray_SIZE(y)));
    return (PyObject *)y;
}

// `unit_doubles(words)`: two words each
static PyObject *unit_doubles(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *words = count == 1 ? words_of(a[0]) : NULL;
    if (!words || PyArray_NDIM(words) != 1 || PyArray_SIZE(words) % 2) return NULL;
    const npy_intp n = PyArray_SIZE(words) / 2;
    PyArrayObject *y = (PyArrayObject *)PyArray_SimpleNew(1, (npy_intp *)&n, NPY_FLOAT64);
    if (y) WORK(n, loops->unit_doubles(PyArray_DATA(words), PyArray_DATA(y), n));
    return (PyObject *)y;
}

// `ones_below(words, limit, dtype)`
static PyObject *ones_below(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *words = count == 3 ? words_of(a[0]) : NULL;
    if (!words || PyArray_NDIM(words) != 1 || PyArray_SIZE(words) % 2 || !PyFloat_CheckExact(a[1]) ||
        !PyArray_DescrCheck(a[2]) || ((PyArray_Descr *)a[2])->type_num != NPY_FLOAT32)
        return NULL;
    const npy_intp n = PyArray_SIZE(words) / 2;
    const double limit = PyFloat_AS_DOUBLE(a[1]);
    PyArrayObject *y = fresh(1, &n);
    if (y) WORK(n, loops->ones_below(PyArray_DATA(words), PyArray_DATA(y), n, limit));
    return (PyObject *)y;
}

// `multiply_add(x, scale, shift)`
static PyObject *multiply_add(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 3 ? floats(a[0]) : NULL;
    float scale, shift;
    if (!x || !number(a[1], &scale) || !number(a[2], &shift)) return NULL;
    PyArrayObject *y = fresh_like(x);
    if (y) WORK(PyArray_SIZE(x), loops->multiply_add(data_of(x), data_of(y), PyArray_SIZE(x), scale, shift));
    return (PyObject *)y;
}

// `fill_normals(out, words, mean, std)`: whole blocks
static PyObject *fill_normals(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *y = count == 4 ? floats(a[0]) : NULL, *words = y ? words_of(a[1]) : NULL;
    float mean, std;
    if (!words || !PyArray_ISWRITEABLE(y) || PyArray_NDIM(y) != 1 || PyArray_NDIM(words) != 1 || PyArray_SIZE(y) != PyArray_SIZE(words) || PyArray_SIZE(y) % BLOCK ||
        !is_apart(y, words) || !number(a[2], &mean) || !number(a[3], &std))
        return NULL;
    WORK(PyArray_SIZE(y), loops->normals(PyArray_DATA(words), data_of(y), PyArray_SIZE(y) / BLOCK, mean, std));
    return Py_NewRef(Py_None);
}

// ---- new arrays of numbers, of words that a stream has at hand; where there are too few, its own method makes more
//
// `draw.uniform(stream, shape, dtype, low, high)`, `draw.normal(stream, shape, dtype, mean, std)`, `draw.ones(stream, shape,
// dtype, p)`, `draw.integers(stream, shape, dtype, low, high)`: see MT19937Engine in torchlite/kernels/cpu_random/engine.py.

typedef struct { PyObject *stream, *lock, *block; N next; } Taking;

#define NAMES(X) X(_lock) X(_block) X(_next) X(_normal) X(acquire) X(release)
#define NAME(name) static PyObject *name;
NAMES(NAME)

static int know_names(void)
{
#define MADE(name) && (name || (name = PyUnicode_InternFromString(#name)))
    return 1 NAMES(MADE);
}

// Let go of the stream, `taken` words further on.
static void let_go(Taking *t, N taken)
{
    PyObject *type, *error, *trace, *next = taken ? PyLong_FromSsize_t(t->next + taken) : NULL;
    PyErr_Fetch(&type, &error, &trace);
    if (next && PyObject_SetAttr(t->stream, _next, next) < 0) PyErr_Clear();
    Py_XDECREF(next);
    Py_XDECREF(PyObject_CallMethodNoArgs(t->lock, release));
    Py_DECREF(t->lock);
    Py_XDECREF(t->block);
    PyErr_Restore(type, error, trace);
}

// Take hold of a stream that nobody else draws from now. NULL, without an error: it has fewer words at hand, or is held.
static const uint32_t *take(Taking *t, PyObject *stream, N wanted)
{
    *t = (Taking){stream, know_names() ? PyObject_GetAttr(stream, _lock) : NULL, NULL, 0};
    PyObject *held = t->lock ? PyObject_CallMethodOneArg(t->lock, acquire, Py_False) : NULL;
    const int mine = held == Py_True;
    Py_XDECREF(held);
    if (!mine) {
        Py_XDECREF(t->lock);
        PyErr_Clear();
        return NULL;
    }
    t->block = PyObject_GetAttr(stream, _block);
    PyObject *next = PyObject_GetAttr(stream, _next);
    PyArrayObject *words = t->block ? words_of(t->block) : NULL;
    const int fine = words && next && whole_number(next, &t->next) && t->next >= 0 &&
                     t->next + wanted <= PyArray_SIZE(words);
    Py_XDECREF(next);
    if (fine) return (const uint32_t *)PyArray_DATA(words) + t->next;
    let_go(t, 0);
    PyErr_Clear();
    return NULL;
}

// A fresh array of a shape: of singles or doubles, or of integers.
static PyArrayObject *fresh_of(PyObject *shape, PyObject *dtype, int whole)
{
    npy_intp dims[NPY_MAXDIMS];
    if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) > 16 || !PyArray_DescrCheck(dtype)) return NULL;
    const int type = ((PyArray_Descr *)dtype)->type_num, ndim = (int)PyTuple_GET_SIZE(shape);
    for (int i = 0; i < ndim; i++)
        if (!whole_number(PyTuple_GET_ITEM(shape, i), dims + i) || dims[i] < 0 || dims[i] > MOST) return NULL;
    if ((whole ? type != NPY_INT64 : type != NPY_FLOAT32 && type != NPY_FLOAT64) || !PyArray_ISNBO(((PyArray_Descr *)dtype)->byteorder)) return NULL;
    N n = 1;
    for (int i = 0; i < ndim; i++)
        if ((n *= dims[i]) > MOST) return NULL;
    return (PyArrayObject *)PyArray_SimpleNew(ndim, dims, type);
}

// Numbers from low to high, of those from 0 to 1; the one may round to the other.
static void spread(float *y, N n, float low, float high)
{
    loops->multiply_add(y, y, n, high - low, low);
    for (N i = 0; i < n; i++) y[i] = y[i] == high ? low : y[i];
}

static PyObject *draw_uniform(PyObject *const *a, Py_ssize_t count)
{
    Taking t;
    float numbers[2];
    if (count != 5 || !number(a[3], numbers) || !number(a[4], numbers + 1)) return NULL;
    const double low = PyFloat_AsDouble(a[3]), high = PyFloat_AsDouble(a[4]);
    if (!(-FLT_MAX <= low && low <= high && high <= FLT_MAX && high - low <= FLT_MAX)) return NULL;
    PyArrayObject *y = fresh_of(a[1], a[2], 0);
    if (!y) return NULL;
    const int single = PyArray_TYPE(y) == NPY_FLOAT32, unit = low == 0 && high == 1;
    if (!single && !unit) {
        Py_DECREF(y);
        return NULL;
    }
    const N n = PyArray_SIZE(y), wanted = single ? n : 2 * n;
    const uint32_t *words = take(&t, a[0], wanted);
    if (!words) {
        Py_DECREF(y);
        return NULL;
    }
    if (single)
        loops->unit_floats(words, PyArray_DATA(y), n);
    if (single && !unit) spread(data_of(y), n, numbers[0], numbers[1]);
    if (!single)
        loops->unit_doubles(words, PyArray_DATA(y), n);
    let_go(&t, wanted);
    return (PyObject *)y;
}

// Of fewer than a block: pair by pair, in double precision; the second of a last pair is kept for the next draw.
static PyObject *draw_few(PyObject *stream, PyArrayObject *y, N n, double mean, double std)
{
    Taking t;
    double drawn[BLOCK], u[BLOCK];
    PyObject *kept = know_names() ? PyObject_GetAttr(stream, _normal) : NULL;
    const int has = kept && PyFloat_CheckExact(kept);
    if (has) drawn[0] = PyFloat_AS_DOUBLE(kept);
    const N pairs = (n - has + 1) / 2;
    const uint32_t *words = kept && (has || kept == Py_None) ? take(&t, stream, 4 * pairs) : NULL;
    Py_XDECREF(kept);
    if (!words) return NULL;
    loops->unit_doubles(words, u, 2 * pairs);
    for (N i = 0; i < pairs; i++) {
        const double radius = sqrt(-2 * log1p(-u[2 * i + 1])), angle = 6.283185307179586 * u[2 * i];
        drawn[has + 2 * i] = radius * cos(angle);
        drawn[has + 2 * i + 1] = radius * sin(angle);
    }
    PyObject *rest = has + 2 * pairs > n ? PyFloat_FromDouble(drawn[n]) : Py_NewRef(Py_None);
    const int failed = !rest || PyObject_SetAttr(stream, _normal, rest) < 0;
    Py_XDECREF(rest);
    for (N i = 0; i < n; i++) {
        const double value = fma(drawn[i], std, mean);
        if (PyArray_TYPE(y) == NPY_FLOAT32)
            data_of(y)[i] = (float)value;
        else
            ((double *)PyArray_DATA(y))[i] = value;
    }
    let_go(&t, failed ? 0 : 4 * pairs);
    return failed ? NULL : Py_NewRef(y);
}

static PyObject *draw_normal(PyObject *const *a, Py_ssize_t count)
{
    Taking t;
    float mean, std;
    if (count != 5 || !number(a[3], &mean) || !number(a[4], &std) || !(std >= 0)) return NULL;
    PyArrayObject *y = fresh_of(a[1], a[2], 0);
    PyObject *made = NULL;
    if (!y) return NULL;
    const N n = PyArray_SIZE(y), blocks = n / BLOCK, rest = n % BLOCK ? BLOCK : 0;  // the last are drawn once more
    const uint32_t *words = NULL;
    if (n && n < BLOCK)
        made = draw_few(a[0], y, n, PyFloat_AsDouble(a[3]), PyFloat_AsDouble(a[4]));
    else if (PyArray_TYPE(y) == NPY_FLOAT32 && (words = take(&t, a[0], n + rest))) {
        loops->normals(words, data_of(y), blocks, mean, std);
        if (rest) loops->normals(words + n, data_of(y) + n - BLOCK, 1, mean, std);
        let_go(&t, n + rest);
        made = Py_NewRef(y);
    }
    Py_DECREF(y);
    return made;
}

// Ones by chance, of two words each.
static PyObject *draw_ones(PyObject *const *a, Py_ssize_t count)
{
    Taking t;
    if (count != 4 || !PyFloat_CheckExact(a[3])) return NULL;
    const double p = PyFloat_AS_DOUBLE(a[3]);
    PyArrayObject *y = p >= 0 && p <= 1 ? fresh_of(a[1], a[2], 0) : NULL;
    const uint32_t *words = y && PyArray_TYPE(y) == NPY_FLOAT32 ? take(&t, a[0], 2 * PyArray_SIZE(y)) : NULL;
    if (!words) {
        Py_XDECREF(y);
        return NULL;
    }
    loops->ones_below(words, data_of(y), PyArray_SIZE(y), p);
    let_go(&t, 2 * PyArray_SIZE(y));
    return (PyObject *)y;
}

// Integers from low up to high, which are not too far apart to be of one word each.
static PyObject *draw_integers(PyObject *const *a, Py_ssize_t count)
{
    Taking t;
    N low, high;
    if (count != 5 || !whole_number(a[3], &low) || !whole_number(a[4], &high) || low >= high ||
        (uint64_t)high - (uint64_t)low >= 1 << 28)
        return NULL;
    PyArrayObject *y = fresh_of(a[1], a[2], 1);
    const uint32_t *words = y ? take(&t, a[0], PyArray_SIZE(y)) : NULL, span = (uint32_t)(high - low);
    if (!words) {
        Py_XDECREF(y);
        return NULL;
    }
    for (N i = 0; i < PyArray_SIZE(y); i++) ((int64_t *)PyArray_DATA(y))[i] = low + words[i] % span;
    let_go(&t, PyArray_SIZE(y));
    return (PyObject *)y;
}

const KernelDef draw_kernels[] = {
    {"draw.uniform", draw_uniform}, {"draw.normal", draw_normal}, {"draw.ones", draw_ones}, {"draw.integers", draw_integers},
    {"unit_floats", unit_floats},   {"unit_doubles", unit_doubles}, {"ones_below", ones_below},
    {"multiply_add", multiply_add}, {"fill_normals", fill_normals}, {NULL},
};
