// Calls on plain tensors of the CPU: one operand, two, a number, in place, and the sum of all elements.
//
// Each function first asks whether the case is plain; only then is anything made. What is not plain is declined to the
// function in Python that takes the same arguments. Where memory runs out it is declined too, for the error's text.
#include "native.h"
#include <float.h>

typedef struct {
    PyObject *kernels, *direct;  // borrowed: the op's kernels by backend, and result dtypes by operands' dtypes
    int bound;                   // whether the loops are known
    int outs;                    // whether `out=` may be given
    int numbers;                 // whether the second operand may be a number
    int mean, product;           // whether it is a mean; whether of matrices, whose shapes are no matter of broadcasting
    PyObject *kernel;            // what computes, where it is no ufunc; of a total, what takes calls with more arguments
    Loop loops[KINDS], of_floats;  // those without a `run` are not for C; what halves are computed by
    Recipe recipe;
} Call;

// Find the loops of the kernel for the CPU, once Python has found the kernel.
static int bind_loops(Call *call)
{
    if (LIKELY(call->bound))
        return call->bound > 0;
    PyObject *kernel = known.cpu == NULL ? NULL : PyDict_GetItemWithError(call->kernels, known.cpu);
    if (kernel == NULL) {
        PyErr_Clear();
        return 0;
    }
    call->bound = find_loops(kernel, call->loops) ? 1 : -1;
    call->kernel = Py_NewRef(kernel);  // which is looked up once, as these functions live as long as the process
    if (call->bound > 0) {
        call->of_floats = call->loops[FLOAT32];
        call->loops[HALF] = loop_on_halves(kernel, &call->of_floats);
    }
    for (int slot = 0; slot < KINDS; slot++) {
        PyObject *dtype = PyDict_GetItemWithError(call->direct, dtype_at(slot));
        if (dtype == NULL || dtype != dtype_at(call->loops[slot].result))
            call->loops[slot].run = NULL;
        if (call->bound < 0)
            call->loops[slot].result = dtype == NULL ? -1 : slot_of(dtype);
    }
    PyErr_Clear();
    return call->bound > 0;
}

static inline const Loop *loop_for(Call *call, Tensor *a)
{
    const int slot = kind_of(a->dtype);
    return slot < 0 || !bind_loops(call) || call->loops[slot].run == NULL ? NULL : &call->loops[slot];
}

// An array for the results, of the shape of x; NULL, without an error, where there is no memory.
static inline PyArrayObject *result_like(const Loop *loop, PyArrayObject *x)
{
    PyObject *made = fresh(loop->result, PyArray_NDIM(x), PyArray_DIMS(x));
    if (made == NULL)
        PyErr_Clear();
    return (PyArrayObject *)made;
}

static inline PyObject *recorded(PyObject *result, int failed)
{
    if (failed)
        Py_CLEAR(result);
    return result;
}

// ---- where results go

// Whether two plain arrays have memory in common, which tensors may have without a common counter.
static int meet(PyArrayObject *x, PyArrayObject *y)
{
    const char *one = PyArray_BYTES(x), *other = PyArray_BYTES(y);
    return one < other + PyArray_NBYTES(y) && other < one + PyArray_NBYTES(x);
}

// Whether a tensor's memory may be written to, with nothing recorded.
static inline int is_writable(Tensor *t, Mode *mode)
{
    return counts_plainly(t) && PyArray_ISWRITEABLE((PyArrayObject *)t->array) &&
           (mode->grad != Py_True || t->edge == Py_None);
}

// The tensor given as `out=`, where that is all that is given by name and nothing is recorded; NULL: not for C.
static Tensor *given_out(const Call *call, PyObject *kwnames, PyObject *value, Mode *mode)
{
    if (!call->outs || PyTuple_GET_SIZE(kwnames) != 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "out"))
        return NULL;
    Tensor *out = host_tensor(value);
    return out != NULL && is_writable(out, mode) ? out : NULL;
}

