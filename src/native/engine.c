// The backward loop: autograd/engine.py's, where nothing but leaves is asked for: all of them, which accumulate, or some
// (`goals`), whose gradients stay in their slots. Gradients are arrays, or tensors where a graph is made of them.
//
// A pass first counts the edges that lead to each node, and gives up, having done nothing, if it meets what it does not
// know. Then nodes run as they become ready, the latest first. What has a program (program.c) runs here; every other
// node is asked for `on_arrays`, and then run by a `GraphTask` in Python, with its hooks, as are all of which a graph is
// made. That task is made when it is first needed.
#include "native.h"
#include <limits.h>

typedef struct { PyObject *grad; char made; } Slot;               // `made`: a sum made here, which nobody else holds
typedef struct { PyObject *key; Py_ssize_t left, slots, outputs; } Entry;  // a node, or a leaf, and how many edges lead
enum { UNASKED = -1, DONE = -2 };                                  // there from nodes that have not run; or one of these
typedef struct { long long number; Py_ssize_t entry; } Ready;

typedef struct {
    State *state;
    int keep_graph, create_graph;
    Entry *entries;   // what is on the way, in the order met
    Slot *slots;      // the gradients of their outputs, so far
    Py_ssize_t *table, mask;  // places among the entries, by hashes of their keys; -1: free
    Ready *heap;
    PyObject **out;   // the gradients that a node gives
    Py_ssize_t count, room, slot_count, slot_room, ready, heap_room, out_room;
    PyObject *task, *edge, *goals;
    struct Asked *asked;  // which the task has
} Pass;

// ---- memory: room for `wanted` items, twice as much as before

