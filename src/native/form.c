// Forms of calls: what is alike in calls that come to the same. A form holds the arguments of a call, with a mark in place
// of each tensor, of which it has dtype, shape and strides; plain values are compared by value.
#include "native.h"

// ---- meeting a form again

static inline int is_sequence(PyObject *value)
{
    return PyTuple_CheckExact(value) || PyList_CheckExact(value) || (PyObject *)Py_TYPE(value) == known.Size;
}

static int is_sparse(Tensor *t)
{
    return (PyObject *)Py_TYPE(t->array) == known.Compressed || (PyObject *)Py_TYPE(t->array) == known.Coo;
}

// A tensor that has a form; the one with the numbers is put into `inside`. NULL for anything else. Of strange strides, which
// the form says, one may be, or sparse.
static Tensor *plannable(PyObject *value, PyObject *levels, Tensor **inside, uint64_t *lifts)
{
    if ((PyObject *)Py_TYPE(value) != known.Tensor && !PyType_IsSubtype(Py_TYPE(value), &TensorParts))
        return NULL;
    Tensor *t = *inside = (Tensor *)value;
    *lifts = 0;
    if (t->counter == known.UNVERSIONED || t->array == NULL)
        return NULL;
    const int strange = t->backend == known.guarded && levels == NULL && (PyObject *)Py_TYPE(t) == known.Tensor;
    if (t->backend != known.cpu && !strange && levels == NULL && is_sparse(t))
        return t;
    if (t->backend != known.cpu && !strange && (levels == NULL || (*inside = innermost(t, levels, lifts)) == NULL))
        return NULL;
    return PyArray_CheckExact((*inside)->array) ? t : NULL;
}

static int same_value(PyObject *a, PyObject *b)
{
    if (Py_TYPE(a) != Py_TYPE(b))
        return 0;
    if (PyFloat_CheckExact(a)) {  // zeros are told apart by their signs
        const double one = PyFloat_AS_DOUBLE(a), other = PyFloat_AS_DOUBLE(b);
        return memcmp(&one, &other, sizeof one) == 0;
    }
    if (a == b)
        return 1;
    if (PyComplex_CheckExact(a))
        return 0;
    const int same = PyObject_RichCompareBool(a, b, Py_EQ);
    if (same < 0)
        PyErr_Clear();
    return same > 0;
}

// What tells sparse tensors of one dtype apart.
static PyObject *sparse_form(Tensor *t)
{
    PyObject *shape = PyObject_GetAttrString(t->array, "shape"), *strides = PyObject_GetAttrString(t->array, "strides");
    PyObject *form = shape == NULL || strides == NULL ? NULL : PyTuple_Pack(3, t->backend, shape, strides);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return form;
}

static int has_sparse_form(Tensor *t, PyObject *form)
{
    PyObject *own = form == NULL || PyTuple_GET_ITEM(form, 0) != t->backend ? NULL : sparse_form(t);
    const int same = own == NULL ? 0 : PyObject_RichCompareBool(own, form, Py_EQ);
    Py_XDECREF(own);
    if (PyErr_Occurred())
        PyErr_Clear();
    return same > 0;
}

static int matches(const Form *form, PyObject *expected, PyObject *value, Met *met)
{
    if (expected == known.Tensor) {  // the mark
        uint64_t lifts;
        Tensor *inside, *t = plannable(value, met->levels, &inside, &lifts);
        const int k = met->count;
        if (t == NULL || k >= form->count || inside->dtype != form->dtypes[k] || lifts != form->lifts[k])
            return 0;
        met->tensors[k] = t;
        if (!PyArray_CheckExact(inside->array))
            return has_sparse_form(inside, form->sparse[k]) && ++met->count;
        PyArrayObject *array = (PyArrayObject *)inside->array;
        const int ndim = PyArray_NDIM(array);
        const size_t bytes = ndim * sizeof(npy_intp);
        if (ndim != form->ndims[k] || memcmp(met->geometry, PyArray_DIMS(array), bytes) != 0 ||
            memcmp(met->geometry + ndim, PyArray_STRIDES(array), bytes) != 0)
            return 0;
        met->geometry += 2 * ndim;
        met->count++;
        return 1;
    }
    if (!is_sequence(expected))
        return same_value(expected, value);
    if (Py_TYPE(expected) != Py_TYPE(value) || Py_SIZE(expected) != Py_SIZE(value))
        return 0;
    PyObject **forms = PySequence_Fast_ITEMS(expected), **values = PySequence_Fast_ITEMS(value);
    for (Py_ssize_t i = 0; i < Py_SIZE(expected); i++)
        if (!matches(form, forms[i], values[i], met))
            return 0;
    return 1;
}

