// Random numbers, of words that were drawn: see loops/random.c.
#include "kernel.h"

enum { BLOCK = 16 };

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

const KernelDef draw_kernels[] = {
    {"unit_floats", unit_floats},   {"unit_doubles", unit_doubles}, {"ones_below", ones_below},
    {"multiply_add", multiply_add}, {"fill_normals", fill_normals}, {NULL},
};
