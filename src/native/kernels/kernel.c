// Kernels as Python calls them: each tries, and leaves what it declines to its NumPy twin.
#include "kernel.h"

#include <stddef.h>
#include <structmember.h>

static const KernelDef *const families[] = {
    pointwise_kernels, row_kernels, conv_kernels, pool_kernels, channel_kernels, place_kernels, product_kernels,
    recurrent_kernels, attention_kernels, sum_kernels, step_kernels, half_kernels, few_kernels,
    sample_kernels, loss_kernels, list_kernels, sparse_kernels, draw_kernels, select_kernels, where_kernels, copy_kernels,
};
enum { FAMILIES = sizeof families / sizeof *families };

PyArrayObject *array_of(PyObject *o, int type)
{
    PyArrayObject *a = (PyArrayObject *)o;
    return PyArray_CheckExact(o) && PyArray_TYPE(a) == type && PyArray_ISCARRAY_RO(a) ? a : NULL;
}

PyArrayObject *floats(PyObject *o) { return array_of(o, NPY_FLOAT32); }

int whole_number(PyObject *o, N *to)
{
    if (!PyLong_CheckExact(o)) return 0;
    *to = PyLong_AsSsize_t(o);
    if (*to == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    const KernelDef *def;
    PyObject *general;
} Kernel;

// What the first of the attempts at these arguments that comes to something makes.
static inline PyObject *attempted(const Kernel *kernel, PyObject *const *arguments, Py_ssize_t count)
{
    const KernelDef *def = kernel->def;
    PyObject *made;
    do made = def->attempt(arguments, count);
    while (!made && !PyErr_Occurred() && (++def)->name && !strcmp(def->name, kernel->def->name));
    return made;
}

static PyObject *kernel_call(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *names)
{
    Kernel *kernel = (Kernel *)self;
    if (!names) {
        PyObject *made = attempted(kernel, arguments, PyVectorcall_NARGS(flags));
        if (made || PyErr_Occurred()) return made;
    }
    return PyObject_Vectorcall(kernel->general, arguments, flags, names);
}

static PyArrayObject *wanted;  // borrowed: where the pointwise kernel that begins may put its results, if they fit

PyArrayObject *result_like(PyArrayObject *x)
{
    PyArrayObject *to = wanted;
    wanted = NULL;  // before the loop, during which others may begin
    if (to && PyArray_TYPE(to) == PyArray_TYPE(x) && same_shape(to, x)) return (PyArrayObject *)Py_NewRef(to);
    return (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_TYPE(x));
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    const char *name;
    PyObject *general;
    if (!PyArg_ParseTuple(arguments, "sO:Kernel", &name, &general)) return NULL;
    for (int f = 0; f < FAMILIES; f++) {
        for (const KernelDef *def = families[f]; def->name; def++) {
            if (strcmp(def->name, name)) continue;
            Kernel *self = (Kernel *)type->tp_alloc(type, 0);
            if (!self) return NULL;
            self->call = kernel_call;
            self->def = def;
            self->general = Py_NewRef(general);
            return (PyObject *)self;
        }
    }
    return PyErr_Format(PyExc_LookupError, "no kernel is called %s", name);
}

static int kernel_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Kernel *)self)->general);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int kernel_clear(PyObject *self)
{
    Py_CLEAR(((Kernel *)self)->general);
    return 0;
}

static void kernel_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    kernel_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef kernel_members[] = {
    {"general", T_OBJECT_EX, offsetof(Kernel, general), READONLY, "the NumPy twin"},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, call), READONLY, NULL},
    {NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "Kernel(name, general): a kernel in C, which leaves what it declines to `general`"},
    {Py_tp_new, kernel_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_members, kernel_members},
    {0, NULL},
};
static PyType_Spec kernel_spec = {
    "torchlite.core._native.Kernel", sizeof(Kernel), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, kernel_slots,
};

int run_kernel_into(PyObject *kernel, PyObject *array, PyObject *out)
{
    const KernelDef *def = pointwise_kernels;
    if (Py_TYPE(kernel)->tp_dealloc != kernel_dealloc) return 0;
    while (def->name && def != ((Kernel *)kernel)->def) def++;
    if (!def->name) return 0;
    wanted = (PyArrayObject *)out;
    PyObject *made = attempted((Kernel *)kernel, &array, 1);
    wanted = NULL;
    PyErr_Clear();  // which the twin will raise again
    Py_XDECREF(made);
    return made == out;
}

static PyObject *use_isa(PyObject *module, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) return NULL;
    if (choose_isa(text)) Py_RETURN_NONE;
    return PyErr_Format(PyExc_ValueError, "this processor has no instruction set %R, or there are no kernels for it", name);
}

static PyObject *use_threads(PyObject *module, PyObject *number)
{
    const long wanted = PyLong_AsLong(number);
    if (wanted == -1 && PyErr_Occurred()) return NULL;
    threads = wanted < 1 ? 1 : wanted > 1 << 10 ? 1 << 10 : (int)wanted;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"use_threads", use_threads, METH_O, "use_threads(number): let work on large arrays be shared by so many threads"},
    {"use_isa", use_isa, METH_O, "use_isa(name): let kernels run on this instruction set"},
    {NULL},
};

static PyObject *names_of_kernels(void)
{
    PyObject *names = PyFrozenSet_New(NULL);
    for (int f = 0; names && f < FAMILIES; f++) {
        for (const KernelDef *def = families[f]; names && def->name; def++) {
            PyObject *name = PyUnicode_InternFromString(def->name);
            if (!name || PySet_Add(names, name) < 0) Py_CLEAR(names);
            Py_XDECREF(name);
        }
    }
    return names;
}

static int add(PyObject *module, const char *name, PyObject *value)
{
    int done = value ? PyModule_AddObjectRef(module, name, value) : -1;
    Py_XDECREF(value);
    return done;
}

int add_kernels(PyObject *module)
{
    const char *wanted = getenv("TORCHLITE_ISA");
    if (!choose_isa(wanted && *wanted ? wanted : NULL)) {
        PyErr_Format(PyExc_ValueError, "TORCHLITE_ISA=%s: this processor has %S", wanted, list_isas());
        return -1;
    }
    if (PyModule_AddFunctions(module, functions) < 0) return -1;
    if (add(module, "Kernel", PyType_FromSpec(&kernel_spec)) < 0) return -1;
    if (add(module, "kernels", names_of_kernels()) < 0) return -1;
    return add(module, "isas", list_isas());
}
