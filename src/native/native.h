// What the parts of torchlite.core._native know of each other. docs/native.md tells how they hang together.
#ifndef TORCHLITE_NATIVE_H
#define TORCHLITE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#ifndef NPY_NO_DEPRECATED_API
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#endif
#define PY_ARRAY_UNIQUE_SYMBOL torchlite_array_api
#define PY_UFUNC_UNIQUE_SYMBOL torchlite_ufunc_api
#ifndef TORCHLITE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#pragma GCC visibility push(hidden)  // as all that is defined here: what lies where is then known without a table

#if defined(__GNUC__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define APART __attribute__((noinline, cold))  // what rarely runs, and must not weigh on what it stands beside
#else
#define LIKELY(x) (x)
#define APART
#endif

// ---- parts.c: the structs from which the Python classes derive. A list of fields gives the struct, what the collector
// visits, and the members that Python sees: X(field, name in Python).

#define TENSOR_FIELDS(X) \
    X(grad, "_grad") X(array, "_array") X(backend, "_backend") X(counter, "_counter") X(dtype, "dtype") X(edge, "_edge") \
    X(extra, "_extra")
#define NODE_FIELDS(X) \
    X(next_edges, "next_edges") X(node_hooks, "node_hooks") X(node_metadata, "node_metadata") \
    X(output_forms, "output_forms") X(plain_values, "plain_values") X(saved_entries, "saved_entries") \
    X(sequence_nr, "sequence_nr") X(operand_forms, "operand_forms")
#define VIEW_FIELDS(X) X(base, "base") X(edge, "edge") X(kind, "kind") X(path, "path") X(seen, "seen")
#define SAVED_OUTPUT_FIELDS(X) X(tensor, "tensor") X(version, "version") X(output, "output")
#define SAVED_NUMBER_FIELDS(X) X(value, "value")
#define MODE_FIELDS(X) X(plain, "plain") X(grad, "grad") X(direct, "direct") X(beneath, "beneath")
#define STATE_FIELDS(X) \
    X(default_device, "default_device") X(entered, "entered") X(mode, "mode") X(task, "task") X(quiet, "quiet") \
    X(levels, "levels") X(adopted, "adopted")
#define LEVEL_FIELDS(X) X(always, "always") X(backends, "backends") X(has_twins, "has_twins") X(outer, "outer")
#define BATCHED_FIELDS(X) X(main, "main") X(shape, "shape") X(dim, "dim")
#define NESTED_FIELDS(X) X(main, "_main") X(shape, "shape") X(twin, "twin")
#define DUAL_FIELDS(X) X(main, "main") X(shape, "shape") X(tangent, "tangent")
#define FIELD(field, name) PyObject *field;

typedef struct { PyObject_HEAD TENSOR_FIELDS(FIELD) PyObject *dict, *weak; } Tensor;
typedef struct { PyObject_HEAD NODE_FIELDS(FIELD) PyObject *weak; } Node;
typedef struct { PyObject_HEAD VIEW_FIELDS(FIELD) } View;
typedef struct { PyObject_HEAD SAVED_OUTPUT_FIELDS(FIELD) } SavedOutput;
typedef struct { PyObject_HEAD SAVED_NUMBER_FIELDS(FIELD) } SavedNumber;
typedef struct { PyObject_HEAD Py_ssize_t n; } Counter;
typedef struct { PyObject_HEAD MODE_FIELDS(FIELD) } Mode;
typedef struct { PyObject_HEAD STATE_FIELDS(FIELD) } State;
typedef struct { PyObject_HEAD LEVEL_FIELDS(FIELD) } Level;
typedef struct { PyObject_HEAD BATCHED_FIELDS(FIELD) } Batched;
typedef struct { PyObject_HEAD NESTED_FIELDS(FIELD) } Nested;
typedef struct { PyObject_HEAD DUAL_FIELDS(FIELD) } Dual;

extern PyTypeObject TensorParts;
int add_parts(PyObject *module);

Tensor *new_tensor(void);                                // with all parts NULL
PyObject *wrap(PyObject *array, PyObject *dtype);        // a plain tensor of the CPU; takes the array over
Node *new_node(PyObject *node_class);                    // numbered, without hooks or metadata; the rest NULL
PyObject *new_of(PyObject *cls);                         // an instance of a class of parts, all NULL
Mode *plain_mode(void);                                  // borrowed: the thread's mode; NULL if it has rare things on
State *thread_state(void);                               // borrowed; NULL where the thread has none yet
State *own_state(void);                                  // borrowed: made now if the thread had none; NULL: an error
PyObject *become_whole(PyObject *module, PyObject *cls); // lets a class be freed without the interpreter's search

// ---- module.c: the objects of Python that C must know, each handed over by the module that makes it: `know(name=…)`.

