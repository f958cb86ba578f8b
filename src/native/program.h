// Formula programs: program.c reads and runs them, stretches.c runs those of numbers on large arrays.
#ifndef TORCHLITE_PROGRAM_H
#define TORCHLITE_PROGRAM_H

#include "native.h"

enum { SOURCE, CONSTANT, APPLY, TRANSPOSE, DOT, SUM_ROWS, KEEP_ABOVE, SPREAD, COUNT, BY_ROWS };
enum { DEEPEST = 8 };  // operands on the stack
enum { MANY = 1 << 13 };  // numbers, from which on formulas run in stretches

typedef struct { int code, source, operands; double number; Loop loops[2]; } Instruction;

struct Program {
    int plainly;              // whether it is for nodes that noted a 1 alone: no factor
    Py_ssize_t saved;         // how many entries are saved; what is noted is counted on from there
    int whole;                // whether it is for nodes whose `operand_forms` speak of one operand, as reductions' do
    Py_ssize_t edges, *starts;
    Instruction *instructions;
};

// An operand: an array, held if `owned`, or a number.
typedef struct { PyArrayObject *array; double number; int owned; } Value;

typedef union { float of_float; double of_double; } Element;

static inline int slot_in(PyArrayObject *array)
{
    return PyArray_TYPE(array) == NPY_FLOAT ? FLOAT32 : PyArray_TYPE(array) == NPY_DOUBLE ? FLOAT64 : -1;
}

// An instruction's source, borrowed. Whether it is one for C.
int fetch_operand(const Program *program, Node *node, int source, PyObject *gradient, Value *to);
// Where a loop finds an operand, and its step: an array, or a number that is made an element.
npy_intp locate(Value *value, int slot, Element *element, char **data);
// A gradient, all of whose numbers are one where its step is 0, where values are larger than a number, and 0 elsewhere.
void keep_larger(int slot, const void *gradient, npy_intp step, const void *values, double least, void *to, npy_intp n);
// How many elements the operand of a reduction had.
double count_of(Node *node);
// The values of an edge's instructions, of a large gradient, if these are formulas for single numbers; else NULL.
PyObject *evaluate_in_stretches(const Program *program, Py_ssize_t edge, Node *node, PyObject *gradient);

#endif
