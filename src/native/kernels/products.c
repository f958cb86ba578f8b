// Products of matrices: of small ones in a few loops, since a call of BLAS takes longer to begin; else by NumPy's BLAS.
#include "kernel.h"

enum { SMALL = 1 << 11, LONG_SUM = 1000 };  // multiplications; numbers added up, from which on the twin sees to the order

// A matrix of floats that lies row by row or column by column: the steps of its rows and columns, in elements.
typedef struct { PyArrayObject *array; N rows, columns, down, right; } Matrix;

static int as_matrix(PyObject *o, int type, Matrix *m)
{
    PyArrayObject *a = (PyArrayObject *)o;
    if (!PyArray_CheckExact(o) || PyArray_TYPE(a) != type || PyArray_NDIM(a) != 2 || !PyArray_ISBEHAVED_RO(a)) return 0;
    *m = (Matrix){a, PyArray_DIM(a, 0), PyArray_DIM(a, 1), 0, 0};
    if (PyArray_IS_C_CONTIGUOUS(a)) m->down = m->columns, m->right = 1;
    else if (PyArray_IS_F_CONTIGUOUS(a)) m->down = 1, m->right = m->rows;
    else return 0;
    return m->rows && m->columns;
}

static Matrix turned(Matrix m) { return (Matrix){m.array, m.columns, m.rows, m.right, m.down}; }

#define MULTIPLY(type) \
    static void multiply_##type(Matrix a, Matrix b, const type *start, type *out) \
    { \
        const type *x = PyArray_DATA(a.array), *y = PyArray_DATA(b.array); \
        for (N i = 0; i < a.rows; i++, out += b.columns) { \
            for (N j = 0; j < b.columns; j++) out[j] = a.columns == 1 ? (type)-0.0 : 0; /* a lone product keeps its sign */ \
            for (N k = 0; k < a.columns; k++) { \
                const type factor = x[i * a.down + k * a.right], *row = y + k * b.down; \
                for (N j = 0; j < b.columns; j++) out[j] += factor * row[j * b.right]; \
            } \
            for (N j = 0; start && j < b.columns; j++) out[j] += start[j]; \
        } \
    }
MULTIPLY(float)
MULTIPLY(double)

// `a @ b`, with `start` added to each row where it is given.
static PyObject *multiplied(Matrix a, Matrix b, PyObject *start, int type)
{
    if (a.columns != b.rows || a.columns >= LONG_SUM) return NULL;
    PyArrayObject *s = start ? array_of(start, type) : NULL;
    if (start && (!s || PyArray_NDIM(s) != 1 || PyArray_DIM(s, 0) != b.columns)) return NULL;
    const npy_intp shape[] = {a.rows, b.columns};
    if (a.rows <= SMALL && b.columns <= SMALL && a.rows * a.columns * b.columns <= SMALL) {
        PyArrayObject *made = (PyArrayObject *)PyArray_SimpleNew(2, (npy_intp *)shape, type);
        if (!made) return NULL;
        if (type == NPY_FLOAT32) multiply_float(a, b, s ? PyArray_DATA(s) : NULL, PyArray_DATA(made));
        else multiply_double(a, b, s ? PyArray_DATA(s) : NULL, PyArray_DATA(made));
        return (PyObject *)made;
    }
    if (a.columns == 1) return NULL;
    const int turn = b.rows != PyArray_DIM(b.array, 0) || b.down != PyArray_STRIDE(b.array, 0) / PyArray_ITEMSIZE(b.array);
    PyObject *right = turn ? PyArray_Transpose(b.array, NULL) : Py_NewRef(b.array);
    PyObject *made = right ? PyArray_MatrixProduct2((PyObject *)a.array, right, NULL) : NULL;
    Py_XDECREF(right);
    if (!made || !s) return made;
    for (N i = 0; i < a.rows; i++) {
        if (type == NPY_FLOAT32)
            for (N j = 0; j < b.columns; j++)
                ((float *)PyArray_DATA((PyArrayObject *)made))[i * b.columns + j] += ((float *)PyArray_DATA(s))[j];
        else
            for (N j = 0; j < b.columns; j++)
                ((double *)PyArray_DATA((PyArrayObject *)made))[i * b.columns + j] += ((double *)PyArray_DATA(s))[j];
    }
    return made;
}

static int type_of(PyObject *o)
{
    if (!PyArray_CheckExact(o)) return -1;
    const int type = PyArray_TYPE((PyArrayObject *)o);
    return type == NPY_FLOAT32 || type == NPY_FLOAT64 ? type : -1;
}

static PyObject *mm(PyObject *const *a, Py_ssize_t count)
{
    Matrix x, y;
    const int type = count == 2 ? type_of(a[0]) : -1;
    return type >= 0 && as_matrix(a[0], type, &x) && as_matrix(a[1], type, &y) ? multiplied(x, y, NULL, type) : NULL;
}

static PyObject *linear(PyObject *const *a, Py_ssize_t count)
{
    Matrix x, w;
    const int type = count == 2 ? type_of(a[0]) : -1;
    if (type < 0 || !as_matrix(a[0], type, &x) || !as_matrix(a[1], type, &w)) return NULL;
    return multiplied(x, turned(w), NULL, type);
}

static PyObject *linear_bias(PyObject *const *a, Py_ssize_t count)
{
    Matrix x, w;
    const int type = count == 3 ? type_of(a[1]) : -1;
    if (type < 0 || !as_matrix(a[1], type, &x) || !as_matrix(a[2], type, &w)) return NULL;
    return multiplied(x, turned(w), a[0], type);
}

// A matrix that lies column by column times a vector: a sum of its columns, each times a number.
static PyObject *mv(PyObject *const *a, Py_ssize_t count)
{
    Matrix m;
    PyArrayObject *v = count == 2 ? floats(a[1]) : NULL;
    if (!v || !as_matrix(a[0], NPY_FLOAT32, &m) || m.down != 1 || m.rows == 1 || m.columns < 2 || PyArray_NDIM(v) != 1 ||
        PyArray_SIZE(v) != m.columns)
        return NULL;
    const npy_intp rows = m.rows;
    PyArrayObject *y = fresh(1, &rows);
    if (y) sum_columns(data_of(m.array), data_of(v), 0, data_of(y), m.columns, m.rows);
    return (PyObject *)y;
}

const KernelDef product_kernels[] = {
    {"mv", mv},
    {"mm", mm}, {"matmul", mm}, {"_linear", linear}, {"_linear.bias", linear_bias}, {NULL},
};
