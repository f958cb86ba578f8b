// Tensors of Python's numbers and of lists of these: all of one kind, and the lists of one length.
#include "native.h"

enum { DEEPEST = 8 };
typedef struct { PyTypeObject *type; int slot, ndim; npy_intp dims[DEEPEST]; } Listing;

// What the first elements say of all; 0: that is not for C.
static int look_at(PyObject *data, Listing *all)
{
    for (all->ndim = 0; PyList_CheckExact(data); data = PyList_GET_ITEM(data, 0)) {
        if (all->ndim == DEEPEST || PyList_GET_SIZE(data) == 0)
            return 0;
        all->dims[all->ndim++] = PyList_GET_SIZE(data);
    }
    all->type = Py_TYPE(data);
    all->slot = PyFloat_CheckExact(data) ? slot_of(known.floating) : PyLong_CheckExact(data) ? INT64 : PyBool_Check(data) ? BOOL : -1;
    return all->slot >= 0;
}

// Write the numbers, from this dimension on, and return where the next go; NULL where something is not as the first is.
static char *put(PyObject *data, const Listing *all, int dim, char *to)
{
    if (dim < all->ndim) {
        if (!PyList_CheckExact(data) || PyList_GET_SIZE(data) != all->dims[dim])
            return NULL;
        for (npy_intp i = 0; to != NULL && i < all->dims[dim]; i++)
            to = put(PyList_GET_ITEM(data, i), all, dim + 1, to);
        return to;
    }
    int overflow = 0;
    if (Py_TYPE(data) != all->type)
        return NULL;
    switch (all->slot) {
    case FLOAT32: *(float *)to = (float)PyFloat_AS_DOUBLE(data); return to + sizeof(float);
    case FLOAT64: *(double *)to = PyFloat_AS_DOUBLE(data); return to + sizeof(double);
    case BOOL: *to = data == Py_True; return to + 1;
    default: *(int64_t *)to = PyLong_AsLongLongAndOverflow(data, &overflow); return overflow ? NULL : to + sizeof(int64_t);
    }
}

PyObject *tensor_of(PyObject *data)
{
    Listing all;
    if (plain_mode() == NULL || thread_state()->default_device != Py_None || known.cpu == NULL || !look_at(data, &all))
        return NULL;
    PyObject *array = fresh(all.slot, all.ndim, all.dims);
    if (array != NULL && put(data, &all, 0, PyArray_DATA((PyArrayObject *)array)) == NULL)
        Py_CLEAR(array);
    return array == NULL ? NULL : wrap(array, dtype_at(all.slot));
}
