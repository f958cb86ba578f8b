// What the kernels' Python sides share: guards, fresh arrays, the loops of this processor.
//
// A kernel gets the arguments of its NumPy twin, and returns NULL without an error to decline: the twin runs then. So it
// looks at everything it relies on before it makes anything. Of one name there may be several, one after the other, which
// are tried in turn.
#ifndef TORCHLITE_KERNEL_H
#define TORCHLITE_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <float.h>
#define PY_ARRAY_UNIQUE_SYMBOL torchlite_array_api  // module.c imports it
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

#pragma GCC visibility push(hidden)  // as in native.h

#include "../threads.h"
#include "loops/loops.h"

typedef PyObject *(*Attempt)(PyObject *const *arguments, Py_ssize_t count);
typedef struct { const char *name; Attempt attempt; } KernelDef;

PyArrayObject *result_like(PyArrayObject *x);  // kernel.c: for the results of a pointwise kernel; `out=`, where that fits
extern Loops loops[1];  // isa.c: those of the instruction set chosen
int is_sensible(const Sliding *s);  // sliding.c
int complete_sliding(Sliding *s);
// sums.c: (rows, n) to (n); of rows times a weight each, where these are given, or of squares.
void sum_columns(const float *x, const float *weights, int squared, float *y, N rows, N n);
// And the largest of all, or with a `flip` of the sign's bit the smallest, of 64 numbers or more. Whether there is memory.
int extreme_of_all(PyArrayObject *x, int flip, float *to);
// channels.c: of each channel of images (n, channels, size).
void statistics_of(const float *x, double *mean, double *var, N n, N channels, N size);
// copies.c: (rows, columns) to (columns, rows), whose rows are so far apart.
void turn(const float *from, N apart, N rows, N columns, float *to, N to_apart);
// products.c: of two matrices of floats; NULL, without an error, where BLAS is as good.
PyObject *product_in_tiles(PyObject *a, PyObject *b);
// arrays.c: of two batches of matrices, of which a thread is to do so many at least, by NumPy's loop.
void multiply_batches(PyArrayObject *x, PyArrayObject *y, PyArrayObject *out, ptrdiff_t least);
// halves.c: whether an array is one of halves, and what makes floats of them, and them of floats.
typedef void Conversion(const void *from, void *to, N n);
int is_of_halves(PyArrayObject *x, Conversion **to_floats, Conversion **of_floats);
int choose_isa(const char *name);
PyObject *list_isas(void);

extern const KernelDef pointwise_kernels[], row_kernels[], conv_kernels[], pool_kernels[],
    channel_kernels[], place_kernels[], product_kernels[], recurrent_kernels[], attention_kernels[],
    sum_kernels[], step_kernels[], half_kernels[], few_kernels[], sample_kernels[], sparse_kernels[],
    draw_kernels[], loss_kernels[], list_kernels[], select_kernels[], where_kernels[], copy_kernels[];

#define INLINE_ static inline

// kernel.c: the array, where it is one of a dtype, aligned, and row by row in memory without gaps; else NULL.
PyArrayObject *array_of(PyObject *o, int type);
PyArrayObject *floats(PyObject *o);

INLINE_ float *data_of(PyArrayObject *a) { return PyArray_DATA(a); }
INLINE_ float *data_or_null(PyArrayObject *a) { return a ? PyArray_DATA(a) : NULL; }

INLINE_ int same_shape(PyArrayObject *a, PyArrayObject *b) { return PyArray_SAMESHAPE(a, b); }

INLINE_ int has_dims(PyArrayObject *a, int ndim, const npy_intp *dims)
{
    return PyArray_NDIM(a) == ndim && PyArray_CompareLists(PyArray_DIMS(a), dims, ndim);
}

// Whether it is an array of floats of a shape, however it lies in memory: what `laid_out` takes.
INLINE_ int has_floats(PyObject *o, int ndim, const npy_intp *dims)
{
    PyArrayObject *a = (PyArrayObject *)o;
    return PyArray_CheckExact(o) && PyArray_TYPE(a) == NPY_FLOAT32 && PyArray_ISNOTSWAPPED(a) && has_dims(a, ndim, dims);
}

// The same numbers row by row in memory without gaps.
INLINE_ PyArrayObject *laid_out(PyObject *o) { return (PyArrayObject *)PyArray_FROM_OF(o, NPY_ARRAY_CARRAY_RO); }

INLINE_ PyArrayObject *fresh(int ndim, const npy_intp *shape)
{
    return (PyArrayObject *)PyArray_SimpleNew(ndim, (npy_intp *)shape, NPY_FLOAT32);
}
INLINE_ PyArrayObject *fresh_like(PyArrayObject *a) { return fresh(PyArray_NDIM(a), PyArray_DIMS(a)); }

