// torchlite.core._native: the plain cases of calls, and kernels, in C. torchlite/core/native.py loads it.
#define TORCHLITE_IMPORTS_NUMPY
#include "native.h"

static const char *compiler =
#if defined(__clang__)
    "clang " __clang_version__;
#elif defined(__GNUC__)
    "gcc " __VERSION__;
#elif defined(_MSC_VER)
    "msvc";
#else
    "an unknown compiler";
#endif

int add_kernels(PyObject *module);  // kernels/kernel.c

struct Known known;

#define KNOWN_NAME(name) #name,
static const char *const known_names[] = {KNOWN(KNOWN_NAME) NULL};

static PyObject *know(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyObject **places = (PyObject **)&known, *name, *value;
    Py_ssize_t at = 0;
    while (kwargs != NULL && PyDict_Next(kwargs, &at, &name, &value)) {
        int i = 0;
        while (known_names[i] != NULL && PyUnicode_CompareWithASCIIString(name, known_names[i]) != 0)
            i++;
        if (known_names[i] == NULL)
            return PyErr_Format(PyExc_TypeError, "nothing is to be known of %R", name);
        Py_XSETREF(places[i], Py_NewRef(value));
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"know", (PyCFunction)(void (*)(void))know, METH_VARARGS | METH_KEYWORDS, "Hand objects of Python over."},
    {"become_whole", become_whole, METH_O, "Let a class that adds nothing to its parts be freed as these are."},
    {"unary", make_unary, METH_VARARGS, "A function of one operand."},
    {"binary", make_binary, METH_VARARGS, "A function of two operands."},
    {"in_place", make_in_place, METH_VARARGS, "An in-place method of two operands."},
    {"put", make_put, METH_VARARGS, "An in-place method that puts something in the place of all elements."},
    {"backward", make_backward, METH_VARARGS, "The method `backward` of tensors."},
    {"gradients", gradients, METH_VARARGS, "Gradients of leaves, or None where they are not for C."},
    {"add_program", add_program, METH_VARARGS, "Say what nodes of a class do to a gradient."},
    {"planned", make_planned, METH_VARARGS, "A function that knows calls again by their form."},
    {"remember", remember, METH_VARARGS, "Let a function know calls of the form of this one again."},
    {"index", make_index, METH_VARARGS, "The method `__getitem__` of tensors."},
    {"total", make_total, METH_VARARGS, "The sum, or mean, of all elements."},
    {"quick", make_quick, METH_VARARGS, "A question about tensors, or about what is switched on."},
    {"making", make_making, METH_O, "The `__new__` of a switch."},
    {"entering", make_entering, METH_VARARGS, "The `__enter__` of a switch."},
    {"module_call", make_module_call, METH_VARARGS, "The call of an nn.Module."},
    {"look_up", make_look_up, METH_VARARGS, "The `__getattr__` of nn.Module."},
    {NULL},
};

static int execute(PyObject *module)
{
    import_array1(-1);
    import_umath1(-1);
    if (PyType_Ready(&FunctionType) < 0 || PyType_Ready(&AskedType) < 0 || prepare_arrays() < 0 ||
        add_parts(module) < 0 || add_properties() < 0 || add_contexts(module) < 0)
        return -1;
    known.zero = PyLong_FromLong(0);
    known.one = PyLong_FromLong(1);
    known.empty = PyTuple_New(0);
    known.programs = PyDict_New();
    if (known.zero == NULL || known.one == NULL || known.empty == NULL || known.programs == NULL ||
        PyModule_AddObjectRef(module, "function", (PyObject *)&FunctionType) < 0)
        return -1;
    if (PyModule_AddStringConstant(module, "compiler", compiler) < 0)
        return -1;
    return add_kernels(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "torchlite.core._native",
    .m_doc = "The plain cases of calls, and kernels, in C.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
