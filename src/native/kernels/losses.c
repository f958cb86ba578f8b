// Losses of pairs: see the table in loops/losses.h.
#include "kernel.h"

enum { NONE, MEAN, SUM };
enum { BLOCK = 1 << 12 };  // numbers that are summed up by one thread, however many there are

typedef void LossLoop(const float *, const float *, float, float *, N);

typedef struct {
    LossLoop *loop;
    const float *x, *t, *g;
    float p, factor, *y;
    double *totals;  // of the blocks, where they are summed up
    int is_slope;
    N n;
} Loss;

// Notes the arguments that a kernel `takes`, and how to reduce. Whether they are such.
static PyArrayObject *described(Loss *w, PyObject *const *a, const char *takes, N *reduction)
{
    PyArrayObject *x = NULL, *t = NULL;
    for (int i = 0; takes[i]; i++) {
        const char letter = takes[i];
        const int fine = letter == 'x' ? (x = floats(a[i])) != NULL : letter == 't' ? (t = floats(a[i])) != NULL
                       : letter == 'p' ? number(a[i], &w->p) : letter == 'r' ? whole_number(a[i], reduction) : a[i] == Py_None;
        if (!fine) return NULL;
    }
    if (!same_shape(x, t) || !PyArray_SIZE(x) || *reduction < NONE || *reduction > SUM) return NULL;
    w->x = data_of(x), w->t = data_of(t), w->n = PyArray_SIZE(x);
    return x;
}

// Of n numbers, of which those that do not fill a chunk are moved to where there is room for one.
static void run(const Loss *w, N at, float *to, N n)
{
    float last[3][CHUNK] = {0};
    const N whole = n / CHUNK, done = whole * CHUNK, rest = n - done;
    if (whole) w->loop(w->x + at, w->t + at, w->p, to, whole);
    if (!rest) return;
    memcpy(last[0], w->x + at + done, rest * sizeof *to);
    memcpy(last[1], w->t + at + done, rest * sizeof *to);
    w->loop(last[0], last[1], w->p, last[2], 1);
    memcpy(to + done, last[2], rest * sizeof *to);
}

static void loss_share(void *work, N from, N to)
{
    const Loss *w = work;
    for (N b = from; b < to; b++) {
        const N at = b * BLOCK, n = w->n - at < BLOCK ? w->n - at : BLOCK;
        float room[BLOCK];
        run(w, at, w->y ? w->y + at : room, n);
        if (!w->y) loops->add_up(room, 0, w->totals + b, n);
        if (w->is_slope) loops->scale(w->y + at, w->g ? w->g + at : NULL, w->factor, n);
    }
}

static PyObject *loss(PyObject *const *a, Py_ssize_t count, const char *takes, LossLoop *loop)
{
    Loss w = {.loop = loop};
    N reduction;
    PyArrayObject *x = count == (Py_ssize_t)strlen(takes) ? described(&w, a, takes, &reduction) : NULL;
    if (!x) return NULL;
    const N blocks = (w.n + BLOCK - 1) / BLOCK;
    PyArrayObject *made = reduction == NONE ? fresh_like(x) : fresh(0, NULL);
    w.totals = made ? PyMem_Malloc((size_t)blocks * sizeof *w.totals) : NULL;
    if (!w.totals) {
        Py_XDECREF(made);
        return PyErr_NoMemory();
    }
    w.y = reduction == NONE ? data_of(made) : NULL;
    SHARED(loss_share, w, blocks, BLOCK);
    double total = 0;
    for (N b = 0; reduction != NONE && b < blocks; b++) total += w.totals[b];
    if (reduction != NONE) *data_of(made) = (float)(reduction == MEAN ? total / (double)w.n : total);
    PyMem_Free(w.totals);
    return (PyObject *)made;
}

static PyObject *loss_backward(PyObject *const *a, Py_ssize_t count, const char *takes, LossLoop *loop)
{
    Loss w = {.loop = loop, .is_slope = 1};
    N reduction;
    PyArrayObject *x = count == 1 + (Py_ssize_t)strlen(takes) ? described(&w, a + 1, takes, &reduction) : NULL;
    PyArrayObject *g = x ? floats(a[0]) : NULL;
    if (!g || !(same_shape(g, x) || !PyArray_NDIM(g))) return NULL;
    PyArrayObject *made = fresh_like(x);
    if (!made) return NULL;
    w.g = PyArray_NDIM(g) ? data_of(g) : NULL;
    w.factor = (w.g ? 1 : *data_of(g)) * (reduction == MEAN ? 1 / (float)w.n : 1);
    w.y = data_of(made);
    SHARED(loss_share, w, (w.n + BLOCK - 1) / BLOCK, BLOCK);
    return (PyObject *)made;
}

#define ATTEMPT(name, kernel, takes, value, derivative) \
    static PyObject *attempt_##name(PyObject *const *a, Py_ssize_t count) { return loss(a, count, takes, loops->name); } \
    static PyObject *attempt_##name##_slope(PyObject *const *a, Py_ssize_t count) \
    { \
        return loss_backward(a, count, takes, loops->name##_slope); \
    }
#define ROW(name, kernel, takes, value, derivative) {kernel, attempt_##name}, {kernel "_backward", attempt_##name##_slope},

LOSSES(ATTEMPT)
const KernelDef loss_kernels[] = {LOSSES(ROW){NULL}};
