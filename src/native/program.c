// Formula programs: what nodes of a class do to the gradient of their result, for each edge a few instructions.
//
// Python takes them from the formulas of the ops' declarations (core/machine/formulas.py) and hands them over as tuples:
// an int is a source (-1 the gradient, then what was saved, then what was noted), a float a constant, a ufunc or a name
// an instruction that takes its operands from the stack.
#include "program.h"

static const struct { const char *name; int code; } names[] = {
    {"T", TRANSPOSE}, {"dot", DOT}, {"sum_rows", SUM_ROWS}, {"keep_above", KEEP_ABOVE}, {"spread", SPREAD},
    {"count", COUNT}, {"by_rows", BY_ROWS},
};

static const char capsule_name[] = "torchlite program";

static void program_free(PyObject *capsule)
{
    Program *program = PyCapsule_GetPointer(capsule, capsule_name);
    PyMem_Free(program->starts);
    PyMem_Free(program->instructions);
    PyMem_Free(program);
}

Program *program_of(PyObject *node_class)
{
    PyObject *capsule = PyDict_GetItemWithError(known.programs, node_class);
    return capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, capsule_name);
}

// ---- reading what Python hands over

static int parse(PyObject *item, Instruction *to)
{
    if (PyLong_CheckExact(item)) {
        to->code = SOURCE;
        to->source = PyLong_AsLong(item);
        return 0;
    }
    if (PyFloat_CheckExact(item)) {
        to->code = CONSTANT;
        to->number = PyFloat_AS_DOUBLE(item);
        return 0;
    }
    if (PyUnicode_CheckExact(item)) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (PyUnicode_CompareWithASCIIString(item, names[i].name) == 0) {
                to->code = names[i].code;
                return 0;
            }
    } else {
        Loop loops[SLOTS];
        if (find_loops(item, loops) && loops[FLOAT32].run != NULL && loops[FLOAT64].run != NULL) {
            to->code = APPLY;
            to->operands = (int)((PyUFuncObject *)item)->nin;
            memcpy(to->loops, loops, sizeof to->loops);
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "no instruction: %R", item);
    return -1;
}

// add_program(node class, how many entries are saved, plainly, whole, (instructions of an edge, …))
PyObject *add_program(PyObject *module, PyObject *args)
{
    PyObject *node_class, *edges;
    Py_ssize_t saved, count = 0;
    int plainly, whole;
    if (!PyArg_ParseTuple(args, "OnppO!", &node_class, &saved, &plainly, &whole, &PyTuple_Type, &edges))
        return NULL;
    const Py_ssize_t n = PyTuple_GET_SIZE(edges);
    for (Py_ssize_t i = 0; i < n; i++)
        count += PyTuple_GET_SIZE(PyTuple_GET_ITEM(edges, i));
    Program *program = PyMem_Calloc(1, sizeof *program);
    PyObject *capsule = program == NULL ? PyErr_NoMemory() : PyCapsule_New(program, capsule_name, program_free);
    if (capsule == NULL) {
        PyMem_Free(program);
        return NULL;
    }
    *program = (Program){.plainly = plainly, .saved = saved, .whole = whole, .edges = n};
    program->starts = PyMem_Calloc(n + 1, sizeof *program->starts);
    program->instructions = PyMem_Calloc(count + 1, sizeof *program->instructions);
    int failed = program->starts == NULL || program->instructions == NULL;
    for (Py_ssize_t i = 0, at = 0; i < n && !failed; i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i);
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(edge) && !failed; k++)
            failed = parse(PyTuple_GET_ITEM(edge, k), &program->instructions[at++]) < 0;
        program->starts[i + 1] = at;
    }
    failed = failed || PyDict_SetItem(known.programs, node_class, capsule) < 0;
    Py_DECREF(capsule);
    if (failed)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    Py_RETURN_NONE;
}

// ---- operands

