// Products of sparse matrices with dense ones: see loops/sparse.c. The twins in kernels/sparse.py get the array library first.
#include "kernel.h"

typedef void SparseLoop(const int64_t *, const int64_t *, const void *, N, const void *, N, N, void *, N, int *);

static PyArrayObject *line_of(PyObject *o, int type)
{
    PyArrayObject *a = array_of(o, type);
    return a && PyArray_NDIM(a) == 1 ? a : NULL;
}

// Places, of any kind of integers, as 64-bit ones; a new reference.
static PyArrayObject *places_of(PyObject *o)
{
    if (!PyArray_CheckExact(o) || PyArray_NDIM((PyArrayObject *)o) != 1 || !PyArray_ISINTEGER((PyArrayObject *)o)) return NULL;
    return (PyArrayObject *)PyArray_FROM_OTF(o, NPY_INT64, NPY_ARRAY_CARRAY_RO);
}

// The product with `rows` rows; where they are compressed, -1 stands for as many as `at` says.
static PyObject *product_by(PyObject *const *a, N rows, SparseLoop *of_floats, SparseLoop *of_doubles)
{
    const int doubles = PyArray_CheckExact(a[3]) && PyArray_TYPE((PyArrayObject *)a[3]) == NPY_FLOAT64;
    const int type = doubles ? NPY_FLOAT64 : NPY_FLOAT32, compressed = rows < 0;
    PyArrayObject *values = line_of(a[3], type), *dense = values ? array_of(a[4], type) : NULL;
    const int ndim = dense ? PyArray_NDIM(dense) : 0;
    if (ndim != 1 && ndim != 2) return NULL;
    PyArrayObject *at = places_of(a[1]), *columns = at ? places_of(a[2]) : NULL, *made = NULL;
    const N count = PyArray_SIZE(values);
    int fine = columns && PyArray_SIZE(columns) == count && PyArray_SIZE(at) >= 1 - !compressed;
    if (fine) {
        if (compressed) rows = PyArray_SIZE(at) - 1;
        else fine = PyArray_SIZE(at) == count;
    }
    const npy_intp shape[] = {rows, ndim == 2 ? PyArray_DIM(dense, 1) : 1};
    fine = fine && rows <= NPY_MAX_INTP / 8 / (shape[1] + 1);
    if (fine)
        made = (PyArrayObject *)(compressed ? PyArray_SimpleNew(ndim, (npy_intp *)shape, type)
                                            : PyArray_ZEROS(ndim, (npy_intp *)shape, type, 0));
    if (made)
        WORK(count * shape[1], (doubles ? of_doubles : of_floats)(
            PyArray_DATA(at), PyArray_DATA(columns), PyArray_DATA(values), count, PyArray_DATA(dense),
            PyArray_DIM(dense, 0), shape[1], PyArray_DATA(made), rows, &fine));
    Py_XDECREF(at);
    Py_XDECREF(columns);
    if (!fine) Py_CLEAR(made);
    return (PyObject *)made;
}

// `product_of_rows(xp, starts, columns, values, dense)`
static PyObject *of_rows(PyObject *const *a, Py_ssize_t count)
{
    if (count != 5 || !PyModule_Check(a[0])) return NULL;
    return product_by(a, -1, (SparseLoop *)loops->sparse_rows, (SparseLoop *)loops->sparse_rows_double);
}

// `product(xp, rows, columns, values, dense, count)`
static PyObject *of_places(PyObject *const *a, Py_ssize_t count)
{
    N rows;
    if (count != 6 || !PyModule_Check(a[0]) || !whole_number(a[5], &rows) || rows < 0) return NULL;
    return product_by(a, rows, (SparseLoop *)loops->sparse_places, (SparseLoop *)loops->sparse_places_double);
}

// `samples(xp, rows, columns, a, b)`
static PyObject *samples(PyObject *const *given, Py_ssize_t count)
{
    if (count != 5 || !PyModule_Check(given[0]) || !PyArray_CheckExact(given[3])) return NULL;
    const int type = PyArray_TYPE((PyArrayObject *)given[3]) == NPY_FLOAT64 ? NPY_FLOAT64 : NPY_FLOAT32;
    PyArrayObject *a = array_of(given[3], type), *b = array_of(given[4], type);
    if (!a || !b || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || PyArray_DIM(a, 1) != PyArray_DIM(b, 1)) return NULL;
    PyArrayObject *at = places_of(given[1]), *columns = at ? places_of(given[2]) : NULL, *made = NULL;
    int fine = columns && PyArray_SIZE(columns) == PyArray_SIZE(at);
    npy_intp n = fine ? PyArray_SIZE(at) : 0;
    if (fine) made = (PyArrayObject *)PyArray_SimpleNew(1, &n, type);
    const N width = PyArray_DIM(a, 1), rows = PyArray_DIM(a, 0), size = PyArray_DIM(b, 0);
    if (made && type == NPY_FLOAT32)
        WORK(n * width, loops->sparse_samples(PyArray_DATA(at), PyArray_DATA(columns), n, PyArray_DATA(a), rows,
                                              PyArray_DATA(b), size, width, PyArray_DATA(made), &fine));
    else if (made)
        WORK(n * width, loops->sparse_samples_double(PyArray_DATA(at), PyArray_DATA(columns), n, PyArray_DATA(a), rows,
                                                     PyArray_DATA(b), size, width, PyArray_DATA(made), &fine));
    Py_XDECREF(at);
    Py_XDECREF(columns);
    if (!fine) Py_CLEAR(made);
    return (PyObject *)made;
}

const KernelDef sparse_kernels[] = {
    {"sparse.product_of_rows", of_rows}, {"sparse.product", of_places}, {"sparse.samples", samples}, {NULL},
};
