// Tensors of transforms of functions, whose arrays are made of tensors (torchlite/func). What calls on them come to is
// Python's to say: a plan's steps for a `vmap`, twins for a `grad` of plain tensors. Here they are run.
#include "native.h"

enum { MOST_LEVELS = 7, BITS = 8, IS_NESTED = 0, DIMS = 30, IS_DUAL = 31 };

static Level *level_at(PyObject *levels, Py_ssize_t number) { return (Level *)PyTuple_GET_ITEM(levels, number - 1); }

// The thread's state where levels run and nothing else is on, nor were tensors taken over.
State *transforming(void)
{
    State *state = thread_state();
    if (state == NULL || state->levels == NULL || !PyTuple_CheckExact(state->levels) || state->adopted != known.zero)
        return NULL;
    const Py_ssize_t count = PyTuple_GET_SIZE(state->levels);
    Mode *mode = (Mode *)state->mode;
    return count == 0 || count > MOST_LEVELS || mode->beneath == NULL || mode->beneath == Py_None ? NULL : state;
}

// The backend of a level for what is made of a tensor; borrowed, NULL if there is none yet.
static PyObject *backend_over(Level *level, Tensor *main)
{
    PyObject *inner = main->backend == known.guarded ? known.cpu : main->backend;
    return level->backends == NULL ? NULL : PyDict_GetItem(level->backends, inner);
}

// The tensor that a tensor of a level is made of, or a twin of that; NULL: none that C knows.
static Tensor *inside_of(Tensor *t, int *dim)
{
    PyObject *kind = (PyObject *)Py_TYPE(t->array), *main = NULL;
    if (kind == known.Batched) {
        Batched *array = (Batched *)t->array;
        const long at = PyLong_AsLong(array->dim);
        *dim = (int)at + 1;
        main = at >= 0 && at < DIMS ? array->main : NULL;
    } else if (kind == known.Nested) {
        Nested *array = (Nested *)t->array;
        *dim = IS_NESTED;
        main = array->main == Py_None ? array->twin : array->main;
    } else if (kind == known.Dual) {
        *dim = IS_DUAL;
        main = ((Dual *)t->array)->main;
    }
    return main != NULL && PyObject_TypeCheck(main, &TensorParts) ? (Tensor *)main : NULL;
}

Tensor *innermost(Tensor *t, PyObject *levels, uint64_t *lifts)
{
    int shift = 0, before = (int)PyTuple_GET_SIZE(levels) + 1;
    for (*lifts = 0; t->backend != known.cpu && t->backend != known.guarded; shift += BITS) {
        int dim;
        Tensor *main = t->array == NULL ? NULL : inside_of(t, &dim);
        if (main == NULL)
            return NULL;
        do  // levels inside were begun before
            if (--before == 0)
                return NULL;
        while (backend_over(level_at(levels, before), main) != t->backend);
        *lifts |= (uint64_t)(before << 5 | dim) << shift;
        t = main;
    }
    *lifts |= (uint64_t)(t->backend == known.guarded) << 63;
    return t->array == NULL ? NULL : t;
}

// ---- up and down

// A tensor of a level over an array of it, which it takes over, that is made of `main`.
static PyObject *wrapped(Level *level, PyObject *array, Tensor *main)
{
    PyObject *backend = array == NULL ? NULL : backend_over(level, main), *made = NULL;
    if (backend != NULL)
        made = wrap(array, main->dtype);
    else
        Py_XDECREF(array);
    if (made != NULL)
        Py_SETREF(((Tensor *)made)->backend, Py_NewRef(backend));
    return made;
}

PyObject *shape_in(Tensor *t)
{
    return PyArray_CheckExact(t->array) ? shape_of((PyArrayObject *)t->array) : PyObject_GetAttrString(t->array, "shape");
}