static int is_version(PyObject *version, Tensor *t)
{
    if (!PyLong_CheckExact(version))
        return 0;
    if (t->counter == Py_None)
        return PyLong_AsSsize_t(version) == 0;
    return (PyObject *)Py_TYPE(t->counter) == known.Counter && PyLong_AsSsize_t(version) == ((Counter *)t->counter)->n;
}

int reads(PyObject *entry, Tensor **tensor)
{
    PyObject *version;
    if (PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == 2) {
        *tensor = (Tensor *)PyTuple_GET_ITEM(entry, 0);
        version = PyTuple_GET_ITEM(entry, 1);
    } else if ((PyObject *)Py_TYPE(entry) == known.SavedOutput) {
        *tensor = (Tensor *)((SavedOutput *)entry)->tensor;
        version = ((SavedOutput *)entry)->version;
    } else {
        return 0;
    }
    return is_version(version, *tensor);
}

static int as_number(PyObject *value, double *number)
{
    if (PyFloat_CheckExact(value)) {
        *number = PyFloat_AS_DOUBLE(value);
        return 1;
    }
    if (!PyLong_CheckExact(value))
        return 0;
    *number = PyLong_AsDouble(value);
    if (*number == -1.0 && PyErr_Occurred())
        PyErr_Clear();
    else if (*number <= 9007199254740992.0 && *number >= -9007199254740992.0)
        return 1;
    return 0;
}

int fetch_operand(const Program *program, Node *node, int source, PyObject *gradient, Value *to)
{
    *to = (Value){(PyArrayObject *)gradient, 0, 0};
    if (source < 0)
        return 1;
    if (source >= program->saved) {
        to->array = NULL;
        source -= (int)program->saved;
        return source < PyTuple_GET_SIZE(node->plain_values) &&
               as_number(PyTuple_GET_ITEM(node->plain_values, source), &to->number);
    }
    PyObject *entry = PyTuple_GET_ITEM(node->saved_entries, source);
    if ((PyObject *)Py_TYPE(entry) == known.SavedNumber) {
        to->array = NULL;
        return as_number(((SavedNumber *)entry)->value, &to->number);
    }
    Tensor *tensor;
    if (!reads(entry, &tensor) || tensor->backend != known.cpu || slot_in((PyArrayObject *)gradient) < 0)
        return 0;
    to->array = (PyArrayObject *)tensor->array;
    return PyArray_CheckExact(tensor->array) && PyArray_TYPE(to->array) == PyArray_TYPE((PyArrayObject *)gradient);
}

// ---- instructions: each replaces its operands, the last on the stack, by what it makes of them. 0: not for C.

static void drop(Value *value)
{
    if (value->owned)
        Py_DECREF(value->array);
    *value = (Value){NULL, 0, 0};
}

static int replace(Value *value, PyObject *made)
{
    if (made == NULL) {
        PyErr_Clear();
        return 0;
    }
    drop(value);
    *value = (Value){(PyArrayObject *)made, 0, 1};
    return 1;
}

npy_intp locate(Value *value, int slot, Element *element, char **data)
{
    if (value->array != NULL) {
        *data = PyArray_BYTES(value->array);
        return step_of(value->array);
    }
    if (slot == FLOAT32)
        element->of_float = (float)value->number;
    else
        element->of_double = value->number;
    *data = (char *)element;
    return 0;
}

static int apply(const Instruction *instruction, Value *operands)
{
    const int two = instruction->operands == 2;
    PyArrayObject *x = operands[0].array, *y = two ? operands[1].array : NULL, *like = x != NULL ? x : y;
    if (like == NULL || (x != NULL && y != NULL && (!same_shape(x, y) || PyArray_TYPE(x) != PyArray_TYPE(y))))
        return 0;
    const int slot = slot_in(like);
    Element elements[2];
    char *args[3];
    npy_intp steps[3];
    for (int i = 0; i <= two; i++)
        if ((steps[i] = slot < 0 ? -1 : locate(&operands[i], slot, &elements[i], &args[i])) < 0)
            return 0;
    PyObject *made = fresh(slot, PyArray_NDIM(like), PyArray_DIMS(like));
    if (made == NULL) {
        PyErr_Clear();
        return 0;
    }
    args[1 + two] = PyArray_BYTES((PyArrayObject *)made);
    steps[1 + two] = PyArray_ITEMSIZE(like);
    run_loop(&instruction->loops[slot], args, 2 + two, PyArray_SIZE(like), steps, like, y);
    if (two)
        drop(&operands[1]);
    return replace(&operands[0], made);
}