#define KNOWN(X) \
    X(Tensor) X(Node) X(View) X(Counter) X(State) X(SavedOutput) X(SavedNumber) X(LEAF) X(cpu) X(sequence) \
    X(ORDINARY) X(NO_GRAD) X(INFERENCE) X(floating) X(float16) X(float32) X(float64) X(int64) X(bool_) X(sum) X(mean) \
    X(mode_without_grad) X(make_task) \
    X(sum_to_shape) X(Size) X(UNVERSIONED) X(SavedList) X(lent) X(lend) X(defaults) X(overriding) X(leave_switch) X(let_go) \
    X(guarded) X(DatedCounter) X(dated) X(BatchLevel) X(NestedLevel) X(Batched) X(Nested) X(Dual) X(Coo) X(Compressed)
#define KNOWN_FIELD(name) PyObject *name;
extern struct Known { KNOWN(KNOWN_FIELD) PyObject *zero, *one, *empty, *programs; } known;

// ---- arrays.c: what NumPy is asked for.

enum { FLOAT32, FLOAT64, INT64, BOOL, SLOTS, HALF = SLOTS, KINDS };  // the dtypes with plain cases; halves where loops are run
typedef struct { PyUFuncGenericFunction run; void *data; int result; } Loop;

extern PyArray_Descr *descrs[KINDS];
extern Loop adding[SLOTS];                               // the loops of np.add
int prepare_arrays(void);
int slot_of(PyObject *dtype);                            // -1: none

static inline int kind_of(PyObject *dtype)
{
    const int slot = slot_of(dtype);
    return slot < 0 && dtype == known.float16 ? HALF : slot;
}

PyObject *dtype_at(int slot);                            // borrowed
void keep_positive(const float *g, const float *x, float *to, npy_intp n);  // kernels/pointwise.c
int run_kernel_into(PyObject *kernel, PyObject *array, PyObject *out);  // kernels/kernel.c: whether it did, which Python's do not
PyObject *product_in_tiles(PyObject *a, PyObject *b);    // kernels/products.c: NULL, without an error, where BLAS is as good
int find_loops(PyObject *kernel, Loop *loops);           // the inner loops of a ufunc for operands of one dtype
Loop loop_on_halves(PyObject *kernel, const Loop *of_floats);  // of two operands, a stretch of floats at a time
void halves_to_floats(const void *from, float *to, npy_intp n);  // kernels/halves.c
void floats_to_halves(const float *from, void *to, npy_intp n);
PyObject *fresh(int slot, int ndim, const npy_intp *dims);
PyObject *shape_of(PyArrayObject *array);                // its shape, as a tuple
int has_shape(PyArrayObject *array, PyObject *shape);
int same_shape(PyArrayObject *a, PyArrayObject *b);
// A loop over many elements, without the interpreter's lock, by the threads there are; the operands are held meanwhile.
void run_long(const Loop *loop, char **args, int operands, npy_intp count, const npy_intp *steps, PyArrayObject *x,
              PyArrayObject *y);
void run_unary(const Loop *loop, PyArrayObject *x, PyArrayObject *out);
// How two plain arrays go on together: in bytes, by groups of dimensions along which the same of them do, innermost last.
enum { GROUPS = 3 };
typedef struct { npy_intp count[GROUPS], x[GROUPS], y[GROUPS]; } Broadcast;
int broadcast(PyArrayObject *x, PyArrayObject *y, npy_intp *dims, Broadcast *to);  // how many dimensions; -1: not for C
void run_binary(const Loop *loop, PyArrayObject *x, PyArrayObject *y, const Broadcast *form, PyArrayObject *out);
void run_scalar(const Loop *loop, PyArrayObject *x, const void *number, PyArrayObject *out);
PyObject *total_of(PyArrayObject *x, int slot, int mean);

enum { LONG = 1 << 14 };  // so many elements are many

// The one place that runs loops.
static inline void run_loop(const Loop *loop, char **args, int operands, npy_intp count, const npy_intp *steps,
                            PyArrayObject *x, PyArrayObject *y)
{
    if (LIKELY(count < LONG))
        loop->run(args, &count, steps, loop->data);
    else
        run_long(loop, args, operands, count, steps, x, y);
}

// Puts numbers, each divided by `unit`, into a new tuple, which it takes over, and which may be NULL.
static inline PyObject *filled(PyObject *tuple, const npy_intp *numbers, npy_intp unit)
{
    for (Py_ssize_t i = 0, count = tuple == NULL ? 0 : PyTuple_GET_SIZE(tuple); tuple != NULL && i < count; i++) {
        PyObject *n = PyLong_FromSsize_t(numbers[i] / unit);
        if (n == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, n);
    }
    return tuple;
}