static PyObject *batched(Tensor *main)
{
    PyObject *shape = shape_in(main);
    Batched *array = shape == NULL ? NULL : (Batched *)new_of(known.Batched);
    if (array != NULL) {
        array->main = Py_NewRef(main);
        array->dim = Py_NewRef(known.zero);
        array->shape = PyTuple_GetSlice(shape, 1, PyTuple_GET_SIZE(shape));
        if (array->shape == NULL)
            Py_CLEAR(array);
    }
    Py_XDECREF(shape);
    return (PyObject *)array;
}

static PyObject *nested(PyObject *main, PyObject *twin)
{
    Nested *array = (Nested *)new_of(known.Nested);
    if (array == NULL)
        return NULL;
    array->main = Py_NewRef(main);
    array->twin = Py_NewRef(twin);
    array->shape = shape_in((Tensor *)(twin == Py_None ? main : twin));
    if (array->shape == NULL)
        Py_CLEAR(array);
    return (PyObject *)array;
}

// The tensor inside one of a level; NULL: for Python, as a `vmap`'s with a history there is.
static PyObject *taken_inside(Level *level, Tensor *t)
{
    const int batch = (PyObject *)Py_TYPE(level) == known.BatchLevel;
    PyObject *kind = (PyObject *)Py_TYPE(t->array), *main = NULL;
    if (kind == known.Batched)
        main = ((Batched *)t->array)->main;
    else if (kind == known.Nested)
        main = ((Nested *)t->array)->main;
    if (main == NULL || main == Py_None || backend_over(level, (Tensor *)main) != t->backend)
        return (PyObject *)t;
    return batch && !has_no_history(t) ? NULL : main;
}

int go_inside(const Met *met, int top, Met *inside, int grad)
{
    Level *level = level_at(met->levels, top);
    PyObject *kind = (PyObject *)Py_TYPE(level);
    if (kind != known.BatchLevel && (kind != known.NestedLevel || level->always != Py_False ||
                                     (grad && ((Mode *)level->outer)->grad != Py_True)))
        return 0;
    inside->count = 0;
    inside->levels = NULL;
    for (int i = 0; i < met->count; i++) {
        PyObject *main = taken_inside(level, met->tensors[i]);
        if (main == NULL)
            break;
        inside->tensors[inside->count++] = (Tensor *)Py_NewRef(main);
    }
    if (inside->count == met->count)
        return 1;
    while (inside->count > 0)
        Py_DECREF(inside->tensors[--inside->count]);
    return 0;
}

// A tensor of a level, taken over, as a view of `source`, which may be of another dtype, as are parts of complex numbers.
static PyObject *as_view(PyObject *made, Tensor *source, PyObject *step, int grad)
{
    Tensor *t = (Tensor *)made;
    PyObject *view = view_of(source, Py_NewRef(t->array), step, t->edge, grad);
    if (view != NULL) {
        Py_SETREF(((Tensor *)view)->backend, Py_NewRef(t->backend));
        Py_SETREF(((Tensor *)view)->dtype, Py_NewRef(t->dtype));
    }
    Py_DECREF(made);
    return view;
}

// A result, dated if others than its level were begun since.
static PyObject *on_top(PyObject *result, int top)
{
    if (result != NULL && !top)
        Py_SETREF(result, PyObject_CallOneArg(known.dated, result));
    return result;
}

PyObject *above(const Met *met, int top, PyObject *made, PyObject *step, History *history, int grad)
{
    Level *level = level_at(met->levels, top);
    Tensor *main = (Tensor *)made;
    PyObject *result;
    if ((PyObject *)Py_TYPE(made) != known.Tensor || backend_over(level, main) == NULL)
        result = PyObject_CallMethod((PyObject *)level, "above", "O", made);  // which makes the backend
    else
        result = wrapped(level, (PyObject *)Py_TYPE(level) == known.BatchLevel ? batched(main) : nested(made, Py_None), main);
    Py_DECREF(made);
    if (result != NULL && grad && history->general != NULL && record(history, met, result, &result, 1) < 0)
        Py_CLEAR(result);
    if (result != NULL && step != Py_None)
        result = as_view(result, met->tensors[0], step, grad);
    return on_top(result, top == PyTuple_GET_SIZE(met->levels));
}

