// nn.Module: the call of one that has no hooks, and the look-up of parameters, buffers and submodules by their names.
#include "native.h"

static PyObject *getattribute, *getattr, *forward;  // names
static PyObject *object_getattribute;  // which classes have that look attributes up in the usual way
static PyObject *hooks[4], *places[3];  // names in a module's dictionary

static int prepare(void)
{
    static const char *const hook_names[] = {
        "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
    };
    static const char *const place_names[] = {"_parameters", "_buffers", "_modules"};
    if (object_getattribute != NULL)
        return 0;
    for (int i = 0; i < 4; i++)
        if ((hooks[i] = PyUnicode_InternFromString(hook_names[i])) == NULL)
            return -1;
    for (int i = 0; i < 3; i++)
        if ((places[i] = PyUnicode_InternFromString(place_names[i])) == NULL)
            return -1;
    getattribute = PyUnicode_InternFromString("__getattribute__");
    getattr = PyUnicode_InternFromString("__getattr__");
    forward = PyUnicode_InternFromString("forward");
    if (getattribute == NULL || getattr == NULL || forward == NULL)
        return -1;
    object_getattribute = PyObject_GetAttr((PyObject *)&PyBaseObject_Type, getattribute);
    return object_getattribute == NULL ? -1 : 0;
}

static int is_usual(PyTypeObject *type) { return _PyType_Lookup(type, getattribute) == object_getattribute; }

// A borrowed value of a dictionary; NULL, without an error, where there is none.
static PyObject *in_dict(PyObject *dict, PyObject *name)
{
    PyObject *value = PyDict_GetItemWithError(dict, name);
    if (value == NULL)
        PyErr_Clear();
    return value;
}

// ---- calls: `module_call(general, (the hooks of all modules, …))`

static PyObject *call_module(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *held = ((Function *)f)->held;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(held); i++)
        if (PyDict_GET_SIZE(PyTuple_GET_ITEM(held, i)) != 0)
            return decline(f, args, nargsf, kwnames);
    if (PyVectorcall_NARGS(nargsf) == 0 || !is_usual(Py_TYPE(args[0])))
        return decline(f, args, nargsf, kwnames);
    PyObject *method = _PyType_Lookup(Py_TYPE(args[0]), forward);
    if (method == NULL || !PyType_HasFeature(Py_TYPE(method), Py_TPFLAGS_METHOD_DESCRIPTOR))
        return decline(f, args, nargsf, kwnames);
    PyObject *dict = PyObject_GenericGetDict(args[0], NULL);
    int plain = dict != NULL && in_dict(dict, forward) == NULL;
    for (int i = 0; plain && i < 4; i++) {
        PyObject *own = in_dict(dict, hooks[i]);
        plain = own != NULL && PyDict_Check(own) && PyDict_GET_SIZE(own) == 0;
    }
    Py_XDECREF(dict);
    if (!plain) {
        PyErr_Clear();
        return decline(f, args, nargsf, kwnames);
    }
    Py_INCREF(method);
    PyObject *result = PyObject_Vectorcall(method, args, nargsf, kwnames);
    Py_DECREF(method);
    return result;
}

PyObject *make_module_call(PyObject *module, PyObject *args)
{
    PyObject *general, *held;
    if (prepare() < 0 || !PyArg_ParseTuple(args, "OO!", &general, &PyTuple_Type, &held))
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(held); i++)
        if (!PyDict_Check(PyTuple_GET_ITEM(held, i)))
            return PyErr_Format(PyExc_TypeError, "hooks are kept in dicts");
    return (PyObject *)new_function(call_module, 0, general, held, 0);
}

// ---- look-up: `look_up(general, ())`
//
// The interpreter asks `__getattr__` only after it has looked everywhere else, and made an error of that. So a class
// that has this one, and no `__getattribute__` of its own, gets a function that looks among the parts before. Whoever
// gives the class, or one that it derives from, another `__getattr__` makes the interpreter take the function back.

static getattrofunc usual;  // the interpreter's, of classes with a `__getattr__`

// A part of that name, as a new reference; NULL without an error where there is none, or Python has to look.
static PyObject *part_of(PyObject *dict, PyObject *name)
{
    for (int i = 0; i < 3; i++) {
        PyObject *place = in_dict(dict, places[i]);
        if (place == NULL)
            continue;
        if (!PyDict_CheckExact(place) && !PyODict_CheckExact(place))
            return NULL;
        PyObject *part = in_dict(place, name);
        if (part != NULL)
            return Py_NewRef(part);
    }
    return NULL;
}

static PyObject *get_attribute(PyObject *module, PyObject *name)
{
    if (PyUnicode_CheckExact(name) && _PyType_Lookup(Py_TYPE(module), name) == NULL) {
        PyObject *dict = PyObject_GenericGetDict(module, NULL);
        PyObject *found = dict == NULL ? NULL : Py_XNewRef(in_dict(dict, name));
        if (found == NULL && dict != NULL)
            found = part_of(dict, name);
        Py_XDECREF(dict);
        if (found != NULL)
            return found;
        PyErr_Clear();
    }
    return usual(module, name);
}

static PyObject *call_look_up(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (kwnames != NULL || PyVectorcall_NARGS(nargsf) != 2 || !PyUnicode_CheckExact(args[1]))
        return decline(f, args, nargsf, kwnames);
#ifndef Py_GIL_DISABLED
    PyTypeObject *type = Py_TYPE(args[0]);
    if (type->tp_getattro != get_attribute && is_usual(type) && _PyType_Lookup(type, getattr) == f &&
        (usual == NULL || type->tp_getattro == usual)) {
        usual = type->tp_getattro;
        type->tp_getattro = get_attribute;
        PyType_Modified(type);
    }
#endif
    PyObject *dict = PyObject_GenericGetDict(args[0], NULL);
    PyObject *part = dict == NULL ? NULL : part_of(dict, args[1]);
    Py_XDECREF(dict);
    if (part != NULL)
        return part;
    PyErr_Clear();
    return decline(f, args, nargsf, kwnames);
}

PyObject *make_look_up(PyObject *module, PyObject *args)
{
    PyObject *general;
    if (prepare() < 0 || !PyArg_ParseTuple(args, "O", &general))
        return NULL;
    return (PyObject *)new_function(call_look_up, 0, general, NULL, 0);
}