// The gradient where a value is above a number, and 0 elsewhere.
static int keep_above(Value *operands)
{
    PyArrayObject *g = operands[0].array, *x = operands[1].array;
    if (g == NULL || x == NULL || operands[2].array != NULL || !same_shape(g, x) || slot_in(g) < 0)
        return 0;
    const npy_intp step = step_of(g), count = PyArray_SIZE(g);
    PyObject *made = step < 0 || step_of(x) <= 0 ? NULL : fresh(slot_in(g), PyArray_NDIM(g), PyArray_DIMS(g));
    if (made == NULL) {
        PyErr_Clear();
        return 0;
    }
    keep_larger(slot_in(g), PyArray_DATA(g), step, PyArray_DATA(x), operands[2].number, PyArray_DATA((PyArrayObject *)made), count);
    drop(&operands[1]);
    return replace(&operands[0], made);
}

static int transpose(Value *operand)
{
    return operand->array != NULL && PyArray_NDIM(operand->array) == 2 &&
           replace(operand, PyArray_Transpose(operand->array, NULL));
}

static int dot(Value *operands)
{
    PyArrayObject *a = operands[0].array, *b = operands[1].array;
    enum { LONG_SUM = 1000 };  // from which on the kernel in Python sees to the order of additions
    if (a == NULL || b == NULL || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || PyArray_DIM(a, 1) != PyArray_DIM(b, 0) ||
        PyArray_DIM(a, 1) < 2)  // a lone product has a sign that a sum of it has not
        return 0;
    PyObject *made = product_in_tiles((PyObject *)a, (PyObject *)b);
    if (made == NULL && !PyErr_Occurred() && PyArray_DIM(a, 1) < LONG_SUM)
        made = PyArray_MatrixProduct2((PyObject *)a, (PyObject *)b, NULL);
    if (made != NULL)
        drop(&operands[1]);
    return replace(&operands[0], made);
}

static int sum_rows(Value *operand)
{
    PyArrayObject *x = operand->array;
    enum { IN_TURN = 8 };  // so many numbers NumPy adds in pairs where it finds them along rows, as it may in spread ones
    const npy_intp along = x == NULL || PyArray_NDIM(x) != 2 ? -1 : step_of(x);
    if (along < 0 || slot_in(x) < 0 || PyArray_DIM(x, 0) == 0 || (along == 0 && PyArray_DIM(x, 0) >= IN_TURN))
        return 0;
    const int slot = slot_in(x);
    const npy_intp width = PyArray_DIM(x, 1), item = PyArray_ITEMSIZE(x), steps[] = {item, along, item};
    PyObject *made = fresh(slot, 1, &width);
    if (made == NULL) {
        PyErr_Clear();
        return 0;
    }
    char *to = PyArray_BYTES((PyArrayObject *)made);
    for (npy_intp i = 0; i < width; i++)
        memcpy(to + i * item, PyArray_BYTES(x) + i * along, item);
    for (npy_intp row = 1; row < PyArray_DIM(x, 0); row++) {
        char *args[] = {to, PyArray_BYTES(x) + row * width * along, to};
        adding[slot].run(args, &width, steps, adding[slot].data);
    }
    return replace(operand, made);
}