// ---- twins

enum { MOST_ARGUMENTS = 16 };

// The array of a tensor of a level, if it is a `grad`'s over tensors of the CPU.
static Nested *nested_in(Tensor *t, Level *level)
{
    if ((PyObject *)Py_TYPE(t) != known.Tensor || t->array == NULL || (PyObject *)Py_TYPE(t->array) != known.Nested)
        return NULL;
    return PyDict_GetItem(level->backends, known.cpu) == t->backend ? (Nested *)t->array : NULL;
}

static int is_bare(PyObject *value)
{
    Tensor *t = (Tensor *)value;
    return (PyObject *)Py_TYPE(value) == known.Tensor && (t->backend == known.cpu || t->backend == known.guarded) &&
           t->counter != known.UNVERSIONED && t->edge == Py_None;
}

// What stands for an argument in a call by twins: a new reference; NULL where that is to be looked into.
static PyObject *twin_of(PyObject *value, Level *level, int *own)
{
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
        const Py_ssize_t count = Py_SIZE(value);
        PyObject *made = PyTuple_CheckExact(value) ? PyTuple_New(count) : PyList_New(count);
        for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
            PyObject *item = twin_of(PySequence_Fast_GET_ITEM(value, i), level, own);
            if (item == NULL)
                Py_CLEAR(made);
            else
                PySequence_Fast_ITEMS(made)[i] = item;
        }
        return made;
    }
    if (!PyType_IsSubtype(Py_TYPE(value), &TensorParts) || is_bare(value))
        return Py_NewRef(value);
    Tensor *t = (Tensor *)value;
    Nested *array = nested_in(t, level);
    if (array == NULL || t->edge == NULL || t->counter == NULL)
        return NULL;
    PyObject *edge = PyObject_TypeCheck(t->edge, &TensorParts) ? t->edge : edge_in(t);
    *own = 1;
    if (edge == NULL)
        return NULL;
    if (array->twin != Py_None && (array->twin == edge || ((Tensor *)array->twin)->edge == edge))
        return Py_NewRef(array->twin);
    return edge == Py_None && is_bare(array->main) ? Py_NewRef(array->main) : NULL;
}

static PyObject *call_in(State *state, PyObject *mode, PyObject *f, PyObject *const *args, size_t given, PyObject *kwnames)
{
    PyObject *outer = state->mode;
    state->mode = Py_NewRef(mode);
    PyObject *made = PyObject_Vectorcall(f, args, given, kwnames);
    Py_SETREF(state->mode, outer);
    return made;
}

// The tensor of the level for a result, which is no view, that was found by twins.
static PyObject *above_twin(PyObject *twin, Level *level)
{
    if ((PyObject *)Py_TYPE(twin) != known.Tensor)
        return NULL;
    Tensor *t = (Tensor *)twin;
    const int recorded = PyTuple_CheckExact(t->edge);
    if ((!recorded && t->edge != Py_None) || !PyArray_CheckExact(t->array))
        return NULL;
    PyObject *made = wrapped(level, recorded ? nested(Py_None, twin) : nested(twin, Py_None), t);
    if (made != NULL)
        Py_SETREF(((Tensor *)made)->edge, Py_NewRef(t->edge));
    return made;
}

