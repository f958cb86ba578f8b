// What NumPy is asked for: arrays, their forms, and the inner loops of its ufuncs.
#include "native.h"
#include "threads.h"

PyArray_Descr *descrs[KINDS];
Loop adding[SLOTS];
static Loop multiplying[SLOTS];  // matrices
static const int typenums[KINDS] = {NPY_FLOAT, NPY_DOUBLE, NPY_INT64, NPY_BOOL, NPY_HALF};
static PyArrayObject *ones[2];  // of the longest sum that is a dot product
enum { LONGEST = 1024 };

static int read_loops(PyObject *kernel, Loop *loops)
{
    memset(loops, 0, SLOTS * sizeof *loops);
    if (!PyObject_TypeCheck(kernel, &PyUFunc_Type))
        return 0;
    PyUFuncObject *ufunc = (PyUFuncObject *)kernel;
    if (ufunc->nout != 1 || ufunc->nin > 2)
        return 0;
    for (int i = 0; i < ufunc->ntypes; i++) {
        const char *types = ufunc->types + i * ufunc->nargs;
        for (int slot = 0; slot < SLOTS; slot++) {
            int fits = loops[slot].run == NULL;
            for (int k = 0; k < ufunc->nin; k++)
                fits = fits && PyArray_EquivTypenums(types[k], typenums[slot]);
            for (int result = 0; fits && result < SLOTS; result++)
                if (PyArray_EquivTypenums(types[ufunc->nin], typenums[result])) {
                    void *data = ufunc->data == NULL ? NULL : (void *)ufunc->data[i];
                    loops[slot] = (Loop){ufunc->functions[i], data, result};
                }
        }
    }
    return 1;
}

int prepare_arrays(void)
{
    for (int slot = 0; slot < KINDS; slot++)
        if ((descrs[slot] = PyArray_DescrFromType(typenums[slot])) == NULL)
            return -1;
    for (int slot = 0; slot < 2; slot++) {
        const npy_intp count = LONGEST;
        if ((ones[slot] = (PyArrayObject *)fresh(slot, 1, &count)) == NULL)
            return -1;
        for (int i = 0; i < LONGEST; i++)
            if (slot == FLOAT32)
                ((float *)PyArray_DATA(ones[slot]))[i] = 1;
            else
                ((double *)PyArray_DATA(ones[slot]))[i] = 1;
    }
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *add = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "add");
    PyObject *matmul = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "matmul");
    const int found = add != NULL && find_loops(add, adding) && matmul != NULL && read_loops(matmul, multiplying);
    Py_XDECREF(numpy);
    Py_XDECREF(add);
    Py_XDECREF(matmul);
    return found ? 0 : -1;
}

int slot_of(PyObject *dtype)
{
    return dtype == known.float32 ? FLOAT32 : dtype == known.float64 ? FLOAT64 : dtype == known.int64 ? INT64
         : dtype == known.bool_ ? BOOL : -1;
}

PyObject *dtype_at(int slot)
{
    PyObject *const dtypes[KINDS] = {known.float32, known.float64, known.int64, known.bool_, known.float16};
    return dtypes[slot];
}

PyObject *fresh(int slot, int ndim, const npy_intp *dims)
{
    Py_INCREF(descrs[slot]);
    return PyArray_NewFromDescr(&PyArray_Type, descrs[slot], ndim, (npy_intp *)dims, NULL, NULL, 0, NULL);
}

// ---- forms

PyObject *shape_of(PyArrayObject *array)
{
    return filled(PyTuple_New(PyArray_NDIM(array)), PyArray_DIMS(array), 1);
}

int has_shape(PyArrayObject *array, PyObject *shape)
{
    const int ndim = PyArray_NDIM(array);
    if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != ndim)
        return 0;
    for (int i = 0; i < ndim; i++)
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) != PyArray_DIM(array, i))
            return 0;
    return 1;
}

int same_shape(PyArrayObject *a, PyArrayObject *b)
{
    const int ndim = PyArray_NDIM(a);
    return ndim == PyArray_NDIM(b) && memcmp(PyArray_DIMS(a), PyArray_DIMS(b), ndim * sizeof(npy_intp)) == 0;
}

// ---- loops

int find_loops(PyObject *kernel, Loop *loops)
{
    return read_loops(kernel, loops) && !((PyUFuncObject *)kernel)->core_enabled;
}