static int grow(void *items, Py_ssize_t *room, Py_ssize_t wanted, size_t size)
{
    if (wanted <= *room)
        return 0;
    const Py_ssize_t more = wanted < 32 ? 64 : 2 * wanted;
    void *moved = PyMem_Realloc(*(void **)items, more * size);
    if (moved == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *(void **)items = moved;
    *room = more;
    return 0;
}

static inline size_t hashed(PyObject *key) { return (((size_t)key >> 4) * 0x9E3779B97F4A7C15ull) >> 20; }

static Py_ssize_t *place_of(const Pass *pass, PyObject *key)
{
    size_t at = hashed(key) & pass->mask;
    while (pass->table[at] >= 0 && pass->entries[pass->table[at]].key != key)
        at = (at + 1) & pass->mask;
    return &pass->table[at];
}

static int rehash(Pass *pass, Py_ssize_t size)
{
    Py_ssize_t *table = PyMem_Malloc(size * sizeof *table);
    if (table == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    PyMem_Free(pass->table);
    memset(table, -1, size * sizeof *table);
    pass->table = table;
    pass->mask = size - 1;
    for (Py_ssize_t i = 0; i < pass->count; i++)
        *place_of(pass, pass->entries[i].key) = i;
    return 0;
}

// The entry of a node or leaf, made now if it is new; -1 where there is no memory.
static Py_ssize_t entry_of(Pass *pass, PyObject *key, Py_ssize_t outputs, int *is_new)
{
    Py_ssize_t *place = place_of(pass, key);
    *is_new = *place < 0;
    if (!*is_new)
        return *place;
    if (grow(&pass->entries, &pass->room, pass->count + 1, sizeof *pass->entries) < 0 ||
        grow(&pass->slots, &pass->slot_room, pass->slot_count + outputs, sizeof *pass->slots) < 0)
        return -1;
    memset(pass->slots + pass->slot_count, 0, outputs * sizeof *pass->slots);
    const Py_ssize_t at = *place = pass->count++;
    pass->entries[at] = (Entry){Py_NewRef(key), 0, pass->slot_count, outputs};
    pass->slot_count += outputs;
    if (2 * pass->count > pass->mask && rehash(pass, 2 * (pass->mask + 1)) < 0)
        return -1;
    return at;
}

static void clear(Pass *pass)
{
    for (Py_ssize_t i = 0; i < pass->slot_count; i++)
        Py_CLEAR(pass->slots[i].grad);
    for (Py_ssize_t i = 0; i < pass->count; i++)
        Py_DECREF(pass->entries[i].key);
    PyMem_Free(pass->entries);
    PyMem_Free(pass->slots);
    PyMem_Free(pass->table);
    PyMem_Free(pass->heap);
    PyMem_Free(pass->out);
    Py_XDECREF(pass->task);
    Py_XDECREF(pass->edge);
}

// ---- before

static PyTypeObject *NodeClass(void) { return (PyTypeObject *)known.Node; }

// What an edge leads to, and which of its outputs; NULL where that is not for C.
static PyObject *target(PyObject *edge, Py_ssize_t *outputs, Py_ssize_t *nr)
{
    *outputs = 1;
    *nr = 0;
    if (!PyTuple_CheckExact(edge))
        return PyObject_TypeCheck(edge, &TensorParts) ? edge : NULL;
    PyObject *to = PyTuple_GET_ITEM(edge, 0);
    PyObject *forms = PyObject_TypeCheck(to, NodeClass()) ? ((Node *)to)->output_forms : NULL;
    if (forms == NULL || !PyTuple_CheckExact(forms))
        return NULL;
    *outputs = PyTuple_GET_SIZE(forms);
    *nr = PyLong_AsSsize_t(PyTuple_GET_ITEM(edge, 1));
    return to;
}

// Count the edges that lead to each node from the entries there are. 0: not for C; -1: an error.
static int count_edges(Pass *pass)
{
    for (Py_ssize_t at = 0; at < pass->count; at++) {
        if (!PyObject_TypeCheck(pass->entries[at].key, NodeClass()))
            continue;
        PyObject *edges = ((Node *)pass->entries[at].key)->next_edges;
        if (edges == NULL || !PyTuple_CheckExact(edges))
            return 0;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(edges); i++) {
            PyObject *edge = PyTuple_GET_ITEM(edges, i);
            Py_ssize_t outputs, nr;
            int is_new;
            if (edge == Py_None)
                continue;
            PyObject *to = target(edge, &outputs, &nr);
            if (to == NULL)
                return 0;
            const Py_ssize_t found = entry_of(pass, to, outputs, &is_new);
            if (found < 0)
                return -1;
            pass->entries[found].left++;
        }
    }
    return 1;
}

// Leave only the goals, and the nodes from which one is reached. 0: not for C.
static int aim(Pass *pass)
{
    enum { MOST_ROUNDS = 8 };  // by which what comes late in the graph, and was met early, is found
    char *needed = PyMem_Calloc(pass->count + 1, 1);
    if (needed == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pass->goals); i++) {
        const Py_ssize_t at = *place_of(pass, PyTuple_GET_ITEM(pass->goals, i));
        if (at >= 0)
            needed[at] = 1;
    }
    int changed = 1;
    for (int round = 0; changed && round < MOST_ROUNDS; round++) {
        changed = 0;
        for (Py_ssize_t at = pass->count - 1; at >= 0; at--) {
            if (needed[at] || !PyObject_TypeCheck(pass->entries[at].key, NodeClass()))
                continue;
            PyObject *edges = ((Node *)pass->entries[at].key)->next_edges;
            for (Py_ssize_t i = 0; !needed[at] && i < PyTuple_GET_SIZE(edges); i++) {
                Py_ssize_t outputs, nr;
                PyObject *edge = PyTuple_GET_ITEM(edges, i), *to = edge == Py_None ? NULL : target(edge, &outputs, &nr);
                needed[at] = to != NULL && needed[*place_of(pass, to)];
                changed |= needed[at];
            }
        }
    }
    for (Py_ssize_t at = 0; !changed && at < pass->count; at++)
        if (!needed[at])
            pass->entries[at].left = UNASKED;
    PyMem_Free(needed);
    return !changed;
}

// ---- nodes that are ready, the latest first

static long long number_of(PyObject *node)
{
    int overflow;
    const long long number = PyLong_AsLongLongAndOverflow(((Node *)node)->sequence_nr, &overflow);
    if (number == -1 && PyErr_Occurred())
        PyErr_Clear();
    return overflow ? LLONG_MAX : number;
}

