// Activations: see loops/elementwise.c.
#include "kernel.h"

typedef void UnaryLoop(const float *, float *, N);
typedef void SlopeLoop(const float *, const float *, float *, N);

static PyObject *unary(PyObject *operand, UnaryLoop *loop)
{
    PyArrayObject *x = floats(operand);
    PyArrayObject *y = x ? fresh_like(x) : NULL;
    if (y) WORK(PyArray_SIZE(x), loop(data_of(x), data_of(y), PyArray_SIZE(x)));
    return (PyObject *)y;
}

static PyObject *slope(PyObject *gradient, PyObject *operand, SlopeLoop *loop)
{
    PyArrayObject *g = floats(gradient), *x = floats(operand);
    PyArrayObject *y = g && x && same_shape(g, x) ? fresh_like(x) : NULL;
    if (y) WORK(PyArray_SIZE(x), loop(data_of(g), data_of(x), data_of(y), PyArray_SIZE(x)));
    return (PyObject *)y;
}

static PyObject *relu(PyObject *const *a, Py_ssize_t count) { return count == 1 ? unary(a[0], loops->relu) : NULL; }
static PyObject *sigmoid(PyObject *const *a, Py_ssize_t count) { return count == 1 ? unary(a[0], loops->sigmoid) : NULL; }
static PyObject *silu(PyObject *const *a, Py_ssize_t count) { return count == 1 ? unary(a[0], loops->silu) : NULL; }

static PyObject *silu_backward(PyObject *const *a, Py_ssize_t count)
{
    return count == 2 ? slope(a[0], a[1], loops->silu_slope) : NULL;
}

// How to approximate: 0 not at all, 1 by tanh; else -1.
static int is_tanh(PyObject *approximate)
{
    if (!PyUnicode_Check(approximate)) return -1;
    if (!PyUnicode_CompareWithASCIIString(approximate, "tanh")) return 1;
    return PyUnicode_CompareWithASCIIString(approximate, "none") ? -1 : 0;
}

static PyObject *gelu(PyObject *const *a, Py_ssize_t count)
{
    int how = count == 2 ? is_tanh(a[1]) : -1;
    return how < 0 ? NULL : unary(a[0], how ? loops->gelu_tanh : loops->gelu);
}

static PyObject *gelu_backward(PyObject *const *a, Py_ssize_t count)
{
    int how = count == 3 ? is_tanh(a[2]) : -1;
    return how < 0 ? NULL : slope(a[0], a[1], how ? loops->gelu_tanh_slope : loops->gelu_slope);
}

static PyObject *threshold_backward(PyObject *const *a, Py_ssize_t count)
{
    N threshold;
    return count == 3 && whole_number(a[2], &threshold) && !threshold ? slope(a[0], a[1], loops->relu_slope) : NULL;
}

const KernelDef elementwise_kernels[] = {
    {"relu", relu},
    {"sigmoid", sigmoid},
    {"silu", silu},
    {"silu_backward", silu_backward},
    {"gelu", gelu},
    {"gelu_backward", gelu_backward},
    {"threshold_backward", threshold_backward},
    {NULL},
};