// One number, seen in the shape that the operand of a reduction had.
static int spread(Value *operand, Node *node)
{
    PyArrayObject *number = operand->array;
    if (number == NULL || PyArray_NDIM(number) != 0 || !PyTuple_CheckExact(node->operand_forms))
        return 0;
    PyObject *shape = PyTuple_GET_ITEM(node->operand_forms, 0);
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS] = {0};
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    if (ndim == 0 || ndim > NPY_MAXDIMS)
        return 0;
    for (Py_ssize_t i = 0; i < ndim; i++)
        dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    PyArray_Descr *descr = PyArray_DESCR(number);
    Py_INCREF(descr);
    PyObject *made = PyArray_NewFromDescr(
        &PyArray_Type, descr, (int)ndim, dims, strides, PyArray_DATA(number), NPY_ARRAY_WRITEABLE, NULL);
    if (made == NULL || PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef(number)) < 0)
        Py_CLEAR(made);
    return replace(operand, made);
}

double count_of(Node *node)
{
    PyObject *shape = PyTuple_CheckExact(node->operand_forms) ? PyTuple_GET_ITEM(node->operand_forms, 0) : known.empty;
    double count = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); i++)
        count *= (double)PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    return count;
}

// A gradient that lies by rows, unless the strides that were noted are of a matrix that lies by columns.
static int by_rows(const Program *program, Value *operands, Node *node)
{
    const Py_ssize_t at = (Py_ssize_t)operands[1].number - program->saved;
    PyObject *strides = at < PyTuple_GET_SIZE(node->plain_values) ? PyTuple_GET_ITEM(node->plain_values, at) : Py_None;
    if (operands[0].array == NULL || !PyTuple_Check(strides) || PyTuple_GET_SIZE(strides) != 2)
        return 0;
    const npy_intp rows = PyArray_DIM(operands[0].array, 0);
    return rows == 1 || PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, 1)) != rows ||
           PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, 0)) != 1;
}

static PyObject *evaluate(const Program *program, Py_ssize_t edge, Node *node, PyObject *gradient)
{
    const int many = PyArray_SIZE((PyArrayObject *)gradient) >= MANY;
    PyObject *made = many ? evaluate_in_stretches(program, edge, node, gradient) : NULL;
    if (made != NULL)
        return made;
    Value stack[DEEPEST + 1];
    int top = 0, fine = 1;  // `top` counts the operands
    for (Py_ssize_t i = program->starts[edge]; fine && i < program->starts[edge + 1]; i++) {
        const Instruction *instruction = &program->instructions[i];
        switch (instruction->code) {
        case SOURCE:
            fine = top < DEEPEST && fetch_operand(program, node, instruction->source, gradient, &stack[top]);
            top += fine;
            break;
        case CONSTANT:
            stack[top++] = (Value){NULL, instruction->number, 0};
            fine = top <= DEEPEST;
            break;
        case COUNT:
            stack[top] = (Value){NULL, count_of(node), 0};
            fine = ++top <= DEEPEST;
            break;
        case APPLY:
            fine = top >= instruction->operands && apply(instruction, &stack[top - instruction->operands]);
            top -= fine ? instruction->operands - 1 : 0;
            break;
        case KEEP_ABOVE:
            fine = top >= 3 && keep_above(&stack[top - 3]);
            top -= fine ? 2 : 0;
            break;
        case DOT:
            fine = top >= 2 && dot(&stack[top - 2]);
            top -= fine;
            break;
        case BY_ROWS:
            fine = top >= 2 && by_rows(program, &stack[top - 2], node);
            top -= fine;
            break;
        case TRANSPOSE: fine = top >= 1 && transpose(&stack[top - 1]); break;
        case SUM_ROWS: fine = top >= 1 && sum_rows(&stack[top - 1]); break;
        case SPREAD: fine = top >= 1 && spread(&stack[top - 1], node); break;
        }
    }
    if (fine && top == 1 && stack[0].array != NULL)
        return stack[0].owned ? (PyObject *)stack[0].array : Py_NewRef(stack[0].array);
    while (top > 0)
        drop(&stack[--top]);
    return NULL;
}