static int push(Pass *pass, Py_ssize_t entry)
{
    if (grow(&pass->heap, &pass->heap_room, pass->ready + 1, sizeof *pass->heap) < 0)
        return -1;
    const Ready item = {number_of(pass->entries[entry].key), entry};
    Ready *heap = pass->heap;
    Py_ssize_t i = pass->ready++;
    for (; i && heap[(i - 1) / 2].number < item.number; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = item;
    return 0;
}

static Py_ssize_t pop(Pass *pass)
{
    Ready *heap = pass->heap;
    const Ready top = heap[0], last = heap[--pass->ready];
    Py_ssize_t i = 0;
    for (;;) {
        Py_ssize_t child = 2 * i + 1;
        if (child >= pass->ready)
            break;
        if (child + 1 < pass->ready && heap[child + 1].number > heap[child].number)
            child++;
        if (heap[child].number <= last.number)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top.entry;
}

// ---- what is left to Python

typedef struct Asked { PyObject_HEAD Pass *pass; } Asked;

// Whether a node, or a leaf by its id, is run on the way to the goals.
static int asked_contains(PyObject *self, PyObject *target)
{
    const Pass *pass = ((Asked *)self)->pass;
    if (pass == NULL)
        return 0;
    PyObject *key = PyLong_CheckExact(target) ? PyLong_AsVoidPtr(target) : target;
    if (key == NULL && PyErr_Occurred())
        PyErr_Clear();
    const Py_ssize_t at = *place_of(pass, key);
    return at >= 0 && pass->entries[at].left != UNASKED;
}

static PySequenceMethods asked_methods = {.sq_contains = asked_contains};
PyTypeObject AskedType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "torchlite.core._native.Asked",
    .tp_basicsize = sizeof(Asked),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_as_sequence = &asked_methods,
};

// The GraphTask that Python knows this pass by.
static PyObject *task_of(Pass *pass)
{
    if (pass->task != NULL)
        return pass->task;
    if ((pass->asked = PyObject_New(Asked, &AskedType)) == NULL)
        return NULL;
    pass->asked->pass = pass;
    pass->task = PyObject_CallFunction(known.make_task, "OiiOO", pass->edge, pass->keep_graph, pass->create_graph,
                                       pass->goals == NULL ? Py_None : pass->goals, pass->asked);
    if (pass->task != NULL)
        Py_XSETREF(pass->state->task, Py_NewRef(pass->task));
    return pass->task;
}

static int called(PyObject *result)
{
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

// Put what Python gave for a node's edges among its gradients. It takes the results over.
static int take(Pass *pass, PyObject *results, Py_ssize_t edges)
{
    PyObject *listed = PySequence_Fast(results, "a node gives a sequence of gradients");
    Py_DECREF(results);
    if (listed == NULL)
        return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(listed);
    for (Py_ssize_t i = 0; i < edges; i++) {
        PyObject *grad = i < count ? PySequence_Fast_GET_ITEM(listed, i) : Py_None;
        if (grad == Py_None)
            continue;
        const int as_is = PyArray_CheckExact(grad) || PyObject_TypeCheck(grad, &TensorParts);
        pass->out[i] = as_is ? Py_NewRef(grad) : PyArray_FROM_O(grad);
        if (pass->out[i] == NULL) {
            Py_DECREF(listed);
            return -1;
        }
    }
    Py_DECREF(listed);
    return 0;
}

static int run_in_python(Pass *pass, Node *node, Py_ssize_t entry, Py_ssize_t edges)
{
    static PyObject *on_arrays, *apply, *quiet;
    if (on_arrays == NULL) {
        on_arrays = PyUnicode_InternFromString("on_arrays");
        apply = PyUnicode_InternFromString("apply");
        quiet = PyUnicode_InternFromString("quiet");
    }
    Slot *slots = pass->slots + pass->entries[entry].slots;
    if (node->node_hooks == Py_None && !pass->create_graph) {
        PyObject *run = PyObject_GetAttr((PyObject *)pass->state, quiet);
        PyObject *grad = slots[0].grad == NULL ? Py_None : slots[0].grad;
        PyObject *found = run == NULL ? NULL : PyObject_CallMethodObjArgs((PyObject *)node, on_arrays, grad, run, NULL);
        Py_XDECREF(run);
        if (found == NULL)
            return -1;
        if (found != Py_None)
            return take(pass, found, edges);
        Py_DECREF(found);
    }
    const Py_ssize_t outputs = pass->entries[entry].outputs;
    PyObject *task = task_of(pass), *grads = task == NULL ? NULL : PyList_New(outputs);
    if (grads == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < outputs; i++) {  // the list is their only holder
        PyObject *grad = slots[i].grad;
        PyList_SET_ITEM(grads, i, grad == NULL ? Py_NewRef(Py_None) : grad);
        slots[i].grad = NULL;
    }
    PyObject *found = PyObject_CallMethodObjArgs(task, apply, (PyObject *)node, grads, NULL);
    Py_DECREF(grads);
    if (found == NULL || found == Py_None)
        return called(found);
    return take(pass, found, edges);
}

// ---- on the way

// A node's edges, with None for those that lead to nothing that is asked for.
static PyObject *asked(const Pass *pass, PyObject *edges)
{
    if (pass->goals == NULL)
        return Py_NewRef(edges);
    const Py_ssize_t count = PyTuple_GET_SIZE(edges);
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        Py_ssize_t outputs, nr;
        PyObject *edge = PyTuple_GET_ITEM(edges, i), *to = edge == Py_None ? NULL : target(edge, &outputs, &nr);
        const Py_ssize_t at = to == NULL ? -1 : *place_of(pass, to);
        PyTuple_SET_ITEM(made, i, Py_NewRef(at < 0 || pass->entries[at].left < 0 ? Py_None : edge));
    }
    return made;
}

static int run_node(Pass *pass, Node *node, Py_ssize_t entry, Py_ssize_t edges)
{
    if (grow(&pass->out, &pass->out_room, edges, sizeof *pass->out) < 0)
        return -1;
    memset(pass->out, 0, edges * sizeof *pass->out);
    Slot *slot = pass->slots + pass->entries[entry].slots;
    const Program *program = program_of((PyObject *)Py_TYPE(node));
    if (program != NULL && node->node_hooks == Py_None && slot->grad != NULL && !pass->create_graph) {
        PyObject *wanted = asked(pass, node->next_edges);
        const int done = wanted == NULL ? -1 : run_program(program, node, slot->grad, wanted, pass->out);
        Py_XDECREF(wanted);
        if (done <= 0)
            return done;
    }
    return run_in_python(pass, node, entry, edges);
}

// Add a gradient, which it takes over, to what has arrived before.
static int add_gradient(Pass *pass, Slot *slot, PyObject *grad, PyObject *edge)
{
    if (slot->grad == NULL) {
        slot->grad = grad;
        slot->made = 0;
        return 0;
    }
    const int bare = PyArray_CheckExact(slot->grad) && PyArray_CheckExact(grad);
    PyObject *sum = bare ? sum_of(slot->grad, grad, slot->made) : NULL;
    if (sum == NULL) {
        PyObject *task = task_of(pass);
        sum = task == NULL ? NULL : PyObject_CallMethod(task, "total", "OOO", slot->grad, grad, edge);
        if (sum != NULL && !PyArray_CheckExact(sum) && !PyObject_TypeCheck(sum, &TensorParts))
            Py_SETREF(sum, PyArray_FROM_O(sum));
    }
    Py_DECREF(grad);
    if (sum == NULL)
        return -1;
    slot->made = bare;
    Py_SETREF(slot->grad, sum);
    return 0;
}

// An array of its own for a leaf's gradient that somebody else holds, or that lies otherwise; NULL: not for C.
static PyObject *copied(PyArrayObject *grad, PyArrayObject *leaf)
{
    if (!is_plain((PyObject *)leaf) || step_of(grad) < 0 || !same_shape(grad, leaf))
        return NULL;
    return PyArray_NewLikeArray(leaf, NPY_CORDER, NULL, 0);
}

static int lie_alike(PyArrayObject *a, PyArrayObject *b)
{
    return memcmp(PyArray_STRIDES(a), PyArray_STRIDES(b), PyArray_NDIM(a) * sizeof(npy_intp)) == 0;
}

// A gradient that was computed, as tensors hold it: what does not lie by rows shows it by having a base.
static PyObject *showing(PyObject *grad)
{
    PyArrayObject *array = (PyArrayObject *)grad;
    return PyArray_BASE(array) != NULL || PyArray_IS_C_CONTIGUOUS(array) ? Py_NewRef(grad)
                                                                         : PyArray_View(array, NULL, NULL);
}

// Accumulate into a leaf, by C where that is plain. It takes the gradient over. 1: not for C, nothing done.
static int accumulate(Tensor *leaf, PyObject *grad)
{
    PyArrayObject *g = (PyArrayObject *)grad, *own = (PyArrayObject *)leaf->array;
    const int slot = slot_of(leaf->dtype);
    if (leaf->edge != known.LEAF || leaf->backend != known.cpu || !PyArray_CheckExact(grad) || slot < 0 ||
        slot > FLOAT64 || PyArray_TYPE(g) != PyArray_TYPE(own) || !PyArray_CheckExact(leaf->array))
        return 1;
    if (leaf->grad == Py_None) {
        const int alike = same_shape(g, own) && lie_alike(g, own);
        PyObject *base = PyArray_BASE(g);  // views of one array may have it in common
        if (Py_REFCNT(grad) > 1 || (base != NULL && Py_REFCNT(base) > 1) || !alike) {
            PyObject *copy = copied(g, own);
            if (copy == NULL || PyArray_CopyInto((PyArrayObject *)copy, g) < 0) {
                PyErr_Clear();
                Py_XDECREF(copy);
                return 1;
            }
            Py_SETREF(grad, copy);
        }
        PyObject *made = wrap(showing(grad), leaf->dtype);
        Py_DECREF(grad);
        if (made == NULL || (!alike && count_write((Tensor *)made) < 0)) {
            Py_XDECREF(made);
            return -1;
        }
        Py_SETREF(leaf->grad, made);
        return 0;
    }
    Tensor *have = (Tensor *)leaf->grad;
    if ((PyObject *)Py_TYPE(have) != known.Tensor || have->backend != known.cpu || have->dtype != leaf->dtype ||
        have->edge != Py_None || !counts_plainly(have) || !is_plain(have->array) ||
        !PyArray_ISWRITEABLE((PyArrayObject *)have->array))
        return 1;
    PyObject *sum = sum_of(have->array, grad, 1);
    if (sum == NULL)
        return 1;
    Py_DECREF(sum);
    Py_DECREF(grad);
    return count_write(have);
}

// The gradient of a leaf is complete.
static int reach_leaf(Pass *pass, Py_ssize_t entry)
{
    Tensor *leaf = (Tensor *)pass->entries[entry].key;
    Slot *slot = pass->slots + pass->entries[entry].slots;
    PyObject *grad = slot->grad;
    pass->entries[entry].left = DONE;
    if (pass->goals != NULL)
        return 0;
    slot->grad = NULL;
    if (leaf->extra == Py_None) {
        const int done = grad == NULL ? 0 : accumulate(leaf, grad);
        if (done <= 0) {
            return done;
        }
    }
    PyObject *task = task_of(pass);
    if (task == NULL) {
        Py_XDECREF(grad);
        return -1;
    }
    PyObject *list = Py_BuildValue("[iNO]", 0, grad == NULL ? Py_NewRef(Py_None) : grad, Py_False);
    if (list == NULL)
        return -1;
    const int failed = called(PyObject_CallMethod(task, "reach_leaf", "OO", (PyObject *)leaf, list));
    Py_DECREF(list);
    return failed;
}

// Hand the gradients of a node on to where its edges lead; `following` is the node that is ready next, if it is known.
static int hand_on(Pass *pass, PyObject *edges, Py_ssize_t *following)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(edges);
    Py_ssize_t leaves = 0;
    *following = -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i), *grad = pass->out[i];
        Py_ssize_t outputs, nr;
        pass->out[i] = NULL;
        if (edge == Py_None) {
            Py_XDECREF(grad);
            continue;
        }
        PyObject *to = target(edge, &outputs, &nr);
        const Py_ssize_t at = to == NULL ? -1 : *place_of(pass, to);
        if (at < 0 || pass->entries[at].left < 0) {
            Py_XDECREF(grad);
            continue;
        }
        Entry *entry = &pass->entries[at];
        if (grad != NULL && add_gradient(pass, &pass->slots[entry->slots + nr], grad, edge) < 0)
            return -1;
        if (--entry->left)
            continue;
        if (!PyTuple_CheckExact(edge))
            leaves++;
        else if (*following < 0 && !pass->ready)
            *following = at;
        else if (push(pass, at) < 0)
            return -1;
    }
    for (Py_ssize_t i = 0; leaves && i < count; i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i);
        if (edge == Py_None || PyTuple_CheckExact(edge))
            continue;
        const Py_ssize_t at = *place_of(pass, edge);
        if (at < 0 || pass->entries[at].left)
            continue;
        leaves--;
        if (reach_leaf(pass, at) < 0)
            return -1;
    }
    if (*following >= 0 && pass->ready && number_of(pass->entries[*following].key) < pass->heap[0].number) {
        if (push(pass, *following) < 0)
            return -1;
        *following = pop(pass);
    }
    return 0;
}

