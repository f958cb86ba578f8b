// The parts of tensors, nodes, views, counters and of a thread's state, from which the classes in Python derive.
#include "native.h"
#include <structmember.h>

#define VISIT(field, name) Py_VISIT(self->field);
#define CLEAR(field, name) Py_CLEAR(self->field);
#define NAME(field, name) name,

// For a struct and its list of fields: what the collector visits and clears, and the names of its slots.
#define COLLECTED(Struct, prefix, FIELDS) \
    static int prefix##_traverse(Struct *self, visitproc visit, void *arg) { FIELDS(VISIT) return 0; } \
    static int prefix##_clear(Struct *self) { FIELDS(CLEAR) return 0; } \
    static const char *const prefix##_slots[] = {FIELDS(NAME) NULL};

#define TENSOR_MEMBER(field, name) {name, T_OBJECT_EX, offsetof(Tensor, field)},
#define NODE_MEMBER(field, name) {name, T_OBJECT_EX, offsetof(Node, field)},
#define VIEW_MEMBER(field, name) {name, T_OBJECT_EX, offsetof(View, field)},
#define OUTPUT_MEMBER(field, name) {name, T_OBJECT_EX, offsetof(SavedOutput, field)},
#define MODE_MEMBER(field, name) {name, T_OBJECT_EX, offsetof(Mode, field)},
#define STATE_MEMBER(field, name) {name, T_OBJECT_EX, offsetof(State, field)},
#define NUMBER_MEMBER(field, name) {name, T_OBJECT_EX, offsetof(SavedNumber, field)},
#define LEVEL_MEMBER(field, name) {name, T_OBJECT_EX, offsetof(Level, field)},
#define BATCHED_MEMBER(field, name) {name, T_OBJECT_EX, offsetof(Batched, field)},
#define NESTED_MEMBER(field, name) {name, T_OBJECT_EX, offsetof(Nested, field)},
#define DUAL_MEMBER(field, name) {name, T_OBJECT_EX, offsetof(Dual, field)},

// A part that is taken away would be missed by all who read it: it can be given another value only.
static int set_part(PyObject *self, PyObject *name, PyObject *value)
{
    PyObject *member = value == NULL && PyUnicode_Check(name) ? _PyType_Lookup(Py_TYPE(self), name) : NULL;
    if (member == NULL || Py_TYPE(member) != &PyMemberDescr_Type)
        return PyObject_GenericSetAttr(self, name, value);
    PyErr_Format(PyExc_AttributeError, "attribute '%U' of '%s' objects cannot be deleted", name, Py_TYPE(self)->tp_name);
    return -1;
}

// A tensor's dtype is only asked for: what writes it, in Python, says `_dtype`. (Subclasses may have a `dtype` of theirs.)
static PyObject *dtype_name;
static int set_tensor_part(PyObject *self, PyObject *name, PyObject *value)
{
    if (LIKELY(name != dtype_name) || Py_TYPE(_PyType_Lookup(Py_TYPE(self), name)) != &PyMemberDescr_Type)
        return set_part(self, name, value);
    PyErr_SetString(PyExc_AttributeError, "attribute 'dtype' of 'torch._C.TensorBase' objects is not writable");
    return -1;
}

static PyGetSetDef dict_getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict}, {NULL}};

// ---- memory

// Tensors that are gone leave their memory to those to come. (Threads without a common lock would need a list each.)
#ifndef Py_GIL_DISABLED
enum { SPARE = 512 };
static Tensor *spare[SPARE];
static int spares;
#endif

static inline int release_tensor(Tensor *t)
{
#ifndef Py_GIL_DISABLED
    if ((PyObject *)Py_TYPE(t) == known.Tensor && spares < SPARE) {
        spare[spares++] = t;
        return 1;
    }
#endif
    return 0;
}

