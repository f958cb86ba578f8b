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

typedef struct { StepLoop *loop; float *data[4]; const float *numbers; } Step;

static void step_share(void *work, N from, N to)
{
    const Step *w = work;
    float *const *d = w->data;
    w->loop(d[0] + from, d[1] + from, d[2] ? d[2] + from : NULL, d[3] ? d[3] + from : NULL, w->numbers, to - from);
}

static PyObject *attempt(PyObject *const *a, Py_ssize_t count, int states, const char *takes, StepLoop *loop)
{
    float n[STEP_NUMBERS] = {0};
    Step work = {loop, {NULL}, n};
    const int arrays = 2 + states;
    if (count != 1 + arrays + (Py_ssize_t)strlen(takes) || !PyModule_Check(a[0])) return NULL;
    for (int i = 0; i < arrays; i++) {
        PyArrayObject *given = floats(a[1 + i]);
        if (!given || !same_shape(given, (PyArrayObject *)a[1]) || (i != 1 && !PyArray_ISWRITEABLE(given))) return NULL;
        work.data[i] = data_of(given);
        for (int k = 0; k < i; k++)
            if (!is_apart(given, (PyArrayObject *)a[1 + k])) return NULL;
    }
    for (int i = 0; takes[i]; i++)
        if (!suits(takes[i], a[1 + arrays + i], n + i)) return NULL;
    const N size = PyArray_SIZE((PyArrayObject *)a[1]);
    SHARED(step_share, work, size, 1);
    Py_RETURN_NONE;
}

#define ATTEMPT(name, kernel, states, takes, change) \
    static PyObject *attempt_##name(PyObject *const *a, Py_ssize_t count) { return attempt(a, count, states, takes, loops->name); }
#define ROW(name, kernel, states, takes, change) {kernel, attempt_##name},

STEPS(ATTEMPT)
const KernelDef step_kernels[] = {STEPS(ROW){NULL}};
