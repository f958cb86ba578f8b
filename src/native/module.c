// torchlite.core._native: the plain cases of calls, and kernels, in C. torchlite/core/native.py loads it.
#include <Python.h>

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

static int execute(PyObject *module)
{
    return PyModule_AddStringConstant(module, "compiler", compiler);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "torchlite.core._native",
    .m_doc = "The plain cases of calls, and kernels, in C.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