static void run_on_halves(char **args, const npy_intp *count, const npy_intp *steps, void *of_floats)
{
    enum { STRETCH = 1024 };
    const Loop *loop = of_floats;
    const int to_halves = loop->result == FLOAT32;
    float room[3][STRETCH];
    for (npy_intp i = 0; i < *count; i += STRETCH) {
        const npy_intp n = *count - i < STRETCH ? *count - i : STRETCH, item = sizeof **room;
        const npy_intp apart[] = {steps[0] ? item : 0, steps[1] ? item : 0, to_halves ? item : steps[2]};
        char *to = args[2] + i * steps[2], *floats[] = {(char *)room[0], (char *)room[1], to_halves ? (char *)room[2] : to};
        for (int k = 0; k < 2; k++) halves_to_floats(args[k] + i * steps[k], room[k], steps[k] ? n : 1);
        loop->run(floats, &n, apart, loop->data);
        if (to_halves) floats_to_halves(room[2], to, n);
    }
}

Loop loop_on_halves(PyObject *kernel, const Loop *of_floats)
{
    const int fits = of_floats->run != NULL && ((PyUFuncObject *)kernel)->nin == 2;
    return (Loop){fits ? run_on_halves : NULL, (void *)of_floats, of_floats->result == FLOAT32 ? HALF : of_floats->result};
}

typedef struct { const Loop *loop; char **args; int operands; const npy_intp *steps; } Run;

static void run_share(void *work, ptrdiff_t from, ptrdiff_t to)
{
    const Run *run = work;
    const npy_intp count = to - from;
    char *args[3];
    for (int i = 0; i < run->operands; i++)
        args[i] = run->args[i] + from * run->steps[i];
    run->loop->run(args, &count, run->steps, run->loop->data);
}

void run_long(const Loop *loop, char **args, int operands, npy_intp count, const npy_intp *steps, PyArrayObject *x,
              PyArrayObject *y)
{
    Py_INCREF(x);
    Py_XINCREF(y);
    Run run = {loop, args, operands, steps};
    Py_BEGIN_ALLOW_THREADS
    in_shares(run_share, &run, count, THREADS_FROM / 2);
    Py_END_ALLOW_THREADS
    Py_DECREF(x);
    Py_XDECREF(y);
}

void run_unary(const Loop *loop, PyArrayObject *x, PyArrayObject *out)
{
    char *args[] = {PyArray_BYTES(x), PyArray_BYTES(out)};
    const npy_intp steps[] = {PyArray_ITEMSIZE(x), PyArray_ITEMSIZE(out)};
    run_loop(loop, args, 2, PyArray_SIZE(x), steps, x, NULL);
}

int broadcast(PyArrayObject *x, PyArrayObject *y, npy_intp *dims, Broadcast *to)
{
    const int ndim = PyArray_NDIM(x) > PyArray_NDIM(y) ? PyArray_NDIM(x) : PyArray_NDIM(y);
    npy_intp of_x = PyArray_ITEMSIZE(x), of_y = PyArray_ITEMSIZE(y);
    int group = GROUPS, before = 0;
    *to = (Broadcast){{1, 1, 1}, {0}, {0}};
    for (int d = ndim - 1; d >= 0; d--) {
        const int at = d - ndim + PyArray_NDIM(x), place = d - ndim + PyArray_NDIM(y);
        const npy_intp n = at < 0 ? 1 : PyArray_DIM(x, at), m = place < 0 ? 1 : PyArray_DIM(y, place);
        dims[d] = n == 1 ? m : n;
        if (dims[d] == 0 || (n != m && n != 1 && m != 1))
            return -1;
        const int goes = (n > 1) + 2 * (m > 1);  // which of the two goes on along this dimension
        if (goes && goes != before) {
            if (group-- == 0)
                return -1;
            to->x[group] = n > 1 ? of_x : 0;
            to->y[group] = m > 1 ? of_y : 0;
        }
        if (goes)
            to->count[group] *= dims[d];
        before = goes ? goes : before;
        of_x *= n;
        of_y *= m;
    }
    return ndim;
}

typedef struct { const Loop *loop; const Broadcast *form; char *x, *y, *out; npy_intp item; } Rows;

