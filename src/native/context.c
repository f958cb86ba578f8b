// Contexts that swap the thread's mode: entering them, and leaving them whatever happens. torchlite/core/state/context.py
// has the general ways, and says what must hold.
//
// The list of contexts entered (`State.entered`) has `(context, those below, mode outside, mode inside)` for a switch.
#include "native.h"
#include <structmember.h>

// Leave a switch that was entered last, and inside of which no other mode was set. 0: it is for Python to do.
static int leave_switch(State *state, PyObject *context)
{
    PyObject *entry = state->entered, *inside = state->mode;
    if (entry == NULL || !PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 4 ||
        PyTuple_GET_ITEM(entry, 0) != context || PyTuple_GET_ITEM(entry, 3) != inside)
        return 0;
    state->mode = Py_NewRef(PyTuple_GET_ITEM(entry, 2));
    state->entered = Py_NewRef(PyTuple_GET_ITEM(entry, 1));
    Py_DECREF(entry);
    Py_DECREF(inside);
    return 1;
}

// ---- making: `making(new)`, of a switch without arguments

static PyObject *call_new(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (kwnames != NULL || PyVectorcall_NARGS(nargsf) != 1 || !PyType_Check(args[0]))
        return decline(f, args, nargsf, kwnames);
    PyTypeObject *type = (PyTypeObject *)args[0];
    return PyType_HasFeature(type, Py_TPFLAGS_IS_ABSTRACT) ? decline(f, args, nargsf, kwnames) : type->tp_alloc(type, 0);
}

PyObject *make_making(PyObject *module, PyObject *general)
{
    return (PyObject *)new_function(call_new, 0, general, NULL, 0);
}

// ---- entering: `entering(enter, (class, mode inside of a plain mode))`

typedef struct { PyObject *cls, *inside; } Entering;  // borrowed

static PyObject *call_enter(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const Entering *own = ((Function *)f)->own;
    State *state = thread_state();
    if (kwnames != NULL || PyVectorcall_NARGS(nargsf) != 1 || (PyObject *)Py_TYPE(args[0]) != own->cls ||
        state == NULL || ((Mode *)state->mode)->plain != Py_True)
        return decline(f, args, nargsf, kwnames);
    PyObject *entry = PyTuple_Pack(4, args[0], state->entered, state->mode, own->inside);
    if (entry == NULL)
        return NULL;
    PyObject *below = state->entered, *outside = state->mode;
    state->entered = entry;
    state->mode = Py_NewRef(own->inside);
    Py_DECREF(below);
    Py_DECREF(outside);
    Py_RETURN_NONE;
}

PyObject *make_entering(PyObject *module, PyObject *args)
{
    PyObject *general, *held, *cls, *inside;
    if (!PyArg_ParseTuple(args, "OO!", &general, &PyTuple_Type, &held) || !PyArg_ParseTuple(held, "OO", &cls, &inside))
        return NULL;
    Function *f = new_function(call_enter, 0, general, held, sizeof(Entering));
    if (f != NULL)
        *(Entering *)f->own = (Entering){cls, inside};
    return (PyObject *)f;
}

// ---- the `__exit__` of a context as a `with` holds it

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *leave, *context, *below;  // the function in Python, its argument, the contexts entered before
    State *state;
} Held;

static PyObject *call_held(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Held *held = (Held *)self;
    State *state = thread_state();
    if (held->leave == known.leave_switch && state != NULL && leave_switch(state, held->context))
        Py_RETURN_NONE;
    PyObject *leave = PyMethod_New(held->leave, held->context);
    PyObject *done = leave == NULL ? NULL : PyObject_Vectorcall(leave, args, nargsf, kwnames);
    Py_XDECREF(leave);
    return done;
}

// The `with` lets go of the context: it is left now, if that has come to nothing or was never asked.
static void held_finalize(PyObject *self)
{
    Held *held = (Held *)self;
    if (held->state->entered == held->below || held->state != thread_state() || known.let_go == NULL)
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *done =
        PyObject_CallFunctionObjArgs(known.let_go, held->leave, held->context, held->state, held->below, NULL);
    if (done == NULL)
        PyErr_WriteUnraisable(held->leave);
    Py_XDECREF(done);
    PyErr_Restore(type, value, traceback);
}

static int held_traverse(Held *held, visitproc visit, void *arg)
{
    Py_VISIT(held->leave);
    Py_VISIT(held->context);
    Py_VISIT(held->below);
    Py_VISIT(held->state);
    return 0;
}

static void held_dealloc(PyObject *self)
{
    Held *held = (Held *)self;
    if (held->state->entered != held->below && PyObject_CallFinalizerFromDealloc(self) < 0)
        return;
    PyObject_GC_UnTrack(self);
    Py_DECREF(held->leave);
    Py_DECREF(held->context);
    Py_DECREF(held->below);
    Py_DECREF(held->state);
    PyObject_GC_Del(self);
}

static PyTypeObject HeldType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "torchlite.core._native.Held",
    .tp_basicsize = sizeof(Held),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Held, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_traverse = (traverseproc)held_traverse,
    .tp_dealloc = held_dealloc,
    .tp_finalize = held_finalize,
};

static PyObject *hold(PyObject *leave, PyObject *context, State *state)
{
    Held *held = PyObject_GC_New(Held, &HeldType);
    if (held == NULL)
        return NULL;
    held->vectorcall = call_held;
    held->leave = Py_NewRef(leave);
    held->context = Py_NewRef(context);
    held->below = Py_NewRef(state->entered);
    held->state = (State *)Py_NewRef(state);
    PyObject_GC_Track(held);
    return (PyObject *)held;
}

// ---- `leaving`, the decorator of `__exit__`

typedef struct { PyObject_HEAD PyObject *leave; } Leaving;

static PyObject *leaving_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *leave;
    if (!PyArg_ParseTuple(args, "O", &leave))
        return NULL;
    Leaving *leaving = (Leaving *)type->tp_alloc(type, 0);
    if (leaving != NULL)
        leaving->leave = Py_NewRef(leave);
    return (PyObject *)leaving;
}

static PyObject *leaving_get(PyObject *self, PyObject *context, PyObject *cls)
{
    PyObject *leave = ((Leaving *)self)->leave;
    if (context == NULL || context == Py_None)
        return Py_NewRef(leave);
    State *state = own_state();
    if (state == NULL)
        return NULL;
    PyObject *entry = state->entered;
    if (PyTuple_CheckExact(entry) && PyTuple_GET_ITEM(entry, 0) == context)
        return PyMethod_New(leave, context);
    return hold(leave, context, state);  // about to be entered
}

static int leaving_traverse(Leaving *leaving, visitproc visit, void *arg)
{
    Py_VISIT(leaving->leave);
    return 0;
}

static void leaving_dealloc(Leaving *leaving)
{
    PyObject_GC_UnTrack(leaving);
    Py_XDECREF(leaving->leave);
    PyObject_GC_Del(leaving);
}

static PyMemberDef leaving_members[] = {{"leave", T_OBJECT, offsetof(Leaving, leave), READONLY}, {NULL}};

static PyTypeObject LeavingType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "torchlite.core._native.leaving",
    .tp_basicsize = sizeof(Leaving),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = leaving_new,
    .tp_descr_get = leaving_get,
    .tp_members = leaving_members,
    .tp_traverse = (traverseproc)leaving_traverse,
    .tp_dealloc = (destructor)leaving_dealloc,
};

int add_contexts(PyObject *module)
{
    if (PyType_Ready(&HeldType) < 0 || PyType_Ready(&LeavingType) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "leaving", (PyObject *)&LeavingType);
}
