// Views: tensors that show memory of another one, and indexing by integers and slices.
#include "native.h"

// A tensor that shows memory of another one; it takes the array over. `edge` is its own history, None for none.
PyObject *view_of(Tensor *source, PyObject *array, PyObject *step, PyObject *edge, int grad)
{
    Tensor *result = array == NULL ? NULL : (Tensor *)wrap(array, source->dtype);
    View *view = result == NULL ? NULL : (View *)new_of(known.View);
    if (view == NULL) {
        Py_XDECREF(result);
        return NULL;
    }
    Py_SETREF(result->edge, (PyObject *)view);
    if (source->counter == Py_None) {
        PyObject *counter = new_of(known.Counter);
        if (counter == NULL)
            goto failed;
        Py_SETREF(source->counter, counter);
    }
    Py_SETREF(result->counter, Py_NewRef(source->counter));
    view->edge = Py_NewRef(edge);
    if ((PyObject *)Py_TYPE(source->edge) == known.View) {
        View *parent = (View *)source->edge;
        const Py_ssize_t count = PyTuple_GET_SIZE(parent->path);
        view->base = Py_NewRef(parent->base);
        view->kind = Py_NewRef(grad || parent->kind == known.INFERENCE ? parent->kind : known.NO_GRAD);
        view->path = PyTuple_New(count + 1);
        for (Py_ssize_t i = 0; view->path != NULL && i <= count; i++)
            PyTuple_SET_ITEM(view->path, i, Py_NewRef(i < count ? PyTuple_GET_ITEM(parent->path, i) : step));
    } else {
        view->base = Py_NewRef(source);
        view->kind = Py_NewRef(grad ? known.ORDINARY : known.NO_GRAD);
        view->path = PyTuple_Pack(1, step);
    }
    view->seen = PyLong_FromSsize_t(((Counter *)source->counter)->n);
    if (view->path != NULL && view->seen != NULL)
        return (PyObject *)result;
failed:
    Py_DECREF(result);
    return NULL;
}

// An array over memory of another one.
PyObject *shown(PyArrayObject *array, int ndim, const npy_intp *dims, const npy_intp *strides, npy_intp offset)
{
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    PyObject *made = PyArray_NewFromDescr(
        &PyArray_Type, descr, ndim, (npy_intp *)dims, (npy_intp *)strides, PyArray_BYTES(array) + offset,
        PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
    if (made != NULL && PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef(array)) < 0)
        Py_CLEAR(made);
    return made;
}

// Whether a tensor that has an edge has no history all the same: a view of one that has none.
int has_no_history(Tensor *t)
{
    if (t->edge == Py_None)
        return 1;
    if ((PyObject *)Py_TYPE(t->edge) != known.View)
        return 0;
    View *view = (View *)t->edge;
    return view->edge == Py_None && ((Tensor *)view->base)->edge == Py_None;
}

// ---- indexing

// The ops in the paths of views, and a slice's last stop; of `select` and `slice`, the class of their nodes and what these
// note: arguments of the op after the tensor, by their places, and -1 for the tensor's shape. And the op that picks.
typedef struct { PyObject *select, *slice, *basic, *end, *select_node, *select_notes, *slice_node, *slice_notes, *pick; } Steps;
typedef struct { npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS], offset; int ndim, from, widened; } Geometry;

static int is_whole(PyObject *value) { return value == Py_None || PyLong_CheckExact(value); }

