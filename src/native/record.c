// Recording: nodes for the results of calls, by a recipe that Python read off the op's declaration.
#include "native.h"

// What can be said of the edge of an operand without Python. It is `None` where the operand has none, `(node, output)`,
// or the leaf. A view whose memory was written to since, and whatever else is rare, is NULL.
PyObject *edge_in(Tensor *t)
{
    PyObject *edge = t->edge;
    if (edge == Py_None || PyTuple_CheckExact(edge))
        return edge;
    if (edge == known.LEAF)
        return (PyObject *)t;
    if ((PyObject *)Py_TYPE(edge) != known.View)
        return NULL;
    View *view = (View *)edge;
    Tensor *base = (Tensor *)view->base;
    if (!counts_plainly(base))
        return NULL;
    const Py_ssize_t version = base->counter == Py_None ? 0 : ((Counter *)base->counter)->n;
    if (!PyLong_CheckExact(view->seen) || PyLong_AsSsize_t(view->seen) != version) {
        PyErr_Clear();
        return NULL;
    }
    if (view->edge == known.LEAF)
        return (PyObject *)t;
    if (view->edge == Py_None)
        return base->edge == Py_None ? Py_None : NULL;
    return PyTuple_CheckExact(view->edge) ? view->edge : NULL;
}

int counts_plainly(Tensor *t)
{
    PyObject *kind = (PyObject *)Py_TYPE(t->counter);
    return t->counter == Py_None || kind == known.Counter || kind == known.DatedCounter;
}

// Note a write to the memory of a tensor that counts plainly.
int count_write(Tensor *t)
{
    if (t->counter == Py_None) {
        PyObject *counter = new_of(known.Counter);
        if (counter == NULL)
            return -1;
        Py_SETREF(t->counter, counter);
    }
    ((Counter *)t->counter)->n++;
    return 0;
}

int has_history(Tensor *t)
{
    if (LIKELY(t->edge == Py_None))
        return 0;
    return edge_in(t) != Py_None;
}

PyObject *version_pair(Tensor *t)
{
    PyObject *version =
        t->counter == Py_None ? Py_NewRef(known.zero) : PyLong_FromSsize_t(((Counter *)t->counter)->n);
    PyObject *pair = version == NULL ? NULL : PyTuple_New(2);
    if (pair == NULL) {
        Py_XDECREF(version);
        return NULL;
    }
    PyTuple_SET_ITEM(pair, 0, Py_NewRef(t));
    PyTuple_SET_ITEM(pair, 1, version);
    return pair;
}

// Whether the operand behind an edge has the shape that the edge says, as a view reshaped in place has not.
int is_as_recorded(PyObject *edge, Tensor *t)
{
    if (!PyTuple_CheckExact(edge))
        return 1;
    PyObject *forms = ((Node *)PyTuple_GET_ITEM(edge, 0))->output_forms;
    const Py_ssize_t nr = PyLong_AsSsize_t(PyTuple_GET_ITEM(edge, 1));
    PyObject *recorded = PyTuple_GET_ITEM(PyTuple_GET_ITEM(forms, nr), 0);
    if (PyArray_CheckExact(t->array))
        return has_shape((PyArrayObject *)t->array, recorded);
    PyObject *shape = shape_in(t);
    const int same = shape == NULL ? -1 : PyObject_RichCompareBool(shape, recorded, Py_EQ);
    Py_XDECREF(shape);
    if (same < 0)
        PyErr_Clear();
    return same > 0;
}

PyObject *form_of(PyArrayObject *array, PyObject *dtype)
{
    PyObject *shape = shape_of(array), *form = shape == NULL ? NULL : PyTuple_Pack(3, shape, dtype, known.cpu);
    Py_XDECREF(shape);
    return form;
}

