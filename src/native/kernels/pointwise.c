// Pointwise kernels: see the table in loops/pointwise.h.
#include "kernel.h"

typedef void PointwiseLoop(const float *, const float *, const float *, float *, N);

// Whether an argument is what a letter of the table stands for; if it is an array or a number, it is noted.
static int suits(char letter, PyObject *given, PyArrayObject **x, PyArrayObject **g, float **p)
{
    N n;
    switch (letter) {
    case 'x': return (*x = floats(given)) != NULL;
    case 'g': return (*g = floats(given)) != NULL;
    case 'p':
    case 'q':
    case 'r': return number(given, (*p)++);
    case 'b': return PyBool_Check(given);
    case 'f': return given == Py_False;
    case '0': return whole_number(given, &n) && !n;
    case 'n': return is_text(given, "none");
    default: return is_text(given, "tanh");
    }
}

// Numbers that do not fill a chunk are moved to where there is room for one.
static void run(PointwiseLoop *loop, const float *x, const float *g, const float *p, float *y, N n)
{
    float last[3][CHUNK] = {0};
    N whole = n / CHUNK, done = whole * CHUNK, rest = n - done;
    if (whole) loop(x, g, p, y, whole);
    if (!rest) return;
    memcpy(last[0], x + done, rest * sizeof *x);
    if (g) memcpy(last[1], g + done, rest * sizeof *g);
    loop(last[0], last[1], p, last[2], 1);
    memcpy(y + done, last[2], rest * sizeof *y);
}

typedef struct { PointwiseLoop *loop; const float *x, *g, *p; float *y; N n; } Pointwise;

// Of so many chunks, the last of which may not be full.
static void chunk_share(void *work, N from, N to)
{
    const Pointwise *w = work;
    const N at = from * CHUNK, end = to * CHUNK < w->n ? to * CHUNK : w->n;
    run(w->loop, w->x + at, w->g ? w->g + at : NULL, w->p, w->y + at, end - at);
}

// The gradient of relu, for formulas.
void keep_positive(const float *g, const float *x, float *to, ptrdiff_t n)
{
    static const float none[NUMBERS];
    run(loops->relu_slope, x, g, none, to, n);
}

static PyObject *attempt(PyObject *const *a, Py_ssize_t count, const char *takes, PointwiseLoop *loop)
{
    PyArrayObject *x = NULL, *g = NULL;
    float p[NUMBERS] = {0}, *end = p;
    if (count != (Py_ssize_t)strlen(takes)) return NULL;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!suits(takes[i], a[i], &x, &g, &end)) return NULL;
    if (g && !same_shape(g, x)) return NULL;
    PyArrayObject *y = fresh_like(x);
    Pointwise work = {loop, data_of(x), data_or_null(g), p, y ? data_of(y) : NULL, PyArray_SIZE(x)};
    if (y) SHARED(chunk_share, work, (work.n + CHUNK - 1) / CHUNK, CHUNK);
    return (PyObject *)y;
}

#define ATTEMPT(name, kernel, takes, formula) \
    static PyObject *attempt_##name(PyObject *const *a, Py_ssize_t count) { return attempt(a, count, takes, loops->name); }
#define ROW(name, kernel, takes, formula) {kernel, attempt_##name},

POINTWISE(ATTEMPT)
const KernelDef pointwise_kernels[] = {POINTWISE(ROW){NULL}};
