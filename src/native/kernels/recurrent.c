// Recurrent layers: see loops/recurrent.c. What is kept for backward has the twin's shapes, (time, …, batch), but another
// order in memory, by which backward knows it: each batch element's numbers lie together.
#include "kernel.h"

enum { SLACK = 64, BLOCK = BLOCK_ROWS, MOST = 16 };  // numbers; elements; arguments

static int cell_of(PyObject *mode, Recurrence *r)
{
    static const struct { const char *name; N gates; } cells[] = {{"RNN_TANH", 1}, {"RNN_RELU", 1}, {"GRU", 3}, {"LSTM", 4}};
    for (r->cell = 0; r->cell < 4; r->cell++) {
        r->gates = cells[r->cell].gates;
        if (PyUnicode_Check(mode) && !PyUnicode_CompareWithASCIIString(mode, cells[r->cell].name)) return 1;
    }
    return 0;
}

static int has_shape(PyArrayObject *a, N rows, N columns)
{
    return a && PyArray_NDIM(a) == 2 && PyArray_DIM(a, 0) == rows && PyArray_DIM(a, 1) == columns;
}

// What all arguments of a call have to say about sizes: mode, sizes (none) and reverse come last.
static int describe(Recurrence *r, PyArrayObject *x, PyArrayObject *h, PyObject *c, PyArrayObject *w_ih,
                    PyArrayObject *w_hh, PyObject *w_hr, PyObject *const *rest)
{
    if (!x || !h || PyArray_NDIM(x) != 3 || PyArray_NDIM(h) != 2 || !PyArray_SIZE(x) || !PyArray_SIZE(h) ||
        w_hr != Py_None || rest[1] != Py_None || !cell_of(rest[0], r))
        return 0;
    r->length = PyArray_DIM(x, 0);
    r->batch = PyArray_DIM(x, 1);
    r->features = PyArray_DIM(x, 2);
    r->size = PyArray_DIM(h, 1);
    r->reverse = rest[2] == Py_True;
    N width = r->gates * r->size;
    return PyArray_DIM(h, 0) == r->batch && has_shape(w_ih, width, r->features) && has_shape(w_hh, width, r->size) &&
           (r->gates == 4 ? has_shape(floats(c), r->batch, r->size) : c == Py_None);
}

// An array (time, …, batch) of which each batch element's numbers lie together; of `parts` sizes, as a dimension for 2.
static PyArrayObject *kept_array(const Recurrence *r, N rows, N parts)
{
    N each = rows * parts, item = sizeof(float);
    npy_intp shape[4] = {r->length, parts, rows, r->batch};
    npy_intp strides[4] = {r->batch * each * item, rows * item, item, each * item};
    if (parts == 1) {
        memmove(shape + 1, shape + 2, 2 * sizeof *shape);
        memmove(strides + 1, strides + 2, 2 * sizeof *strides);
    }
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(NPY_FLOAT32), parts == 1 ? 3 : 4, shape,
                                                 strides, NULL, 0, NULL);
}

// Whether an array lies as that does.
static int is_kept(PyObject *o, const Recurrence *r, N each)
{
    PyArrayObject *a = (PyArrayObject *)o;
    if (!PyArray_CheckExact(o) || PyArray_TYPE(a) != NPY_FLOAT32 || !PyArray_ISBEHAVED_RO(a)) return 0;
    int ndim = PyArray_NDIM(a);
    N item = sizeof(float);
    return (ndim == 3 || ndim == 4) && PyArray_SIZE(a) == r->length * r->batch * each && PyArray_DIM(a, 0) == r->length &&
           PyArray_DIM(a, ndim - 1) == r->batch && PyArray_STRIDE(a, ndim - 2) == item &&
           (r->batch == 1 || PyArray_STRIDE(a, ndim - 1) == each * item) &&
           (r->length == 1 || PyArray_STRIDE(a, 0) == r->batch * each * item) &&
           (ndim == 3 || PyArray_STRIDE(a, 1) == PyArray_DIM(a, 2) * item);
}

// The biases of the sums; those that the GRU's candidate takes from the state follow, among zeros.
static void biases(const Recurrence *r, PyArrayObject *of_input, PyArrayObject *of_state, float *to)
{
    N width = r->gates * r->size, apart = r->gates == 3 ? 2 * r->size : width;
    for (N i = 0; i < width; i++) {
        float own = of_state ? data_of(of_state)[i] : 0;
        to[i] = (of_input ? data_of(of_input)[i] : 0) + (i < apart ? own : 0);
        if (r->gates == 3) to[width + i] = i < apart ? 0 : own;
    }
}

