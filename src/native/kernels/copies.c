// Copies of arrays whose dimensions follow each other in memory in another order, row by row: planes are turned by tiles;
// and of what is turned round along a dimension.
#include "kernel.h"

enum { LINE = 16, SOME = 32, FEW = 4096 };  // numbers in a line of the cache; columns that are turned together; NumPy's

typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));

static void turn_four(const float *from, N apart, float *to, N to_apart)
{
    const Four a = *(const Four *)from, b = *(const Four *)(from + apart);
    const Four c = *(const Four *)(from + 2 * apart), d = *(const Four *)(from + 3 * apart);
    const Four p = {a[0], b[0], a[1], b[1]}, q = {a[2], b[2], a[3], b[3]}, r = {c[0], d[0], c[1], d[1]}, s = {c[2], d[2], c[3], d[3]};
    *(Four *)to = (Four){p[0], p[1], r[0], r[1]};
    *(Four *)(to + to_apart) = (Four){p[2], p[3], r[2], r[3]};
    *(Four *)(to + 2 * to_apart) = (Four){q[0], q[1], s[0], s[1]};
    *(Four *)(to + 3 * to_apart) = (Four){q[2], q[3], s[2], s[3]};
}

void turn(const float *from, N apart, N rows, N columns, float *to, N to_apart)
{
    for (N first = 0; first < rows; first += LINE) {
        const N after = first + LINE < rows ? first + LINE : rows;
        for (N c = 0; c < columns; c += 4)
            for (N r = first; r < after; r += 4)
                if (c + 4 <= columns && r + 4 <= after)
                    turn_four(from + r * apart + c, apart, to + c * to_apart + r, to_apart);
                else
                    for (N i = c; i < c + 4 && i < columns; i++)
                        for (N k = r; k < r + 4 && k < after; k++) to[i * to_apart + k] = from[k * apart + i];
    }
}

// Planes, whose columns lie side by side and become rows, and the dimensions around them: their sizes, and how far apart their
// numbers are and come to be.
typedef struct {
    const float *from;
    float *to;
    N rows, columns, apart, to_apart, blocks;
    int ndim;
    N sizes[NPY_MAXDIMS], steps[NPY_MAXDIMS], to_steps[NPY_MAXDIMS];
} Planes;

// Of so many blocks of columns of all planes.
static void planes_share(void *work, N from, N to)
{
    const Planes *w = work;
    for (N i = from; i < to; i++) {
        N rest = i / w->blocks, first = i % w->blocks * SOME, at = first, place = first * w->to_apart;
        for (int d = 0; d < w->ndim; rest /= w->sizes[d++]) {  // the innermost first
            at += rest % w->sizes[d] * w->steps[d];
            place += rest % w->sizes[d] * w->to_steps[d];
        }
        const N some = w->columns - first < SOME ? w->columns - first : SOME;
        turn(w->from + at, w->apart, w->rows, some, w->to + place, w->to_apart);
    }
}

// `copy(array, "C")`, where not the last dimension, but another one has its numbers side by side.
static PyObject *copy(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 2 && PyArray_CheckExact(a[0]) && is_text(a[1], "C") ? (PyArrayObject *)a[0] : NULL;
    const int last = x ? PyArray_NDIM(x) - 1 : 0;
    const N item = sizeof(float);
    if (last < 1 || PyArray_TYPE(x) != NPY_FLOAT32 || !PyArray_ISBEHAVED_RO(x) || PyArray_SIZE(x) < FEW) return NULL;
    const npy_intp *sizes = PyArray_DIMS(x), *strides = PyArray_STRIDES(x);
    int beside = last;
    for (int d = 0; d < last; d++)
        if (strides[d] == item && (beside == last || sizes[d] > sizes[beside])) beside = d;
    if (beside == last || strides[last] == item) return NULL;
    PyArrayObject *made = fresh_like(x);
    Planes w = {PyArray_DATA(x), data_or_null(made), sizes[last], sizes[beside], strides[last] / item};
    w.blocks = (w.columns + SOME - 1) / SOME;
    N step = w.rows, planes = 1;
    for (int d = last - 1; d >= 0; step *= sizes[d--]) {
        if (d == beside) w.to_apart = step;
        if (d == beside) continue;
        w.sizes[w.ndim] = sizes[d], w.steps[w.ndim] = strides[d] / item, w.to_steps[w.ndim++] = step;
        planes *= sizes[d];
    }
    if (made) SHARED(planes_share, w, planes * w.blocks, w.rows * (w.columns < SOME ? w.columns : SOME));
    return (PyObject *)made;
}

typedef struct { const float *from; float *to; N n, last; } Flip;

// Of rows that are turned round, or of numbers that follow each other, of which there are some at each place of a row.
static void flip_share(void *work, N from, N to)
{
    const Flip *w = work;
    const N n = w->n;
    for (; w->last > 1 && from < to; from++)
        memcpy(w->to + from * w->last, w->from + (from + n - 1 - from % n * 2) * w->last, w->last * sizeof *w->to);
    for (; from < to; from++) {
        const float *x = w->from + (from + 1) * n;
        float *y = w->to + from * n;
        for (N i = n; i >= LINE; i -= LINE, y += LINE) {
            x -= LINE;
            PRAGMA(GCC unroll 4) for (int k = 0; k < LINE; k += 4) {
                const Four a = *(const Four *)(x + LINE - 4 - k);
                *(Four *)(y + k) = (Four){a[3], a[2], a[1], a[0]};
            }
        }
        for (N i = n % LINE; i; i--) *y++ = *--x;
    }
}

// `flip(array, dims)` of one dimension.
static PyObject *flip(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 2 && PyTuple_Check(a[1]) && PyTuple_GET_SIZE(a[1]) == 1 ? floats(a[0]) : NULL;
    Flip w;
    N first;
    if (!x || !split_along(PyTuple_GET_ITEM(a[1], 0), x, &first, &w.n, &w.last)) return NULL;
    PyArrayObject *made = fresh_like(x);
    w.from = data_of(x), w.to = data_or_null(made);
    if (made && w.last > 1) SHARED(flip_share, w, first * w.n, w.last);
    else if (made) SHARED(flip_share, w, first, w.n);
    return (PyObject *)made;
}

const KernelDef copy_kernels[] = {{"copy.rows", copy}, {"flip", flip}, {NULL}};