// Whether results may go to `out` while an operand is read: it is elsewhere, or each number is where its result goes.
static int goes_beside(Tensor *out, Tensor *operand, Mode *mode)
{
    PyArrayObject *to = (PyArrayObject *)out->array, *from = (PyArrayObject *)operand->array;
    const int same = PyArray_DATA(to) == PyArray_DATA(from) && out->dtype == operand->dtype && same_shape(to, from);
    return (same || !meet(to, from)) && (mode->grad != Py_True || operand->edge == Py_None);
}

// Whether `out` is such as the results are.
static int takes(Tensor *out, int slot, int ndim, const npy_intp *dims)
{
    PyArrayObject *to = (PyArrayObject *)out->array;
    return kind_of(out->dtype) == slot && PyArray_NDIM(to) == ndim && PyArray_CompareLists(PyArray_DIMS(to), dims, ndim);
}

// ---- one operand

// An array from a kernel that is no ufunc, run without NumPy's warnings; NULL, without an error, where it is not for C.
static PyArrayObject *by_kernel(Call *call, Tensor *a, Tensor *b, int *result)
{
    const int slot = slot_of(a->dtype);
    if (call->bound >= 0 || slot < 0 || (*result = call->loops[slot].result) < 0)
        return NULL;
    PyObject *const given[] = {call->kernel, a->array, b == NULL ? NULL : b->array};
    PyObject *made = PyObject_Vectorcall(thread_state()->quiet, given, b == NULL ? 2 : 3, NULL);
    if (made != NULL && PyArray_CheckExact(made) && PyArray_DESCR((PyArrayObject *)made) == descrs[*result] &&
        PyArray_BASE((PyArrayObject *)made) == NULL)
        return (PyArrayObject *)made;
    if (made == NULL && PyErr_ExceptionMatches(PyExc_Exception))  // which the function in Python will raise again
        PyErr_Clear();
    Py_XDECREF(made);
    return NULL;
}

// The same call with an `out=`.
static APART PyObject *unary_into(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Call *call = ((Function *)f)->own;
    Mode *mode;
    Tensor *a, *out;
    if (PyVectorcall_NARGS(nargsf) != 1 || (mode = plain_mode()) == NULL || (a = host_tensor(args[0])) == NULL)
        return decline(f, args, nargsf, kwnames);
    const Loop *loop = loop_for(call, a);
    PyArrayObject *x = (PyArrayObject *)a->array, *to;
    if (kind_of(a->dtype) < 0 || (out = given_out(call, kwnames, args[1], mode)) == NULL || !goes_beside(out, a, mode) ||
        !takes(out, call->loops[kind_of(a->dtype)].result, PyArray_NDIM(x), PyArray_DIMS(x)))
        return decline(f, args, nargsf, kwnames);
    to = (PyArrayObject *)out->array;
    if (loop == NULL && (call->bound >= 0 || meet(x, to) || !run_kernel_into(call->kernel, a->array, out->array)))
        return decline(f, args, nargsf, kwnames);
    if (count_write(out) < 0)
        return NULL;
    if (loop != NULL)
        run_unary(loop, x, to);
    return Py_NewRef(out);
}

static PyObject *call_unary(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Call *call = ((Function *)f)->own;
    Mode *mode;
    Tensor *a;
    const Loop *loop;
    PyArrayObject *made;
    int slot;
    if (kwnames != NULL)
        return unary_into(f, args, nargsf, kwnames);
    if (PyVectorcall_NARGS(nargsf) != 1 || (mode = plain_mode()) == NULL || (a = host_tensor(args[0])) == NULL)
        return decline(f, args, nargsf, kwnames);
    if ((loop = loop_for(call, a)) != NULL) {
        slot = loop->result;
        if ((made = result_like(loop, (PyArrayObject *)a->array)) != NULL)
            run_unary(loop, (PyArrayObject *)a->array, made);
    } else {
        made = by_kernel(call, a, NULL, &slot);
    }
    if (made == NULL)
        return PyErr_Occurred() ? NULL : decline(f, args, nargsf, kwnames);
    PyObject *result = wrap((PyObject *)made, dtype_at(slot));
    if (result != NULL && call->recipe.general != NULL && mode->grad == Py_True && has_history(a))
        return recorded(result, record_unary(&call->recipe, a, result));
    return result;
}