// A layer forward, or back from `g`: each thread takes some elements of the batch through time, with room of its own.
typedef struct {
    const Recurrence *r;
    const float *x, *of_input, *of_state, *bias, *g, *before;
    float *h, *c, *gates, *hidden, *more, *rows;
    N room;  // for each element
    int failed;
} Layer;

static void layer_share(void *work, N from, N to)
{
    Layer *w = work;
    Recurrence r = *w->r;
    r.first = from * BLOCK;
    r.after = to * BLOCK < r.batch ? to * BLOCK : r.batch;
    float *room = malloc((size_t)((r.after - r.first) * w->room) * sizeof *room);
    if (!room) w->failed = 1;
    else if (w->rows)
        loops->recurrent_slope(&r, w->g, w->of_state, w->gates, w->hidden, w->more, w->before, w->h, w->c, w->rows, room);
    else
        loops->recurrent(&r, w->x, w->h, w->c, w->of_input, w->of_state, w->bias, w->gates, w->hidden, w->more, room);
    free(room);
}

static int go_through(Layer *work)
{
    const Recurrence *r = work->r;
    SHARED(layer_share, *work, (r->batch + BLOCK - 1) / BLOCK, BLOCK * r->length * r->gates * r->size * r->size);
    if (work->failed) PyErr_NoMemory();
    return !work->failed;
}

static PyArrayObject *copied(PyArrayObject *a) { return (PyArrayObject *)PyArray_NewCopy(a, NPY_CORDER); }

static PyObject *recurrent(PyObject *const *a, Py_ssize_t count)
{
    Recurrence r;
    PyArrayObject *x = count == 11 ? floats(a[0]) : NULL, *h = x ? floats(a[1]) : NULL, *b_ih, *b_hh;
    if (!h || !describe(&r, x, h, a[2], floats(a[3]), floats(a[4]), a[7], a + 8)) return NULL;
    N n = r.size, width = r.gates * n, parts = r.gates == 4 ? 2 : 1;
    if (!vector(a[5], width, &b_ih) || !vector(a[6], width, &b_hh)) return NULL;
    npy_intp shape[3] = {r.length, r.batch, n}, none = 0;
    float *memory = PyMem_Malloc(((r.features + n + 2) * width + 2 * SLACK) * sizeof(float));
    PyArrayObject *y = fresh(3, shape), *last = copied(h), *cell = r.gates == 4 ? copied((PyArrayObject *)a[2]) : fresh(1, &none);
    PyArrayObject *hidden = kept_array(&r, n, 1);
    PyArrayObject *gates = r.gates > 1 ? kept_array(&r, width, 1) : (PyArrayObject *)Py_XNewRef(hidden);
    PyArrayObject *more = r.gates > 1 ? kept_array(&r, n, parts) : (PyArrayObject *)Py_XNewRef(hidden);
    PyObject *made = NULL;
    if (memory && y && last && cell && hidden && gates && more) {
        float *of_input = memory, *of_state = of_input + r.features * width + SLACK;
        float *bias = of_state + n * width + SLACK;
        turn(PyArray_DATA((PyArrayObject *)a[3]), r.features, width, r.features, of_input, width);
        turn(PyArray_DATA((PyArrayObject *)a[4]), n, width, n, of_state, width);
        biases(&r, b_ih, b_hh, bias);
        Layer work = {.r = &r, .x = data_of(x), .h = data_of(last), .c = data_of(cell), .of_input = of_input,
                      .of_state = of_state, .bias = bias, .gates = data_of(gates), .hidden = data_of(hidden),
                      .more = data_of(more), .room = (1 + (r.gates == 3)) * (width + SLACK)};
        if (go_through(&work)) {
            memcpy(data_of(y), data_of(hidden), PyArray_NBYTES(y));
            made = PyTuple_Pack(6, y, last, cell, gates, hidden, more);
        }
    } else if (!memory) {
        PyErr_NoMemory();
    }
    PyMem_Free(memory);
    PyArrayObject *all[] = {y, last, cell, gates, hidden, more};
    for (int i = 0; i < 6; i++) Py_XDECREF(all[i]);
    return made;
}

