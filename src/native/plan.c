// Running plans. A plan (core/machine/plan.py) is what calls of one form come to. Each function that is planned keeps the
// forms it met last, with their plans, and knows them again without making a key: it compares tensors by dtype, shape and
// strides, plain values by value. What it does not know again goes to Python, which knows all plans, and hands over those
// that are met (`remember`).
//
// A plan that says what it consists of (`native`, a tuple) is run here: a view by the geometry that all views of the form
// have, any other op by its kernel. A plan that does not is called as it is.
#include "native.h"

enum { FORMS = 8, MOST_TENSORS = 16, MOST_DIMS = 16, MOST_ARGUMENTS = 32 };
enum { IN_PYTHON, VIEW, KERNEL };

// The history of one result, for calls of one form. All objects belong to the plan's data.
typedef struct {
    PyObject *general, *bound;  // records what C leaves to it, and binds the tensors for that
    PyObject *node_class, *edges_from, *keeping, *notes, *operand_forms;  // the first is NULL where C may not record
    PyObject *forms;            // `output_forms`, once there was a result; held
    int reshaped;               // whether edges must lead to the operands' shapes
} History;

typedef struct {
    int holders;                // the functions that know it, and the calls that run it
    npy_intp *geometry;         // for each tensor its dims, then its strides
    int *ndims, count;
    PyObject **dtypes;          // borrowed: they live for ever
    PyObject *values, *names;   // the arguments with a mark for each tensor; the names of the last ones
    int kind;
    PyObject *plan, *data;
    History history;
    PyObject *step, *apply, *dtype, *backend;           // of a view, and where views with a history go
    npy_intp dims[MOST_DIMS], strides[MOST_DIMS], offset;
    int ndim;
    PyObject *kernel, *template_, *singles, *sequences, *finish;  // of a kernel
    PyArray_Descr *descr;
} Plan;

typedef struct { Plan *plans[FORMS]; } Planned;  // the one met last stands first

static void release(Plan *plan)
{
    if (--plan->holders > 0)
        return;
    PyMem_Free(plan->geometry);
    PyMem_Free(plan->ndims);
    PyMem_Free(plan->dtypes);
    Py_XDECREF(plan->values);
    Py_XDECREF(plan->names);
    Py_XDECREF(plan->plan);
    Py_XDECREF(plan->data);
    Py_XDECREF(plan->history.forms);
    PyMem_Free(plan);
}

// ---- knowing a form again

static inline int is_sequence(PyObject *value)
{
    return PyTuple_CheckExact(value) || PyList_CheckExact(value) || (PyObject *)Py_TYPE(value) == known.Size;
}

static Tensor *plannable(PyObject *value)
{
    if ((PyObject *)Py_TYPE(value) != known.Tensor && !PyType_IsSubtype(Py_TYPE(value), &TensorParts))
        return NULL;
    Tensor *t = (Tensor *)value;
    if (t->backend != known.cpu || t->counter == known.UNVERSIONED || t->array == NULL || !PyArray_CheckExact(t->array))
        return NULL;
    return PyArray_NDIM((PyArrayObject *)t->array) <= MOST_DIMS ? t : NULL;
}

static int same_value(PyObject *a, PyObject *b)
{
    if (Py_TYPE(a) != Py_TYPE(b))
        return 0;
    if (PyFloat_CheckExact(a)) {  // zeros are told apart by their signs
        const double one = PyFloat_AS_DOUBLE(a), other = PyFloat_AS_DOUBLE(b);
        return memcmp(&one, &other, sizeof one) == 0;
    }
    if (a == b)
        return 1;
    if (PyComplex_CheckExact(a))
        return 0;
    const int same = PyObject_RichCompareBool(a, b, Py_EQ);
    if (same < 0)
        PyErr_Clear();
    return same > 0;
}

typedef struct { Tensor *tensors[MOST_TENSORS]; int count; const npy_intp *geometry; } Met;

