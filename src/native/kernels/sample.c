// Images of another size, padded or sampled: see loops/sample.c.
#include "kernel.h"

static PyArrayObject *whole_numbers(PyObject *o) { return array_of(o, NPY_INT64); }

// The elements that results are made of, from arrays: where those of each begin, their places, and weights or None.
static int describe_taps(Taps *t, PyObject *given, N size)
{
    if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != 3) return 0;
    PyArrayObject *starts = whole_numbers(PyTuple_GET_ITEM(given, 0)), *places = whole_numbers(PyTuple_GET_ITEM(given, 1)), *weights;
    if (!starts || !places || PyArray_NDIM(starts) != 1 || PyArray_NDIM(places) != 1 || PyArray_SIZE(starts) < 2 ||
        !vector(PyTuple_GET_ITEM(given, 2), PyArray_SIZE(places), &weights))
        return 0;
    *t = (Taps){size, PyArray_SIZE(starts) - 1, PyArray_DATA(starts), PyArray_DATA(places), data_or_null(weights)};
    int fine;
    loops->all_below(t->places, PyArray_SIZE(places), size, &fine);
    for (N i = 0; i < t->n; i++) fine = fine && t->starts[i] <= t->starts[i + 1];
    return fine && !t->starts[0] && t->starts[t->n] == PyArray_SIZE(places);
}

// Stretches of results that are stretches of elements: where they begin, and where in the elements. Memory to free.
static int64_t *find_runs(Taps *t)
{
    for (N i = 0; i <= t->n; i++)
        if (t->weights || t->starts[i] != i) return NULL;
    int64_t *room = PyMem_Malloc((size_t)(2 * t->n + 1) * sizeof *room);
    if (!room) return NULL;
    t->run_starts = room;
    t->run_places = room + t->n + 1;
    for (N i = 0; i < t->n; i++)
        if (!i || t->places[i] != t->places[i - 1] + 1) {
            room[t->runs] = i;
            room[t->n + 1 + t->runs++] = t->places[i];
        }
    room[t->runs] = t->n;
    return room;
}

typedef struct { const Taps *taps, *columns; const float *x; float *y; N last; } Mapping;

static void map_share(void *work, N from, N to)
{
    const Mapping *w = work;
    const float *x = w->x + from * w->taps->size * w->last;
    if (w->columns) loops->map_planes(w->taps, w->columns, x, w->y + from * w->taps->n * w->columns->n, to - from);
    else loops->map_along(w->taps, x, w->y + from * w->taps->n * w->last, to - from, w->last);
}

// One dimension of an array after the other, as the items of a list of (axis, taps, table) say; but rows and columns of
// planes at once where they are only put elsewhere.
typedef struct { N axis; Taps taps; int64_t *runs; } Step;
enum { MOST = 4 };

static int read_step(Step *step, PyObject *given, PyArrayObject *x)
{
    if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != 3 || !whole_number(PyTuple_GET_ITEM(given, 0), &step->axis) ||
        step->axis < 0 || step->axis >= PyArray_NDIM(x) ||
        !describe_taps(&step->taps, PyTuple_GET_ITEM(given, 2), PyArray_DIM(x, step->axis)))
        return 0;
    step->runs = find_runs(&step->taps);
    return 1;
}

// The array after one step, or two.
static PyArrayObject *mapped(const Step *step, const Step *columns, PyArrayObject *x)
{
    npy_intp shape[NPY_MAXDIMS];
    const N first = product(PyArray_DIMS(x), (int)step->axis);
    memcpy(shape, PyArray_DIMS(x), PyArray_NDIM(x) * sizeof *shape);
    shape[step->axis] = step->taps.n;
    if (columns) shape[columns->axis] = columns->taps.n;
    PyArrayObject *y = fresh(PyArray_NDIM(x), shape);
    if (!y) return NULL;
    Mapping work = {&step->taps, columns ? &columns->taps : NULL, data_of(x), data_of(y),
                    product(PyArray_DIMS(x) + step->axis + 1, PyArray_NDIM(x) - (int)step->axis - 1)};
    SHARED(map_share, work, first, product(shape + step->axis, PyArray_NDIM(x) - (int)step->axis));
    return y;
}