// An array of the exact class whose elements lie in order.
static inline int is_plain(PyObject *array)
{
    const int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    return Py_TYPE(array) == &PyArray_Type && (PyArray_FLAGS((PyArrayObject *)array) & wanted) == wanted;
}

// The step in memory from one element to the next: that of a plain array, or 0 where all elements are one number, as
// those of a gradient that was spread. -1: neither.
static inline npy_intp step_of(PyArrayObject *array)
{
    if (is_plain((PyObject *)array))
        return PyArray_ITEMSIZE(array);
    if (Py_TYPE(array) != &PyArray_Type || !PyArray_ISALIGNED(array) || PyArray_SIZE(array) == 0)
        return -1;
    for (int i = 0; i < PyArray_NDIM(array); i++)
        if (PyArray_STRIDE(array, i) != 0)
            return -1;
    return 0;
}

// Whether the strides of results are those that NumPy gives: a view's dimensions of size one may have others than it would
// choose, and those of size none.
static inline int lies_well(PyArrayObject *array)
{
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int i = PyArray_NDIM(array) - 1; PyArray_BASE(array) != NULL && i >= 0; i--) {
        const npy_intp size = PyArray_DIM(array, i);
        if (size == 0 || (size == 1 && PyArray_STRIDE(array, i) != step))
            return 0;
        step *= size;
    }
    return 1;
}

// ---- function.c: callables that take a function's place, and call it where they know nothing better.

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *general;  // the function in Python
    PyObject *dict;     // its name and the like, as the publisher sets them
    PyObject *held;     // a tuple of all that `own` points to
    int operands;       // how many tensors, or numbers, it is a function of; 0: that depends
    void *own;          // what its kind of callable needs
} Function;

extern PyTypeObject FunctionType;
Function *new_function(vectorcallfunc call, int operands, PyObject *general, PyObject *held, size_t own);

