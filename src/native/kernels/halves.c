// Conversions of floats to and from halves and doubles: see loops/halves.c.
#include "kernel.h"

enum { SINGLE, HALF, BRAIN, DOUBLE, OTHER };

static int kind_of(const PyArray_Descr *d)
{
    if (d->byteorder == '>') return OTHER;  // swapped, on processors of any use
    if (d->type_num == NPY_FLOAT32) return SINGLE;
    if (d->type_num == NPY_FLOAT16) return HALF;
    if (d->type_num == NPY_FLOAT64) return DOUBLE;
    const char *name = d->type_num >= NPY_USERDEF ? strrchr(d->typeobj->tp_name, '.') : NULL;
    return !strcmp(name ? name + 1 : d->typeobj->tp_name, "bfloat16") ? BRAIN : OTHER;
}

static Conversion *to_floats_of(int kind)
{
    return kind == HALF ? loops->of_half : kind == BRAIN ? loops->of_brain : loops->of_double;
}

static Conversion *of_floats_to(int kind)
{
    return kind == HALF ? loops->to_half : kind == BRAIN ? loops->to_brain : loops->to_double;
}

void halves_to_floats(const void *from, float *to, npy_intp n) { loops->of_half(from, to, n); }
void floats_to_halves(const float *from, void *to, npy_intp n) { loops->to_half(from, to, n); }

int is_of_halves(PyArrayObject *x, Conversion **to_floats, Conversion **of_floats)
{
    const int kind = PyArray_ITEMSIZE(x) == 2 ? kind_of(PyArray_DESCR(x)) : OTHER;
    if (kind != HALF && kind != BRAIN) return 0;
    *to_floats = to_floats_of(kind);
    *of_floats = of_floats_to(kind);
    return 1;
}

typedef struct { Conversion *convert; const char *x; char *y; N from_size, to_size; } Copy;

static void copy_share(void *work, N from, N to)
{
    const Copy *w = work;
    w->convert(w->x + from * w->from_size, w->y + from * w->to_size, to - from);
}

static int is_of_numbers(const PyArray_Descr *d) { return d->type_num <= NPY_DOUBLE && d->byteorder != '>'; }

// `_to_copy(array, dtype, None)`, or `cast(array, dtype)`.
static PyObject *to_copy(PyObject *const *a, Py_ssize_t count)
{
    if (count < 2 || count > 3 || (count == 3 && a[2] != Py_None)) return NULL;
    if (!PyArray_CheckExact(a[0]) || !PyArray_DescrCheck(a[1])) return NULL;
    PyArrayObject *x = (PyArrayObject *)a[0];
    PyArray_Descr *wanted = (PyArray_Descr *)a[1];
    if (!PyArray_ISCARRAY_RO(x)) return NULL;
    const int from = kind_of(PyArray_DESCR(x)), to = kind_of(wanted);
    if (from == OTHER || to == OTHER || (from == SINGLE) == (to == SINGLE)) {
        const int plain = !PyArray_BASE(x) && is_of_numbers(PyArray_DESCR(x)) && is_of_numbers(wanted);
        return plain ? PyArray_CastToType(x, (PyArray_Descr *)Py_NewRef(wanted), 0) : NULL;
    }
    Conversion *convert = to == SINGLE ? to_floats_of(from) : of_floats_to(to);
    Py_INCREF(wanted);
    PyArrayObject *y = (PyArrayObject *)PyArray_Empty(PyArray_NDIM(x), PyArray_DIMS(x), wanted, 0);
    if (!y) return NULL;
    Copy work = {convert, PyArray_DATA(x), PyArray_DATA(y), PyArray_ITEMSIZE(x), PyArray_ITEMSIZE(y)};
    SHARED(copy_share, work, PyArray_SIZE(x), 1);
    return (PyObject *)y;
}

const KernelDef half_kernels[] = {{"_to_copy", to_copy}, {"cast", to_copy}, {NULL}};
