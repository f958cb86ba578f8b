// Products of sparse matrices with dense ones: see loops/sparse.c. The twins in kernels/sparse.py get the array library first.
#include <stdatomic.h>

#include "kernel.h"

typedef void RowsLoop(const void *, const void *, int, const void *, N, const void *, N, N, void *, N, N, N, int *);
typedef void PlacesLoop(const void *, const void *, int, const void *, N, const void *, N, N, void *, N, int, int *);

static PyArrayObject *line_of(PyObject *o, int type)
{
    PyArrayObject *a = array_of(o, type);
    return a && PyArray_NDIM(a) == 1 ? a : NULL;
}

// Places of 32 bits are taken as they are where both kinds are; all others as 64-bit ones.
static int of_32_bits(PyObject *o) { return PyArray_CheckExact(o) && PyArray_TYPE((PyArrayObject *)o) == NPY_INT32; }

// Places, of any kind of integers; a new reference.
static PyArrayObject *places_of(PyObject *o, int wide)
{
    if (!PyArray_CheckExact(o) || PyArray_NDIM((PyArrayObject *)o) != 1 || !PyArray_ISINTEGER((PyArrayObject *)o)) return NULL;
    return (PyArrayObject *)PyArray_FROM_OTF(o, wide ? NPY_INT64 : NPY_INT32, NPY_ARRAY_CARRAY_RO);
}

// What a product is made of; the width is negative for that of compressed rows with a vector.
typedef struct {
    const void *at, *columns, *values, *dense;
    void *to;
    N count, size, width, rows;
    int doubles, wide, fused;
    atomic_int fine;
} Factors;

#define PARTS w->at, w->columns, w->wide, w->values, w->count, w->dense, w->size, w->width, w->to, w->rows
static void rows_share(void *work, N from, N to)
{
    Factors *w = work;
    int fine = 1;
    (w->doubles ? (RowsLoop *)loops->sparse_rows_double : (RowsLoop *)loops->sparse_rows)(PARTS, from, to, &fine);
    if (!fine) w->fine = 0;
}

static void places_work(Factors *w)
{
    int fine = 1;
    (w->doubles ? (PlacesLoop *)loops->sparse_places_double : (PlacesLoop *)loops->sparse_places)(PARTS, w->fused, &fine);
    w->fine = fine;
}
#undef PARTS

enum { GATHERED = 4 };  // a number that is fetched from anywhere takes the time of so many in a row

// The product with `rows` rows; where they are compressed, -1 stands for as many as `at` says.
static PyObject *product_by(PyObject *const *a, N rows, int fused)
{
    const int doubles = PyArray_CheckExact(a[3]) && PyArray_TYPE((PyArrayObject *)a[3]) == NPY_FLOAT64;
    const int type = doubles ? NPY_FLOAT64 : NPY_FLOAT32, compressed = rows < 0;
    const int wide = !(of_32_bits(a[1]) && of_32_bits(a[2]));
    PyArrayObject *values = line_of(a[3], type), *dense = values ? array_of(a[4], type) : NULL;
    const int ndim = dense ? PyArray_NDIM(dense) : 0;
    if (ndim != 1 && ndim != 2) return NULL;
    PyArrayObject *at = places_of(a[1], wide), *columns = at ? places_of(a[2], wide) : NULL, *made = NULL;
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
    if (made) {
        Factors work = {
            PyArray_DATA(at), PyArray_DATA(columns), PyArray_DATA(values), PyArray_DATA(dense), PyArray_DATA(made), count,
            PyArray_DIM(dense, 0), ndim == 2 || !compressed ? shape[1] : -1, rows, doubles, wide, fused, 1,
        };
        if (compressed) SHARED(rows_share, work, rows, (count / (rows + 1) + 1) * (shape[1] + GATHERED));
        else WORK(count * shape[1], places_work(&work));
        fine = work.fine;
    }
    Py_XDECREF(at);
    Py_XDECREF(columns);
    if (!fine) Py_CLEAR(made);
    return (PyObject *)made;
}

// `product_of_rows(xp, starts, columns, values, dense)`
static PyObject *of_rows(PyObject *const *a, Py_ssize_t count)
{
    return count == 5 && PyModule_Check(a[0]) ? product_by(a, -1, 0) : NULL;
}

// `product(xp, rows, columns, values, dense, count, fused)`
static PyObject *of_places(PyObject *const *a, Py_ssize_t count)
{
    N rows;
    if (count != 7 || !PyModule_Check(a[0]) || !whole_number(a[5], &rows) || rows < 0) return NULL;
    return product_by(a, rows, a[6] == Py_True);
}

// `samples(xp, rows, columns, a, b)`
static PyObject *samples(PyObject *const *given, Py_ssize_t count)
{
    if (count != 5 || !PyModule_Check(given[0]) || !PyArray_CheckExact(given[3])) return NULL;
    const int type = PyArray_TYPE((PyArrayObject *)given[3]) == NPY_FLOAT64 ? NPY_FLOAT64 : NPY_FLOAT32;
    const int wide = !(of_32_bits(given[1]) && of_32_bits(given[2]));
    PyArrayObject *a = array_of(given[3], type), *b = array_of(given[4], type);
    if (!a || !b || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || PyArray_DIM(a, 1) != PyArray_DIM(b, 1)) return NULL;
    PyArrayObject *at = places_of(given[1], wide), *columns = at ? places_of(given[2], wide) : NULL, *made = NULL;
    int fine = columns && PyArray_SIZE(columns) == PyArray_SIZE(at);
    npy_intp n = fine ? PyArray_SIZE(at) : 0;
    if (fine) made = (PyArrayObject *)PyArray_SimpleNew(1, &n, type);
    const N width = PyArray_DIM(a, 1), rows = PyArray_DIM(a, 0), size = PyArray_DIM(b, 0);
    if (made && type == NPY_FLOAT32)
        WORK(n * width, loops->sparse_samples(PyArray_DATA(at), PyArray_DATA(columns), wide, n, PyArray_DATA(a), rows,
                                              PyArray_DATA(b), size, width, PyArray_DATA(made), &fine));
    else if (made)
        WORK(n * width, loops->sparse_samples_double(PyArray_DATA(at), PyArray_DATA(columns), wide, n, PyArray_DATA(a), rows,
                                                     PyArray_DATA(b), size, width, PyArray_DATA(made), &fine));
    Py_XDECREF(at);
    Py_XDECREF(columns);
    if (!fine) Py_CLEAR(made);
    return (PyObject *)made;
}

const KernelDef sparse_kernels[] = {
    {"sparse.product_of_rows", of_rows}, {"sparse.product", of_places}, {"sparse.samples", samples}, {NULL},
};