/* Whether something is kept: where nothing is, there is nothing to free, and the node may run again. */
static int keeps(PyObject *saved)
{
    if (!PyTuple_CheckExact(saved))
        return PyObject_IsTrue(saved);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved); i++)
        if (PyTuple_GET_ITEM(saved, i) != Py_None)
            return 1;
    return 0;
}

static int drain(Pass *pass)
{
    while (pass->ready) {
        for (Py_ssize_t at = pop(pass), next; at >= 0; at = next) {
            if (PyErr_CheckSignals() < 0)
                return -1;
            Node *node = (Node *)pass->entries[at].key;
            PyObject *edges = Py_NewRef(node->next_edges);
            pass->entries[at].left = DONE;
            int failed = run_node(pass, node, at, PyTuple_GET_SIZE(edges));
            Slot *slots = pass->slots + pass->entries[at].slots;
            for (Py_ssize_t i = 0; i < pass->entries[at].outputs; i++)
                Py_CLEAR(slots[i].grad);
            if (!failed && !pass->keep_graph && node->saved_entries != known.empty && node->saved_entries != Py_None) {
                const int any = node->saved_entries == NULL ? 0 : keeps(node->saved_entries);
                if (any > 0)
                    Py_SETREF(node->saved_entries, Py_NewRef(Py_None));
                failed = any < 0;
            }
            failed = failed || hand_on(pass, edges, &next) < 0;
            for (Py_ssize_t i = 0; failed && i < PyTuple_GET_SIZE(edges) && i < pass->out_room; i++)
                Py_CLEAR(pass->out[i]);
            Py_DECREF(edges);
            if (failed)
                return -1;
        }
    }
    return 0;
}

