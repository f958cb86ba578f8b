// What a program asks of tensors beside ops: their form, their place in the graph, their values as Python's numbers and
// NumPy's arrays.
//
// A question is answered from the parts of a tensor by a function that gives NULL, without an error, where Python has
// to answer. It stands behind a property or a method of that name.
#include "native.h"
#include <math.h>

typedef PyObject *(*Answer)(Tensor *);

static inline Tensor *as_tensor(PyObject *value)
{
    return PyObject_TypeCheck(value, &TensorParts) ? (Tensor *)value : NULL;
}

// The array, where it is one of NumPy's own; NULL for others.
static inline PyArrayObject *array_in(Tensor *t)
{
    return t->array != NULL && PyArray_CheckExact(t->array) ? (PyArrayObject *)t->array : NULL;
}

// The array of a tensor in memory that is no lazy one, nor one of a transform or of a class that takes calls over.
static inline PyArrayObject *host_array(Tensor *t) { return t->backend == known.cpu ? array_in(t) : NULL; }

// ---- form

static PyObject *shape(Tensor *t)
{
    PyArrayObject *array = array_in(t);
    if (array == NULL || known.Size == NULL)
        return NULL;
    PyTypeObject *type = (PyTypeObject *)known.Size;
    return filled(type->tp_alloc(type, PyArray_NDIM(array)), PyArray_DIMS(array), 1);
}

static PyObject *dim(Tensor *t)
{
    PyArrayObject *array = array_in(t);
    return array == NULL ? NULL : PyLong_FromLong(PyArray_NDIM(array));
}

static PyObject *numel(Tensor *t)
{
    PyArrayObject *array = array_in(t);
    return array == NULL ? NULL : PyLong_FromSsize_t(PyArray_SIZE(array));
}

static PyObject *length(Tensor *t)
{
    PyArrayObject *array = array_in(t);
    return array == NULL || PyArray_NDIM(array) == 0 ? NULL : PyLong_FromSsize_t(PyArray_DIM(array, 0));
}

static PyObject *stride(Tensor *t)
{
    PyArrayObject *array = host_array(t);
    if (array == NULL || PyArray_SIZE(array) == 0)
        return NULL;
    const int ndim = PyArray_NDIM(array);
    const npy_intp item = PyArray_ITEMSIZE(array);
    for (int i = 0; i < ndim; i++)
        if (PyArray_STRIDE(array, i) % item)
            return NULL;
    return filled(PyTuple_New(ndim), PyArray_STRIDES(array), item);
}

static PyObject *data_ptr(Tensor *t)
{
    PyArrayObject *array = host_array(t);
    if (array == NULL)
        return NULL;
    return PyArray_SIZE(array) ? PyLong_FromVoidPtr(PyArray_DATA(array)) : PyLong_FromLong(0);
}

static PyObject *is_contiguous(Tensor *t)
{
    PyArrayObject *array = array_in(t);
    return array == NULL ? NULL : PyBool_FromLong(PyArray_IS_C_CONTIGUOUS(array));
}

static PyObject *contiguous(Tensor *t)
{
    PyArrayObject *array = array_in(t);
    return array != NULL && PyArray_IS_C_CONTIGUOUS(array) ? Py_NewRef(t) : NULL;
}

static PyObject *is_cpu(Tensor *t) { return t->backend == known.cpu ? Py_NewRef(Py_True) : NULL; }

static PyObject *is_cuda(Tensor *t) { return t->backend == known.cpu ? Py_NewRef(Py_False) : NULL; }

// ---- place in the graph

static inline View *as_view(PyObject *edge)
{
    return (PyObject *)Py_TYPE(edge) == known.View ? (View *)edge : NULL;
}

// The history of a tensor, borrowed; NULL where that of a view may have to be made anew.
static PyObject *history_of(Tensor *t)
{
    View *view = t->edge == NULL ? NULL : as_view(t->edge);
    if (view == NULL)
        return t->edge;
    Tensor *base = as_tensor(view->base);
    if (base == NULL || base->counter == NULL || !counts_plainly(base) || !PyLong_CheckExact(view->seen))
        return NULL;
    const Py_ssize_t version = base->counter == Py_None ? 0 : ((Counter *)base->counter)->n;
    if (PyLong_AsSsize_t(view->seen) == version)
        return view->edge;
    PyErr_Clear();
    return NULL;
}