Tensor *new_tensor(void)
{
#ifndef Py_GIL_DISABLED
    if (LIKELY(spares)) {
        Tensor *t = spare[--spares];
        Py_INCREF(known.Tensor);
        _Py_NewReference((PyObject *)t);
        PyObject_GC_Track(t);
        return t;
    }
#endif
    return (Tensor *)PyType_GenericAlloc((PyTypeObject *)known.Tensor, 0);
}

PyObject *new_of(PyObject *cls) { return PyType_GenericAlloc((PyTypeObject *)cls, 0); }

PyObject *wrap(PyObject *array, PyObject *dtype)
{
    Tensor *t = array == NULL ? NULL : new_tensor();
    if (t == NULL) {
        Py_XDECREF(array);
        return NULL;
    }
    t->array = array;
    t->dtype = Py_NewRef(dtype);
    t->backend = Py_NewRef(known.cpu);
    t->edge = Py_NewRef(Py_None);
    t->counter = Py_NewRef(Py_None);
    t->grad = Py_NewRef(Py_None);
    t->extra = Py_NewRef(Py_None);
    return (PyObject *)t;
}

Node *new_node(PyObject *node_class)
{
    PyObject *number = Py_TYPE(known.sequence)->tp_iternext(known.sequence);
    Node *node = number == NULL ? NULL : (Node *)new_of(node_class);
    if (node == NULL) {
        Py_XDECREF(number);
        return NULL;
    }
    node->sequence_nr = number;
    node->node_hooks = Py_NewRef(Py_None);
    node->node_metadata = Py_NewRef(Py_None);
    return node;
}

// ---- the end of an object
//
// A class made in Python is freed by `subtype_dealloc`, which searches its bases for what they need. Classes that add
// nothing to their parts can do without: `become_whole` gives them a function that also lets go of the class. (Objects
// change between classes that are freed alike, so all classes of nodes become whole, bases too.)