INLINE_ N product(const npy_intp *sizes, int count)
{
    N n = 1;
    for (int i = 0; i < count; i++) n *= sizes[i];
    return n;
}

// kernel.c: an argument that is a plain int, into *to.
int whole_number(PyObject *o, N *to);

// An argument that is a plain int or float, into *to.
INLINE_ int number(PyObject *o, float *to)
{
    if (!PyLong_CheckExact(o) && !PyFloat_CheckExact(o)) return 0;
    *to = (float)PyFloat_AsDouble(o);
    if (!PyErr_Occurred()) return 1;
    PyErr_Clear();
    return 0;
}

// Whether an axis is an array's last one.
INLINE_ int is_last(PyObject *axis, PyArrayObject *a)
{
    N at;
    return whole_number(axis, &at) && PyArray_NDIM(a) && (at == -1 || at == PyArray_NDIM(a) - 1);
}

// What stands before and behind a dimension of an array that has numbers, and its size. Whether it is one of its dimensions.
INLINE_ int split_along(PyObject *dim, PyArrayObject *x, N *first, N *n, N *last)
{
    N d;
    const int ndim = PyArray_NDIM(x);
    if (!whole_number(dim, &d) || d < -ndim || d >= ndim || !PyArray_SIZE(x)) return 0;
    d += d < 0 ? ndim : 0;
    *first = product(PyArray_DIMS(x), (int)d);
    *n = PyArray_DIM(x, d);
    *last = product(PyArray_DIMS(x) + d + 1, ndim - (int)d - 1);
    return 1;
}

// Which results are wanted, of so many first ones, from a tuple or list of bools. Whether it is one.
INLINE_ int wanted_of(PyObject *mask, int count, int *to)
{
    if ((!PyTuple_Check(mask) && !PyList_Check(mask)) || PySequence_Fast_GET_SIZE(mask) < count) return 0;
    for (int i = 0; i < count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(mask, i);
        if (!PyBool_Check(item)) return 0;
        to[i] = item == Py_True;
    }
    return 1;
}

// So many plain ints, into the last of three.
INLINE_ int numbers_of(PyObject *given, int rank, N *to)
{
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != rank) return 0;
    for (int d = 0; d < rank; d++)
        if (!whole_number(PyTuple_GET_ITEM(given, d), to + 3 - rank + d)) return 0;
    return 1;
}

// An optional array of floats of a shape. Whether it is that, or None.
INLINE_ int parameter(PyObject *given, int ndim, const npy_intp *dims, PyArrayObject **to)
{
    *to = given == Py_None ? NULL : floats(given);
    return given == Py_None || (*to && has_dims(*to, ndim, dims));
}
INLINE_ int vector(PyObject *given, npy_intp n, PyArrayObject **to) { return parameter(given, 1, &n, to); }

INLINE_ int all_within(PyArrayObject *a, float limit)
{
    int within;
    loops->all_within(data_of(a), PyArray_SIZE(a), limit, &within);
    return within;
}
INLINE_ int all_finite(PyArrayObject *a) { return all_within(a, FLT_MAX); }

// Whether two arrays' memory may not be the same.
INLINE_ int is_apart(PyArrayObject *a, PyArrayObject *b)
{
    const char *x = PyArray_DATA(a), *y = PyArray_DATA(b);
    const N n = PyArray_NBYTES(a), m = PyArray_NBYTES(b);
    return x + n <= y || y + m <= x || !n || !m;
}

INLINE_ int is_text(PyObject *o, const char *text)
{
    return PyUnicode_Check(o) && !PyUnicode_CompareWithASCIIString(o, text);
}

INLINE_ PyObject *or_none(PyArrayObject *made) { return made ? (PyObject *)made : Py_NewRef(Py_None); }

// How far apart rows are: far enough for what loops write behind them, and so that few begin alike in the cache.
INLINE_ N apart_for(N columns) { return ((columns + 63) / 16 | 1) * 16; }

// How many pieces of work, each on so many numbers, a thread is to do at least.
INLINE_ N least_of(N each) { return THREADS_FROM / 4 / (each + 1) + 1; }

// So many pieces of work, each on so many numbers, over the threads there are.
#define SHARED(share, work, count, each) WORK((count) * (each), in_shares(share, &(work), count, least_of(each)))

// Work on so many numbers, during which other threads may run where it takes long.
#define WORK(count, call) \
    do { \
        if ((count) > 1 << 15) { \
            Py_BEGIN_ALLOW_THREADS call; \
            Py_END_ALLOW_THREADS \
        } else { \
            call; \
        } \
    } while (0)

#pragma GCC visibility pop

#endif