// ---- two operands

typedef union { float of_float; double of_double; npy_int64 of_int; } Number;

// A number as an element of a dtype, where it can be one without a second thought.
static int as_element(PyObject *value, int slot, Number *number)
{
    enum { EXACT = 53 };  // bits of the integers that a double has
    if (PyFloat_CheckExact(value)) {
        const double v = PyFloat_AS_DOUBLE(value);
        if (slot == FLOAT32)
            number->of_float = (float)v;
        else
            number->of_double = v;
        return slot == FLOAT32 || slot == FLOAT64;
    }
    int overflow;
    const long long v = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || (slot != INT64 && (v > 1LL << EXACT || v < -(1LL << EXACT))))
        return 0;
    if (slot == FLOAT32)
        number->of_float = (float)(double)v;
    else if (slot == FLOAT64)
        number->of_double = (double)v;
    else
        number->of_int = v;
    return slot == FLOAT32 || slot == FLOAT64 || slot == INT64;
}

// A matrix of the CPU that lies row by row or column by column.
static Tensor *matrix(PyObject *value)
{
    Tensor *t = host_tensor(value);
    if (t == NULL && PyObject_TypeCheck(value, &TensorParts) && ((Tensor *)value)->backend == known.cpu) {
        t = (Tensor *)value;
        if (t->array == NULL || !PyArray_CheckExact(t->array) || !PyArray_IS_F_CONTIGUOUS((PyArrayObject *)t->array) ||
            !lies_well((PyArrayObject *)t->array))
            return NULL;
    }
    return t != NULL && PyArray_NDIM((PyArrayObject *)t->array) == 2 ? t : NULL;
}

// The product of two matrices, by the kernel.
static PyObject *call_product(PyObject *f, PyObject *const *args, size_t nargsf, Mode *mode)
{
    Call *call = ((Function *)f)->own;
    Tensor *a = matrix(args[0]), *b = matrix(args[1]);
    int slot;
    if (a == NULL || b == NULL || a->dtype != b->dtype)
        return decline(f, args, nargsf, NULL);
    PyArrayObject *x = (PyArrayObject *)a->array, *y = (PyArrayObject *)b->array, *made = NULL;
    if (PyArray_DIM(x, 1) == PyArray_DIM(y, 0))
        made = by_kernel(call, a, b, &slot);
    if (made == NULL)
        return PyErr_Occurred() ? NULL : decline(f, args, nargsf, NULL);
    PyObject *result = wrap((PyObject *)made, dtype_at(slot));
    if (result != NULL && call->recipe.general != NULL && mode->grad == Py_True && (has_history(a) || has_history(b)))
        return recorded(result, record_binary(&call->recipe, a, args[1], result));
    return result;
}

// The second operand: a number, or a tensor `b` of the first one's dtype.
static inline int second_operand(const Call *call, Tensor *a, PyObject *value, Tensor **b, Number *number)
{
    if (is_number(value))
        return call->numbers && as_element(value, slot_of(a->dtype), number);
    return (*b = host_tensor(value)) != NULL && (*b)->dtype == a->dtype;
}

// How two operands go on together. The dimensions of the result, -1 where that is not for C.
static int go_together(PyArrayObject *x, PyArrayObject *y, npy_intp *dims, Broadcast *form)
{
    if (!same_shape(x, y))
        return PyArray_NDIM(x) && PyArray_NDIM(y) ? broadcast(x, y, dims, form) : -1;
    *form = (Broadcast){{1, 1, PyArray_SIZE(x)}, {0, 0, PyArray_ITEMSIZE(x)}, {0, 0, PyArray_ITEMSIZE(y)}};
    memcpy(dims, PyArray_DIMS(x), PyArray_NDIM(x) * sizeof *dims);
    return PyArray_NDIM(x);
}