static PyObject *is_leaf(Tensor *t)
{
    PyObject *edge = history_of(t);
    return edge == NULL ? NULL : PyBool_FromLong(!PyTuple_CheckExact(edge));
}

static PyObject *grad_fn(Tensor *t)
{
    PyObject *edge = history_of(t);
    return edge == NULL ? NULL : Py_NewRef(PyTuple_CheckExact(edge) ? PyTuple_GET_ITEM(edge, 0) : Py_None);
}

static PyObject *requires_grad(Tensor *t)
{
    if (t->edge == NULL)
        return NULL;
    View *view = as_view(t->edge);
    if (view == NULL)
        return PyBool_FromLong(t->edge != Py_None);
    Tensor *base = as_tensor(view->base);
    return base == NULL ? NULL : PyBool_FromLong(view->edge != Py_None || base->edge != Py_None);
}

static PyObject *grad(Tensor *t)
{
    if (t->grad == NULL || t->edge == NULL)
        return NULL;
    View *view = as_view(t->edge);
    const int recorded = PyTuple_CheckExact(view == NULL ? t->edge : view->edge);
    return t->grad == Py_None && recorded ? NULL : Py_NewRef(t->grad);
}

static int forget_grad(Tensor *t, PyObject *value)
{
    if (value != Py_None || t->grad == NULL)
        return 1;
    Py_SETREF(t->grad, Py_NewRef(Py_None));
    return 0;
}

static PyObject *version(Tensor *t)
{
    if (t->counter == NULL || !counts_plainly(t))
        return NULL;
    return t->counter == Py_None ? PyLong_FromLong(0) : PyLong_FromSsize_t(((Counter *)t->counter)->n);
}

// ---- the same memory without history

static PyObject *data(Tensor *t)
{
    if (plain_mode() == NULL || host_array(t) == NULL || t->counter == NULL || !counts_plainly(t))
        return NULL;
    return wrap(Py_NewRef(t->array), t->dtype);
}

static PyObject *detach(Tensor *t)
{
    if ((PyObject *)Py_TYPE(t) != known.Tensor || plain_mode() == NULL || host_array(t) == NULL || t->counter == NULL)
        return NULL;
    if (t->counter == Py_None) {
        PyObject *counter = new_of(known.Counter);
        if (counter == NULL)
            return NULL;
        Py_SETREF(t->counter, counter);
    }
    PyObject *made = wrap(Py_NewRef(t->array), t->dtype);
    if (made != NULL)
        Py_SETREF(((Tensor *)made)->counter, Py_NewRef(t->counter));
    return made;
}

// ---- values

// The value of a tensor of one element, of a dtype whose numbers are Python's.
static PyObject *item(Tensor *t)
{
    PyArrayObject *array = host_array(t);
    if (array == NULL || plain_mode() == NULL || PyArray_SIZE(array) != 1 || slot_of(t->dtype) < 0)
        return NULL;
    return PyArray_GETITEM(array, PyArray_BYTES(array));
}

// As a float: with a warning of Python's where there is a history.
static PyObject *as_float(Tensor *t)
{
    PyObject *number = t->edge == Py_None ? item(t) : NULL;
    if (number == NULL || PyFloat_CheckExact(number))
        return number;
    PyObject *made = PyNumber_Float(number);
    Py_DECREF(number);
    return made;
}

static PyObject *as_int(Tensor *t)
{
    PyObject *number = item(t);
    if (number == NULL || (PyFloat_CheckExact(number) && !isfinite(PyFloat_AS_DOUBLE(number)))) {
        Py_XDECREF(number);
        return NULL;
    }
    PyObject *made = PyNumber_Long(number);
    Py_DECREF(number);
    return made;
}

static PyObject *as_index(Tensor *t) { return t->dtype == known.int64 ? item(t) : NULL; }

static PyObject *as_bool(Tensor *t)
{
    PyObject *number = item(t);
    if (number == NULL)
        return NULL;
    const int truth = PyObject_IsTrue(number);
    Py_DECREF(number);
    return truth < 0 ? NULL : PyBool_FromLong(truth);
}

