// Running plans. A plan (core/machine/plan.py) is what calls of one form come to. Each function that is planned keeps the
// forms it met last, with their plans, and knows them again without making a key (form.c). What it does not know again
// goes to Python, which knows all plans, and hands over those that are met (`remember`).
//
// A plan that says what it consists of, in a tuple, is run here: a view by the geometry that all views of the form have, a
// constant by copying it, any other op by its kernel, a composite by the functions of its ops, one after the other, and an
// op in place by its function and a copy. A plan that does not is called as it is.
#include "plan.h"

void release(Plan *plan)
{
    if (--plan->holders > 0)
        return;
    clear_form(&plan->form);
    Py_XDECREF(plan->plan);
    Py_XDECREF(plan->data);
    Py_XDECREF(plan->defaults);
    Py_XDECREF(plan->history.forms);
    PyMem_Free(plan->pieces);
    PyMem_Free(plan);
}

static Plan *plan_for(Planned *planned, PyObject *const *args, Py_ssize_t given, PyObject *kwnames, Met *met)
{
    for (int i = 0; i < FORMS && planned->plans[i] != NULL; i++) {
        Plan *plan = planned->plans[i];
        if (plan->defaults != known.defaults || (plan->form.top == 0) != (met->levels == NULL) ||
            !is_met(&plan->form, args, given, kwnames, met))
            continue;
        for (; i > 0; i--)
            planned->plans[i] = planned->plans[i - 1];
        return planned->plans[0] = plan;
    }
    return NULL;
}

// ---- views

static PyObject *array_of(const Plan *plan, Tensor *source, Py_ssize_t i)
{
    const Piece *piece = plan->pieces + i;
    return shown((PyArrayObject *)source->array, piece->ndim, piece->dims, piece->strides, piece->offset);
}

// A view of the source, over an array that it takes over.
static PyObject *view_as(const Plan *plan, Tensor *source, PyObject *array, Py_ssize_t i, PyObject *edge, int grad)
{
    PyObject *made = view_of(source, array, plan->step, edge, grad), *backend = plan->pieces[i].backend;
    if (made != NULL && backend != known.cpu)
        Py_SETREF(((Tensor *)made)->backend, Py_NewRef(backend));
    return made;
}

static PyObject *run_view(Plan *plan, const Met *met, Mode *mode)
{
    Tensor *source = met->tensors[0];
    const int grad = mode->grad == Py_True, bare = !grad || has_no_history(source);
    const int records = plan->history.general != NULL && (PyObject *)Py_TYPE(source->edge) != known.View;
    if (!counts_plainly(source) || (!bare && !records))
        return PyObject_CallOneArg(plan->apply, (PyObject *)source);
    PyObject *array = array_of(plan, source, 0);
    PyObject *edge = Py_NewRef(Py_None);
    if (!bare && array != NULL) {
        PyObject *result = wrap(Py_NewRef(array), plan->dtype);
        if (result == NULL || record(&plan->history, met, result, &result, 1) < 0)
            Py_CLEAR(array);
        else
            Py_SETREF(edge, Py_NewRef(((Tensor *)result)->edge));
        Py_XDECREF(result);
    }
    PyObject *made = view_as(plan, source, array, 0, edge, grad);
    Py_DECREF(edge);
    return made;
}

// Several views of a tensor that is none. Where it has a history they are recorded, as tensors, before they become views.
static PyObject *run_views(Plan *plan, const Met *met, Mode *mode)
{
    Tensor *source = met->tensors[0];
    const int grad = mode->grad == Py_True, bare = !grad || source->edge == Py_None;
    if (!counts_plainly(source) || (PyObject *)Py_TYPE(source->edge) == known.View ||
        (!bare && plan->history.general == NULL))
        return PyObject_CallOneArg(plan->apply, (PyObject *)source);
    PyObject *made = PyTuple_New(plan->count), *views = PyTuple_New(plan->count);
    int failed = made == NULL || views == NULL;
    for (Py_ssize_t i = 0; !failed && i < plan->count; i++) {
        PyObject *result = wrap(array_of(plan, source, i), plan->dtype);
        failed = result == NULL;
        PyTuple_SET_ITEM(made, i, result);
    }
    failed = failed || (!bare && record(&plan->history, met, made, PySequence_Fast_ITEMS(made), plan->count) < 0);
    for (Py_ssize_t i = 0; !failed && i < plan->count; i++) {
        Tensor *result = (Tensor *)PyTuple_GET_ITEM(made, i);
        PyObject *view = view_as(plan, source, Py_NewRef(result->array), i, result->edge, grad);
        failed = view == NULL;
        if (!failed && grad)
            Py_SETREF(((View *)((Tensor *)view)->edge)->kind, Py_NewRef(plan->view_kind));
        PyTuple_SET_ITEM(views, i, view);
    }
    Py_XDECREF(made);
    if (failed)
        Py_CLEAR(views);
    return views;
}

// ---- constants