// A tensor all of whose elements are one in memory, as the gradient of a sum is; NULL for anything else.
static Tensor *spread_tensor(PyObject *value)
{
    if ((PyObject *)Py_TYPE(value) != known.Tensor)
        return NULL;
    Tensor *t = (Tensor *)value;
    PyArrayObject *array = (PyArrayObject *)t->array;
    if ((t->backend != known.guarded && t->backend != known.cpu) || t->counter == known.UNVERSIONED ||
        !PyArray_CheckExact(t->array) || PyArray_NDIM(array) == 0 || step_of(array) != 0)
        return NULL;
    for (int i = 0; i < PyArray_NDIM(array); i++)
        if (PyArray_DIM(array, i) == 1)
            return NULL;
    return t;
}

// Two operands of one shape, of which one is spread: the result lies as the other does, in order. NULL: not for C.
static PyObject *by_spread(Call *call, PyObject *const *args, Mode *mode)
{
    Tensor *a = host_tensor(args[0]), *b = host_tensor(args[1]);
    if ((a == NULL) == (b == NULL) || (a == NULL && (a = spread_tensor(args[0])) == NULL) ||
        (b == NULL && (b = spread_tensor(args[1])) == NULL) || a->dtype != b->dtype)
        return NULL;
    PyArrayObject *x = (PyArrayObject *)a->array, *y = (PyArrayObject *)b->array;
    const Loop *loop = loop_for(call, a);
    PyArrayObject *made = loop == NULL || !same_shape(x, y) ? NULL : result_like(loop, x);
    if (made == NULL)
        return NULL;
    char *data[] = {PyArray_BYTES(x), PyArray_BYTES(y), PyArray_BYTES(made)};
    const npy_intp steps[] = {step_of(x), step_of(y), PyArray_ITEMSIZE(made)};
    run_loop(loop, data, 3, PyArray_SIZE(x), steps, x, y);
    PyObject *result = wrap((PyObject *)made, dtype_at(loop->result));
    if (result != NULL && call->recipe.general != NULL && mode->grad == Py_True && (has_history(a) || has_history(b)))
        return recorded(result, record_binary(&call->recipe, a, args[1], result));
    return result;
}

// Two operands, or one and a number, into `made`.
static inline void run_pair(const Loop *loop, Tensor *a, Tensor *b, const Number *number, const Broadcast *form,
                            PyArrayObject *made)
{
    if (b == NULL)
        run_scalar(loop, (PyArrayObject *)a->array, number, made);
    else
        run_binary(loop, (PyArrayObject *)a->array, (PyArrayObject *)b->array, form, made);
}

// The same call with an `out=`.
static APART PyObject *binary_into(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Call *call = ((Function *)f)->own;
    Mode *mode;
    Tensor *a, *b = NULL, *out;
    const Loop *loop;
    Number number;
    Broadcast form;
    npy_intp dims[NPY_MAXDIMS];
    if (PyVectorcall_NARGS(nargsf) != 2 || (mode = plain_mode()) == NULL ||
        (out = given_out(call, kwnames, args[2], mode)) == NULL || call->product || (a = host_tensor(args[0])) == NULL ||
        (loop = loop_for(call, a)) == NULL || !second_operand(call, a, args[1], &b, &number))
        return decline(f, args, nargsf, kwnames);
    PyArrayObject *x = (PyArrayObject *)a->array;
    int ndim = PyArray_NDIM(x);
    if (b == NULL)
        memcpy(dims, PyArray_DIMS(x), ndim * sizeof *dims);
    else
        ndim = go_together(x, (PyArrayObject *)b->array, dims, &form);
    if (ndim < 0 || !takes(out, loop->result, ndim, dims) || !goes_beside(out, a, mode) ||
        (b != NULL && !goes_beside(out, b, mode)))
        return decline(f, args, nargsf, kwnames);
    if (count_write(out) < 0)
        return NULL;
    run_pair(loop, a, b, &number, &form, (PyArrayObject *)out->array);
    return Py_NewRef(out);
}

