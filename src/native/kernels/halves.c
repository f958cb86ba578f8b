// Conversions to and from halves: see loops/halves.c.
#include "kernel.h"

typedef void Conversion(const void *, void *, N);

enum { SINGLE, HALF, BRAIN, OTHER };

static int kind_of(const PyArray_Descr *d)
{
    if (d->byteorder == '>') return OTHER;  // swapped, on processors of any use
    if (d->type_num == NPY_FLOAT32) return SINGLE;
    if (d->type_num == NPY_FLOAT16) return HALF;
    const char *name = d->type_num >= NPY_USERDEF ? strrchr(d->typeobj->tp_name, '.') : NULL;
    return !strcmp(name ? name + 1 : d->typeobj->tp_name, "bfloat16") ? BRAIN : OTHER;
}

void halves_to_floats(const void *from, float *to, npy_intp n) { loops->of_half(from, to, n); }
void floats_to_halves(const float *from, void *to, npy_intp n) { loops->to_half(from, to, n); }

// `_to_copy(array, dtype, None)`
static PyObject *to_copy(PyObject *const *a, Py_ssize_t count)
{
    if (count != 3 || !PyArray_CheckExact(a[0]) || !PyArray_DescrCheck(a[1]) || a[2] != Py_None) return NULL;
    PyArrayObject *x = (PyArrayObject *)a[0];
    PyArray_Descr *wanted = (PyArray_Descr *)a[1];
    const int from = kind_of(PyArray_DESCR(x)), to = kind_of(wanted);
    if (!PyArray_ISCARRAY_RO(x) || from == OTHER || to == OTHER || (from == SINGLE) == (to == SINGLE)) return NULL;
    Conversion *convert = to == HALF ? loops->to_half : to == BRAIN ? loops->to_brain : from == HALF ? loops->of_half : loops->of_brain;
    Py_INCREF(wanted);
    PyArrayObject *y = (PyArrayObject *)PyArray_Empty(PyArray_NDIM(x), PyArray_DIMS(x), wanted, 0);
    if (y) WORK(PyArray_SIZE(x), convert(PyArray_DATA(x), PyArray_DATA(y), PyArray_SIZE(x)));
    return (PyObject *)y;
}

const KernelDef half_kernels[] = {{"_to_copy", to_copy}, {NULL}};
