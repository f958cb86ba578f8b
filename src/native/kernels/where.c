// What a mask picks of two arrays, number by number.
#include "kernel.h"

enum { OPERANDS = 3, GROUPS = 4, STRETCH = 512 };  // the mask and two arrays; dimensions that go on alike

// Numbers of so many bytes: how many there are along each group, the last of which is a row, and how far apart an operand's
// are, in numbers.
typedef struct {
    const char *from[OPERANDS];
    char *to;
    N item, count[GROUPS], steps[GROUPS][OPERANDS];
} Where;

// Whether it lies row by row in memory, or is one number that is spread.
static int is_plain(PyArrayObject *a)
{
    int number = 1;
    for (int d = 0; d < PyArray_NDIM(a); d++) number = number && (!PyArray_STRIDE(a, d) || PyArray_DIM(a, d) == 1);
    return PyArray_ISALIGNED(a) && PyArray_ISNOTSWAPPED(a) && (number || PyArray_IS_C_CONTIGUOUS(a));
}

// The groups of what operands are broadcast to. Whether these suffice, and rows are without gaps.
static int group(PyArrayMultiIterObject *form, Where *w)
{
    int g = GROUPS;
    for (int d = form->nd - 1; d >= 0; d--) {
        N steps[OPERANDS];
        int goes_on = g < GROUPS;
        if (form->dimensions[d] == 1) continue;
        for (int k = 0; k < OPERANDS; k++) {
            steps[k] = form->iters[k]->strides[d] / PyArray_ITEMSIZE(form->iters[k]->ao);
            goes_on = goes_on && steps[k] == w->steps[g][k] * w->count[g];
        }
        if (goes_on) {
            w->count[g] *= form->dimensions[d];
        } else {
            if (!g--) return 0;
            memcpy(w->steps[g], steps, sizeof steps);
            w->count[g] = form->dimensions[d];
        }
    }
    while (g--) w->count[g] = 1;
    for (int k = 0; k < OPERANDS; k++)
        if (w->steps[GROUPS - 1][k] > 1) return 0;
    return 1;
}

// A number of so many bytes, until there are so many.
static void spread(const char *number, char *to, N item, N bytes)
{
    memcpy(to, number, item);
    for (N done = item; done < bytes; done *= 2) memcpy(to + done, to, done < bytes - done ? done : bytes - done);
}

static void where_share(void *work, N from, N to)
{
    const Where *w = work;
    const N row = w->count[GROUPS - 1];
    uint64_t room[OPERANDS][STRETCH];  // for a number as often as it is wanted,
    const char *there[OPERANDS] = {0};  // and which one is
    for (N some; from < to; from += some) {
        const N at = from % row;
        const char *operands[OPERANDS];
        some = row - at < to - from ? row - at : to - from;
        some = some < STRETCH ? some : STRETCH;
        for (int k = 0; k < OPERANDS; k++) {
            const N item = k ? w->item : 1;
            N place = at * w->steps[GROUPS - 1][k], rest = from / row;
            for (int g = GROUPS - 2; g >= 0; rest /= w->count[g--]) place += rest % w->count[g] * w->steps[g][k];
            operands[k] = w->from[k] + place * item;
            if (w->steps[GROUPS - 1][k]) continue;
            const N bytes = item * (row < STRETCH ? row : STRETCH);
            if (there[k] != operands[k]) spread(there[k] = operands[k], (char *)room[k], item, bytes);
            operands[k] = (char *)room[k];
        }
        loops->choose((const uint8_t *)operands[0], operands[1], operands[2], w->to + from * w->item, some, w->item);
    }
}

// Into an array, or a new one.
static PyObject *choose(PyObject *mask, PyObject *one, PyObject *other, PyArrayObject *to)
{
    PyArrayObject *operands[] = {(PyArrayObject *)mask, (PyArrayObject *)one, (PyArrayObject *)other};
    for (int k = 0; k < OPERANDS; k++)
        if (!PyArray_CheckExact(operands[k]) || !is_plain(operands[k])) return NULL;
    PyArray_Descr *descr = PyArray_DESCR(operands[1]);
    Where w = {.item = PyArray_ITEMSIZE(operands[1])};
    if (PyArray_TYPE(operands[0]) != NPY_BOOL || PyArray_DESCR(operands[2]) != descr ||
        !PyTypeNum_ISNUMBER(descr->type_num) || (w.item != sizeof(uint32_t) && w.item != sizeof(uint64_t)))
        return NULL;
    PyArrayMultiIterObject *form = (PyArrayMultiIterObject *)PyArray_MultiIterNew(OPERANDS, mask, one, other);
    if (!form) PyErr_Clear();
    if (form && form->size && group(form, &w) && (!to || has_dims(to, form->nd, form->dimensions))) {
        if (!to) to = (PyArrayObject *)PyArray_SimpleNew(form->nd, form->dimensions, descr->type_num);
        else Py_INCREF(to);
        for (int k = 0; k < OPERANDS; k++) w.from[k] = PyArray_DATA(operands[k]);
        if (to) w.to = PyArray_DATA(to);
        if (to) SHARED(where_share, w, PyArray_SIZE(to), 1);
    } else {
        to = NULL;
    }
    Py_XDECREF(form);
    return (PyObject *)to;
}

static PyObject *where(PyObject *const *a, Py_ssize_t count)
{
    return count == 3 ? choose(a[0], a[1], a[2], NULL) : NULL;
}

static PyObject *masked_fill(PyObject *const *a, Py_ssize_t count)
{
    return count == 3 ? choose(a[1], a[2], a[0], NULL) : NULL;
}

// `_fill(xp, self, mask, value)`, into itself.
static PyObject *fill(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *to = count == 4 && PyModule_Check(a[0]) && PyArray_CheckExact(a[1]) ? (PyArrayObject *)a[1] : NULL;
    if (!to || !PyArray_ISCARRAY(to) || !PyArray_CheckExact(a[2]) || !PyArray_CheckExact(a[3]) ||
        !is_apart(to, (PyArrayObject *)a[2]) || PyArray_NDIM((PyArrayObject *)a[3]))
        return NULL;
    PyObject *made = choose(a[2], a[3], a[1], to);
    Py_XDECREF(made);
    return made ? Py_NewRef(Py_None) : NULL;
}

const KernelDef where_kernels[] = {
    {"where", where},
    {"masked_fill.Scalar", masked_fill},
    {"masked_fill.Tensor", masked_fill},
    {"masked_fill.write", fill},
    {NULL},
};
