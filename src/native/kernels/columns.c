// Convolutions of many channels as products of matrices, by NumPy's BLAS: what the taps read for all windows of some images
// is laid out as columns, (channels, taps, images, windows).
#include "columns.h"

enum { MOST = 1 << 20 };  // numbers in the columns of a block of images

typedef struct { N first, after; } Range;

// The windows along a dimension for which a tap reads what is in the image.
static Range windows_inside(const Sliding *s, int d, N tap)
{
    const N shift = tap * s->dilation[d] - s->padding[d], step = s->stride[d];
    Range r = {shift < 0 ? (-shift + step - 1) / step : 0, shift < s->size[d] ? (s->size[d] - 1 - shift) / step + 1 : 0};
    if (r.after > s->count[d]) r.after = s->count[d];
    if (r.first > r.after) r.first = r.after;
    return r;
}

// One row of windows of a tap, and the image's row that it reads, of which NULL is one in the padding.
static void read_row(const Sliding *s, const float *row, N shift, Range r, float *to)
{
    memset(to, 0, (row ? r.first : s->count[2]) * sizeof *to);
    if (!row) return;
    if (s->stride[2] == 1) memcpy(to + r.first, row + r.first + shift, (r.after - r.first) * sizeof *to);
    else for (N i = r.first; i < r.after; i++) to[i] = row[i * s->stride[2] + shift];
    memset(to + r.after, 0, (s->count[2] - r.after) * sizeof *to);
}

static void add_row(const Sliding *s, float *row, N shift, Range r, const float *from)
{
    for (N i = r.first; row && i < r.after; i++) row[i * s->stride[2] + shift] += from[i];
}

// A plane of windows that is as wide as the image's: what a tap reads is the image's plane, moved, but for its borders.
static void clear_borders(const Sliding *s, Range down, Range along, float *plane)
{
    const N width = s->count[2];
    memset(plane, 0, down.first * width * sizeof *plane);
    memset(plane + down.after * width, 0, (s->count[1] - down.after) * width * sizeof *plane);
    for (N i = down.first; i < down.after; i++) {
        for (N k = 0; k < along.first; k++) plane[i * width + k] = 0;
        for (N k = along.after; k < width; k++) plane[i * width + k] = 0;
    }
}

static void move_plane(const Sliding *s, float *image, Range down, Range along, N shift, float *plane, int back)
{
    const N first = down.first * s->count[2] + along.first, after = (down.after - 1) * s->count[2] + along.after;
    if (back) clear_borders(s, down, along, plane);
    if (back && first < after) loops->add_to(plane + first, image + first + shift, after - first);
    else if (first < after) memcpy(plane + first, image + first + shift, (after - first) * sizeof *plane);
    if (!back) clear_borders(s, down, along, plane);
}

// For each plane of windows of some images: to the columns, or from there, which it may change, added to the images.
static void go_along(const Sliding *s, float *images, N many, float *columns, int back)
{
    const N plane = s->size[1] * s->size[2], volume = s->size[0] * plane;
    const int moved = s->stride[1] == 1 && s->stride[2] == 1 && s->count[2] == s->size[2];
    for (N c = 0; c < s->in; c++)
        for (N t = 0; t < s->taps; t++) {
            const N at[3] = {t / s->kernel[2] / s->kernel[1], t / s->kernel[2] % s->kernel[1], t % s->kernel[2]};
            N shift[3];
            for (int d = 0; d < 3; d++) shift[d] = at[d] * s->dilation[d] - s->padding[d];
            const Range along = windows_inside(s, 2, at[2]), down = windows_inside(s, 1, at[1]), deep = windows_inside(s, 0, at[0]);
            for (N n = 0; n < many; n++)
                for (N k = 0; k < s->count[0]; k++, columns += s->count[1] * s->count[2]) {
                    float *image = images + (n * s->in + c) * volume + (k * s->stride[0] + shift[0]) * plane;
                    const int inside = k >= deep.first && k < deep.after;
                    if (inside && moved) {
                        move_plane(s, image, down, along, shift[1] * s->size[2] + shift[2], columns, back);
                        continue;
                    }
                    for (N i = 0; i < s->count[1]; i++) {
                        float *row = inside && i >= down.first && i < down.after ?
                                     image + (i * s->stride[1] + shift[1]) * s->size[2] : NULL, *to = columns + i * s->count[2];
                        if (back) add_row(s, row, shift[2], along, to);
                        else read_row(s, row, shift[2], along, to);
                    }
                }
        }
}

// (many, rows, n) to (rows, many, n), or back.
static void exchange(const float *from, float *to, N many, N rows, N n, int back)
{
    for (N r = 0; r < rows; r++)
        for (N i = 0; i < many; i++) {
            const N apart = (i * rows + r) * n, together = (r * many + i) * n;
            memcpy(to + (back ? apart : together), from + (back ? together : apart), n * sizeof *to);
        }
}

static N windows(const Sliding *s) { return s->count[0] * s->count[1] * s->count[2]; }
static N volume(const Sliding *s) { return s->size[0] * s->size[1] * s->size[2]; }

int is_for_columns(const Sliding *s)
{
    const int many = s->taps == 1 ? s->in >= 32 && s->out >= 32 : s->in * s->taps >= 2000 && s->out >= 96;
    return s->groups == 1 && many && s->in * s->taps > 1 && windows(s) > 1;
}