static int run_callbacks(PyObject *task)
{
    PyObject *callbacks = PyObject_GetAttrString(task, "callbacks");
    int failed = callbacks == NULL || !PyList_Check(callbacks);
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(callbacks); i++) {  // one may add another
        PyObject *callback = Py_NewRef(PyList_GET_ITEM(callbacks, i));
        failed = called(PyObject_CallNoArgs(callback)) < 0;
        Py_DECREF(callback);
    }
    Py_XDECREF(callbacks);
    return failed ? -1 : 0;
}

// The gradients of the goals, None for those that were not reached.
static PyObject *captured(const Pass *pass)
{
    PyObject *found = PyList_New(PyTuple_GET_SIZE(pass->goals));
    for (Py_ssize_t i = 0; found != NULL && i < PyTuple_GET_SIZE(pass->goals); i++) {
        Tensor *leaf = (Tensor *)PyTuple_GET_ITEM(pass->goals, i);
        const Py_ssize_t at = *place_of(pass, (PyObject *)leaf);
        PyObject *grad = at < 0 ? NULL : pass->slots[pass->entries[at].slots].grad;
        PyObject *made = grad == NULL ? Py_NewRef(Py_None)
                       : PyArray_CheckExact(grad) ? wrap(showing(grad), leaf->dtype) : Py_NewRef(grad);
        if (made == NULL)
            Py_CLEAR(found);
        else
            PyList_SET_ITEM(found, i, made);
    }
    return found;
}

