// Products of matrices: of small ones in a few loops, since a call of BLAS takes longer to begin; of floats by tiles, where
// vectors are wide, as quickly as BLAS and with smaller errors; else by NumPy's BLAS.
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

enum { DEEP = 144, TALL = 512, BROAD = 288 };  // the most numbers added up in a tile; its rows, and its columns

// A tile: what of the second matrix is laid out for it, row by row, and where results come to be once all is added up.
typedef struct { Product p; const float *b, *start; N down, right, next; float *laid, *to; int ends; } Tile;

static N at_most(N n, N most) { return n < most ? n : most; }

static void lay_share(void *work, N from, N to)
{
    const Tile *t = work;
    float *laid = t->laid + from * t->p.apart;
    const float *b = t->b + from * t->down;
    if (t->right == 1) for (; from < to; from++, laid += t->p.apart, b += t->down) memcpy(laid, b, t->p.columns * sizeof *b);
    else turn(b, t->right, t->p.columns, to - from, laid, t->p.apart);
}

static void tile_share(void *work, N from, N to)
{
    const Tile *t = work;
    loops->multiply(&t->p, from, to);
    for (N i = from * BLOCK_ROWS; t->ends && i < at_most(to * BLOCK_ROWS, t->p.rows); i++) {
        memcpy(t->to + i * t->next, t->p.to + i * t->p.next, t->p.columns * sizeof *t->to);
        if (t->start) loops->add_to(t->start, t->to + i * t->next, t->p.columns);
    }
}

static void multiply_tiles(Matrix a, Matrix b, const float *start, float *to, float *room)
{
    for (N c = 0; c < b.columns; c += BROAD)
        for (N r = 0; r < a.rows; r += TALL)
            for (N k = 0; k < a.columns; k += DEEP) {
                const N rows = at_most(a.rows - r, TALL), n = at_most(a.columns - k, DEEP);
                const N columns = at_most(b.columns - c, BROAD), apart = apart_for(columns);
                const float *from = data_of(a.array) + r * a.down + k * a.right;
                float *made = room + at_most(a.columns, DEEP) * apart;
                Tile t = {{from, room, NULL, made, rows, n, columns, a.down, a.right, apart, apart, k > 0},
                          data_of(b.array) + k * b.down + c * b.right, start ? start + c : NULL, b.down, b.right, b.columns, room,
                          to + r * b.columns + c, k + n == a.columns};
                in_shares(lay_share, &t, n, least_of(columns));
                in_shares(tile_share, &t, (rows + BLOCK_ROWS - 1) / BLOCK_ROWS, least_of(n * columns));
            }
}

static PyObject *in_tiles(Matrix a, Matrix b, PyArrayObject *start)
{
    const npy_intp shape[] = {a.rows, b.columns};
    const N rows = at_most(a.rows, TALL) + at_most(a.columns, DEEP);
    float *room = PyMem_RawMalloc(rows * apart_for(at_most(b.columns, BROAD)) * sizeof *room);
    PyArrayObject *made = room ? fresh(2, shape) : (PyArrayObject *)PyErr_NoMemory();
    if (made) WORK(a.rows * a.columns * b.columns, multiply_tiles(a, b, data_or_null(start), data_of(made), room));
    PyMem_RawFree(room);
    return (PyObject *)made;
}

// Whether vectors are wide, and there is so much to do with what is laid out and with sums that it takes no longer than in BLAS.
static int is_for_tiles(Matrix a, Matrix b)
{
    return loops->lanes == 16 && a.rows >= 32 && b.columns >= 32 && a.columns >= 96 && PyArray_TYPE(a.array) == NPY_FLOAT32 &&
           a.rows * a.columns * b.columns >= 1 << 20;
}

PyObject *product_in_tiles(PyObject *a, PyObject *b)
{
    Matrix x, y;
    if (!as_matrix(a, NPY_FLOAT32, &x) || !as_matrix(b, NPY_FLOAT32, &y) || x.columns != y.rows || !is_for_tiles(x, y)) return NULL;
    return in_tiles(x, y, NULL);
}