// An optional array of floats, contiguous (a new reference, or NULL). Whether it is that, or None.
static int optional(PyObject *o, int ndim, const npy_intp *dims, PyArrayObject **to)
{
    *to = o != Py_None && has_floats(o, ndim, dims) ? laid_out(o) : NULL;
    return o == Py_None || *to;
}

// What each step began with: the first state, and then those that steps left, which are `apart` numbers from each other.
static void begun_with(const Recurrence *r, PyArrayObject *first, PyArrayObject *states, N apart, float *to)
{
    N n = r->size;
    for (N t = 0; t < r->length; t++) {
        N before = r->reverse ? t + 1 : t - 1;
        for (N b = 0; b < r->batch; b++, to += n) {
            const float *from = before < 0 || before == r->length ? data_of(first) + b * n
                                                                   : data_of(states) + (before * r->batch + b) * apart;
            memcpy(to, from, n * sizeof *to);
        }
    }
}

// A matrix product, of the first one turned where that is wanted; None where nothing is.
static PyObject *product_of(int wanted, PyArrayObject *a, int turn, PyArrayObject *b)
{
    if (!wanted) return Py_NewRef(Py_None);
    PyObject *left = turn ? PyArray_Transpose(a, NULL) : Py_NewRef((PyObject *)a);
    PyObject *made = left ? product_in_tiles(left, (PyObject *)b) : NULL;
    if (left && !made && !PyErr_Occurred()) made = PyArray_MatrixProduct(left, (PyObject *)b);
    Py_XDECREF(left);
    return made;
}

static PyObject *sum_of_rows(int wanted, PyArrayObject *rows)
{
    if (!wanted) return Py_NewRef(Py_None);
    npy_intp n = PyArray_DIM(rows, 1);
    PyArrayObject *made = fresh(1, &n);
    if (made) sum_columns(data_of(rows), NULL, 0, data_of(made), PyArray_DIM(rows, 0), n);
    return (PyObject *)made;
}

static PyArrayObject *matrix(N rows, N columns)
{
    npy_intp shape[2] = {rows, columns};
    return fresh(2, shape);
}

static PyArrayObject *state_gradient(const Recurrence *r, PyArrayObject *given)
{
    npy_intp shape[2] = {r->batch, r->size};
    return given ? copied(given) : (PyArrayObject *)PyArray_ZEROS(2, shape, NPY_FLOAT32, 0);
}

// What the GRU's gates got from the state, in place of what they got from the input.
static void turn_to_state(const Recurrence *r, float *rows, const float *gates)
{
    const N n = r->size;
    for (N i = 0; i < r->length * r->batch; i++, rows += 3 * n, gates += 3 * n)
        for (N k = 0; k < n; k++) rows[2 * n + k] *= gates[k];
}

// The gradients from those of the gates' sums, which it may change: of input, states, weights and biases.
static PyObject *gather_gradients(const Recurrence *r, PyArrayObject *x, PyArrayObject *w_ih, PyArrayObject *rows,
                                  PyArrayObject *gates, PyArrayObject *before, PyArrayObject *to_h,
                                  PyArrayObject *to_c, const int *needs)
{
    npy_intp flat[2] = {r->length * r->batch, r->features};
    PyArray_Dims shape = {flat, 2}, whole = {PyArray_DIMS(x), 3};
    PyArrayObject *input = (PyArrayObject *)PyArray_Newshape(x, &shape, NPY_CORDER);
    PyObject *to_x = product_of(needs[0], rows, 0, w_ih);
    if (to_x && needs[0]) {
        // In place, so that it stays an array with memory of its own.
        PyObject *same = PyArray_Resize((PyArrayObject *)to_x, &whole, 0, NPY_CORDER);
        if (same) Py_DECREF(same);
        else Py_CLEAR(to_x);
    }
    PyObject *parts[8] = {
        to_x,
        Py_NewRef(needs[1] ? (PyObject *)to_h : Py_None),
        Py_NewRef(needs[2] && to_c ? (PyObject *)to_c : Py_None),
        input ? product_of(needs[3], rows, 1, input) : NULL,
        NULL,
        sum_of_rows(needs[5], rows),
        NULL,
        Py_NewRef(Py_None),
    };
    Py_XDECREF(input);
    if (r->gates == 3) turn_to_state(r, data_of(rows), data_of(gates));
    parts[4] = product_of(needs[4], rows, 1, before);
    parts[6] = sum_of_rows(needs[6], rows);
    PyObject *made = PyTuple_New(8);
    for (int i = 0; i < 8; i++) {
        if (made && parts[i]) PyTuple_SET_ITEM(made, i, parts[i]);
        else {
            Py_XDECREF(parts[i]);
            Py_CLEAR(made);
        }
    }
    return made;
}

