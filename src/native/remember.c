// What Python hands over of plans: see core/machine/plan.py.
#include "plan.h"

static int read_numbers(PyObject *tuple, npy_intp *to)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple) && i < MOST_DIMS; i++)
        to[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
    return PyErr_Occurred() ? -1 : (int)PyTuple_GET_SIZE(tuple);
}

static int read_piece(Plan *plan, Py_ssize_t i, PyObject *dims, PyObject *strides, PyObject *backend)
{
    Piece *piece = plan->pieces + i;
    piece->ndim = read_numbers(dims, piece->dims);
    piece->backend = backend;
    if (PyTuple_GET_SIZE(dims) > MOST_DIMS)
        plan->kind = IN_PYTHON;
    return piece->ndim < 0 || read_numbers(strides, piece->strides) < 0 ? -1 : 0;
}

static int make_pieces(Plan *plan, int kind, Py_ssize_t count)
{
    plan->kind = kind;
    plan->count = count;
    if ((plan->pieces = PyMem_Calloc(count ? count : 1, sizeof(Piece))) != NULL)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static int read_view(Plan *plan, PyObject *data)
{
    PyObject *recorder, *bound, *dims, *strides, *backend;
    if (make_pieces(plan, VIEW, 1) < 0 ||
        !PyArg_ParseTuple(data, "OOO!O!nOOOO", &plan->step, &plan->apply, &PyTuple_Type, &dims, &PyTuple_Type, &strides,
                          &plan->pieces->offset, &plan->dtype, &backend, &recorder, &bound) ||
        read_piece(plan, 0, dims, strides, backend) < 0)
        return -1;
    return read_history(&plan->history, recorder, bound);
}

static int read_views(Plan *plan, PyObject *data)
{
    PyObject *recorder, *bound, *pieces, *dims, *strides, *backend;
    if (!PyArg_ParseTuple(data, "OOOO!OOO", &plan->step, &plan->apply, &plan->view_kind, &PyTuple_Type, &pieces,
                          &plan->dtype, &recorder, &bound) ||
        make_pieces(plan, VIEWS, PyTuple_GET_SIZE(pieces)) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < plan->count; i++)
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(pieces, i), "O!O!nO", &PyTuple_Type, &dims, &PyTuple_Type, &strides,
                              &plan->pieces[i].offset, &backend) ||
            read_piece(plan, i, dims, strides, backend) < 0)
            return -1;
    return read_history(&plan->history, recorder, bound);
}

static int read_constant(Plan *plan, PyObject *data)
{
    plan->kind = CONSTANT;
    return PyArg_ParseTuple(data, "O!O", &PyArray_Type, &plan->array, &plan->dtype) ? 0 : -1;
}

static int read_kernel(Plan *plan, PyObject *data)
{
    PyObject *recorder, *bound;
    if (!PyArg_ParseTuple(data, "OO!O!O!pO!O!OOOOO", &plan->kernel, &PyTuple_Type, &plan->template_, &PyTuple_Type,
                          &plan->singles, &PyTuple_Type, &plan->sequences, &plan->several, &PyTuple_Type, &plan->dtypes,
                          &PyTuple_Type, &plan->descrs, &plan->wrap, &recorder, &bound, &plan->check, &plan->after))
        return -1;
    plan->kind = PyTuple_GET_SIZE(plan->template_) <= MOST_ARGUMENTS ? KERNEL : IN_PYTHON;
    return read_history(&plan->history, recorder, bound);
}

static int read_steps(Plan *plan, PyObject *data)
{
    int tensors;
    PyObject *recorder = Py_None, *bound = Py_None;
    plan->viewed = Py_None;
    if (!PyArg_ParseTuple(data, "O!i|OOO", &PyTuple_Type, &plan->steps, &tensors, &plan->viewed, &recorder, &bound) ||
        read_history(&plan->history, recorder, bound) < 0)
        return -1;
    const Py_ssize_t count = PyTuple_GET_SIZE(plan->steps);
    plan->kind = tensors == plan->form.count && count > 0 && count <= MOST_ARGUMENTS ? STEPS : IN_PYTHON;
    for (Py_ssize_t i = 0; i < count; i++)
        if (PyTuple_GET_SIZE(PyTuple_GET_ITEM(PyTuple_GET_ITEM(plan->steps, i), 1)) > MOST_ARGUMENTS)
            plan->kind = IN_PYTHON;
    return 0;
}

static int read_data(Plan *plan)
{
    if (!PyTuple_CheckExact(plan->data))
        return 0;
    if (plan->form.top != 0)
        return read_steps(plan, plan->data);
    if (PyTuple_GET_SIZE(plan->data) == 2)
        return (PyArray_CheckExact(PyTuple_GET_ITEM(plan->data, 0)) ? read_constant : read_steps)(plan, plan->data);
    if (PyTuple_CheckExact(PyTuple_GET_ITEM(plan->data, 0)))
        return (PyTuple_GET_SIZE(plan->data) == 7 ? read_views : read_view)(plan, plan->data);
    return read_kernel(plan, plan->data);
}

// remember(function, args, kwargs, plan, data): let a function know calls of the form of this one again.
PyObject *remember(PyObject *module, PyObject *args)
{
    PyObject *function, *given, *named, *run, *data;
    if (!PyArg_ParseTuple(args, "O!O!O!OO", &FunctionType, &function, &PyTuple_Type, &given, &PyDict_Type, &named, &run, &data))
        return NULL;
    Planned *planned = ((Function *)function)->own;
    Plan *plan = PyMem_Calloc(1, sizeof *plan);
    if (plan == NULL)
        return PyErr_NoMemory();
    plan->holders = 1;
    plan->plan = Py_NewRef(run);
    plan->data = Py_NewRef(data);
    plan->defaults = Py_XNewRef(known.defaults);
    State *state = plain_mode() == NULL ? transforming() : NULL;
    const int taken = take_form(&plan->form, given, named, state == NULL ? NULL : state->levels);
    if (taken < 0 || read_data(plan) < 0) {
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
    Function *f = new_function(call_planned, 0, general, held, sizeof(Planned));
    Planned *planned = f == NULL ? NULL : f->own;
    if (f != NULL && !PyArg_ParseTuple(held, "|pp", &planned->in_place, &planned->plainly))
        Py_CLEAR(f);
    return (PyObject *)f;
}