static PyObject *call_binary(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Call *call = ((Function *)f)->own;
    Mode *mode;
    Tensor *a, *b = NULL;
    const Loop *loop;
    PyArrayObject *made;
    Number number;
    Broadcast form;
    npy_intp dims[NPY_MAXDIMS];
    int ndim = -1;
    if (kwnames != NULL)
        return binary_into(f, args, nargsf, kwnames);
    if (PyVectorcall_NARGS(nargsf) != 2 || (mode = plain_mode()) == NULL)
        return decline(f, args, nargsf, kwnames);
    if (call->bound < 0 && call->product)
        return call_product(f, args, nargsf, mode);
    if ((a = host_tensor(args[0])) == NULL && is_number(args[1]))
        a = spread_tensor(args[0]);
    const int fine = a != NULL && (loop = loop_for(call, a)) != NULL && second_operand(call, a, args[1], &b, &number);
    if (fine && b != NULL)
        ndim = go_together((PyArrayObject *)a->array, (PyArrayObject *)b->array, dims, &form);
    if (!fine || (b != NULL && ndim < 0)) {
        PyObject *result = by_spread(call, args, mode);
        return result != NULL || PyErr_Occurred() ? result : decline(f, args, nargsf, kwnames);
    }
    if (b == NULL)
        made = result_like(loop, (PyArrayObject *)a->array);
    else
        made = (PyArrayObject *)fresh(loop->result, ndim, dims);
    if (made == NULL) {
        PyErr_Clear();
        return decline(f, args, nargsf, kwnames);
    }
    run_pair(loop, a, b, &number, &form, made);
    PyObject *result = wrap((PyObject *)made, dtype_at(loop->result));
    if (result != NULL && call->recipe.general != NULL && mode->grad == Py_True &&
        (has_history(a) || (b != NULL && has_history(b))))
        return recorded(result, record_binary(&call->recipe, a, args[1], result));
    return result;
}

// ---- in place

static PyObject *call_in_place(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Call *call = ((Function *)f)->own;
    Mode *mode;
    Tensor *a, *b = NULL;
    const Loop *loop;
    Number number;
    if (kwnames != NULL || PyVectorcall_NARGS(nargsf) != 2 || (mode = plain_mode()) == NULL ||
        (a = host_tensor(args[0])) == NULL || (loop = loop_for(call, a)) == NULL || !is_writable(a, mode) ||
        loop->result != kind_of(a->dtype))
        return decline(f, args, nargsf, kwnames);
    PyArrayObject *x = (PyArrayObject *)a->array;
    Broadcast form;
    npy_intp dims[NPY_MAXDIMS];
    if (!second_operand(call, a, args[1], &b, &number))
        return decline(f, args, nargsf, kwnames);
    if (b != NULL) {
        PyArrayObject *y = (PyArrayObject *)b->array;
        if (go_together(x, y, dims, &form) != PyArray_NDIM(x) || memcmp(dims, PyArray_DIMS(x), PyArray_NDIM(x) * sizeof *dims) ||
            (b->counter != Py_None && b->counter == a->counter) || b == a || meet(x, y) ||
            (mode->grad == Py_True && b->edge != Py_None))
            return decline(f, args, nargsf, kwnames);
    }
    if (count_write(a) < 0)
        return NULL;
    run_pair(loop, a, b, &number, &form, x);
    return Py_NewRef(a);
}

// What is put into a tensor: zeros, a number, or the elements of another one.
typedef struct { int zeros, numbers, tensors; } Put;

static int fits_in(PyObject *value, int slot)
{
    if (!PyFloat_CheckExact(value) || slot != FLOAT32)
        return 1;
    const double v = PyFloat_AS_DOUBLE(value);
    return (v <= FLT_MAX && v >= -FLT_MAX) || v != v || v - v != 0;  // of finite numbers, those that stay so
}

static void fill(PyArrayObject *x, const void *element)
{
    const size_t item = PyArray_ITEMSIZE(x), size = PyArray_NBYTES(x);
    char *to = PyArray_BYTES(x);
    if (size == 0)
        return;
    memcpy(to, element, item);
    for (size_t done = item; done < size; done *= 2)
        memcpy(to + done, to, done < size - done ? done : size - done);
}