static void rows_share(void *work, ptrdiff_t from, ptrdiff_t to)
{
    const Rows *rows = work;
    const Broadcast *form = rows->form;
    const npy_intp steps[] = {form->x[GROUPS - 1], form->y[GROUPS - 1], rows->item}, *count = &form->count[GROUPS - 1];
    for (ptrdiff_t i = from; i < to; i++) {
        const npy_intp first = i / form->count[1], second = i % form->count[1];
        char *args[] = {rows->x + first * form->x[0] + second * form->x[1],
                        rows->y + first * form->y[0] + second * form->y[1], rows->out + i * *count * rows->item};
        rows->loop->run(args, count, steps, rows->loop->data);
    }
}

void run_binary(const Loop *loop, PyArrayObject *x, PyArrayObject *y, const Broadcast *form, PyArrayObject *out)
{
    const npy_intp size = PyArray_SIZE(out), count = form->count[0] * form->count[1];
    if (count == 1) {
        char *args[] = {PyArray_BYTES(x), PyArray_BYTES(y), PyArray_BYTES(out)};
        const npy_intp steps[] = {form->x[GROUPS - 1], form->y[GROUPS - 1], PyArray_ITEMSIZE(out)};
        run_loop(loop, args, 3, size, steps, x, y);
        return;
    }
    Rows rows = {loop, form, PyArray_BYTES(x), PyArray_BYTES(y), PyArray_BYTES(out), PyArray_ITEMSIZE(out)};
    if (size < LONG) {
        rows_share(&rows, 0, count);
        return;
    }
    Py_INCREF(x);
    Py_INCREF(y);
    Py_BEGIN_ALLOW_THREADS
    in_shares(rows_share, &rows, count, THREADS_FROM / 2 / form->count[GROUPS - 1] + 1);
    Py_END_ALLOW_THREADS
    Py_DECREF(x);
    Py_DECREF(y);
}

void run_scalar(const Loop *loop, PyArrayObject *x, const void *number, PyArrayObject *out)
{
    char *args[] = {PyArray_BYTES(x), (char *)number, PyArray_BYTES(out)};
    const npy_intp steps[] = {step_of(x), 0, PyArray_ITEMSIZE(out)};
    run_loop(loop, args, 3, PyArray_SIZE(x), steps, x, NULL);
}

typedef struct { const Loop *loop; char *args[3]; npy_intp sizes[4], steps[9]; } Batches;

static void batches_share(void *work, ptrdiff_t from, ptrdiff_t to)
{
    Batches some = *(const Batches *)work;
    for (int i = 0; i < 3; i++)
        some.args[i] += from * some.steps[i];
    some.sizes[0] = to - from;
    some.loop->run(some.args, some.sizes, some.steps, some.loop->data);
}

void multiply_batches(PyArrayObject *x, PyArrayObject *y, PyArrayObject *out, ptrdiff_t least)
{
    PyArrayObject *const arrays[] = {x, y, out};
    const npy_intp *sizes = PyArray_DIMS(x);
    Batches all = {&multiplying[PyArray_TYPE(x) == NPY_FLOAT ? FLOAT32 : FLOAT64],
                   .sizes = {sizes[0], sizes[1], sizes[2], PyArray_DIM(y, 2)}};
    for (int i = 0; i < 3; i++) {
        all.args[i] = PyArray_BYTES(arrays[i]);
        all.steps[i] = PyArray_STRIDE(arrays[i], 0);
        memcpy(all.steps + 3 + 2 * i, PyArray_STRIDES(arrays[i]) + 1, 2 * sizeof *all.steps);
    }
    Py_BEGIN_ALLOW_THREADS
    in_shares(batches_share, &all, *all.sizes, least);
    Py_END_ALLOW_THREADS
}

// The sum of all elements, or their mean, of few floats by a dot product as the kernel in Python has it; NULL, without
// an error, for others.
PyObject *total_of(PyArrayObject *x, int slot, int mean)
{
    const npy_intp count = PyArray_SIZE(x), item = PyArray_ITEMSIZE(x);
    if (slot < 0 || slot > FLOAT64 || count > LONGEST)
        return NULL;
    PyObject *made = fresh(slot, 0, NULL);
    if (made == NULL) {
        PyErr_Clear();
        return NULL;
    }
    void *out = PyArray_DATA((PyArrayObject *)made);
    PyArray_DotFunc *dot = PyDataType_GetArrFuncs(descrs[slot])->dotfunc;
    dot(PyArray_DATA(x), item, PyArray_DATA(ones[slot]), item, out, count, NULL);
    if (mean && slot == FLOAT32)
        *(float *)out /= (float)count;
    else if (mean)
        *(double *)out /= (double)count;
    return made;
}