static int matches(const Plan *plan, PyObject *form, PyObject *value, Met *met)
{
    if (form == known.Tensor) {  // the mark
        Tensor *t = plannable(value);
        const int k = met->count;
        if (t == NULL || k >= plan->count || t->dtype != plan->dtypes[k])
            return 0;
        PyArrayObject *array = (PyArrayObject *)t->array;
        const int ndim = PyArray_NDIM(array);
        const size_t bytes = ndim * sizeof(npy_intp);
        if (ndim != plan->ndims[k] || memcmp(met->geometry, PyArray_DIMS(array), bytes) != 0 ||
            memcmp(met->geometry + ndim, PyArray_STRIDES(array), bytes) != 0)
            return 0;
        met->geometry += 2 * ndim;
        met->tensors[met->count++] = t;
        return 1;
    }
    if (!is_sequence(form))
        return same_value(form, value);
    if (Py_TYPE(form) != Py_TYPE(value) || Py_SIZE(form) != Py_SIZE(value))
        return 0;
    PyObject **forms = PySequence_Fast_ITEMS(form), **values = PySequence_Fast_ITEMS(value);
    for (Py_ssize_t i = 0; i < Py_SIZE(form); i++)
        if (!matches(plan, forms[i], values[i], met))
            return 0;
    return 1;
}

static int known_again(const Plan *plan, PyObject *const *args, Py_ssize_t given, PyObject *kwnames, Met *met)
{
    const Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    if (PyTuple_GET_SIZE(plan->values) != given + named || PyTuple_GET_SIZE(plan->names) != named)
        return 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *one = PyTuple_GET_ITEM(plan->names, i), *other = PyTuple_GET_ITEM(kwnames, i);
        if (one != other && PyUnicode_Compare(one, other) != 0)
            return 0;
    }
    met->count = 0;
    met->geometry = plan->geometry;
    for (Py_ssize_t i = 0; i < given + named; i++)
        if (!matches(plan, PyTuple_GET_ITEM(plan->values, i), args[i], met))
            return 0;
    return met->count == plan->count;
}

static Plan *plan_for(Planned *planned, PyObject *const *args, Py_ssize_t given, PyObject *kwnames, Met *met)
{
    for (int i = 0; i < FORMS && planned->plans[i] != NULL; i++) {
        Plan *plan = planned->plans[i];
        if (!known_again(plan, args, given, kwnames, met))
            continue;
        for (; i > 0; i--)
            planned->plans[i] = planned->plans[i - 1];
        return planned->plans[0] = plan;
    }
    return NULL;
}

// ---- history

static PyObject *list_of(const Met *met)
{
    PyObject *list = PyList_New(met->count);
    for (int i = 0; list != NULL && i < met->count; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(met->tensors[i]));
    return list;
}