// One pass from one root, in a mode of its own. 1: done; 0: not for C, and nothing done; -1: an error. It takes the
// gradient over, which it may not have touched where it is not for C. The gradients of `goals`, if there are any, are
// `found`.
static int backward(State *state, PyObject *edge, PyObject *grad, int keep_graph, int create_graph, PyObject *goals,
                    PyObject **found)
{
    Pass pass = {.state = state, .keep_graph = keep_graph, .create_graph = create_graph, .edge = Py_NewRef(edge),
                 .goals = goals};
    Py_ssize_t outputs, nr;
    int is_new, done = rehash(&pass, 64);
    PyObject *root = target(edge, &outputs, &nr);
    if (done == 0 && root != NULL && PyTuple_CheckExact(edge)) {
        const Py_ssize_t at = entry_of(&pass, root, outputs, &is_new);
        done = at < 0 ? -1 : count_edges(&pass);
        if (done == 1 && goals != NULL)
            done = aim(&pass);
        if (done == 1 && pass.entries[0].left == 0) {
            PyObject *mode = Py_NewRef(state->mode), *task = Py_XNewRef(state->task);
            pass.slots[nr].grad = grad;
            grad = NULL;
            if (!create_graph)
                Py_SETREF(state->mode, Py_NewRef(known.mode_without_grad));
            done = push(&pass, 0) < 0 || drain(&pass) < 0 || (pass.task != NULL && run_callbacks(pass.task) < 0) ? -1 : 1;
            Py_XSETREF(state->mode, mode);
            Py_XSETREF(state->task, task);
        } else if (done == 1) {
            done = 0;
        }
    }
    if (done == 1 && goals != NULL && (*found = captured(&pass)) == NULL)
        done = -1;
    if (pass.asked != NULL) {
        pass.asked->pass = NULL;
        Py_DECREF(pass.asked);
    }
    clear(&pass);
    Py_XDECREF(grad);
    return done;
}

