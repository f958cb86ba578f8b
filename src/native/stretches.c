// Formulas for single numbers on large arrays: all of a formula's instructions for a stretch that stays in the cache, then
// for the next one; the numbers in between never go to memory.
#include "program.h"
#include "threads.h"

enum { STRETCH = 1024, LONGEST_FORMULA = 32 };

// An operand of the stretch at hand: where it begins, and the step from one number to the next.
typedef struct { char *data; npy_intp step; } Operand;

typedef struct {
    const Instruction *instructions;
    Py_ssize_t count;
    int slot;
    npy_intp item;
    Operand sources[LONGEST_FORMULA];  // of the instructions that have one
    Element numbers[LONGEST_FORMULA];
    char *to;
} Formula;

void keep_larger(int slot, const void *gradient, npy_intp step, const void *values, double least, void *to, npy_intp n)
{
#define KEEP(type) { \
        const type *g = gradient, *x = values, limit = (type)least; \
        if (step) \
            for (npy_intp i = 0; i < n; i++) ((type *)to)[i] = x[i] <= limit ? 0 : g[i]; \
        else \
            for (npy_intp i = 0; i < n; i++) ((type *)to)[i] = x[i] <= limit ? 0 : *g; \
    }
    if (slot == FLOAT32 && step && least == 0)
        keep_positive(gradient, values, to, n);
    else if (slot == FLOAT32)
        KEEP(float)
    else
        KEEP(double)
}

static void run_stretch(const Formula *f, npy_intp from, npy_intp n, char *room)
{
    Operand stack[DEEPEST + 1];
    int top = 0;
    for (Py_ssize_t i = 0; i < f->count; i++) {
        const Instruction *in = &f->instructions[i];
        if (in->code != APPLY && in->code != KEEP_ABOVE) {
            stack[top++] = (Operand){f->sources[i].data + from * f->sources[i].step, f->sources[i].step};
            continue;
        }
        top -= in->code == APPLY ? in->operands : 3;
        Operand *o = &stack[top];
        char *to = i + 1 == f->count ? f->to + from * f->item : room + top * STRETCH * sizeof(Element);
        if (in->code == KEEP_ABOVE) {
            keep_larger(f->slot, o[0].data, o[0].step, o[1].data, f->instructions[i - 1].number, to, n);
        } else {
            char *args[] = {o[0].data, in->operands == 2 ? o[1].data : to, to};
            const npy_intp steps[] = {o[0].step, in->operands == 2 ? o[1].step : f->item, f->item};
            in->loops[f->slot].run(args, &n, steps, in->loops[f->slot].data);
        }
        stack[top++] = (Operand){to, f->item};
    }
}

static void run_stretches(void *work, ptrdiff_t from, ptrdiff_t to)
{
    Element room[DEEPEST * STRETCH];
    for (; from < to; from += STRETCH)
        run_stretch(work, from, to - from < STRETCH ? to - from : STRETCH, (char *)room);
}

// Reads an instruction's source, into `held` where it is an array. Whether the formula's numbers may be had so.
static int locate_source(Formula *f, Py_ssize_t i, const Program *program, Node *node, PyArrayObject *gradient, PyObject **held)
{
    const Instruction *in = &f->instructions[i];
    Value value = {NULL, in->code == CONSTANT ? in->number : in->code == COUNT ? count_of(node) : 0, 0};
    if (in->code == SOURCE && !fetch_operand(program, node, in->source, (PyObject *)gradient, &value))
        return 0;
    if (value.array != NULL && !same_shape(value.array, gradient))
        return 0;
    f->sources[i].step = locate(&value, f->slot, &f->numbers[i], &f->sources[i].data);
    *held = Py_XNewRef((PyObject *)value.array);
    return f->sources[i].step >= 0;
}

static int is_for_stretches(const Instruction *instructions, Py_ssize_t count)
{
    int top = 0, applied = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        const int code = instructions[i].code;
        const int takes = code == APPLY ? instructions[i].operands : code == KEEP_ABOVE ? 3 : 0;
        if ((code != SOURCE && code != CONSTANT && code != COUNT && !takes) || (top += 1 - takes) > DEEPEST || top < 1)
            return 0;
        // The limit is one number.
        if (code == KEEP_ABOVE && instructions[i - 1].code != CONSTANT)
            return 0;
        applied += code == KEEP_ABOVE ? 2 : takes > 0;  // NumPy's loops are as good for one ufunc alone
    }
    return applied > 1 && count <= LONGEST_FORMULA && top == 1;
}

PyObject *evaluate_in_stretches(const Program *program, Py_ssize_t edge, Node *node, PyObject *gradient)
{
    PyArrayObject *g = (PyArrayObject *)gradient;
    Formula f = {&program->instructions[program->starts[edge]], program->starts[edge + 1] - program->starts[edge], slot_in(g)};
    if (f.slot < 0 || !is_for_stretches(f.instructions, f.count))
        return NULL;
    PyObject *held[LONGEST_FORMULA] = {NULL}, *made = NULL;
    int fine = 1;
    for (Py_ssize_t i = 0; fine && i < f.count; i++)
        if (f.instructions[i].code == KEEP_ABOVE)
            fine = f.instructions[i - 2].code == APPLY || f.sources[i - 2].step > 0;
        else if (f.instructions[i].code != APPLY)
            fine = locate_source(&f, i, program, node, g, &held[i]);
    if (fine && (made = fresh(f.slot, PyArray_NDIM(g), PyArray_DIMS(g))) != NULL) {
        f.item = PyArray_ITEMSIZE(g);
        f.to = PyArray_BYTES((PyArrayObject *)made);
        const npy_intp count = PyArray_SIZE(g);
        Py_BEGIN_ALLOW_THREADS
        in_shares(run_stretches, &f, count, THREADS_FROM / 4);
        Py_END_ALLOW_THREADS
    }
    PyErr_Clear();
    for (Py_ssize_t i = 0; i < f.count && i < LONGEST_FORMULA; i++)
        Py_XDECREF(held[i]);
    return made;
}
