// Many arrays at once: their norm, as if they were one vector, and all of them times a number.
#include <math.h>

#include "kernel.h"

// The arrays of `kernel(xp, list, …)`, or NULL where one is no array of floats.
static PyObject **arrays_of(PyObject *const *a, int written, Py_ssize_t *count)
{
    if (!PyModule_Check(a[0]) || !PyList_CheckExact(a[1])) return NULL;
    PyObject **arrays = PySequence_Fast_ITEMS(a[1]);
    *count = PyList_GET_SIZE(a[1]);
    for (Py_ssize_t i = 0; i < *count; i++)
        if (!floats(arrays[i]) || (written && !PyArray_ISWRITEABLE((PyArrayObject *)arrays[i]))) return NULL;
    return *count ? arrays : NULL;
}

static PyObject *norm_of_all(PyObject *const *a, Py_ssize_t count)
{
    Py_ssize_t n;
    PyObject **arrays = count == 2 ? arrays_of(a, 0, &n) : NULL;
    PyArrayObject *made = arrays ? fresh(0, NULL) : NULL;
    double total = 0, squares;
    for (Py_ssize_t i = 0; made && i < n; i++) {
        PyArrayObject *x = (PyArrayObject *)arrays[i];
        loops->add_up(data_of(x), 1, &squares, PyArray_SIZE(x));
        total += squares;
    }
    if (made) *data_of(made) = (float)sqrt(total);
    return (PyObject *)made;
}

static PyObject *scale_all(PyObject *const *a, Py_ssize_t count)
{
    Py_ssize_t n;
    PyObject **arrays = count == 3 ? arrays_of(a, 1, &n) : NULL;
    PyArrayObject *factor = arrays ? floats(a[2]) : NULL;
    if (!factor || PyArray_NDIM(factor)) return NULL;
    const float by = *data_of(factor);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyArrayObject *x = (PyArrayObject *)arrays[i];
        loops->scale(data_of(x), NULL, by, PyArray_SIZE(x));
    }
    Py_RETURN_NONE;
}

const KernelDef list_kernels[] = {{"norm_of_all", norm_of_all}, {"scale_all", scale_all}, {NULL}};