static PyObject *tolist(Tensor *t)
{
    PyArrayObject *array = host_array(t);
    return array == NULL || slot_of(t->dtype) < 0 ? NULL : PyArray_ToList(array);
}

// ---- NumPy's arrays over the same memory

// The array that owns the memory (or borrowed it first).
static PyArrayObject *root(PyArrayObject *array)
{
    PyObject *base;
    while ((base = PyArray_BASE(array)) != NULL && PyArray_Check(base))
        array = (PyArrayObject *)base;
    return array;
}

// Note that the memory of an array is held by others than tensors from now on. Python keeps the list.
static int lend(PyArrayObject *array)
{
    PyArrayObject *owner = root(array);
    PyObject *key = PyLong_FromVoidPtr(owner);
    const int listed = key == NULL ? -1 : PyDict_Contains(known.lent, key);
    Py_XDECREF(key);
    if (listed)
        return listed;
    PyObject *done = PyObject_CallOneArg(known.lend, (PyObject *)array);
    Py_XDECREF(done);
    return done == NULL ? -1 : 1;
}

static PyObject *numpy(Tensor *t)
{
    PyArrayObject *array = host_array(t);
    Mode *mode = plain_mode();
    if (array == NULL || mode == NULL || known.lend == NULL || slot_of(t->dtype) < 0 ||
        (mode->grad == Py_True && t->edge != Py_None))
        return NULL;
    return lend(array) < 0 ? NULL : PyArray_View(array, NULL, &PyArray_Type);
}

// A tensor over the whole of an array as NumPy makes them, of a dtype with plain cases.
static PyObject *from_numpy(PyObject *value)
{
    if (!PyArray_CheckExact(value) || plain_mode() == NULL || known.cpu == NULL || known.lend == NULL)
        return NULL;
    PyArrayObject *array = (PyArrayObject *)value;
    int slot = 0;
    while (slot < SLOTS && PyArray_DESCR(array) != descrs[slot])
        slot++;
    PyArrayObject *owner = root(array);
    if (slot == SLOTS || !PyArray_ISWRITEABLE(array) || !PyArray_ISONESEGMENT(array) || !PyArray_ISONESEGMENT(owner) ||
        PyArray_NBYTES(array) != PyArray_NBYTES(owner))
        return NULL;
    for (int i = 0; i < PyArray_NDIM(array); i++)
        if (PyArray_STRIDE(array, i) < 0 || PyArray_STRIDE(array, i) % PyArray_ITEMSIZE(array))
            return NULL;
    return lend(array) < 0 ? NULL : wrap(PyArray_View(array, NULL, &PyArray_Type), dtype_at(slot));
}

static PyObject *is_tensor(PyObject *value) { return as_tensor(value) == NULL ? NULL : Py_NewRef(Py_True); }

// ---- names

// Properties that are read, or set, in C where that can be. Without C they are what they derive from.
typedef struct { Answer answer; int (*set)(Tensor *, PyObject *); } Quick;

#define ANSWERS(X) \
    X("shape", shape) X("ndim", dim) X("is_cpu", is_cpu) X("is_cuda", is_cuda) X("requires_grad", requires_grad) \
    X("is_leaf", is_leaf) X("grad_fn", grad_fn) X("grad", grad) X("_version", version) X("data", data) \
    X("dim", dim) X("numel", numel) X("stride", stride) X("data_ptr", data_ptr) X("is_contiguous", is_contiguous) \
    X("contiguous", contiguous) X("detach", detach) X("item", item) X("tolist", tolist) X("numpy", numpy) \
    X("__len__", length) X("__float__", as_float) X("__int__", as_int) X("__index__", as_index) X("__bool__", as_bool)
#define ANSWER(name, answer) {name, answer},

static const struct { const char *name; Answer answer; } answers[] = {ANSWERS(ANSWER) {NULL}};

static inline Quick *quick_of(PyObject *property)
{
    return (Quick *)((char *)property + PyProperty_Type.tp_basicsize);
}

static PyObject *property_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    const Answer ask = quick_of(self)->answer;  // NULL: a copy of the property, made by its decorators
    Tensor *t = instance == NULL || ask == NULL ? NULL : as_tensor(instance);
    PyObject *answer = t == NULL ? NULL : ask(t);
    return answer != NULL || PyErr_Occurred() ? answer : PyProperty_Type.tp_descr_get(self, instance, owner);
}