// That of the node before where it says the same, so that long chains share one.
PyObject *forms_of(PyObject *edge, PyArrayObject *array, PyObject *dtype)
{
    if (edge != NULL && PyTuple_CheckExact(edge)) {
        PyObject *forms = ((Node *)PyTuple_GET_ITEM(edge, 0))->output_forms;
        PyObject *form = PyTuple_GET_SIZE(forms) == 1 ? PyTuple_GET_ITEM(forms, 0) : NULL;
        if (form != NULL && PyTuple_GET_ITEM(form, 1) == dtype && PyTuple_GET_ITEM(form, 2) == known.cpu &&
            has_shape(array, PyTuple_GET_ITEM(form, 0)))
            return Py_NewRef(forms);
    }
    PyObject *form = form_of(array, dtype), *forms = form == NULL ? NULL : PyTuple_Pack(1, form);
    Py_XDECREF(form);
    return forms;
}

int hang(PyObject *result, Node *node, Py_ssize_t nr)
{
    PyObject *edge = PyTuple_New(2), *number = nr ? PyLong_FromSsize_t(nr) : Py_NewRef(known.zero);
    if (edge == NULL || number == NULL) {
        Py_XDECREF(edge);
        Py_XDECREF(number);
        return -1;
    }
    PyTuple_SET_ITEM(edge, 0, Py_NewRef(node));
    PyTuple_SET_ITEM(edge, 1, number);
    Py_SETREF(((Tensor *)result)->edge, edge);
    return 0;
}

// The end of recording: the node, which it takes over, stands behind its one result, unless something `failed`.
int hung(PyObject *result, Node *node, int failed)
{
    failed = failed || hang(result, node, 0) < 0;
    Py_DECREF(node);
    return failed ? -1 : 0;
}

static int by_python(const Recipe *recipe, PyObject *a, PyObject *b, PyObject *result)
{
    PyObject *done;
    if (b == NULL) {
        done = PyObject_CallFunctionObjArgs(recipe->general, a, result, NULL);
    } else {
        PyObject *source = Py_NewRef(((Tensor *)a)->array);
        PyObject *operand = Py_NewRef(is_number(b) ? b : ((Tensor *)b)->array);
        done = PyObject_CallFunctionObjArgs(recipe->general, a, b, result, source, operand, NULL);
        Py_DECREF(source);
        Py_DECREF(operand);
    }
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

// The entry for a result that its node keeps: an alias without history, or the result itself if it can have none.
PyObject *saved_output(Tensor *result, PyObject *nr)
{
    const int of_level = !PyArray_CheckExact(result->array);
    const int type = of_level ? NPY_FLOAT : PyArray_TYPE((PyArrayObject *)result->array);  // history.c sees to that
    if (PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type))
        return version_pair(result);
    SavedOutput *saved = (SavedOutput *)new_of(known.SavedOutput);
    if (saved == NULL)
        return NULL;
    if (result->counter == Py_None)
        Py_SETREF(result->counter, new_of(known.Counter));
    PyObject *alias = result->counter == NULL ? NULL : wrap(Py_NewRef(result->array), result->dtype);
    if (alias == NULL) {
        if (result->counter == NULL)
            result->counter = Py_NewRef(Py_None);
        Py_DECREF(saved);
        return NULL;
    }
    if (of_level)
        Py_SETREF(((Tensor *)alias)->backend, Py_NewRef(result->backend));
    Py_SETREF(((Tensor *)alias)->counter, Py_NewRef(result->counter));
    saved->tensor = alias;
    saved->version = PyLong_FromSsize_t(((Counter *)result->counter)->n);
    saved->output = Py_NewRef(nr);
    return (PyObject *)saved;
}

static PyObject *saved_number(PyObject *number)
{
    SavedNumber *saved = (SavedNumber *)new_of(known.SavedNumber);
    if (saved != NULL)
        saved->value = Py_NewRef(number);
    return (PyObject *)saved;
}

// A tuple of one or two entries, which it takes over; NULL where one is NULL that was to be made.
static PyObject *entries(int wanted_first, PyObject *first, int wanted_second, PyObject *second)
{
    PyObject *made = NULL;
    if ((first != NULL) == wanted_first && (second != NULL) == wanted_second) {
        made = PyTuple_New(wanted_first + wanted_second);
        if (made != NULL && wanted_first)
            PyTuple_SET_ITEM(made, 0, Py_NewRef(first));
        if (made != NULL && wanted_second)
            PyTuple_SET_ITEM(made, wanted_first, Py_NewRef(second));
    }
    Py_XDECREF(first);
    Py_XDECREF(second);
    return made;
}