int is_met(const Form *form, PyObject *const *args, Py_ssize_t given, PyObject *kwnames, Met *met)
{
    const Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    if (PyTuple_GET_SIZE(form->values) != given + named || PyTuple_GET_SIZE(form->names) != named)
        return 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *one = PyTuple_GET_ITEM(form->names, i), *other = PyTuple_GET_ITEM(kwnames, i);
        if (one != other && PyUnicode_Compare(one, other) != 0)
            return 0;
    }
    met->count = 0;
    met->geometry = form->geometry;
    for (Py_ssize_t i = 0; i < given + named; i++)
        if (!matches(form, PyTuple_GET_ITEM(form->values, i), args[i], met))
            return 0;
    return met->count == form->count;
}

PyObject *list_of(const Met *met)
{
    PyObject *list = PyList_New(met->count);
    for (int i = 0; list != NULL && i < met->count; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(met->tensors[i]));
    return list;
}

// ---- taking the form of a call

static int note_geometry(Form *form, Tensor *t, uint64_t lifts)
{
    const int k = form->count;
    form->dtypes[k] = t->dtype;
    form->lifts[k] = lifts;
    if (!PyArray_CheckExact(t->array)) {
        form->ndims[k] = -1;
        form->count++;
        return (form->sparse[k] = sparse_form(t)) == NULL ? -1 : 0;
    }
    PyArrayObject *array = (PyArrayObject *)t->array;
    const int ndim = PyArray_NDIM(array);
    Py_ssize_t before = 0;
    for (int i = 0; i < k; i++)
        before += form->ndims[i] < 0 ? 0 : 2 * form->ndims[i];
    npy_intp *grown = PyMem_Realloc(form->geometry, (before + 2 * ndim + 1) * sizeof *grown);
    if (grown == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    form->geometry = grown;
    form->ndims[k] = ndim;
    if (number_of_level(lifts) > form->top)
        form->top = number_of_level(lifts);
    form->count++;
    memcpy(grown + before, PyArray_DIMS(array), ndim * sizeof *grown);
    memcpy(grown + before + ndim, PyArray_STRIDES(array), ndim * sizeof *grown);
    return 0;
}

// A copy of arguments with a mark in place of each tensor, whose form is noted. NULL, without an error, where there are
// more tensors than C knows, or one that is not `plannable`: such plans are Python's alone.
static PyObject *marked(Form *form, PyObject *value, PyObject *levels)
{
    uint64_t lifts;
    Tensor *inside, *t = plannable(value, levels, &inside, &lifts);
    if (t == NULL && PyType_IsSubtype(Py_TYPE(value), &TensorParts))
        return NULL;
    if (t != NULL)
        return form->count == MOST_TENSORS || note_geometry(form, inside, lifts) < 0 ? NULL : Py_NewRef(known.Tensor);
    if (!PyTuple_CheckExact(value) && !PyList_CheckExact(value))
        return Py_NewRef(value);
    const Py_ssize_t count = Py_SIZE(value);
    PyObject *copy = PyTuple_CheckExact(value) ? PyTuple_New(count) : PyList_New(count);
    for (Py_ssize_t i = 0; copy != NULL && i < count; i++) {
        PyObject *item = marked(form, PySequence_Fast_GET_ITEM(value, i), levels);
        if (item == NULL)
            Py_CLEAR(copy);
        else if (PyTuple_CheckExact(copy))
            PyTuple_SET_ITEM(copy, i, item);
        else
            PyList_SET_ITEM(copy, i, item);
    }
    return copy;
}

int take_form(Form *form, PyObject *args, PyObject *kwargs, PyObject *levels)
{
    PyObject *values = PyDict_Values(kwargs), *last = values == NULL ? NULL : PyList_AsTuple(values);
    PyObject *all = last == NULL ? NULL : PySequence_Concat(args, last), *names = PyDict_Keys(kwargs);
    if (all != NULL && names != NULL && (form->values = marked(form, all, levels)) != NULL)
        form->names = PyList_AsTuple(names);
    Py_XDECREF(values);
    Py_XDECREF(last);
    Py_XDECREF(all);
    Py_XDECREF(names);
    return form->names == NULL ? -1 : 0;
}

void clear_form(Form *form)
{
    PyMem_Free(form->geometry);
    for (int i = 0; i < form->count; i++)
        Py_XDECREF(form->sparse[i]);
    Py_XDECREF(form->values);
    Py_XDECREF(form->names);
}
