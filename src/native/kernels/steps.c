// Steps of optimizers: see the table in loops/steps.h. The twins are the optimizers' formulas, which get the array library
// first, then parameters, gradient and state, then numbers, and write into all but the gradient.
#include "kernel.h"

typedef void StepLoop(float *, const float *, float *, float *, const float *, N);

// A number, which may come as an array without dimensions.
static int read_number(PyObject *o, float *to)
{
    PyArrayObject *a = floats(o);
    if (!a || PyArray_NDIM(a)) return number(o, to);
    *to = *data_of(a);
    return 1;
}

// Whether an argument is what a letter of the table stands for; if it is a number, it is noted.
static int suits(char letter, PyObject *given, float *n)
{
    switch (letter) {
    case '-': return given == Py_None;
    case 'f': return given == Py_False;
    case 'b': *n = given == Py_True; return PyBool_Check(given);
    case 'n': return read_number(given, n);
    default: *n = (float)(letter - '0'); return given == Py_None || read_number(given, n);
    }
}

static PyObject *attempt(PyObject *const *a, Py_ssize_t count, int states, const char *takes, StepLoop *loop)
{
    float *data[4] = {NULL}, n[STEP_NUMBERS] = {0};
    const int arrays = 2 + states;
    if (count != 1 + arrays + (Py_ssize_t)strlen(takes) || !PyModule_Check(a[0])) return NULL;
    for (int i = 0; i < arrays; i++) {
        PyArrayObject *given = floats(a[1 + i]);
        if (!given || !same_shape(given, (PyArrayObject *)a[1]) || (i != 1 && !PyArray_ISWRITEABLE(given))) return NULL;
        data[i] = data_of(given);
        for (int k = 0; k < i; k++)
            if (!is_apart(given, (PyArrayObject *)a[1 + k])) return NULL;
    }
    for (int i = 0; takes[i]; i++)
        if (!suits(takes[i], a[1 + arrays + i], n + i)) return NULL;
    const N size = PyArray_SIZE((PyArrayObject *)a[1]);
    WORK(size, loop(data[0], data[1], data[2], data[3], n, size));
    Py_RETURN_NONE;
}

#define ATTEMPT(name, kernel, states, takes, change) \
    static PyObject *attempt_##name(PyObject *const *a, Py_ssize_t count) { return attempt(a, count, states, takes, loops->name); }
#define ROW(name, kernel, states, takes, change) {kernel, attempt_##name},

STEPS(ATTEMPT)
const KernelDef step_kernels[] = {STEPS(ROW){NULL}};