static int property_set(PyObject *self, PyObject *instance, PyObject *value)
{
    Tensor *t = as_tensor(instance);
    if (t != NULL && value != NULL && quick_of(self)->set != NULL && quick_of(self)->set(t, value) == 0)
        return 0;
    return PyProperty_Type.tp_descr_set(self, instance, value);
}

PyTypeObject QuickProperty = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "torchlite.core._native.property",
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_descr_get = property_get,
    .tp_descr_set = property_set,
};

int add_properties(void)
{
    QuickProperty.tp_base = &PyProperty_Type;
    QuickProperty.tp_basicsize = PyProperty_Type.tp_basicsize + sizeof(Quick);
    // A text of its own for the class would stand before each property's.
    return PyType_Ready(&QuickProperty) < 0 ? -1 : PyDict_DelItemString(QuickProperty.tp_dict, "__doc__");
}

static PyObject *quick_property(PyObject *general, Quick quick)
{
    static const char *const parts[] = {"fget", "fset", "fdel", "__doc__"};
    PyObject *args = PyTuple_New(4);
    for (int i = 0; args != NULL && i < 4; i++) {
        PyObject *part = PyObject_GetAttrString(general, parts[i]);
        if (part == NULL)
            Py_CLEAR(args);
        else
            PyTuple_SET_ITEM(args, i, part);
    }
    PyObject *made = args == NULL ? NULL : PyObject_Call((PyObject *)&QuickProperty, args, NULL);
    if (made != NULL)
        *quick_of(made) = quick;
    Py_XDECREF(args);
    return made;
}

static PyObject *call_method(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Tensor *t = kwnames == NULL && PyVectorcall_NARGS(nargsf) == 1 ? as_tensor(args[0]) : NULL;
    PyObject *answer = t == NULL ? NULL : (*(Answer *)((Function *)f)->own)(t);
    return answer != NULL || PyErr_Occurred() ? answer : decline(f, args, nargsf, kwnames);
}

// `size()`, or with the number of a dimension.
static PyObject *call_size(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    Tensor *t = kwnames == NULL && count > 0 && count <= 2 ? as_tensor(args[0]) : NULL;
    PyArrayObject *array = t == NULL ? NULL : array_in(t);
    if (array != NULL && count == 1)
        return shape(t);
    if (array != NULL && PyLong_CheckExact(args[1])) {
        const Py_ssize_t ndim = PyArray_NDIM(array), i = PyLong_AsSsize_t(args[1]);
        if (i >= -ndim && i < ndim && !PyErr_Occurred())
            return PyLong_FromSsize_t(PyArray_DIM(array, i < 0 ? i + ndim : i));
        PyErr_Clear();
    }
    return decline(f, args, nargsf, kwnames);
}

static PyObject *call_from_numpy(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *made = kwnames == NULL && PyVectorcall_NARGS(nargsf) == 1 ? from_numpy(args[0]) : NULL;
    return made != NULL || PyErr_Occurred() ? made : decline(f, args, nargsf, kwnames);
}

static PyObject *call_tensor(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *made = kwnames == NULL && PyVectorcall_NARGS(nargsf) == 1 ? tensor_of(args[0]) : NULL;
    return made != NULL || PyErr_Occurred() ? made : decline(f, args, nargsf, kwnames);
}

static PyObject *call_is_tensor(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *answer = kwnames == NULL && PyVectorcall_NARGS(nargsf) == 1 ? is_tensor(args[0]) : NULL;
    return answer != NULL ? answer : decline(f, args, nargsf, kwnames);
}

static PyObject *call_is_grad_enabled(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    State *state = kwnames == NULL && PyVectorcall_NARGS(nargsf) == 0 ? thread_state() : NULL;
    Mode *mode = state != NULL ? (Mode *)state->mode : NULL;
    // A handler's mode, which is not plain, says what it was where it was called.
    if (mode != NULL && (mode->grad == Py_True || mode->plain == Py_True))
        return Py_NewRef(mode->grad);
    return decline(f, args, nargsf, kwnames);
}

// Whether a class takes no calls over, as far as that is known.
static inline int overrides_nothing(PyTypeObject *cls)
{
    PyObject *found = PyDict_GetItemWithError(known.overriding, (PyObject *)cls);
    if (found == NULL)
        PyErr_Clear();
    return found == Py_False;
}