static PyObject *call_put(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const Put *put = ((Function *)f)->own;
    const Py_ssize_t given = PyVectorcall_NARGS(nargsf);
    Mode *mode;
    Tensor *a, *b = NULL;
    Number number;
    if (kwnames != NULL || given != 2 - put->zeros || (mode = plain_mode()) == NULL || (a = host_tensor(args[0])) == NULL ||
        !is_writable(a, mode))
        return decline(f, args, nargsf, kwnames);
    PyArrayObject *x = (PyArrayObject *)a->array;
    const int slot = slot_of(a->dtype);
    if (put->numbers && (!is_number(args[1]) || !fits_in(args[1], slot) || !as_element(args[1], slot, &number)))
        return decline(f, args, nargsf, kwnames);
    if (put->tensors &&
        ((b = host_tensor(args[1])) == NULL || b->dtype != a->dtype || !same_shape(x, (PyArrayObject *)b->array) ||
         (mode->grad == Py_True && b->edge != Py_None) || (b != a && meet(x, (PyArrayObject *)b->array))))
        return decline(f, args, nargsf, kwnames);
    if (count_write(a) < 0)
        return NULL;
    if (put->numbers)
        fill(x, &number);
    else if (put->zeros)
        memset(PyArray_DATA(x), 0, PyArray_NBYTES(x));
    else if (b != a)
        memcpy(PyArray_DATA(x), PyArray_DATA((PyArrayObject *)b->array), PyArray_NBYTES(x));
    return Py_NewRef(a);
}

int may_write(const Met *met, Mode *mode)
{
    Tensor *a = host_tensor((PyObject *)met->tensors[0]);
    if (a == NULL || !counts_plainly(a) || !PyArray_ISWRITEABLE((PyArrayObject *)a->array) ||
        PyArray_SIZE((PyArrayObject *)a->array) >= LONG)  // to write to some of many places is not to copy all
        return 0;
    for (int i = 0; i < met->count; i++) {
        Tensor *t = met->tensors[i];
        if ((mode->grad == Py_True && t->edge != Py_None) ||
            (i > 0 && (!is_plain(t->array) || (t->counter != Py_None && t->counter == a->counter) ||
                       meet((PyArrayObject *)a->array, (PyArrayObject *)t->array))))
            return 0;
    }
    return 1;
}

PyObject *put_result(Tensor *target, PyObject *result)
{
    if (result == NULL)
        return NULL;
    PyArrayObject *to = (PyArrayObject *)target->array, *from = (PyArrayObject *)((Tensor *)result)->array;
    int failed = count_write(target) < 0;
    if (!failed && is_plain((PyObject *)from) && same_shape(to, from) && PyArray_TYPE(to) == PyArray_TYPE(from))
        memcpy(PyArray_DATA(to), PyArray_DATA(from), PyArray_NBYTES(to));
    else
        failed = failed || PyArray_CopyInto(to, from) < 0;
    Py_DECREF(result);
    return failed ? NULL : Py_NewRef(target);
}

// ---- all elements

// What a reduction notes: values known beforehand, and the operand's shape where None stands.
static PyObject *noted(PyObject *values, PyObject *shape)
{
    PyObject *made = PyTuple_New(PyTuple_GET_SIZE(values));
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_GET_SIZE(values); i++) {
        PyObject *value = PyTuple_GET_ITEM(values, i);
        PyTuple_SET_ITEM(made, i, Py_NewRef(value == Py_None ? shape : value));
    }
    return made;
}