static PyObject *run_constant(Plan *plan)
{
    PyArrayObject *array = (PyArrayObject *)plan->array;
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(array), PyArray_DIMS(array), NULL, NULL, 0, NULL);
    if (made == NULL)
        return NULL;
    memcpy(PyArray_DATA((PyArrayObject *)made), PyArray_DATA(array), PyArray_NBYTES(array));
    return wrap(made, plan->dtype);
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

// Whether an output of the kernel is fresh memory of the dtype expected.
static int is_expected(const Plan *plan, PyObject *output, Py_ssize_t i)
{
    return PyArray_CheckExact(output) && PyArray_BASE((PyArrayObject *)output) == NULL &&
           (PyObject *)PyArray_DESCR((PyArrayObject *)output) == PyTuple_GET_ITEM(plan->descrs, i);
}

// Tensors of the kernel's outputs, which it takes over: one, or a tuple.
static PyObject *wrapped(const Plan *plan, PyObject *outputs)
{
    PyObject *one[] = {outputs}, **items = one, *made = NULL;
    const Py_ssize_t count = PyTuple_GET_SIZE(plan->dtypes);
    int fine = !plan->several || ((PyTuple_CheckExact(outputs) || PyList_CheckExact(outputs)) && Py_SIZE(outputs) == count);
    if (fine && plan->several)
        items = PySequence_Fast_ITEMS(outputs);
    for (Py_ssize_t i = 0; fine && i < count; i++)
        fine = is_expected(plan, items[i], i);
    if (!fine) {
        made = PyObject_CallOneArg(plan->wrap, outputs);
    } else if (!plan->several) {
        made = wrap(Py_NewRef(outputs), PyTuple_GET_ITEM(plan->dtypes, 0));
    } else {
        made = PyTuple_New(count);
        for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
            PyObject *result = wrap(Py_NewRef(items[i]), PyTuple_GET_ITEM(plan->dtypes, i));
            if (result == NULL)
                Py_CLEAR(made);
            else
                PyTuple_SET_ITEM(made, i, result);
        }
    }
    Py_DECREF(outputs);
    return made;
}

// What a check says, or what is made of results at last: `call(tensors)`, `call(results, tensors)`.
static PyObject *called_with(PyObject *call, PyObject *results, const Met *met)
{
    PyObject *tensors = list_of(met);
    if (tensors == NULL)
        return NULL;
    PyObject *const given[] = {results, tensors};
    PyObject *made = PyObject_Vectorcall(call, results == NULL ? given + 1 : given, results == NULL ? 1 : 2, NULL);
    Py_DECREF(tensors);
    return made;
}

static PyObject *run_kernel(Plan *plan, const Met *met, Mode *mode, State *state)
{
    if (plan->check != Py_None) {
        PyObject *said = called_with(plan->check, NULL, met);
        if (said == NULL)
            return NULL;
        Py_DECREF(said);
    }
    PyObject *outputs = compute(plan, met, state), *results = outputs == NULL ? NULL : wrapped(plan, outputs);
    if (results != NULL && plan->history.general != NULL && mode->grad == Py_True) {
        PyObject **items = plan->several ? PySequence_Fast_ITEMS(results) : &results;
        if (record(&plan->history, met, results, items, PyTuple_GET_SIZE(plan->dtypes)) < 0)
            Py_CLEAR(results);
    }
    if (results != NULL && plan->after != Py_None)
        Py_SETREF(results, called_with(plan->after, results, met));
    return results;
}

// ---- steps: (function, arguments, ((place, number of a tensor or an earlier result, or of several), …), which result if
// several)

static PyObject *run_step(PyObject *step, PyObject *const *there)
{
    PyObject *template_ = PyTuple_GET_ITEM(step, 1), *places = PyTuple_GET_ITEM(step, 2), *given[MOST_ARGUMENTS];
    const Py_ssize_t count = PyTuple_GET_SIZE(template_);
    for (Py_ssize_t i = 0; i < count; i++)
        given[i] = PyTuple_GET_ITEM(template_, i);
    PyObject *several[MOST_ARGUMENTS], *made = NULL;
    Py_ssize_t made_here = 0;
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(places); i++) {
        PyObject *pair = PyTuple_GET_ITEM(places, i), *number = PyTuple_GET_ITEM(pair, 1);
        PyObject **to = &given[PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0))];
        if (!PyTuple_CheckExact(number)) {
            *to = there[PyLong_AsSsize_t(number)];
            continue;
        }
        failed = (*to = PyTuple_New(PyTuple_GET_SIZE(number))) == NULL;
        for (Py_ssize_t k = 0; !failed && k < PyTuple_GET_SIZE(number); k++)
            PyTuple_SET_ITEM(*to, k, Py_NewRef(there[PyLong_AsSsize_t(PyTuple_GET_ITEM(number, k))]));
        several[made_here] = *to;
        made_here += !failed;
    }
    if (!failed)
        made = PyObject_Vectorcall(PyTuple_GET_ITEM(step, 0), given, count, NULL);
    while (made_here > 0)
        Py_DECREF(several[--made_here]);
    if (made != NULL && PyTuple_GET_SIZE(step) > 3)
        Py_SETREF(made, PySequence_GetItem(made, PyLong_AsSsize_t(PyTuple_GET_ITEM(step, 3))));
    return made;
}