#define FREED(Struct, prefix, WEAK, KEEP) \
    static void prefix##_free(PyObject *self, int whole) \
    { \
        Struct *parts = (Struct *)self; \
        WEAK \
        prefix##_clear(parts); \
        PyTypeObject *type = Py_TYPE(self); \
        if (!KEEP) \
            type->tp_free(self); \
        if (whole) \
            Py_DECREF(type); \
    } \
    static void prefix##_dealloc(PyObject *self) \
    { \
        PyObject_GC_UnTrack(self); \
        Py_TRASHCAN_BEGIN(self, prefix##_dealloc) \
        prefix##_free(self, 0); \
        Py_TRASHCAN_END \
    } \
    static void prefix##_dealloc_whole(PyObject *self) \
    { \
        if (Py_TYPE(self)->tp_finalize != NULL && PyObject_CallFinalizerFromDealloc(self) < 0) \
            return; \
        PyObject_GC_UnTrack(self); \
        Py_TRASHCAN_BEGIN(self, prefix##_dealloc_whole) \
        prefix##_free(self, 1); \
        Py_TRASHCAN_END \
    }
#define CLEARS_WEAK if (parts->weak != NULL) PyObject_ClearWeakRefs(self);

#define PARTS_TYPE(Struct, prefix, MEMBERS, SET, ...) { \
    PyVarObject_HEAD_INIT(NULL, 0) \
    .tp_name = "torchlite.core._native." #Struct "Parts", \
    .tp_basicsize = sizeof(Struct), \
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, \
    .tp_traverse = (traverseproc)prefix##_traverse, \
    .tp_clear = (inquiry)prefix##_clear, \
    .tp_dealloc = prefix##_dealloc, \
    .tp_setattro = SET, \
    .tp_members = MEMBERS, \
    __VA_ARGS__ \
}

// The type of a struct that has its fields and nothing else.
#define PLAIN_PARTS(Struct, prefix, FIELDS, MEMBER) \
    COLLECTED(Struct, prefix, FIELDS) \
    FREED(Struct, prefix, , 0) \
    static PyMemberDef prefix##_members[] = {FIELDS(MEMBER){NULL}}; \
    static PyTypeObject Struct##Parts = PARTS_TYPE(Struct, prefix, prefix##_members, set_part);

#define TENSOR_HELD(X) TENSOR_FIELDS(X) X(dict, NULL)
COLLECTED(Tensor, tensor, TENSOR_HELD)
FREED(Tensor, tensor, CLEARS_WEAK, release_tensor(parts))
static PyMemberDef tensor_members[] = {TENSOR_FIELDS(TENSOR_MEMBER) TENSOR_MEMBER(dtype, "_dtype"){NULL}};
PyTypeObject TensorParts = PARTS_TYPE(
    Tensor, tensor, tensor_members, set_tensor_part, .tp_getset = dict_getset, .tp_dictoffset = offsetof(Tensor, dict),
    .tp_weaklistoffset = offsetof(Tensor, weak));

COLLECTED(Node, node, NODE_FIELDS)
FREED(Node, node, CLEARS_WEAK, 0)
static PyMemberDef node_members[] = {NODE_FIELDS(NODE_MEMBER){NULL}};
static PyTypeObject NodeParts = PARTS_TYPE(Node, node, node_members, set_part, .tp_weaklistoffset = offsetof(Node, weak));

PLAIN_PARTS(View, view, VIEW_FIELDS, VIEW_MEMBER)
PLAIN_PARTS(SavedOutput, output, SAVED_OUTPUT_FIELDS, OUTPUT_MEMBER)
PLAIN_PARTS(Mode, mode, MODE_FIELDS, MODE_MEMBER)

static _Thread_local struct { uint64_t thread; State *state; } here;  // the state of this thread, by its number
#define FORGOTTEN if (here.state == parts) here.thread = 0;
COLLECTED(State, state, STATE_FIELDS)
FREED(State, state, FORGOTTEN, 0)
static PyMemberDef state_members[] = {STATE_FIELDS(STATE_MEMBER){NULL}};
static PyTypeObject StateParts = PARTS_TYPE(State, state, state_members, set_part);

PLAIN_PARTS(Level, level, LEVEL_FIELDS, LEVEL_MEMBER)
PLAIN_PARTS(Batched, batched, BATCHED_FIELDS, BATCHED_MEMBER)
PLAIN_PARTS(Nested, nested, NESTED_FIELDS, NESTED_MEMBER)
PLAIN_PARTS(Dual, dual, DUAL_FIELDS, DUAL_MEMBER)
PLAIN_PARTS(SavedNumber, number, SAVED_NUMBER_FIELDS, NUMBER_MEMBER)

static PyMemberDef counter_members[] = {{"n", T_PYSSIZET, offsetof(Counter, n)}, {NULL}};
static PyTypeObject CounterParts = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "torchlite.core._native.CounterParts",
    .tp_basicsize = sizeof(Counter),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_members = counter_members,
};

PyObject *become_whole(PyObject *module, PyObject *cls)
{
    static const struct { PyTypeObject *parts; destructor whole; } ends[] = {
        {&TensorParts, tensor_dealloc_whole}, {&NodeParts, node_dealloc_whole}, {&ViewParts, view_dealloc_whole},
        {&SavedOutputParts, output_dealloc_whole}, {&SavedNumberParts, number_dealloc_whole},
        {&ModeParts, mode_dealloc_whole}, {&StateParts, state_dealloc_whole},
        {&LevelParts, level_dealloc_whole}, {&BatchedParts, batched_dealloc_whole}, {&NestedParts, nested_dealloc_whole},
        {&DualParts, dual_dealloc_whole},
    };
    PyTypeObject *type = (PyTypeObject *)cls;
    for (size_t i = 0; PyType_Check(cls) && i < sizeof ends / sizeof *ends; i++)
        if (PyType_IsSubtype(type, ends[i].parts) && type->tp_basicsize == ends[i].parts->tp_basicsize &&
            type->tp_dictoffset == ends[i].parts->tp_dictoffset)
            type->tp_dealloc = ends[i].whole;
    return Py_NewRef(cls);
}

