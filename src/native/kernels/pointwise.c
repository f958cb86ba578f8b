// Pointwise kernels: see the table in loops/pointwise.h.
#include <math.h>

#include "kernel.h"

// The number of an array of one, into *to; where there may be none, else what stands for none.
static int only_number(PyObject *given, PyArrayObject *x, float none, float *to)
{
    PyArrayObject *a = given == Py_None ? NULL : floats(given);
    if (a && (PyArray_SIZE(a) != 1 || PyArray_NDIM(a) > PyArray_NDIM(x))) return 0;
    *to = a ? *data_of(a) : none;
    return *to == *to && (a || given == Py_None);
}

typedef void PointwiseLoop(const void *, const void *, const float *, void *, N);

// An array of a dtype, or of halves, which loops of floats are run on a stretch at a time; else NULL.
static PyArrayObject *array_for(PyObject *given, int type)
{
    PyArrayObject *a = array_of(given, type);
    Conversion *convert;
    if (a || type != NPY_FLOAT32 || !PyArray_CheckExact(given)) return a;
    a = (PyArrayObject *)given;
    return PyArray_ISCARRAY_RO(a) && is_of_halves(a, &convert, &convert) ? a : NULL;
}

// Whether an argument is what a letter of the table stands for; if it is an array or a number, it is noted.
static int suits(char letter, PyObject *given, int type, PyArrayObject **x, PyArrayObject **g, float **p)
{
    float n;
    switch (letter) {
    case 'x': return (*x = array_for(given, type)) != NULL;
    case 'e': return (*x = floats(given)) != NULL;
    case 'a': return (*x = floats(given)) && all_within(*x, ANGLES);
    case 'g': return (*g = array_for(given, type)) != NULL;
    case 'p':
    case 'q':
    case 'r': return number(given, (*p)++);
    case 'l': return only_number(given, *x, -INFINITY, (*p)++);
    case 'h': return only_number(given, *x, INFINITY, (*p)++);
    case 'w': return only_number(given, *x, NAN, (*p)++);
    case 'i':
        if (!number(given, (*p)++) || !(*p)[-1]) return 0;
        *(*p)++ = 1;
        *(*p)++ = (float)(1 / PyFloat_AsDouble(given));
        return 1;
    case 'b': return PyBool_Check(given) || given == Py_None;
    case 'f': return given == Py_False;
    case '0':
    case '2': return number(given, &n) && n == letter - '0';
    case 'n': return is_text(given, "none");
    default: return is_text(given, "tanh");
    }
}

typedef struct { PointwiseLoop *loop; const char *x, *g; const float *p; char *y; N n, size; } Pointwise;

// Of so many chunks, the last of which may not be full: then its numbers are moved to where there is room for one.
static void chunk_share(void *work, N from, N to)
{
    const Pointwise *w = work;
    const N bytes = CHUNK * w->size, at = from * bytes, whole = to * CHUNK <= w->n ? to - from : w->n / CHUNK - from;
    const N end = at + whole * bytes, rest = to * CHUNK <= w->n ? 0 : w->n * w->size - end;
    double last[3][CHUNK] = {{0}};
    if (whole) w->loop(w->x + at, w->g ? w->g + at : NULL, w->p, w->y + at, whole);
    if (!rest) return;
    memcpy(last[0], w->x + end, rest);
    if (w->g) memcpy(last[1], w->g + end, rest);
    w->loop(last[0], last[1], w->p, last[2], 1);
    memcpy(w->y + end, last[2], rest);
}

typedef struct { Pointwise floats; Conversion *to_floats, *of_floats; } OfHalves;

enum { STRETCH = 16 };  // chunks of halves that are floats at a time

static void halves_share(void *work, N from, N to)
{
    const OfHalves *w = work;
    for (; from < to; from += STRETCH) {
        const N at = from * CHUNK * 2, some = to - from < STRETCH ? to - from : STRETCH;
        const N n = (from + some) * CHUNK < w->floats.n ? some * CHUNK : w->floats.n - from * CHUNK;
        float x[STRETCH * CHUNK] = {0}, g[STRETCH * CHUNK] = {0}, y[STRETCH * CHUNK];
        w->to_floats(w->floats.x + at, x, n);
        if (w->floats.g) w->to_floats(w->floats.g + at, g, n);
        w->floats.loop(x, g, w->floats.p, y, some);
        w->of_floats(y, w->floats.y + at, n);
    }
}

// The gradient of relu, for formulas.
void keep_positive(const float *g, const float *x, float *to, ptrdiff_t n)
{
    static const float none[NUMBERS];
    Pointwise work = {loops->relu_slope, (const char *)x, (const char *)g, none, (char *)to, n, sizeof *x};
    chunk_share(&work, 0, (n + CHUNK - 1) / CHUNK);
}

static PyObject *attempt(PyObject *const *a, Py_ssize_t count, const char *takes, PointwiseLoop *loop, int type)
{
    PyArrayObject *x = NULL, *g = NULL;
    float p[NUMBERS] = {0}, *end = p;
    if (count != (Py_ssize_t)strlen(takes)) return NULL;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!suits(takes[i], a[i], type, &x, &g, &end)) return NULL;
    if (g && (!same_shape(g, x) || PyArray_DESCR(g) != PyArray_DESCR(x))) return NULL;
    PyArrayObject *y = result_like(x);
    Pointwise work = {loop, PyArray_DATA(x), g ? PyArray_DATA(g) : NULL, p, y ? PyArray_DATA(y) : NULL, PyArray_SIZE(x),
                      PyArray_ITEMSIZE(x)};
    OfHalves halves = {work};
    if (y && is_of_halves(x, &halves.to_floats, &halves.of_floats)) SHARED(halves_share, halves, (work.n + CHUNK - 1) / CHUNK, CHUNK);
    else if (y) SHARED(chunk_share, work, (work.n + CHUNK - 1) / CHUNK, CHUNK);
    return (PyObject *)y;
}

#define ATTEMPT(name, takes, type) \
    static PyObject *attempt_##name(PyObject *const *a, Py_ssize_t count) { return attempt(a, count, takes, loops->name, type); }
#define NARROW(name, kernel, takes, formula) ATTEMPT(name, takes, NPY_FLOAT32)
#define WIDE(name, kernel, takes, formula) ATTEMPT(name, takes, NPY_FLOAT64)
#define ROW(name, kernel, takes, formula) {kernel, attempt_##name},

POINTWISE(NARROW, WIDE)

// What others compute too.
#define SAME(name, loop, takes) \
    static PyObject *attempt_##name(PyObject *const *a, Py_ssize_t count) { return attempt(a, count, takes, loops->loop, NPY_FLOAT32); }
SAME(clamp, hardtanh, "xlh")
SAME(prelu, leaky_relu, "xw")
SAME(celu, elu, "xi")

const KernelDef pointwise_kernels[] = {
    POINTWISE(ROW, ROW){"sgn", attempt_sign}, {"softshrink_backward", attempt_hardshrink_slope}, {"clamp", attempt_clamp},
    {"_prelu_kernel", attempt_prelu}, {"celu", attempt_celu}, {NULL},
};