static int record_in_python(const History *history, const Met *met, PyObject *result)
{
    PyObject *tensors = list_of(met);
    PyObject *done =
        tensors == NULL ? NULL : PyObject_CallFunctionObjArgs(history->general, tensors, history->bound, result, NULL);
    Py_XDECREF(tensors);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

// One entry among what a node keeps: (constant, which tensors, which result, the edge without which it is spared).
static PyObject *kept(PyObject *what, const Met *met, PyObject *edges, PyObject *result)
{
    PyObject *which = PyTuple_GET_ITEM(what, 1), *only_for = PyTuple_GET_ITEM(what, 3);
    if (only_for != Py_None && PyTuple_GET_ITEM(edges, PyLong_AsSsize_t(only_for)) == Py_None)
        return Py_NewRef(Py_None);
    if (PyLong_CheckExact(which))
        return version_pair(met->tensors[PyLong_AsSsize_t(which)]);
    if (PyTuple_GET_ITEM(what, 2) != Py_None)
        return saved_output((Tensor *)result);
    if (which == Py_None)
        return Py_NewRef(PyTuple_GET_ITEM(what, 0));
    PyObject *pairs = PyList_New(PyTuple_GET_SIZE(which)), *made = NULL;
    for (Py_ssize_t i = 0; pairs != NULL && i < PyTuple_GET_SIZE(which); i++) {
        PyObject *pair = version_pair(met->tensors[PyLong_AsSsize_t(PyTuple_GET_ITEM(which, i))]);
        if (pair == NULL)
            Py_CLEAR(pairs);
        else
            PyList_SET_ITEM(pairs, i, pair);
    }
    if (pairs != NULL)
        made = PyObject_CallOneArg(known.SavedList, pairs);
    Py_XDECREF(pairs);
    return made;
}

static PyObject *entries_of(const History *history, const Met *met, PyObject *edges, PyObject *result)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(history->keeping);
    PyObject *entries = PyTuple_New(count);
    for (Py_ssize_t i = 0; entries != NULL && i < count; i++) {
        PyObject *entry = kept(PyTuple_GET_ITEM(history->keeping, i), met, edges, result);
        if (entry == NULL)
            Py_CLEAR(entries);
        else
            PyTuple_SET_ITEM(entries, i, entry);
    }
    return entries;
}

// The edges of the operands; NULL without an error where Python has to look. `live` says whether one leads anywhere.
static PyObject *edges_of(const History *history, const Met *met, int *live)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(history->edges_from);
    PyObject *edges = PyTuple_New(count);
    *live = 0;
    for (Py_ssize_t i = 0; edges != NULL && i < count; i++) {
        PyObject *from = PyTuple_GET_ITEM(history->edges_from, i);
        Tensor *t = from == Py_None ? NULL : met->tensors[PyLong_AsSsize_t(from)];
        PyObject *edge = t == NULL ? Py_None : edge_in(t);
        if (edge == NULL || (history->reshaped && t != NULL && !is_as_recorded(edge, (PyArrayObject *)t->array))) {
            Py_CLEAR(edges);
            break;
        }
        *live |= edge != Py_None;
        PyTuple_SET_ITEM(edges, i, Py_NewRef(edge));
    }
    return edges;
}

static int record(History *history, const Met *met, PyObject *result)
{
    int live = 0, plain = history->node_class != NULL;
    for (int i = 0; i < met->count; i++) {
        live |= met->tensors[i]->edge != Py_None;
        plain = plain && counts_plainly(met->tensors[i]);
    }
    if (!live)
        return 0;
    PyObject *edges = plain ? edges_of(history, met, &live) : NULL;
    if (edges == NULL)
        return PyErr_Occurred() ? -1 : record_in_python(history, met, result);
    Node *node = live ? new_node(history->node_class) : NULL;
    if (node == NULL) {
        Py_DECREF(edges);
        return live ? -1 : 0;
    }
    Tensor *r = (Tensor *)result;
    if (history->forms == NULL || !has_shape((PyArrayObject *)r->array, PyTuple_GET_ITEM(PyTuple_GET_ITEM(history->forms, 0), 0)))
        Py_XSETREF(history->forms, forms_of(NULL, (PyArrayObject *)r->array, r->dtype));
    node->next_edges = edges;
    node->operand_forms = Py_NewRef(history->operand_forms);
    node->plain_values = Py_NewRef(history->notes);
    node->output_forms = Py_XNewRef(history->forms);
    node->saved_entries = entries_of(history, met, edges, result);
    if (node->output_forms == NULL || node->saved_entries == NULL) {
        Py_DECREF(node);
        return -1;
    }
    hang(result, node);
    return r->edge == Py_None ? -1 : 0;
}

// ---- views