// `a @ b`, with `start` added to each row where it is given.
static PyObject *multiplied(Matrix a, Matrix b, PyObject *start, int type)
{
    if (a.columns != b.rows) return NULL;
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
    if (is_for_tiles(a, b)) return in_tiles(a, b, s);
    if (a.columns == 1 || a.columns >= LONG_SUM) return NULL;
    const int turn = b.rows != PyArray_DIM(b.array, 0) || b.down != PyArray_STRIDE(b.array, 0) / PyArray_ITEMSIZE(b.array);
    PyObject *right = turn ? PyArray_Transpose(b.array, NULL) : Py_NewRef(b.array);
    PyObject *made = right ? PyArray_MatrixProduct2((PyObject *)a.array, right, NULL) : NULL;
    Py_XDECREF(right);
    if (!made || !s) return made;
    for (N i = 0; i < a.rows; i++) {
        void *row = PyArray_BYTES((PyArrayObject *)made) + i * b.columns * PyArray_ITEMSIZE(s);
        if (type == NPY_FLOAT32) loops->add_to(data_of(s), row, b.columns);
        else for (N j = 0; j < b.columns; j++) ((double *)row)[j] += ((double *)PyArray_DATA(s))[j];
    }
    return made;
}

static int type_of(PyObject *o)
{
    if (!PyArray_CheckExact(o)) return -1;
    const int type = PyArray_TYPE((PyArrayObject *)o);
    return type == NPY_FLOAT32 || type == NPY_FLOAT64 ? type : -1;
}

static PyObject *product_by(PyObject *start, PyObject *first, PyObject *second, int turn)
{
    Matrix a, b;
    const int type = type_of(first);
    if (type < 0 || !as_matrix(first, type, &a) || !as_matrix(second, type, &b)) return NULL;
    return multiplied(a, turn ? turned(b) : b, start, type);
}

static PyObject *mm(PyObject *const *a, Py_ssize_t count) { return count == 2 ? product_by(NULL, a[0], a[1], 0) : NULL; }
static PyObject *linear(PyObject *const *a, Py_ssize_t count) { return count == 2 ? product_by(NULL, a[0], a[1], 1) : NULL; }
static PyObject *linear_bias(PyObject *const *a, Py_ssize_t count) { return count == 3 ? product_by(a[0], a[1], a[2], 1) : NULL; }

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

// Batches of matrices that are so small that BLAS would leave each to one thread: each thread has some.
static PyObject *bmm(PyObject *const *a, Py_ssize_t count)
{
    const int type = count == 2 ? type_of(a[0]) : -1;
    if (type < 0 || type_of(a[1]) != type) return NULL;
    PyArrayObject *x = (PyArrayObject *)a[0], *y = (PyArrayObject *)a[1];
    if (PyArray_NDIM(x) != 3 || PyArray_NDIM(y) != 3 || !PyArray_ISBEHAVED_RO(x) ||
        !PyArray_ISBEHAVED_RO(y) || PyArray_DIM(x, 0) != PyArray_DIM(y, 0) || PyArray_DIM(x, 2) != PyArray_DIM(y, 1))
        return NULL;
    const npy_intp shape[] = {PyArray_DIM(x, 0), PyArray_DIM(x, 1), PyArray_DIM(y, 2)};
    const N each = shape[1] * shape[2] * PyArray_DIM(x, 2);
    if (shape[1] < 2 || shape[2] < 2 || !each || each > 1 << 18) return NULL;
    PyObject *made = PyArray_SimpleNew(3, (npy_intp *)shape, type);
    if (made) multiply_batches(x, y, (PyArrayObject *)made, least_of(each / 8));
    return made;
}

const KernelDef product_kernels[] = {
    {"mv", mv}, {"bmm", bmm},
    {"mm", mm}, {"matmul", mm}, {"_linear", linear}, {"_linear.bias", linear_bias}, {NULL},
};