static PyObject *call_total(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Call *call = ((Function *)f)->own;
    Mode *mode;
    Tensor *a;
    if (PyVectorcall_NARGS(nargsf) > 0 && (kwnames != NULL || PyVectorcall_NARGS(nargsf) != 1))
        return PyObject_Vectorcall(call->kernel, args, nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
    if (kwnames != NULL || PyVectorcall_NARGS(nargsf) != 1 || (mode = plain_mode()) == NULL ||
        (a = host_tensor(args[0])) == NULL)
        return decline(f, args, nargsf, kwnames);
    if (!call->bound) {
        PyObject *kernel = PyDict_GetItemWithError(call->kernels, known.cpu);
        PyErr_Clear();
        if (kernel != NULL) {
            call->bound = kernel == known.sum || kernel == known.mean ? 1 : -1;
            call->mean = kernel == known.mean;
        }
    }
    const int records = call->recipe.general != NULL && mode->grad == Py_True && has_history(a);
    PyArrayObject *x = (PyArrayObject *)a->array;
    PyObject *edge = records ? edge_in(a) : Py_None;
    if (call->bound <= 0 || edge == NULL || (records && (!counts_plainly(a) || (call->mean && !PyArray_SIZE(x)))))
        return decline(f, args, nargsf, kwnames);
    PyObject *made = total_of(x, slot_of(a->dtype), call->mean);
    if (made == NULL)
        return decline(f, args, nargsf, kwnames);
    PyObject *result = wrap(made, a->dtype);
    if (result == NULL || !records)
        return result;
    if (!call->recipe.flat) {
        PyObject *done = PyObject_CallFunctionObjArgs(call->recipe.general, (PyObject *)a, result, NULL);
        Py_XDECREF(done);
        return recorded(result, done == NULL);
    }
    Node *node = new_node(call->recipe.node_class);
    if (node == NULL)
        return recorded(result, 1);
    PyObject *shape = shape_of(x);
    node->next_edges = PyTuple_Pack(1, edge);
    node->plain_values = shape == NULL ? NULL : noted(call->recipe.values, shape);
    node->saved_entries = Py_NewRef(known.empty);
    node->output_forms = forms_of(NULL, (PyArrayObject *)made, a->dtype);
    node->operand_forms = shape == NULL ? NULL : PyTuple_Pack(3, shape, a->dtype, Py_None);
    Py_XDECREF(shape);
    return recorded(result, hung(result, node, node->next_edges == NULL || node->output_forms == NULL ||
                                                   node->operand_forms == NULL || node->plain_values == NULL) < 0);
}

// ---- made by Python: `unary(general, (kernels, direct, numbers, product, outs, recipe))`, where a recipe is None or
// (record, node class, number class, values, flat or None: keeps first, second, result, always first, second, leads)

static PyObject *made(vectorcallfunc vectorcall, int operands, PyObject *args)
{
    PyObject *general, *held, *recipe, *flat;
    if (!PyArg_ParseTuple(args, "OO!", &general, &PyTuple_Type, &held))
        return NULL;
    Function *f = new_function(vectorcall, operands, general, held, sizeof(Call));
    if (f == NULL)
        return NULL;
    Call *call = f->own;
    Recipe *r = &call->recipe;
    if (!PyArg_ParseTuple(held, "OOpppO|O", &call->kernels, &call->direct, &call->numbers, &call->product, &call->outs, &recipe,
                          &call->kernel) ||
        (recipe != Py_None &&
         (!PyArg_ParseTuple(recipe, "OOOOO", &r->general, &r->node_class, &r->number_class, &r->values, &flat) ||
          (flat != Py_None &&
           !PyArg_ParseTuple(flat, "pppppp", &r->keeps_first, &r->keeps_second, &r->keeps_result, &r->always_first,
                             &r->always_second, &r->first_leads))))) {
        Py_DECREF(f);
        return NULL;
    }
    r->flat = recipe != Py_None && flat != Py_None;
    return (PyObject *)f;
}

PyObject *make_unary(PyObject *module, PyObject *args) { return made(call_unary, 1, args); }
PyObject *make_binary(PyObject *module, PyObject *args) { return made(call_binary, 2, args); }
PyObject *make_in_place(PyObject *module, PyObject *args) { return made(call_in_place, 2, args); }

PyObject *make_put(PyObject *module, PyObject *args)
{
    PyObject *general, *held;
    if (!PyArg_ParseTuple(args, "OO!", &general, &PyTuple_Type, &held))
        return NULL;
    Function *f = new_function(call_put, 2, general, held, sizeof(Put));
    Put *put = f == NULL ? NULL : f->own;
    if (put == NULL || !PyArg_ParseTuple(held, "ppp", &put->zeros, &put->numbers, &put->tensors))
        Py_CLEAR(f);
    else
        f->operands -= put->zeros;
    return (PyObject *)f;
}

PyObject *make_total(PyObject *module, PyObject *args) { return made(call_total, 1, args); }