// Whether an image is its own columns.
static int is_plain(const Sliding *s)
{
    return s->taps == 1 && windows(s) == volume(s) && !s->padding[0] && !s->padding[1] && !s->padding[2];
}

// How many images to take at once.
static N block_of(const Sliding *s)
{
    const N most = is_plain(s) ? 1 : MOST / (s->in * s->taps * windows(s));
    return most < 1 ? 1 : most < s->images ? most : s->images;
}

static PyArrayObject *matrix(N rows, N columns) { return fresh(2, (npy_intp[]){rows, columns}); }

// The weights as a matrix (out, channels and taps).
static PyArrayObject *weights_of(const Sliding *s, PyArrayObject *w)
{
    npy_intp shape[] = {s->out, s->in * s->taps};
    PyArray_Dims dims = {shape, 2};
    return (PyArrayObject *)PyArray_Newshape(w, &dims, NPY_CORDER);
}

// An image of an array as a matrix of so many rows.
static PyArrayObject *image_of(const Sliding *s, PyArrayObject *a, N image, N rows)
{
    const N numbers = PyArray_SIZE(a) / s->images;
    return (PyArrayObject *)PyArray_SimpleNewFromData(2, ((npy_intp[]){rows, numbers / rows}), NPY_FLOAT32,
                                                      data_of(a) + image * numbers);
}

// The product of two matrices, which it lets go of, into a third, where there is one.
static PyArrayObject *times(PyArrayObject *a, PyArrayObject *b, PyArrayObject *to)
{
    PyObject *made = a && b ? PyArray_MatrixProduct2((PyObject *)a, (PyObject *)b, to) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(to);
    return (PyArrayObject *)made;
}

static PyArrayObject *turned(PyArrayObject *a) { return a ? (PyArrayObject *)PyArray_Transpose(a, NULL) : NULL; }

// The columns of so many images from a first one on, or the gradients of their windows as one matrix (out, …).
static PyArrayObject *columns_of(const Sliding *s, PyArrayObject *x, N first, N many)
{
    if (is_plain(s)) return image_of(s, x, first, s->in);
    PyArrayObject *made = matrix(s->in * s->taps, many * windows(s));
    if (made) WORK(PyArray_SIZE(made), go_along(s, data_of(x) + first * s->in * volume(s), many, data_of(made), 0));
    return made;
}

static PyArrayObject *gradients_of(const Sliding *s, PyArrayObject *g, N first, N many)
{
    if (many == 1) return image_of(s, g, first, s->out);
    PyArrayObject *made = matrix(s->out, many * windows(s));
    if (made) exchange(data_of(g) + first * s->out * windows(s), data_of(made), many, s->out, windows(s), 0);
    return made;
}

int correlate_by_columns(const Sliding *s, PyArrayObject *x, PyArrayObject *w, PyArrayObject *bias, PyArrayObject *y)
{
    const N n = windows(s);
    for (N i = 0, many = block_of(s); i < s->images; i += many) {
        if (i + many > s->images) many = s->images - i;
        PyArrayObject *made = times(weights_of(s, w), columns_of(s, x, i, many), many == 1 ? image_of(s, y, i, s->out) : NULL);
        if (!made) return 0;
        for (N o = 0; bias && o < s->out; o++)
            for (N k = 0; k < many * n; k++) data_of(made)[o * many * n + k] += data_of(bias)[o];
        if (many > 1) exchange(data_of(made), data_of(y) + i * s->out * n, many, s->out, n, 1);
        Py_DECREF(made);
    }
    return 1;
}

int spread_back_by_columns(const Sliding *s, PyArrayObject *g, PyArrayObject *w, PyArrayObject *x)
{
    const int plain = is_plain(s);
    if (!plain) memset(data_of(x), 0, PyArray_NBYTES(x));
    for (N i = 0, many = block_of(s); i < s->images; i += many) {
        if (i + many > s->images) many = s->images - i;
        PyArrayObject *matrix = weights_of(s, w), *to = plain ? image_of(s, x, i, s->in) : NULL;
        PyArrayObject *columns = times(turned(matrix), gradients_of(s, g, i, many), to);
        Py_XDECREF(matrix);
        if (!columns) return 0;
        if (!plain) WORK(PyArray_SIZE(columns), go_along(s, data_of(x) + i * s->in * volume(s), many, data_of(columns), 1));
        Py_DECREF(columns);
    }
    return 1;
}

int weights_by_columns(const Sliding *s, PyArrayObject *g, PyArrayObject *x, PyArrayObject *dw)
{
    const Sliding whole = {.images = 1};
    for (N i = 0, many = block_of(s); i < s->images; i += many) {
        if (i + many > s->images) many = s->images - i;
        PyArrayObject *columns = columns_of(s, x, i, many), *to = i ? NULL : image_of(&whole, dw, 0, s->out);
        PyArrayObject *made = times(gradients_of(s, g, i, many), turned(columns), to);
        Py_XDECREF(columns);
        if (!made) return 0;
        if (i) loops->add_to(data_of(made), data_of(dw), PyArray_SIZE(made));
        Py_DECREF(made);
    }
    return 1;
}