static PyObject *run_steps(Plan *plan, const Met *met)
{
    PyObject *there[MOST_TENSORS + MOST_ARGUMENTS];
    const Py_ssize_t count = PyTuple_GET_SIZE(plan->steps);
    for (int i = 0; i < met->count; i++)
        there[i] = (PyObject *)met->tensors[i];
    Py_ssize_t done = 0;
    for (; done < count; done++)
        if ((there[met->count + done] = run_step(PyTuple_GET_ITEM(plan->steps, done), there)) == NULL)
            break;
    for (Py_ssize_t i = 0; i < done - (done == count); i++)
        Py_DECREF(there[met->count + i]);
    return done == count ? there[met->count + count - 1] : NULL;
}

// The steps on the tensors inside, and the result as a tensor of the level; NULL, without an error: not for C.
static PyObject *run_on_levels(Plan *plan, const Met *met, State *state)
{
    Met inside;
    const int top = plan->form.top;
    PyObject *outer = state->mode;
    const int grad = ((Mode *)outer)->grad == Py_True;
    if (plan->kind != STEPS || !go_inside(met, top, &inside, grad))
        return NULL;
    plan->holders++;
    state->mode = Py_NewRef(top == 1 ? ((Mode *)outer)->beneath : outer);  // what is inside are tensors of a device
    PyObject *made = run_steps(plan, &inside);
    Py_SETREF(state->mode, outer);
    PyObject *result = made == NULL ? NULL : above(met, top, made, plan->viewed, &plan->history, grad);
    for (int i = 0; i < inside.count; i++)
        Py_DECREF(inside.tensors[i]);
    release(plan);
    return result;
}

// A call while transforms of functions run. What goes wrong is for the function in Python to say.
static PyObject *call_on_levels(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    State *state = transforming();
    Met met;
    Plan *plan;
    if (state == NULL)
        return decline(f, args, nargsf, kwnames);
    met.levels = Py_NewRef(state->levels);
    PyObject *result = by_twins(f, args, nargsf, kwnames, state);
    if (result == NULL && !PyErr_Occurred() &&
        (plan = plan_for(((Function *)f)->own, args, PyVectorcall_NARGS(nargsf), kwnames, &met)) != NULL)
        result = run_on_levels(plan, &met, state);
    Py_DECREF(met.levels);
    if (result != NULL || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)))
        return result;
    PyErr_Clear();
    return decline(f, args, nargsf, kwnames);
}

PyObject *call_planned(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Planned *planned = ((Function *)f)->own;
    Mode *mode = plain_mode();
    Met met;
    if (mode == NULL)
        return (planned->in_place || planned->plainly ? decline : call_on_levels)(f, args, nargsf, kwnames);
    met.levels = NULL;
    Plan *plan = plan_for(planned, args, PyVectorcall_NARGS(nargsf), kwnames, &met);
    if (plan == NULL)
        return decline(f, args, nargsf, kwnames);
    State *state = thread_state();
    PyObject *result;
    if ((plan->kind == CONSTANT || met.count == 0) && state->default_device != Py_None)
        return decline(f, args, nargsf, kwnames);
    if (plan->kind == CONSTANT) {
        if ((result = run_constant(plan)) == NULL) {
            PyErr_Clear();
            return decline(f, args, nargsf, kwnames);
        }
        return result;
    }
    plan->holders++;
    for (int i = 0; i < met.count; i++)
        Py_INCREF(met.tensors[i]);
    Py_INCREF(mode);
    const int writes = planned->in_place && plan->kind != IN_PYTHON;
    const int kind = writes && !may_write(&met, mode) ? IN_PYTHON : plan->kind;
    if (kind == VIEW) {
        result = run_view(plan, &met, mode);
    } else if (kind == VIEWS) {
        result = run_views(plan, &met, mode);
    } else if (kind == KERNEL) {
        result = run_kernel(plan, &met, mode, state);
    } else if (kind == STEPS) {
        result = run_steps(plan, &met);
    } else {
        PyObject *tensors = list_of(&met);
        PyObject *const given[] = {(PyObject *)state, (PyObject *)mode, tensors};
        result = tensors == NULL ? NULL : PyObject_Vectorcall(plan->plan, given, 3, NULL);
        Py_XDECREF(tensors);
    }
    if (writes && kind != IN_PYTHON)
        result = put_result(met.tensors[0], result);
    for (int i = 0; i < met.count; i++)
        Py_DECREF(met.tensors[i]);
    Py_DECREF(mode);
    release(plan);
    return result;
}