int record_unary(const Recipe *recipe, Tensor *a, PyObject *result)
{
    Tensor *r = (Tensor *)result;
    PyObject *edge = edge_in(a);
    if (!recipe->flat || edge == NULL || edge == Py_None || !counts_plainly(a) || a->dtype != r->dtype)
        return by_python(recipe, (PyObject *)a, NULL, result);
    Node *node = new_node(recipe->node_class);
    if (node == NULL)
        return -1;
    node->next_edges = PyTuple_Pack(1, edge);
    node->plain_values = Py_NewRef(known.empty);
    node->operand_forms = Py_NewRef(Py_None);
    node->output_forms = forms_of(edge, (PyArrayObject *)r->array, r->dtype);
    PyObject *kept_input = recipe->keeps_first ? version_pair(a) : NULL;
    PyObject *kept_result = recipe->keeps_result ? saved_output(r, known.zero) : NULL;
    node->saved_entries = entries(recipe->keeps_first, kept_input, recipe->keeps_result, kept_result);
    return hung(result, node, node->next_edges == NULL || node->output_forms == NULL || node->saved_entries == NULL);
}

// The shapes and dtypes to which the gradients of operands of different shapes are fitted.
static PyObject *operand_forms(Tensor *a, Tensor *b)
{
    PyObject *one = shape_of((PyArrayObject *)a->array), *other = shape_of((PyArrayObject *)b->array), *forms = NULL;
    PyObject *first = one == NULL ? NULL : PyTuple_Pack(2, one, a->dtype);
    PyObject *second = other == NULL ? NULL : PyTuple_Pack(2, other, b->dtype);
    if (first != NULL && second != NULL)
        forms = PyTuple_Pack(2, first, second);
    Py_XDECREF(one);
    Py_XDECREF(other);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return forms;
}

int record_binary(const Recipe *recipe, Tensor *a, PyObject *b, PyObject *result)
{
    Tensor *r = (Tensor *)result, *other = is_number(b) ? NULL : (Tensor *)b;
    PyObject *first = edge_in(a), *second = other == NULL ? Py_None : edge_in(other);
    PyArrayObject *x = (PyArrayObject *)a->array, *y = other == NULL ? x : (PyArrayObject *)other->array;
    if (!recipe->flat || first == NULL || second == NULL || (first == Py_None && second == Py_None) ||
        !counts_plainly(a) || (other != NULL && !counts_plainly(other)) || !is_as_recorded(first, a) ||
        (other != NULL && !is_as_recorded(second, other)))
        return by_python(recipe, (PyObject *)a, b, result);
    Node *node = new_node(other == NULL ? recipe->number_class : recipe->node_class);
    if (node == NULL)
        return -1;
    const int alike = same_shape(x, y);
    node->next_edges = PyTuple_Pack(2, first, second);
    node->plain_values = Py_NewRef(recipe->values);
    node->operand_forms = alike ? Py_NewRef(Py_None) : operand_forms(a, other);
    node->output_forms = forms_of(alike ? first : NULL, (PyArrayObject *)r->array, r->dtype);
    PyObject *kept_first = NULL, *kept_second = NULL;
    if (recipe->keeps_second) {
        if (first == Py_None && !recipe->always_second)
            kept_second = Py_NewRef(Py_None);
        else
            kept_second = other == NULL ? saved_number(b) : version_pair(other);
    }
    if (recipe->keeps_first)
        kept_first = second == Py_None && !recipe->always_first ? Py_NewRef(Py_None) : version_pair(a);
    if (recipe->first_leads)
        node->saved_entries = entries(recipe->keeps_first, kept_first, recipe->keeps_second, kept_second);
    else
        node->saved_entries = entries(recipe->keeps_second, kept_second, recipe->keeps_first, kept_first);
    return hung(result, node, node->next_edges == NULL || node->output_forms == NULL || node->operand_forms == NULL ||
                                  node->saved_entries == NULL);
}