// What an index takes of the array's dimension `from`, and goes on to the next; None puts one of size one before it. 0: not
// for C.
static int take(PyArrayObject *array, PyObject *item, Geometry *g)
{
    const int left = g->from < PyArray_NDIM(array);
    const npy_intp size = left ? PyArray_DIM(array, g->from) : 1;
    const npy_intp stride = left ? PyArray_STRIDE(array, g->from) : PyArray_ITEMSIZE(array);
    if (item == Py_None && g->ndim < NPY_MAXDIMS - PyArray_NDIM(array)) {
        g->dims[g->ndim] = 1;
        g->strides[g->ndim++] = size * stride;
        return g->widened = 1;
    }
    if (!left)
        return 0;
    if (PyLong_CheckExact(item)) {
        Py_ssize_t at = PyLong_AsSsize_t(item);
        if (at == -1 && PyErr_Occurred())
            PyErr_Clear();
        else if (at >= -size && at < size) {
            g->offset += (at < 0 ? at + size : at) * stride;
            g->from++;
            return 1;
        }
        return 0;
    }
    PySliceObject *slice = (PySliceObject *)item;
    if (!PySlice_Check(item) || !is_whole(slice->start) || !is_whole(slice->stop) || !is_whole(slice->step))
        return 0;
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(item, &start, &stop, &step) < 0) {
        PyErr_Clear();
        return 0;
    }
    if (step < 1)
        return 0;
    g->dims[g->ndim] = PySlice_AdjustIndices(size, &start, &stop, step);
    g->strides[g->ndim++] = stride * step;
    g->offset += start * stride;
    g->from++;
    return 1;
}

static int take_whole(PyArrayObject *array, int until, Geometry *g)
{
    for (; g->from < until; g->from++) {
        g->dims[g->ndim] = PyArray_DIM(array, g->from);
        g->strides[g->ndim++] = PyArray_STRIDE(array, g->from);
    }
    return 1;
}

static int take_several(PyArrayObject *array, PyObject *items, Geometry *g)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(items);
    int gaps = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        int rest = PyArray_NDIM(array);
        for (Py_ssize_t k = i + 1; item == Py_Ellipsis && k < count; k++)
            rest -= PyTuple_GET_ITEM(items, k) != Py_None;
        if (item == Py_Ellipsis ? gaps++ || rest < g->from || !take_whole(array, rest, g) : !take(array, item, g))
            return 0;
    }
    return count > 0;
}

// The step in the path of a view: what was called, and how.
static PyObject *step_for(const Steps *steps, PyObject *index)
{
    if (PyLong_CheckExact(index))
        return Py_BuildValue("O(OO)", steps->select, known.zero, index);
    if (PyTuple_CheckExact(index) || index == Py_None)
        return Py_BuildValue("O(O)", steps->basic, index);
    PySliceObject *slice = (PySliceObject *)index;
    return Py_BuildValue("O(OOOO)", steps->slice, known.zero, slice->start == Py_None ? known.zero : slice->start,
                         slice->stop == Py_None ? steps->end : slice->stop, known.one);
}

// The history of a view of a tensor with history; `step` is how it is made.
static PyObject *recorded_step(Tensor *t, PyArrayObject *made, PyObject *step, PyObject *node_class, PyObject *notes)
{
    PyObject *shape = shape_of((PyArrayObject *)t->array), *arguments = PyTuple_GET_ITEM(step, 1);
    Node *node = shape == NULL ? NULL : new_node(node_class);
    if (node == NULL) {
        Py_XDECREF(shape);
        return NULL;
    }
    node->plain_values = PyTuple_New(PyTuple_GET_SIZE(notes));
    for (Py_ssize_t i = 0; node->plain_values != NULL && i < PyTuple_GET_SIZE(notes); i++) {
        const Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(notes, i));
        PyTuple_SET_ITEM(node->plain_values, i, Py_NewRef(at < 0 ? shape : PyTuple_GET_ITEM(arguments, at)));
    }
    Py_DECREF(shape);
    node->next_edges = PyTuple_Pack(1, edge_in(t));
    node->saved_entries = Py_NewRef(known.empty);
    node->operand_forms = Py_NewRef(Py_None);
    node->output_forms = forms_of(NULL, made, t->dtype);
    PyObject *edge = NULL;
    if (node->plain_values != NULL && node->next_edges != NULL && node->output_forms != NULL)
        edge = PyTuple_Pack(2, (PyObject *)node, known.zero);
    Py_DECREF(node);
    return edge;
}