// ---- the method `backward` of a loss

static PyObject *call_backward(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (kwnames != NULL || PyVectorcall_NARGS(nargsf) != 1 || plain_mode() == NULL ||
        (PyObject *)Py_TYPE(args[0]) != known.Tensor)
        return decline(f, args, nargsf, kwnames);
    Tensor *loss = (Tensor *)args[0];
    State *state = thread_state();
    const int slot = slot_of(loss->dtype);
    if (!PyTuple_CheckExact(loss->edge) || slot < 0 || slot > FLOAT64 || !PyArray_CheckExact(loss->array) ||
        PyArray_NDIM((PyArrayObject *)loss->array) != 0 || state->task != Py_None)
        return decline(f, args, nargsf, kwnames);
    PyObject *forms = ((Node *)PyTuple_GET_ITEM(loss->edge, 0))->output_forms;
    PyObject *form = PyTuple_GET_ITEM(forms, PyLong_AsSsize_t(PyTuple_GET_ITEM(loss->edge, 1)));
    if (PyTuple_GET_ITEM(form, 0) != known.empty || PyTuple_GET_ITEM(form, 1) != loss->dtype ||
        PyTuple_GET_ITEM(form, 2) != known.cpu)
        return decline(f, args, nargsf, kwnames);
    PyObject *one = fresh(slot, 0, NULL);
    if (one == NULL)
        return NULL;
    if (slot == FLOAT32)
        *(float *)PyArray_DATA((PyArrayObject *)one) = 1;
    else
        *(double *)PyArray_DATA((PyArrayObject *)one) = 1;
    const int done = backward(state, loss->edge, one, 0, 0, NULL, NULL);
    if (done < 0)
        return NULL;
    return done ? Py_NewRef(Py_None) : decline(f, args, nargsf, kwnames);
}

// ---- gradients of some leaves: gradients(edge of the root, its gradient, leaves, keep_graph, create_graph), None where
// it is not for C

static int is_goal(PyObject *value)
{
    Tensor *t = (Tensor *)value;
    return PyObject_TypeCheck(value, &TensorParts) && t->edge == known.LEAF && t->extra == Py_None &&
           t->backend == known.cpu && slot_of(t->dtype) >= 0 && slot_of(t->dtype) <= FLOAT64;
}

PyObject *gradients(PyObject *module, PyObject *args)
{
    PyObject *edge, *root, *goals, *found = NULL;
    int keep, create;
    if (!PyArg_ParseTuple(args, "O!OO!pp", &PyTuple_Type, &edge, &root, &PyTuple_Type, &goals, &keep, &create))
        return NULL;
    State *state = thread_state();
    Tensor *t = (Tensor *)root;
    const Mode *mode = plain_mode();
    int fine = mode != NULL && (!create || mode->grad == Py_True) && state->task == Py_None && (PyObject *)Py_TYPE(root) == known.Tensor &&
               t->backend == known.cpu && PyArray_CheckExact(t->array) && slot_of(t->dtype) >= 0 &&
               slot_of(t->dtype) <= FLOAT64;
    for (Py_ssize_t i = 0; fine && i < PyTuple_GET_SIZE(goals); i++)
        fine = is_goal(PyTuple_GET_ITEM(goals, i));
    PyObject *grad = Py_NewRef(create ? root : t->array);
    const int done = fine ? backward(state, edge, grad, keep, create, goals, &found) : (Py_DECREF(grad), 0);
    return done < 0 ? NULL : done ? found : Py_NewRef(Py_None);
}

PyObject *make_backward(PyObject *module, PyObject *args)
{
    PyObject *general, *held;
    if (!PyArg_ParseTuple(args, "OO!", &general, &PyTuple_Type, &held))
        return NULL;
    return (PyObject *)new_function(call_backward, 0, general, held, 0);
}