static PyObject *run_view(Plan *plan, const Met *met, Mode *mode)
{
    Tensor *source = met->tensors[0];
    const int grad = mode->grad == Py_True, bare = has_no_history(source);
    const int records = grad && plan->history.general != NULL && (PyObject *)Py_TYPE(source->edge) != known.View;
    if (!counts_plainly(source) || (!bare && !records))
        return PyObject_CallOneArg(plan->apply, (PyObject *)source);
    PyObject *array = shown((PyArrayObject *)source->array, plan->ndim, plan->dims, plan->strides, plan->offset);
    PyObject *edge = Py_NewRef(Py_None);
    if (!bare && array != NULL) {
        PyObject *result = wrap(Py_NewRef(array), plan->dtype);
        if (result == NULL || record(&plan->history, met, result) < 0)
            Py_CLEAR(array);
        else
            Py_SETREF(edge, Py_NewRef(((Tensor *)result)->edge));
        Py_XDECREF(result);
    }
    PyObject *made = view_of(source, array, plan->step, edge, grad);
    Py_DECREF(edge);
    if (made != NULL && plan->backend != known.cpu)
        Py_SETREF(((Tensor *)made)->backend, Py_NewRef(plan->backend));
    return made;
}

// ---- kernels

static PyObject *arrays_of(PyObject *which, const Met *met)
{
    PyObject *list = PyList_New(PyTuple_GET_SIZE(which));
    for (Py_ssize_t i = 0; list != NULL && i < PyTuple_GET_SIZE(which); i++)
        PyList_SET_ITEM(list, i, Py_NewRef(met->tensors[PyLong_AsSsize_t(PyTuple_GET_ITEM(which, i))]->array));
    return list;
}

// What the kernel gives, run without NumPy's warnings.
static PyObject *compute(const Plan *plan, const Met *met, State *state)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(plan->template_);
    PyObject *arguments[MOST_ARGUMENTS + 1], *made = NULL;
    arguments[0] = Py_NewRef(plan->kernel);
    for (Py_ssize_t i = 0; i < count; i++)
        arguments[i + 1] = Py_NewRef(PyTuple_GET_ITEM(plan->template_, i));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(plan->singles); i++) {
        PyObject *pair = PyTuple_GET_ITEM(plan->singles, i);
        Tensor *t = met->tensors[PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 1))];
        Py_SETREF(arguments[PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0)) + 1], Py_NewRef(t->array));
    }
    int failed = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(plan->sequences) && !failed; i++) {
        PyObject *pair = PyTuple_GET_ITEM(plan->sequences, i), *list = arrays_of(PyTuple_GET_ITEM(pair, 1), met);
        failed = list == NULL;
        if (!failed)
            Py_SETREF(arguments[PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0)) + 1], list);
    }
    if (!failed)
        made = PyObject_Vectorcall(state->quiet, arguments, count + 1, NULL);
    for (Py_ssize_t i = 0; i <= count; i++)
        Py_DECREF(arguments[i]);
    return made;
}

static PyObject *run_kernel(Plan *plan, const Met *met, Mode *mode, State *state)
{
    PyObject *outputs = compute(plan, met, state), *result;
    if (outputs == NULL)
        return NULL;
    if (PyArray_CheckExact(outputs) && PyArray_DESCR((PyArrayObject *)outputs) == plan->descr &&
        PyArray_BASE((PyArrayObject *)outputs) == NULL) {
        result = wrap(outputs, plan->dtype);
    } else {
        result = PyObject_CallOneArg(plan->finish, outputs);
        Py_DECREF(outputs);
    }
    if (result != NULL && plan->history.general != NULL && mode->grad == Py_True && record(&plan->history, met, result) < 0)
        Py_CLEAR(result);
    return result;
}