// What a tensor of whole numbers, or a mask, picks from the first dimensions of a tensor; NULL, without an error, where
// that is to be looked into.
static PyObject *picked(const Steps *steps, Tensor *t, PyObject *index)
{
    Tensor *at = (Tensor *)index;
    if ((PyObject *)Py_TYPE(t) != known.Tensor || at->backend != known.cpu || !PyArray_CheckExact(at->array) ||
        (at->dtype != known.int64 && at->dtype != known.bool_))
        return NULL;
    const int ndim = PyArray_NDIM((PyArrayObject *)at->array);
    if (ndim == 0 || ndim > PyArray_NDIM((PyArrayObject *)t->array))
        return NULL;
    PyObject *list = PyList_New(1);
    if (list == NULL)
        return NULL;
    PyList_SET_ITEM(list, 0, Py_NewRef(index));
    PyObject *const given[] = {(PyObject *)t, list};
    PyObject *made = PyObject_Vectorcall(steps->pick, given, 2, NULL);
    Py_DECREF(list);
    return made;
}

static PyObject *call_index(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Mode *mode;
    Tensor *t;
    Geometry g = {.offset = 0, .ndim = 0, .from = 0, .widened = 0};
    if (kwnames != NULL || PyVectorcall_NARGS(nargsf) != 2 || (mode = plain_mode()) == NULL ||
        !PyObject_TypeCheck(args[0], &TensorParts))
        return decline(f, args, nargsf, kwnames);
    t = (Tensor *)args[0];
    PyObject *index = args[1];
    const int several = PyTuple_CheckExact(index), grad = mode->grad == Py_True;
    if (t->backend != known.cpu || t->array == NULL || !PyArray_CheckExact(t->array) || !counts_plainly(t))
        return decline(f, args, nargsf, kwnames);
    const Steps *steps = ((Function *)f)->own;
    if ((PyObject *)Py_TYPE(index) == known.Tensor) {
        PyObject *made = picked(steps, t, index);
        return made != NULL || PyErr_Occurred() ? made : decline(f, args, nargsf, kwnames);
    }
    const int records = grad && !has_no_history(t);
    if (records && (several || index == Py_None || (t->edge != known.LEAF && !PyTuple_CheckExact(t->edge)) ||
                    slot_of(t->dtype) > FLOAT64))
        return decline(f, args, nargsf, kwnames);
    PyArrayObject *array = (PyArrayObject *)t->array;
    const int stepped = PySlice_Check(index) && ((PySliceObject *)index)->step != Py_None;
    if (stepped || !(several ? take_several(array, index, &g) : take(array, index, &g)) ||
        !take_whole(array, PyArray_NDIM(array), &g) || PyArray_MultiplyList(g.dims, g.ndim) == 0)
        return decline(f, args, nargsf, kwnames);
    PyObject *made = shown(array, g.ndim, g.dims, g.strides, g.offset);
    if (made != NULL && g.widened && !(is_plain(made) && lies_well((PyArrayObject *)made))) {
        Py_DECREF(made);  // a tensor that is guarded
        return decline(f, args, nargsf, kwnames);
    }
    PyObject *step = made == NULL ? NULL : step_for(steps, index), *edge = Py_NewRef(Py_None);
    if (step == NULL)
        Py_CLEAR(made);
    if (made != NULL && records) {
        const int one = PyLong_CheckExact(index);
        Py_SETREF(edge, recorded_step(t, (PyArrayObject *)made, step, one ? steps->select_node : steps->slice_node,
                                      one ? steps->select_notes : steps->slice_notes));
        if (edge == NULL)
            Py_CLEAR(made);
    }
    PyObject *result = made == NULL ? NULL : view_of(t, made, step, edge, grad);
    Py_XDECREF(step);
    Py_XDECREF(edge);
    return result;
}

PyObject *make_index(PyObject *module, PyObject *args)
{
    PyObject *general, *held;
    if (!PyArg_ParseTuple(args, "OO!", &general, &PyTuple_Type, &held))
        return NULL;
    Function *f = new_function(call_index, 0, general, held, sizeof(Steps));
    if (f == NULL)
        return NULL;
    Steps *steps = f->own;
    if (!PyArg_ParseTuple(held, "OOOOOO!OO!O", &steps->select, &steps->slice, &steps->basic, &steps->end, &steps->select_node,
                          &PyTuple_Type, &steps->select_notes, &steps->slice_node, &PyTuple_Type, &steps->slice_notes,
                          &steps->pick))
        Py_CLEAR(f);
    return (PyObject *)f;
}