// ---- the thread's state

static const char *const state_key = "torchlite.state";

static int keep_state(PyObject *state)
{
    PyObject *dict = PyThreadState_GetDict();
    if (dict == NULL || PyDict_SetItemString(dict, state_key, state) < 0)
        return -1;
    here.thread = PyThreadState_GetID(PyThreadState_Get());
    here.state = (State *)state;
    return 0;
}

// The thread's dictionary owns the state. It goes with the thread, whose number is never given again.
State *thread_state(void)
{
    return LIKELY(here.thread == PyThreadState_GetID(PyThreadState_Get())) ? here.state : NULL;
}

Mode *plain_mode(void)
{
    State *state = thread_state();
    Mode *mode = state == NULL ? NULL : (Mode *)state->mode;
    return mode != NULL && mode->plain == Py_True ? mode : NULL;
}

State *own_state(void)
{
    State *state = thread_state();
    if (state != NULL)
        return state;
    PyObject *made = PyObject_CallNoArgs(known.State);
    if (made != NULL && keep_state(made) < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "the thread has come to its end");
    Py_XDECREF(made);
    return thread_state();
}

static PyObject *get_state(PyObject *self, void *closure) { return Py_XNewRef((PyObject *)own_state()); }

static int set_state(PyObject *self, PyObject *state, void *closure)
{
    if (state == NULL || !PyType_IsSubtype(Py_TYPE(state), &StateParts)) {
        PyErr_SetString(PyExc_TypeError, "what a thread holds is a State");
        return -1;
    }
    return keep_state(state);
}

static PyGetSetDef local_getset[] = {{"state", get_state, set_state}, {NULL}};
static PyTypeObject Local = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "torchlite.core._native.Local",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_getset = local_getset,
};

// ---- names

// `__slots__`, as a class in Python would have it.
static int name_slots(PyTypeObject *type, const char *const *names)
{
    Py_ssize_t count = 0;
    while (names[count] != NULL)
        count++;
    PyObject *slots = PyTuple_New(count);
    for (Py_ssize_t i = 0; slots != NULL && i < count; i++) {
        PyObject *name = PyUnicode_InternFromString(names[i]);
        if (name == NULL)
            Py_CLEAR(slots);
        else
            PyTuple_SET_ITEM(slots, i, name);
    }
    const int failed = slots == NULL || PyDict_SetItemString(type->tp_dict, "__slots__", slots) < 0;
    Py_XDECREF(slots);
    return failed ? -1 : 0;
}

int add_parts(PyObject *module)
{
    if ((dtype_name = PyUnicode_InternFromString("dtype")) == NULL)
        return -1;
    static const char *const counter_slots[] = {"n", NULL};
    static const struct { const char *name; PyTypeObject *type; const char *const *slots; } parts[] = {
        {"TensorParts", &TensorParts, tensor_slots}, {"NodeParts", &NodeParts, node_slots},
        {"ViewParts", &ViewParts, view_slots}, {"SavedOutputParts", &SavedOutputParts, output_slots},
        {"SavedNumberParts", &SavedNumberParts, number_slots}, {"CounterParts", &CounterParts, counter_slots},
        {"ModeParts", &ModeParts, mode_slots}, {"StateParts", &StateParts, state_slots},
        {"LevelParts", &LevelParts, level_slots}, {"BatchedParts", &BatchedParts, batched_slots},
        {"NestedParts", &NestedParts, nested_slots}, {"DualParts", &DualParts, dual_slots}, {"Local", &Local, NULL},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        PyTypeObject *type = parts[i].type;
        type->tp_new = PyBaseObject_Type.tp_new;
        if (PyType_Ready(type) < 0 || (parts[i].slots != NULL && name_slots(type, parts[i].slots) < 0))
            return -1;
        if (PyModule_AddObjectRef(module, parts[i].name, (PyObject *)type) < 0)
            return -1;
    }
    return 0;
}