// The gradient as the operand has it, which may have been broadcast. It takes the gradient over.
static PyObject *fitted(PyObject *gradient, PyObject *form)
{
    PyObject *shape = PyTuple_GET_ITEM(form, 0);
    if (gradient == NULL || has_shape((PyArrayObject *)gradient, shape))
        return gradient;
    PyObject *made = PyObject_CallFunctionObjArgs(known.sum_to_shape, gradient, shape, NULL);
    Py_DECREF(gradient);
    return made;
}

int run_program(const Program *program, Node *node, PyObject *gradient, PyObject *edges, PyObject **out)
{
    PyObject *forms = node->operand_forms;
    const Py_ssize_t count = PyTuple_GET_SIZE(edges);
    if (!PyTuple_CheckExact(node->saved_entries) || PyTuple_GET_SIZE(node->saved_entries) != program->saved ||
        !PyTuple_CheckExact(node->plain_values) || forms == NULL || count != program->edges || !PyArray_CheckExact(gradient))
        return 1;
    if (program->plainly &&
        (PyTuple_GET_SIZE(node->plain_values) != 1 || PyTuple_GET_ITEM(node->plain_values, 0) != known.one))
        return 1;
    PyObject *form = PyTuple_GET_ITEM(node->output_forms, 0);
    const int slot = slot_of(PyTuple_GET_ITEM(form, 1));
    if (slot < 0 || slot > FLOAT64 || slot != slot_in((PyArrayObject *)gradient) ||
        PyTuple_GET_ITEM(form, 2) != known.cpu || !has_shape((PyArrayObject *)gradient, PyTuple_GET_ITEM(form, 0)))
        return 1;
    const int fits = forms != Py_None && !program->whole;
    if (forms != Py_None && (!PyTuple_CheckExact(forms) || (program->whole && PyTuple_GET_ITEM(forms, 1) != dtype_at(slot))))
        return 1;
    for (Py_ssize_t i = 0; fits && i < count; i++) {
        PyObject *one = PyTuple_GET_ITEM(forms, i);
        if (one == Py_None || PyTuple_GET_ITEM(one, 1) != dtype_at(slot))
            return 1;
    }
    if (count == 1 && PyTuple_GET_ITEM(edges, 0) == Py_None)
        return 1;
    int failed = 0;
    memset(out, 0, count * sizeof *out);
    for (Py_ssize_t i = 0; i < count && !failed; i++) {
        if (PyTuple_GET_ITEM(edges, i) == Py_None)
            continue;
        out[i] = evaluate(program, i, node, gradient);
        failed = out[i] == NULL;
        if (!failed && fits) {
            out[i] = fitted(out[i], PyTuple_GET_ITEM(forms, i));
            failed = out[i] == NULL ? -1 : 0;
        }
    }
    for (Py_ssize_t i = 0; failed && i < count; i++)
        Py_CLEAR(out[i]);
    return failed;
}

PyObject *sum_of(PyObject *a, PyObject *b, int into_a)
{
    if (!PyArray_CheckExact(a) || !PyArray_CheckExact(b))
        return NULL;
    PyArrayObject *x = (PyArrayObject *)a, *y = (PyArrayObject *)b;
    const int slot = slot_in(x);
    const npy_intp one = step_of(x), other = step_of(y);
    if (slot < 0 || slot != slot_in(y) || one < 0 || other < 0 || !same_shape(x, y))
        return NULL;
    PyObject *made = into_a && one > 0 ? Py_NewRef(a) : fresh(slot, PyArray_NDIM(x), PyArray_DIMS(x));
    if (made == NULL) {
        PyErr_Clear();
        return NULL;
    }
    char *args[] = {PyArray_BYTES(x), PyArray_BYTES(y), PyArray_BYTES((PyArrayObject *)made)};
    const npy_intp steps[] = {one, other, PyArray_ITEMSIZE(x)}, size = PyArray_SIZE(x);
    adding[slot].run(args, &size, steps, adding[slot].data);
    return made;
}