// The same for a view of the first argument: `inside` is the view of the tensor inside.
static PyObject *above_view(Tensor *source, Tensor *twin, PyObject *inside, Level *level, int grad)
{
    View *view = (View *)twin->edge;
    if ((PyObject *)Py_TYPE(inside) != known.Tensor || backend_over(level, (Tensor *)inside) == NULL ||
        PyTuple_GET_SIZE(view->path) != 1 || !counts_plainly(source))
        return NULL;
    PyObject *step = Py_NewRef(PyTuple_GET_ITEM(view->path, 0));
    Py_SETREF(twin->edge, Py_NewRef(view->edge));  // it is the view of this level that follows its base
    const int recorded = PyTuple_CheckExact(twin->edge);
    PyObject *made = wrapped(level, nested(inside, recorded ? (PyObject *)twin : Py_None), (Tensor *)inside);
    if (made != NULL) {
        Py_SETREF(((Tensor *)made)->edge, Py_NewRef(twin->edge));
        made = as_view(made, source, step, grad);
    }
    Py_DECREF(step);
    return made;
}

// The arguments with the tensors inside in place of those of the level; 0: an error.
static int insides(PyObject **held, PyObject *const *args, Py_ssize_t count, Level *level)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        const int own = PyObject_TypeCheck(args[i], &TensorParts) && nested_in((Tensor *)args[i], level) != NULL;
        PyObject *value = own ? PyObject_GetAttrString(((Tensor *)args[i])->array, "main") : Py_NewRef(args[i]);
        if (value == NULL)
            return 0;
        Py_SETREF(held[i], value);
    }
    return 1;
}

static int is_view(PyObject *made)
{
    return (PyObject *)Py_TYPE(made) == known.Tensor && (PyObject *)Py_TYPE(((Tensor *)made)->edge) == known.View;
}

PyObject *by_twins(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames, State *state)
{
    Level *level = level_at(state->levels, 1);
    const Py_ssize_t given = PyVectorcall_NARGS(nargsf), count = given + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    PyObject *held[MOST_ARGUMENTS], *made = NULL, *result = NULL;
    int own = 0, top = PyTuple_GET_SIZE(state->levels) == 1;
    if ((PyObject *)Py_TYPE(level) != known.NestedLevel || count > MOST_ARGUMENTS || level->always != Py_False ||
        level->backends == NULL)
        return NULL;
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0)
            return NULL;
    Py_ssize_t done = 0;
    for (; done < count; done++)
        if ((held[done] = twin_of(args[done], level, &own)) == NULL)
            break;
    Py_INCREF(level);
    Mode *mode = (Mode *)Py_NewRef(((Mode *)state->mode)->beneath);
    const int grad = mode->grad == Py_True;
    if (done == count && own)
        made = call_in(state, (PyObject *)mode, f, held, given, kwnames);
    if (made != NULL && is_view(made)) {
        const int below = grad && ((Mode *)level->outer)->grad != Py_True;
        PyObject *inside = NULL;
        if (PyObject_TypeCheck(args[0], &TensorParts) && nested_in((Tensor *)args[0], level) != NULL &&
            insides(held, args, count, level))
            inside = call_in(state, below ? known.mode_without_grad : (PyObject *)mode, f, held, given, kwnames);
        if (inside != NULL)
            result = on_top(above_view((Tensor *)args[0], (Tensor *)made, inside, level, grad), top);
        Py_XDECREF(inside);
    } else if (made != NULL && PyTuple_CheckExact(made)) {
        result = PyTuple_New(PyTuple_GET_SIZE(made));
        for (Py_ssize_t i = 0; result != NULL && i < PyTuple_GET_SIZE(made); i++) {
            PyObject *item = on_top(above_twin(PyTuple_GET_ITEM(made, i), level), top);
            if (item == NULL)
                Py_CLEAR(result);
            else
                PyTuple_SET_ITEM(result, i, item);
        }
    } else if (made != NULL) {
        result = on_top(above_twin(made, level), top);
    }
    if (result != NULL)
        Py_SETREF(level->has_twins, Py_NewRef(Py_True));
    while (done > 0)
        Py_DECREF(held[--done]);
    Py_XDECREF(made);
    Py_DECREF(mode);
    Py_DECREF(level);
    return result;
}