static PyObject *call_planned(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Planned *planned = ((Function *)f)->own;
    Mode *mode = plain_mode();
    Met met;
    Plan *plan = mode == NULL ? NULL : plan_for(planned, args, PyVectorcall_NARGS(nargsf), kwnames, &met);
    if (plan == NULL)
        return decline(f, args, nargsf, kwnames);
    State *state = thread_state();
    PyObject *result;
    plan->holders++;
    for (int i = 0; i < met.count; i++)
        Py_INCREF(met.tensors[i]);
    Py_INCREF(mode);
    if (plan->kind == VIEW) {
        result = run_view(plan, &met, mode);
    } else if (plan->kind == KERNEL) {
        result = run_kernel(plan, &met, mode, state);
    } else {
        PyObject *tensors = list_of(&met);
        PyObject *const given[] = {(PyObject *)state, (PyObject *)mode, tensors};
        result = tensors == NULL ? NULL : PyObject_Vectorcall(plan->plan, given, 3, NULL);
        Py_XDECREF(tensors);
    }
    for (int i = 0; i < met.count; i++)
        Py_DECREF(met.tensors[i]);
    Py_DECREF(mode);
    release(plan);
    return result;
}

// ---- what Python hands over

// A copy of arguments with a mark in place of each tensor, whose form is noted. NULL, without an error, where there are
// more tensors than C knows, or one that is not `plannable`: such plans are Python's alone.
static PyObject *marked(Plan *plan, PyObject *value)
{
    Tensor *t = plannable(value);
    if (t == NULL && PyType_IsSubtype(Py_TYPE(value), &TensorParts))
        return NULL;
    if (t != NULL) {
        if (plan->count == MOST_TENSORS)
            return NULL;
        PyArrayObject *array = (PyArrayObject *)t->array;
        const int ndim = PyArray_NDIM(array), k = plan->count++;
        const size_t bytes = ndim * sizeof(npy_intp);
        Py_ssize_t before = 0;
        for (int i = 0; i < k; i++)
            before += 2 * plan->ndims[i];
        plan->ndims[k] = ndim;
        plan->dtypes[k] = t->dtype;
        memcpy(plan->geometry + before, PyArray_DIMS(array), bytes);
        memcpy(plan->geometry + before + ndim, PyArray_STRIDES(array), bytes);
        return Py_NewRef(known.Tensor);
    }
    if (!PyTuple_CheckExact(value) && !PyList_CheckExact(value))
        return Py_NewRef(value);
    const Py_ssize_t count = Py_SIZE(value);
    PyObject *copy = PyTuple_CheckExact(value) ? PyTuple_New(count) : PyList_New(count);
    for (Py_ssize_t i = 0; copy != NULL && i < count; i++) {
        PyObject *item = marked(plan, PySequence_Fast_GET_ITEM(value, i));
        if (item == NULL)
            Py_CLEAR(copy);
        else if (PyTuple_CheckExact(copy))
            PyTuple_SET_ITEM(copy, i, item);
        else
            PyList_SET_ITEM(copy, i, item);
    }
    return copy;
}

// A recorder says, as `native`: (node class, edges from, keeping, notes, operand forms, reshaped).
static int read_history(History *history, PyObject *recorder, PyObject *bound)
{
    if (recorder == Py_None)
        return 0;
    history->general = recorder;
    history->bound = bound;
    PyObject *recipe = PyObject_GetAttrString(recorder, "native");
    if (recipe == NULL) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(recipe);  // which the recorder holds
    return PyArg_ParseTuple(recipe, "OO!O!O!Op", &history->node_class, &PyTuple_Type, &history->edges_from, &PyTuple_Type,
                            &history->keeping, &PyTuple_Type, &history->notes, &history->operand_forms, &history->reshaped)
               ? 0 : -1;
}

static int read_numbers(PyObject *tuple, npy_intp *to)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple) && i < MOST_DIMS; i++)
        to[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
    return PyErr_Occurred() ? -1 : (int)PyTuple_GET_SIZE(tuple);
}

