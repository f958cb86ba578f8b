// Plans of calls: remember.c reads what Python hands over, plan.c runs them.
#ifndef TORCHLITE_PLAN_H
#define TORCHLITE_PLAN_H

#include "native.h"

enum { FORMS = 24, MOST_DIMS = 16, MOST_ARGUMENTS = 32 };
enum { IN_PYTHON, VIEW, VIEWS, KERNEL, CONSTANT, STEPS };

typedef struct { npy_intp dims[MOST_DIMS], strides[MOST_DIMS], offset; int ndim; PyObject *backend; } Piece;  // what a view shows

typedef struct {
    int holders;                // the functions that know it, and the calls that run it
    Form form;
    int kind;
    PyObject *plan, *data;
    History history;
    PyObject *step, *apply, *dtype, *view_kind;  // of views, and where those with a history go
    Piece *pieces;
    Py_ssize_t count;
    PyObject *kernel, *template_, *singles, *sequences, *dtypes, *descrs, *wrap, *check, *after;  // of a kernel
    int several;                // whether it has a tuple of results
    PyObject *array;            // of a constant
    PyObject *defaults;         // those of the time, on which what is made anew depends
    PyObject *steps;            // of a composite
    PyObject *viewed;           // on levels: the step of a view, or None
} Plan;

// Of a function that writes what plans give into the first tensor, if `in_place`, or that draws numbers, `plainly`: neither
// has plans while transforms of functions run. The plan met last stands first.
typedef struct { int in_place, plainly; Plan *plans[FORMS]; } Planned;

void release(Plan *plan);                                // of one that holds it
PyObject *call_planned(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames);

#endif