static PyObject *recurrent_backward(PyObject *const *a, Py_ssize_t count)
{
    Recurrence r;
    int needs[8];
    PyArrayObject *x = count == 16 ? floats(a[3]) : NULL, *h = x ? floats(a[4]) : NULL, *g, *g_h, *g_c;
    if (!h || !describe(&r, x, h, a[5], floats(a[6]), floats(a[7]), a[8], a + 12) || !wanted_of(a[15], 8, needs)) return NULL;
    N n = r.size, width = r.gates * n, steps = r.length * r.batch;
    const npy_intp shape[3] = {r.length, r.batch, n};
    int lstm = r.gates == 4;
    if (needs[7] || (needs[2] && !lstm) || !is_kept(a[9], &r, width) || !is_kept(a[10], &r, n) || !is_kept(a[11], &r, lstm ? 2 * n : n)) return NULL;
    PyArrayObject *gates = (PyArrayObject *)a[9], *hidden = (PyArrayObject *)a[10], *more = (PyArrayObject *)a[11];
    PyObject *made = NULL;
    g_h = g_c = NULL;
    if (optional(a[0], 3, shape, &g) && optional(a[1], 2, shape + 1, &g_h) && optional(a[2], 2, shape + 1, &g_c)) {
        PyArrayObject *to_h = state_gradient(&r, g_h), *to_c = lstm ? state_gradient(&r, g_c) : NULL;
        PyArrayObject *rows = matrix(steps, width), *before = matrix(steps, n);
        float *memory = PyMem_Malloc((size_t)(width * n + (steps * n) * lstm + SLACK) * sizeof(float));
        if (to_h && (to_c || !lstm) && rows && before && memory) {
            float *w = memory, *cells = w + width * n + SLACK;
            memcpy(w, PyArray_DATA((PyArrayObject *)a[7]), width * n * sizeof *w);
            begun_with(&r, h, hidden, n, data_of(before));
            if (lstm) begun_with(&r, (PyArrayObject *)a[5], more, 2 * n, cells);
            Layer work = {.r = &r, .g = data_or_null(g), .of_state = w, .gates = data_of(gates), .hidden = data_of(hidden),
                          .more = data_of(more), .before = lstm ? cells : data_of(before), .h = data_of(to_h),
                          .c = data_or_null(to_c), .rows = data_of(rows), .room = n + SLACK + width * (r.gates == 3)};
            if (go_through(&work))
                made = gather_gradients(&r, x, (PyArrayObject *)a[6], rows, gates, before, to_h, to_c, needs);
        } else if (!memory) {
            PyErr_NoMemory();
        }
        PyMem_Free(memory);
        PyArrayObject *all[] = {to_h, to_c, rows, before};
        for (int i = 0; i < 4; i++) Py_XDECREF(all[i]);
    }
    Py_XDECREF(g);
    Py_XDECREF(g_h);
    Py_XDECREF(g_c);
    return made;
}

// With a copy of the input, at a place among the arguments, where it lies in another order: that of a layer whose batch is first.
static PyObject *with_input(Attempt attempt, PyObject *const *a, Py_ssize_t count, int place)
{
    PyObject *given[MOST], *made;
    if (count > MOST || count <= place || !PyArray_CheckExact(a[place]) || PyArray_TYPE((PyArrayObject *)a[place]) != NPY_FLOAT32)
        return NULL;
    memcpy(given, a, count * sizeof *given);
    given[place] = (PyObject *)laid_out(a[place]);
    made = given[place] ? attempt(given, count) : NULL;
    Py_XDECREF(given[place]);
    return made;
}

static PyObject *forward(PyObject *const *a, Py_ssize_t count) { return with_input(recurrent, a, count, 0); }
static PyObject *backward(PyObject *const *a, Py_ssize_t count) { return with_input(recurrent_backward, a, count, 3); }

const KernelDef recurrent_kernels[] = {
    {"_recurrent", forward},
    {"_recurrent_backward", backward},
    {NULL},
};