static int read_view(Plan *plan, PyObject *data)
{
    PyObject *recorder, *bound, *dims, *strides;
    if (!PyArg_ParseTuple(data, "OOO!O!nOOOO", &plan->step, &plan->apply, &PyTuple_Type, &dims, &PyTuple_Type, &strides,
                          &plan->offset, &plan->dtype, &plan->backend, &recorder, &bound))
        return -1;
    plan->kind = PyTuple_GET_SIZE(dims) <= MOST_DIMS ? VIEW : IN_PYTHON;
    plan->ndim = read_numbers(dims, plan->dims);
    return plan->ndim < 0 || read_numbers(strides, plan->strides) < 0 ? -1 : read_history(&plan->history, recorder, bound);
}

static int read_kernel(Plan *plan, PyObject *data)
{
    PyObject *recorder, *bound;
    if (!PyArg_ParseTuple(data, "OO!O!O!OO!OOO", &plan->kernel, &PyTuple_Type, &plan->template_, &PyTuple_Type,
                          &plan->singles, &PyTuple_Type, &plan->sequences, &plan->dtype, &PyArrayDescr_Type, &plan->descr,
                          &plan->finish, &recorder, &bound))
        return -1;
    plan->kind = PyTuple_GET_SIZE(plan->template_) <= MOST_ARGUMENTS ? KERNEL : IN_PYTHON;
    return read_history(&plan->history, recorder, bound);
}

// remember(function, args, kwargs, plan): let a function know calls of the form of this one again.
PyObject *remember(PyObject *module, PyObject *args)
{
    PyObject *function, *given, *named, *run;
    if (!PyArg_ParseTuple(args, "O!O!O!O", &FunctionType, &function, &PyTuple_Type, &given, &PyDict_Type, &named, &run))
        return NULL;
    Planned *planned = ((Function *)function)->own;
    Plan *plan = PyMem_Calloc(1, sizeof *plan);
    if (plan == NULL)
        return PyErr_NoMemory();
    plan->holders = 1;
    plan->geometry = PyMem_Calloc(2 * MOST_TENSORS * MOST_DIMS, sizeof *plan->geometry);
    plan->ndims = PyMem_Calloc(MOST_TENSORS, sizeof *plan->ndims);
    plan->dtypes = PyMem_Calloc(MOST_TENSORS, sizeof *plan->dtypes);
    PyObject *values = PyDict_Values(named), *last = values == NULL ? NULL : PyList_AsTuple(values);
    PyObject *all = last == NULL ? NULL : PySequence_Concat(given, last), *names = PyDict_Keys(named);
    if (plan->geometry == NULL || plan->ndims == NULL || plan->dtypes == NULL)
        PyErr_NoMemory();
    else if (all != NULL && names != NULL && (plan->values = marked(plan, all)) != NULL)
        plan->names = PyList_AsTuple(names);
    Py_XDECREF(values);
    Py_XDECREF(last);
    Py_XDECREF(all);
    Py_XDECREF(names);
    int failed = plan->names == NULL;
    plan->plan = Py_NewRef(run);
    plan->data = failed ? NULL : PyObject_GetAttrString(run, "native");
    if (!failed && plan->data == NULL)
        PyErr_Clear();
    else if (!failed && PyTuple_CheckExact(plan->data))
        failed = (PyTuple_CheckExact(PyTuple_GET_ITEM(plan->data, 0)) ? read_view : read_kernel)(plan, plan->data) < 0;
    if (failed) {
        release(plan);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    if (planned->plans[FORMS - 1] != NULL)
        release(planned->plans[FORMS - 1]);
    memmove(planned->plans + 1, planned->plans, (FORMS - 1) * sizeof *planned->plans);
    planned->plans[0] = plan;
    Py_RETURN_NONE;
}

PyObject *make_planned(PyObject *module, PyObject *args)
{
    PyObject *general, *held;
    if (!PyArg_ParseTuple(args, "OO!", &general, &PyTuple_Type, &held))
        return NULL;
    return (PyObject *)new_function(call_planned, 0, general, held, sizeof(Planned));
}