static inline PyObject *decline(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    return PyObject_Vectorcall(((Function *)f)->general, args, nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
}

static inline int is_number(PyObject *value) { return PyFloat_CheckExact(value) || PyLong_CheckExact(value); }

// A tensor of the CPU whose array is plain; NULL for anything else.
static inline Tensor *host_tensor(PyObject *value)
{
    if (Py_TYPE(value) != (PyTypeObject *)known.Tensor && !PyType_IsSubtype(Py_TYPE(value), &TensorParts))
        return NULL;
    Tensor *t = (Tensor *)value;
    if (t->backend != known.cpu || t->array == NULL || !is_plain(t->array) || t->edge == NULL || t->counter == NULL)
        return NULL;
    return lies_well((PyArrayObject *)t->array) ? t : NULL;
}

// ---- record.c: the history of results.

typedef struct {
    PyObject *node_class, *number_class, *values;  // borrowed
    PyObject *general;      // records what C leaves to it; NULL where nothing is recorded
    int flat;               // whether C may record
    int keeps_first, keeps_second, keeps_result;
    int always_first, always_second;  // whether they are kept though the other's gradient is not asked for
    int first_leads;        // whether the first stands before the second among what is kept
} Recipe;

PyObject *edge_in(Tensor *t);                            // borrowed: the edge of an operand; NULL: Python has to look
int has_history(Tensor *t);                              // whether recording is due, or must be looked into
PyObject *form_of(PyArrayObject *array, PyObject *dtype);                   // of a result: shape, dtype, backend
PyObject *forms_of(PyObject *edge, PyArrayObject *array, PyObject *dtype);  // `output_forms` of a node of one result
PyObject *version_pair(Tensor *t);                       // `(tensor, version)`
int counts_plainly(Tensor *t);
int count_write(Tensor *t);
int hang(PyObject *result, Node *node, Py_ssize_t nr);   // makes it an output of the node
int hung(PyObject *result, Node *node, int failed);
PyObject *saved_output(Tensor *result, PyObject *nr);    // the entry for a result that its node keeps
int is_as_recorded(PyObject *edge, Tensor *t);
int record_unary(const Recipe *recipe, Tensor *a, PyObject *result);
int record_binary(const Recipe *recipe, Tensor *a, PyObject *b, PyObject *result);

// ---- program.c: what a node does to a gradient, as data that Python took from the formulas.

typedef struct Program Program;

PyObject *add_program(PyObject *module, PyObject *args);
Program *program_of(PyObject *node_class);               // NULL: none
// Puts a gradient for each of the node's edges, or NULL for None, into `out`. 0: done; 1: nothing done, for Python to do;
// -1: an error.
int run_program(const Program *program, Node *node, PyObject *gradient, PyObject *edges, PyObject **out);
int reads(PyObject *entry, Tensor **tensor);             // the tensor that was saved, if nobody wrote to it since
PyObject *sum_of(PyObject *a, PyObject *b, int into_a);  // a new reference; NULL without an error: not for C

// ---- engine.c

extern PyTypeObject AskedType;
PyObject *make_backward(PyObject *module, PyObject *args);
PyObject *gradients(PyObject *module, PyObject *args);

// ---- form.c: what is alike in calls that come to the same

enum { MOST_TENSORS = 16 };

typedef struct {
    npy_intp *geometry;           // for each tensor its dims, then its strides
    int ndims[MOST_TENSORS], count;
    PyObject *dtypes[MOST_TENSORS];  // borrowed: they live for ever
    uint64_t lifts[MOST_TENSORS]; // what levels make of each: levels.c
    PyObject *sparse[MOST_TENSORS];  // of a sparse one, of -1 dims: its backend, shape and what its array has for strides
    int top;                      // the number of the level begun last that one belongs to, from 1 on
    PyObject *values, *names;     // the arguments with a mark for each tensor; the names of the last ones
} Form;

// A call of a known form. `levels` are those that run; NULL where only plain tensors count.
typedef struct { Tensor *tensors[MOST_TENSORS]; int count; const npy_intp *geometry; PyObject *levels; } Met;

int take_form(Form *form, PyObject *args, PyObject *kwargs, PyObject *levels);  // -1: it has none, or an error
int is_met(const Form *form, PyObject *const *args, Py_ssize_t given, PyObject *kwnames, Met *met);
void clear_form(Form *form);
PyObject *list_of(const Met *met);                       // the tensors

// ---- history.c: the history of results, for calls of one form. All objects belong to the plan's data.

typedef struct {
    PyObject *general, *bound;  // records what C leaves to it, and binds the tensors for that
    PyObject *node_class, *edges_from, *keeping, *notes, *operand_forms;  // the first is NULL where C may not record
    PyObject *forms;            // `output_forms`, once there was a result; held
    int reshaped;               // whether edges must lead to the operands' shapes
    Py_ssize_t through;         // how many results have a history
} History;

int read_history(History *history, PyObject *recorder, PyObject *bound);
// `made` is what Python gets: the result, or a tuple of them.
int record(History *history, const Met *met, PyObject *made, PyObject *const *results, Py_ssize_t count);

// ---- levels.c: tensors of transforms of functions, which are made of others

// What levels make of a tensor: for each that it belongs to, the one begun last lowest, a byte with the number of the
// level, from 1 on, and 0 for a `grad`, 31 for a `jvp`, or the batch's dimension and one; and whether the tensor inside is guarded.
static inline int number_of_level(uint64_t lifts) { return (int)(lifts >> 5 & 7); }

State *transforming(void);                               // borrowed: NULL where no calls on levels are for C
Tensor *innermost(Tensor *t, PyObject *levels, uint64_t *lifts);  // the tensor of the CPU inside; NULL: not for C
// A call on tensors of an outermost `grad`, by their twins; NULL, without an error, where it is not for C.
PyObject *by_twins(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames, State *state);
PyObject *shape_in(Tensor *t);
int go_inside(const Met *met, int top, Met *inside, int grad);  // the tensors inside, held; 0: not for C
// A result of the level, with its history, for one found inside, which it takes over; with a step, a view.
PyObject *above(const Met *met, int top, PyObject *made, PyObject *step, History *history, int grad);

// ---- remember.c

PyObject *make_planned(PyObject *module, PyObject *args);
PyObject *remember(PyObject *module, PyObject *args);

// ---- view.c

PyObject *make_index(PyObject *module, PyObject *args);
int has_no_history(Tensor *t);
PyObject *shown(PyArrayObject *array, int ndim, const npy_intp *dims, const npy_intp *strides, npy_intp offset);
PyObject *view_of(Tensor *source, PyObject *array, PyObject *step, PyObject *edge, int grad);

// ---- call.c

PyObject *make_unary(PyObject *module, PyObject *args);
PyObject *make_binary(PyObject *module, PyObject *args);
PyObject *make_in_place(PyObject *module, PyObject *args);
PyObject *make_put(PyObject *module, PyObject *args);
int may_write(const Met *met, Mode *mode);               // whether the first tensor may be written to, with nothing recorded
PyObject *put_result(Tensor *target, PyObject *result);  // the target, into which a result is put that it takes over
PyObject *make_total(PyObject *module, PyObject *args);

// ---- small.c, context.c, module_call.c: what stands around calls of ops

int add_properties(void);
PyObject *tensor_of(PyObject *data);                     // listed.c: of numbers, or lists of them; NULL where C does not know
PyObject *make_quick(PyObject *module, PyObject *args);
int add_contexts(PyObject *module);
PyObject *make_making(PyObject *module, PyObject *general);
PyObject *make_entering(PyObject *module, PyObject *args);
PyObject *make_module_call(PyObject *module, PyObject *args);
PyObject *make_look_up(PyObject *module, PyObject *args);

#pragma GCC visibility pop

#endif