// Whether an argument takes no call over, and none does that is in it, if it is a list or a tuple.
static int asks_nobody(PyObject *arg)
{
    if (!PyList_CheckExact(arg) && !PyTuple_CheckExact(arg))
        return overrides_nothing(Py_TYPE(arg));
    for (Py_ssize_t i = 0; i < Py_SIZE(arg); i++)
        if (!overrides_nothing(Py_TYPE(PySequence_Fast_GET_ITEM(arg, i))))
            return 0;
    return 1;
}

static int nobody_asks(PyObject *args, PyObject *kwargs)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        if (!asks_nobody(PyTuple_GET_ITEM(args, i)))
            return 0;
    PyObject *name, *value;
    for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &name, &value);)
        if (!asks_nobody(value))
            return 0;
    return 1;
}

static PyObject *call_needs_dispatch(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (kwnames == NULL && PyVectorcall_NARGS(nargsf) == 2 && PyTuple_CheckExact(args[0]) &&
        PyDict_CheckExact(args[1]) && plain_mode() != NULL && nobody_asks(args[0], args[1]))
        Py_RETURN_FALSE;
    return decline(f, args, nargsf, kwnames);
}

// ---- Size

// `Size(dims)`, of a tuple of ints.
static PyObject *call_new_size(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *dims = kwnames == NULL && PyVectorcall_NARGS(nargsf) == 2 && args[0] == known.Size ? args[1] : NULL;
    if (dims == NULL || !(PyTuple_CheckExact(dims) || (PyObject *)Py_TYPE(dims) == known.Size))
        return decline(f, args, nargsf, kwnames);
    const Py_ssize_t count = PyTuple_GET_SIZE(dims);
    for (Py_ssize_t i = 0; i < count; i++)
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(dims, i)))
            return decline(f, args, nargsf, kwnames);
    PyTypeObject *type = (PyTypeObject *)known.Size;
    PyObject *made = type->tp_alloc(type, count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++)
        PyTuple_SET_ITEM(made, i, Py_NewRef(PyTuple_GET_ITEM(dims, i)));
    return made;
}

static PyObject *call_size_item(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (kwnames == NULL && PyVectorcall_NARGS(nargsf) == 2 && PyTuple_Check(args[0]) && PyLong_CheckExact(args[1])) {
        const Py_ssize_t count = PyTuple_GET_SIZE(args[0]), i = PyLong_AsSsize_t(args[1]);
        if (i >= -count && i < count && !PyErr_Occurred())
            return Py_NewRef(PyTuple_GET_ITEM(args[0], i < 0 ? i + count : i));
        PyErr_Clear();
    }
    return decline(f, args, nargsf, kwnames);
}

static const struct { const char *name; vectorcallfunc call; } calls[] = {
    {"size", call_size}, {"from_numpy", call_from_numpy}, {"tensor", call_tensor}, {"is_tensor", call_is_tensor},
    {"is_grad_enabled", call_is_grad_enabled}, {"needs_dispatch", call_needs_dispatch}, {"Size", call_new_size},
    {"Size.__getitem__", call_size_item}, {NULL},
};

// `quick(general, name)`: a function or property that answers plain questions of that name in C.
PyObject *make_quick(PyObject *module, PyObject *args)
{
    PyObject *general;
    const char *name;
    if (!PyArg_ParseTuple(args, "Os", &general, &name))
        return NULL;
    for (int i = 0; calls[i].name != NULL; i++)
        if (strcmp(name, calls[i].name) == 0)
            return (PyObject *)new_function(calls[i].call, 0, general, NULL, 0);
    for (int i = 0; answers[i].name != NULL; i++)
        if (strcmp(name, answers[i].name) == 0) {
            if (PyObject_TypeCheck(general, &PyProperty_Type))
                return quick_property(general, (Quick){answers[i].answer, answers[i].answer == grad ? forget_grad : NULL});
            Function *f = new_function(call_method, 0, general, NULL, sizeof(Answer));
            if (f != NULL)
                *(Answer *)f->own = answers[i].answer;
            return (PyObject *)f;
        }
    return PyErr_Format(PyExc_LookupError, "nothing is known of %s", name);
}