// `map_all(xp, array, steps)`
static PyObject *map_all(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 3 && PyModule_Check(a[0]) && PyList_CheckExact(a[2]) ? floats(a[1]) : NULL;
    Step steps[MOST] = {{0}};
    const Py_ssize_t n = x ? PyList_GET_SIZE(a[2]) : 0;
    int fine = n && n <= MOST && PyArray_SIZE(x);
    for (Py_ssize_t i = 0; fine && i < n; i++) {
        fine = read_step(steps + i, PyList_GET_ITEM(a[2], i), x);
        for (Py_ssize_t k = 0; k < i; k++) fine = fine && steps[k].axis != steps[i].axis;
    }
    PyArrayObject *y = fine ? (PyArrayObject *)Py_NewRef((PyObject *)x) : NULL;
    for (Py_ssize_t i = 0; y && i < n; i++) {
        const Step *step = steps + i, *columns = NULL, *next = i + 1 < n ? step + 1 : NULL;
        PyArrayObject *from = y;
        const N last = PyArray_NDIM(x) - 1;
        if (next && step->taps.runs && next->taps.runs && step->axis + next->axis == 2 * last - 1 &&
            (step->axis == last || next->axis == last)) {
            columns = step->axis == last ? step : next;
            step = step->axis == last ? next : step;
            i++;
        }
        y = mapped(step, columns, from);
        Py_DECREF(from);
    }
    for (Py_ssize_t i = 0; i < n && i < MOST; i++) PyMem_Free(steps[i].runs);
    return (PyObject *)y;
}

// ---- points

// Images (n, channels, height, width) and points (n, …, 2), of which `options` say how they are meant.
static int describe_grid(Grid *s, PyArrayObject *x, PyArrayObject *grid, PyObject *const *options)
{
    N mode;
    if (!x || !grid || PyArray_NDIM(x) != 4 || PyArray_NDIM(grid) != 4 || PyArray_DIM(x, 0) != PyArray_DIM(grid, 0) ||
        PyArray_DIM(grid, 3) != 2 || !whole_number(options[0], &mode) || mode || !whole_number(options[1], &s->padding) ||
        s->padding < 0 || s->padding > 2 || !PyBool_Check(options[2]) || !PyArray_SIZE(x) || !PyArray_SIZE(grid))
        return 0;
    s->corners = options[2] == Py_True;
    s->images = PyArray_DIM(x, 0);
    s->channels = PyArray_DIM(x, 1);
    s->height = PyArray_DIM(x, 2);
    s->width = PyArray_DIM(x, 3);
    s->points = PyArray_DIM(grid, 1) * PyArray_DIM(grid, 2);
    return s->height * s->width < 1 << 29 && all_finite(x);  // which is multiplied by zeros, too
}

typedef struct { Grid grid; const float *g, *x, *points; float *y, *to_x, *to_grid; } Sampling;

static void sample_share(void *work, N from, N to)
{
    const Sampling *w = work;
    if (w->g) loops->grid_sample_slope(&w->grid, w->g, w->x, w->points, w->to_x, w->to_grid, from, to);
    else loops->grid_sample(&w->grid, w->x, w->points, w->y, from, to);
}

// `grid_sample(backend, images, grid, mode, padding, align_corners)`
static PyObject *grid_sample(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *x = count == 6 ? floats(a[1]) : NULL, *grid = x ? floats(a[2]) : NULL;
    Sampling work = {{0}};
    if (!describe_grid(&work.grid, x, grid, a + 3)) return NULL;
    const npy_intp shape[] = {work.grid.images, work.grid.channels, PyArray_DIM(grid, 1), PyArray_DIM(grid, 2)};
    PyArrayObject *y = fresh(4, shape);
    if (!y) return NULL;
    work.x = data_of(x), work.points = data_of(grid), work.y = data_of(y);
    SHARED(sample_share, work, work.grid.images, work.grid.channels * work.grid.points);
    return (PyObject *)y;
}

// `grid_sample_backward(backend, g, images, grid, mode, padding, align_corners, output_mask)`
static PyObject *grid_sample_backward(PyObject *const *a, Py_ssize_t count)
{
    PyArrayObject *g = count == 8 ? floats(a[1]) : NULL, *x = g ? floats(a[2]) : NULL, *grid = x ? floats(a[3]) : NULL;
    Sampling work = {{0}};
    int wanted[2];
    if (!describe_grid(&work.grid, x, grid, a + 4) || !wanted_of(a[7], 2, wanted)) return NULL;
    const npy_intp shape[] = {work.grid.images, work.grid.channels, PyArray_DIM(grid, 1), PyArray_DIM(grid, 2)};
    if (!has_dims(g, 4, shape)) return NULL;
    PyArrayObject *to_x = wanted[0] ? (PyArrayObject *)PyArray_ZEROS(4, PyArray_DIMS(x), NPY_FLOAT32, 0) : NULL;
    PyArrayObject *to_grid = wanted[1] ? fresh_like(grid) : NULL;
    if (!PyErr_Occurred()) {
        work.g = data_of(g), work.x = data_of(x), work.points = data_of(grid);
        work.to_x = data_or_null(to_x), work.to_grid = data_or_null(to_grid);
        SHARED(sample_share, work, work.grid.images, work.grid.channels * work.grid.points);
        return Py_BuildValue("(NN)", or_none(to_x), or_none(to_grid));
    }
    Py_XDECREF(to_x);
    Py_XDECREF(to_grid);
    return NULL;
}

const KernelDef sample_kernels[] = {
    {"map_all", map_all}, {"grid_sample", grid_sample}, {"grid_sample_backward", grid_sample_backward}, {NULL},
};
