// Callables that take the place of a function in Python, `general`, which they call for all that they do not know.
#include "native.h"
#include <structmember.h>

Function *new_function(vectorcallfunc call, int operands, PyObject *general, PyObject *held, size_t own)
{
    Function *f = PyObject_GC_New(Function, &FunctionType);
    if (f == NULL)
        return NULL;
    f->vectorcall = call;
    f->general = Py_NewRef(general);
    f->dict = NULL;
    f->operands = operands;
    f->held = Py_XNewRef(held);
    f->own = own ? PyMem_Calloc(1, own) : NULL;
    PyObject_GC_Track(f);
    if (own && f->own == NULL) {
        PyErr_NoMemory();
        Py_CLEAR(f);
    }
    return f;
}

static int function_traverse(Function *f, visitproc visit, void *arg)
{
    Py_VISIT(f->general);
    Py_VISIT(f->dict);
    Py_VISIT(f->held);
    return 0;
}

static void function_dealloc(Function *f)
{
    PyObject_GC_UnTrack(f);
    PyMem_Free(f->own);  // functions that hold more live as long as the process
    Py_XDECREF(f->held);
    Py_XDECREF(f->dict);
    Py_XDECREF(f->general);
    PyObject_GC_Del(f);
}

static PyObject *function_get(PyObject *f, PyObject *instance, PyObject *owner)
{
    return instance == NULL || instance == Py_None ? Py_NewRef(f) : PyMethod_New(f, instance);
}

static PyObject *function_repr(Function *f)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)f, "__name__");
    PyObject *text = name == NULL ? NULL : PyUnicode_FromFormat("<built-in function %U>", name);
    Py_XDECREF(name);
    return text;
}

// Functions are pickled by their names.
static PyObject *function_reduce(PyObject *f, PyObject *unused) { return PyObject_GetAttrString(f, "__qualname__"); }

// What `isinstance` takes them for, as PyTorch's are functions of C's: tools that show signatures and texts ask that.
static PyObject *function_class(Function *f, void *unused)
{
    PyObject *name = f->dict == NULL ? NULL : PyDict_GetItemString(f->dict, "__qualname__");
    int method = name != NULL && PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name), 1) >= 0;
    return Py_NewRef(method ? &PyMethodDescr_Type : &PyCFunction_Type);
}

static PyMethodDef methods[] = {{"__reduce__", function_reduce, METH_NOARGS, NULL}, {NULL}};
static PyMemberDef members[] = {
    {"general", T_OBJECT, offsetof(Function, general), READONLY},
    {"operands", T_INT, offsetof(Function, operands), READONLY},
    {"__wrapped__", T_OBJECT, offsetof(Function, general), READONLY},
    {NULL},
};
static PyGetSetDef getset[] = {
    {"__class__", (getter)function_class, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict},
    {NULL},
};

PyTypeObject FunctionType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "builtin_function_or_method",
    .tp_basicsize = sizeof(Function),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Function, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = function_get,
    .tp_repr = (reprfunc)function_repr,
    .tp_traverse = (traverseproc)function_traverse,
    .tp_dealloc = (destructor)function_dealloc,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = getset,
    .tp_dictoffset = offsetof(Function, dict),
};
