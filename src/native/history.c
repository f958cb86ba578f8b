// The history of calls of one form (form.c), by a recipe that Python worked out once (core/machine/recipe.py).
#include "native.h"

static int record_in_python(const History *history, const Met *met, PyObject *results)
{
    PyObject *tensors = list_of(met);
    PyObject *done =
        tensors == NULL ? NULL : PyObject_CallFunctionObjArgs(history->general, tensors, history->bound, results, NULL);
    Py_XDECREF(tensors);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

// Whether an input is needed for some edges alone, none of which leads anywhere.
static int is_spared(PyObject *only_for, PyObject *edges)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(only_for);
    for (Py_ssize_t i = 0; i < count; i++)
        if (PyTuple_GET_ITEM(edges, PyLong_AsSsize_t(PyTuple_GET_ITEM(only_for, i))) != Py_None)
            return 0;
    return count > 0;
}

// One entry among what a node keeps: (constant, which tensors, which result, the edges without which it is spared).
static PyObject *kept(PyObject *what, const Met *met, PyObject *edges, PyObject *const *results)
{
    PyObject *which = PyTuple_GET_ITEM(what, 1), *nr = PyTuple_GET_ITEM(what, 2), *only_for = PyTuple_GET_ITEM(what, 3);
    if (is_spared(only_for, edges))
        return Py_NewRef(Py_None);
    if (PyLong_CheckExact(which))
        return version_pair(met->tensors[PyLong_AsSsize_t(which)]);
    if (nr != Py_None)
        return saved_output((Tensor *)results[PyLong_AsSsize_t(nr)], nr);
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

static PyObject *entries_of(const History *history, const Met *met, PyObject *edges, PyObject *const *results)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(history->keeping);
    PyObject *entries = PyTuple_New(count);
    for (Py_ssize_t i = 0; entries != NULL && i < count; i++) {
        PyObject *entry = kept(PyTuple_GET_ITEM(history->keeping, i), met, edges, results);
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
        if (edge == NULL || (history->reshaped && t != NULL && !is_as_recorded(edge, t))) {
            Py_CLEAR(edges);
            break;
        }
        *live |= edge != Py_None;
        PyTuple_SET_ITEM(edges, i, Py_NewRef(edge));
    }
    return edges;
}

static PyObject *form_in(Tensor *t)
{
    if (PyArray_CheckExact(t->array))
        return form_of((PyArrayObject *)t->array, t->dtype);
    PyObject *shape = shape_in(t), *form = shape == NULL ? NULL : PyTuple_Pack(3, shape, t->dtype, t->backend);
    Py_XDECREF(shape);
    return form;
}

// The forms of the results that have a history: those of the last call where they are the same.
static PyObject *forms_for(History *history, PyObject *const *results)
{
    int same = history->forms != NULL;
    for (Py_ssize_t i = 0; same && i < history->through; i++)
        same = PyArray_CheckExact(((Tensor *)results[i])->array) &&
               has_shape((PyArrayObject *)((Tensor *)results[i])->array,
                         PyTuple_GET_ITEM(PyTuple_GET_ITEM(history->forms, i), 0));
    if (same)
        return Py_NewRef(history->forms);
    PyObject *forms = PyTuple_New(history->through);
    for (Py_ssize_t i = 0; forms != NULL && i < history->through; i++) {
        PyObject *form = form_in((Tensor *)results[i]);
        if (form == NULL)
            Py_CLEAR(forms);
        else
            PyTuple_SET_ITEM(forms, i, form);
    }
    if (history->through == 0 || PyArray_CheckExact(((Tensor *)results[0])->array))  // a level's would keep that
        Py_XSETREF(history->forms, Py_XNewRef(forms));
    return forms;
}

int record(History *history, const Met *met, PyObject *made, PyObject *const *results, Py_ssize_t count)
{
    int live = 0, plain = history->node_class != NULL && history->through <= count;
    for (int i = 0; i < met->count; i++) {
        live |= met->tensors[i]->edge != Py_None;
        plain = plain && counts_plainly(met->tensors[i]);
    }
    for (Py_ssize_t i = 0; plain && i < history->through; i++)  // of a level, only floats and doubles are known here
        plain = PyArray_CheckExact(((Tensor *)results[i])->array) || slot_of(((Tensor *)results[i])->dtype) == FLOAT32 ||
                slot_of(((Tensor *)results[i])->dtype) == FLOAT64;
    if (!live)
        return 0;
    PyObject *edges = plain ? edges_of(history, met, &live) : NULL;
    if (edges == NULL)
        return PyErr_Occurred() ? -1 : record_in_python(history, met, made);
    Node *node = live ? new_node(history->node_class) : NULL;
    if (node == NULL) {
        Py_DECREF(edges);
        return live ? -1 : 0;
    }
    node->next_edges = edges;
    node->operand_forms = Py_NewRef(history->operand_forms);
    node->plain_values = Py_NewRef(history->notes);
    node->output_forms = forms_for(history, results);
    node->saved_entries = entries_of(history, met, edges, results);
    int failed = node->output_forms == NULL || node->saved_entries == NULL;
    for (Py_ssize_t i = 0; i < history->through && !failed; i++)
        failed = hang(results[i], node, i) < 0;
    Py_DECREF(node);
    return failed ? -1 : 0;
}

// A recorder says, as `native`: (node class, edges from, keeping, notes, operand forms, reshaped, how
// many results have a history).
int read_history(History *history, PyObject *recorder, PyObject *bound)
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
    return PyArg_ParseTuple(recipe, "OO!O!O!Opn", &history->node_class, &PyTuple_Type, &history->edges_from, &PyTuple_Type,
                            &history->keeping, &PyTuple_Type, &history->notes, &history->operand_forms, &history->reshaped,
                            &history->through)
               ? 0 : -1;
}

